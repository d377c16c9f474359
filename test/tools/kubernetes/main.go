// Command kubernetes is the API server, and of the controller manager those
// controllers without which objects of other projects do not live and die as
// they should, in one binary:
//
//	kubernetes kube-apiserver FLAGS
//	kubernetes controllers KUBECONFIG
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "kube-apiserver":
		// It reads its flags from the process's arguments.
		os.Args = os.Args[1:]
		os.Exit(cli.Run(app.NewAPIServerCommand()))
	case len(os.Args) == 3 && os.Args[1] == "controllers":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := control(ctx, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "kubernetes controllers:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: kubernetes kube-apiserver FLAGS | controllers KUBECONFIG")
		os.Exit(2)
	}
}
