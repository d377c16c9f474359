// Command image puts a static binary into an OCI image without any container
// tool, and writes it as a tarball that `crossplane xpkg build` embeds. The
// image holds what a distroless static image holds and nothing else: the
// binary, certificate authorities and an unprivileged user. The same binary
// always makes the same image.
//
//	image -arch amd64 -o function.tar path/to/binary
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonroot is the user and group of distroless images' tag of that name.
const nonroot = 65532

func main() {
	arch := flag.String("arch", "amd64", "GOARCH of the binary")
	out := flag.String("o", "image.tar", "tarball to write")
	tag := flag.String("tag", "function-l2cluster:latest", "name of the image inside the tarball")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: image [-arch ARCH] [-tag NAME] [-o TARBALL] BINARY")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *arch, *tag, *out); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(binary, arch, tag, out string) error {
	data, err := os.ReadFile(filepath.Clean(binary))
	if err != nil {
		return fmt.Errorf("cannot read binary: %w", err)
	}
	img, err := image(data, arch)
	if err != nil {
		return fmt.Errorf("cannot make image: %w", err)
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("cannot use tag %q: %w", tag, err)
	}
	if err := tarball.WriteToFile(out, ref, img); err != nil {
		return fmt.Errorf("cannot write %q: %w", out, err)
	}
	return nil
}

// image of the binary as /function, run by an unprivileged user.
func image(binary []byte, arch string) (v1.Image, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return files(
			file{"etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/:/sbin/nologin\n", nonroot, nonroot)},
			file{"etc/ssl/certs/ca-certificates.crt", 0o644, roots},
			file{"function", 0o755, binary},
		)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make layer: %w", err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("cannot append layer: %w", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("cannot read config: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", nonroot, nonroot),
		Entrypoint:   []string{"/function"},
		ExposedPorts: map[string]struct{}{"9443/tcp": {}},
		WorkingDir:   "/",
	}
	return mutate.ConfigFile(img, config)
}

type file struct {
	path string
	mode int64
	data []byte
}

// files as a tar stream with neither times nor names of this machine.
func files(all ...file) (io.ReadCloser, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range all {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.data))}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("cannot add %q: %w", f.path, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("cannot add %q: %w", f.path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cannot close layer: %w", err)
	}
	return io.NopCloser(&b), nil
}

// certificates of the authorities that Mozilla trusts, those with constraints
// left out, since a PEM file cannot state them.
func certificates() ([]byte, error) {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("cannot encode certificate: %w", err)
		}
	}
	return b.Bytes(), nil
}
