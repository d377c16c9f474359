// Command function-l2cluster is a Crossplane composition function that expands
// an L2Cluster claim into a Kubernetes cluster on bare-metal servers with
// layer-2 networks.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

type cli struct {
	Serve  serveCmd  `cmd:"" default:"withargs" help:"Serve the function to Crossplane. This is the default."`
	Render renderCmd `cmd:"" help:"Show what a claim or a composite expands to, or what an edit of it does, without Crossplane."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k := kong.Parse(&cli{},
		kong.Name("function-l2cluster"),
		kong.Description("A Crossplane composition function for Kubernetes clusters on layer-2 networks."),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	k.FatalIfErrorf(k.Run())
}
