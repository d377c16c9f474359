// Command metal serves a fake Equinix Metal API on this machine's loopback
// interface until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx is done.
func run(ctx context.Context, args []string) error {
	listen, opts, err := parse(args)
	if err != nil {
		return err
	}
	cloud := metal.New(opts)
	if err := cloud.Start(listen); err != nil {
		return err
	}
	fmt.Println(cloud.URL())
	<-ctx.Done()
	return cloud.Close()
}

// parse reads the flags.
func parse(args []string) (listen string, opts metal.Options, err error) {
	flags := flag.NewFlagSet("metal", flag.ContinueOnError)
	var tokens, projects, metros string
	flags.StringVar(&listen, "listen", "127.0.0.1:0", "loopback `address` and port to serve at; port 0 is a free one")
	flags.StringVar(&opts.Seed, "seed", "", "`text` that the ids of this cloud depend on")
	flags.StringVar(&tokens, "tokens", "", "accepted API tokens, separated by commas; without any, every token is")
	flags.StringVar(&projects, "projects", "", "projects that exist, as `uuid=name,...`")
	flags.StringVar(&metros, "metros", "", "`codes` of the metros that exist, separated by commas")
	flags.DurationVar(&opts.Schedule.Queued, "queued", time.Second, "time that a server is queued")
	flags.DurationVar(&opts.Schedule.Provisioning, "provisioning", 10*time.Second, "time that a server is provisioning")
	flags.DurationVar(&opts.Schedule.Deprovisioning, "deprovisioning", 30*time.Second, "time that a deleted server goes on to exist")
	flags.DurationVar(&opts.Schedule.Batch, "batch", time.Second, "time that a batch of VLAN assignments takes")
	flags.DurationVar(&opts.Schedule.Gateway, "gateway", time.Second, "time until a gateway is active")
	flags.DurationVar(&opts.Schedule.GatewayDeletion, "gateway-deletion", time.Second, "time that a deleted gateway goes on to exist")
	if err := flags.Parse(args); err != nil {
		return "", metal.Options{}, fmt.Errorf("cannot read the flags: %w", err)
	}
	opts.Tokens, opts.Metros = split(tokens), split(metros)
	opts.Projects = map[string]string{}
	for _, p := range split(projects) {
		id, name, _ := strings.Cut(p, "=")
		opts.Projects[id] = name
	}
	return listen, opts, nil
}

// split is strings.Split at commas, without empty parts.
func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}
