package main

import (
	"context"
	"fmt"
	"net"
	"time"

	sdk "github.com/crossplane/function-sdk-go"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/l2cluster/function-l2cluster/fn/function"
)

// serveCmd serves the function. Its flags are those of every Crossplane
// function.
type serveCmd struct {
	Debug              bool          `short:"d"                                                                                                   help:"Emit debug logs in addition to info logs."`
	Network            string        `default:"tcp"                                                                                               help:"Network on which to listen for gRPC connections."`
	Address            string        `default:":9443"                                                                                             help:"Address at which to listen for gRPC connections."`
	TLSCertsDir        string        `env:"TLS_SERVER_CERTS_DIR"                                                                                  help:"Directory with server certificate (tls.key, tls.crt) and the CA that clients' certificates come from (ca.crt)."`
	Insecure           bool          `help:"Run without mTLS credentials. With this flag --tls-certs-dir is ignored."`
	MaxRecvMessageSize int           `default:"32"                                                                                                help:"Largest request in MiB. The default fits a cluster of 1,000 machines."`
	StopTimeout        time.Duration `default:"20s"                                                                                               help:"How long running calls may take to end after a stop signal."`
}

// Run serves until the context ends, and then lets running calls end.
func (c *serveCmd) Run(ctx context.Context) error {
	log, err := sdk.NewLogger(c.Debug)
	if err != nil {
		return fmt.Errorf("cannot create a logger: %w", err)
	}
	server, healthy, err := c.server(function.New(log, time.Now))
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, c.Network, c.Address)
	if err != nil {
		return fmt.Errorf("cannot listen at %q: %w", c.Address, err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("Serving", "address", listener.Addr().String())
	select {
	case err := <-served:
		return fmt.Errorf("cannot serve gRPC: %w", err)
	case <-ctx.Done():
		log.Info("Stopping")
		healthy.Shutdown()
		stop(server, c.StopTimeout)
		return nil
	}
}

// server with the function, its health and reflection, as function-sdk-go's own
// Serve makes it; that one cannot be stopped.
func (c *serveCmd) server(fn fnv1.FunctionRunnerServiceServer) (*grpc.Server, *health.Server, error) {
	o := &sdk.ServeOptions{}
	for _, option := range []sdk.ServeOption{sdk.MTLSCertificates(c.certificates()), sdk.Insecure(c.Insecure)} {
		if err := option(o); err != nil {
			return nil, nil, fmt.Errorf("cannot set up credentials: %w", err)
		}
	}
	if o.Credentials == nil {
		return nil, nil, fmt.Errorf("no credentials: give --tls-certs-dir, or --insecure to serve without any")
	}
	server := grpc.NewServer(grpc.Creds(o.Credentials), grpc.MaxRecvMsgSize(c.MaxRecvMessageSize<<20))
	fnv1.RegisterFunctionRunnerServiceServer(server, fn)
	fnv1beta1.RegisterFunctionRunnerServiceServer(server, sdk.ServeBeta(fn))
	healthy := health.NewServer()
	healthv1.RegisterHealthServer(server, healthy)
	reflection.Register(server)
	return server, healthy, nil
}

// certificates are not read when they are not used, so that a missing folder
// does not stop an insecure server.
func (c *serveCmd) certificates() string {
	if c.Insecure {
		return ""
	}
	return c.TLSCertsDir
}

// stop lets running calls end within the timeout, and cuts off the rest.
func stop(server *grpc.Server, timeout time.Duration) {
	timer := time.AfterFunc(timeout, server.Stop)
	defer timer.Stop()
	server.GracefulStop()
}
