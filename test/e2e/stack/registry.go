package stack

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// packageVersion is the version that the stack's packages are published as.
const packageVersion = "v0.1.0"

// startRegistry serves the packages that were built from this repository.
func (s *Stack) startRegistry() error {
	listener, err := net.Listen("tcp", local(portRegistry))
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	server := &http.Server{
		Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = server.Serve(listener) }()
	s.closers = append(s.closers, func() { _ = server.Close() })
	for repository, file := range map[string]string{
		"function-l2cluster":      "function-l2cluster-" + runtime.GOARCH + ".xpkg",
		"configuration-l2cluster": "configuration.xpkg",
	} {
		image, err := tarball.ImageFromPath(filepath.Join(s.Tools.Packages, file), nil)
		if err != nil {
			return fmt.Errorf("cannot read package %q: %w", file, err)
		}
		if err := crane.Push(image, local(portRegistry)+"/l2cluster/"+repository+":"+packageVersion, crane.Insecure); err != nil {
			return fmt.Errorf("cannot publish package %q: %w", file, err)
		}
	}
	return nil
}
