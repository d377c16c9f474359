// Command workload-clusters stands for the clusters that Cluster API makes: it
// serves each one's API and etcd at the cluster's own control plane endpoint
// with the authorities that Cluster API generated. What is behind them is the
// in-memory API server and etcd of Cluster API's own scale tests.
//
// A test says which clusters and nodes there are:
//
//	PUT    /clusters/NAME              a Cluster
//	PUT    /clusters/NAME/nodes/NODE   a Node
//	DELETE /clusters/NAME/nodes/NODE
//	DELETE /clusters/NAME
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "loopback address for what the test says")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "workload-clusters:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen string) error {
	world, err := newWorld(ctx)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("cannot listen at %q: %w", listen, err)
	}
	server := &http.Server{Handler: routes(world), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve: %w", err)
	}
	return nil
}

func routes(w *world) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /clusters/{cluster}", func(rsp http.ResponseWriter, req *http.Request) {
		var c clusterSpec
		answer(rsp, decode(req, &c), func() error { return w.serve(req.PathValue("cluster"), c) })
	})
	mux.HandleFunc("DELETE /clusters/{cluster}", func(rsp http.ResponseWriter, req *http.Request) {
		answer(rsp, nil, func() error { return w.stop(req.PathValue("cluster")) })
	})
	mux.HandleFunc("PUT /clusters/{cluster}/nodes/{node}", func(rsp http.ResponseWriter, req *http.Request) {
		var n nodeSpec
		answer(rsp, decode(req, &n), func() error {
			return w.join(req.Context(), req.PathValue("cluster"), req.PathValue("node"), n)
		})
	})
	mux.HandleFunc("DELETE /clusters/{cluster}/nodes/{node}", func(rsp http.ResponseWriter, req *http.Request) {
		answer(rsp, nil, func() error {
			return w.leave(req.Context(), req.PathValue("cluster"), req.PathValue("node"))
		})
	})
	return mux
}

func decode(req *http.Request, into any) error {
	if err := json.NewDecoder(req.Body).Decode(into); err != nil {
		return fmt.Errorf("cannot read the request: %w", err)
	}
	return nil
}

func answer(rsp http.ResponseWriter, err error, do func() error) {
	if err == nil {
		err = do()
	}
	if err != nil {
		http.Error(rsp, err.Error(), http.StatusInternalServerError)
	}
}
