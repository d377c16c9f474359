// Package osnet renders the network of a pool's machines as files of their
// operating system. The files are the same on every machine of the pool: they
// hold placeholders where a machine's own addresses and the names of its ports
// go, and the node script fills those in when the machine boots.
package osnet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/l2cluster/function-l2cluster/fn/osnet/ifupdown"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/osnet/stablegzip"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// File on a machine.
type File = node.File

// What the renderer and others must say alike.
const (
	// Command is the first command before kubeadm.
	Command = node.Command
	// CustomDataKey is the key of the machine's addresses in the server's
	// custom data.
	CustomDataKey = node.CustomDataKey
	// NodeIPPlaceholder stands, in kubeadm's configuration, for the node's
	// address: the IPv4 one if there are two.
	NodeIPPlaceholder = node.NodeIPPlaceholder
	// NodeIPsPlaceholder stands, in kubeadm's configuration, for all of the
	// node's addresses as the kubelet takes them.
	NodeIPsPlaceholder = node.NodeIPsPlaceholder
)

// Budget is what Size may be at most, in bytes:
// https://deploy.equinix.com/developers/docs/metal/server-metadata/user-data/
// accepts little beside a first control plane machine's certificates.
const Budget = 16 << 10

// Options are the platform team's choices.
type Options struct {
	// Metadata is the base URL of the metadata service.
	Metadata string
	// Timeout of everything that the node script does, in whole seconds.
	Timeout time.Duration
}

// Render the files of a pool's machines. A pool without links gets none, and
// needs no Command. It returns an error for a pool whose links the back end
// cannot bring up, and for files that are over Budget.
func Render(pool plan.Pool, backend Backend, opts Options) ([]File, error) {
	if len(pool.Links) == 0 {
		return nil, nil
	}
	layout, err := node.NewLayout(pool)
	if err != nil {
		return nil, fmt.Errorf("cannot render the network of pool %q: %w", pool.Name, err)
	}
	renderer, err := rendererOf(backend)
	if err != nil {
		return nil, fmt.Errorf("cannot render the network of pool %q: %w", pool.Name, err)
	}
	d := layout.Describe(renderer)
	d.Backend, d.Mode, d.Metadata = string(backend), string(pool.Mode), opts.Metadata
	d.Timeout = int(opts.Timeout / time.Second)
	description, err := encode(d)
	if err != nil {
		return nil, fmt.Errorf("cannot render the network of pool %q: %w", pool.Name, err)
	}
	files := []File{node.Script(), {
		Path: node.DescriptionPath, Permissions: "0644",
		Content: string(description), Gzip: stablegzip.Compress(description),
	}}
	if size := Size(files); size > Budget {
		return nil, fmt.Errorf("cannot render the network of pool %q: its files take %d bytes of the user data, the budget is %d: give the pool fewer networks or routes",
			pool.Name, size, Budget)
	}
	return files, nil
}

// rendererOf a back end.
func rendererOf(backend Backend) (node.Renderer, error) {
	switch backend {
	case Ifupdown:
		return node.Renderer{Port: ifupdown.Port, Link: ifupdown.Link, Machine: ifupdown.Machine}, nil
	default:
		return node.Renderer{}, fmt.Errorf("unknown back end %q: use %s", backend, backendNames())
	}
}

// encode without escapes that only HTML needs, so that people can read it.
func encode(d node.Description) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("cannot encode the description: %w", err)
	}
	return b.Bytes(), nil
}

// Size of what files add to the user data, in bytes: their contents as they
// travel, and what Cluster API writes around each.
func Size(files []File) int {
	const around = 100
	size := 0
	for _, f := range files {
		travels := len(f.Content)
		switch {
		case len(f.Gzip) > 0:
			travels = base64.StdEncoding.EncodedLen(len(f.Gzip))
		case !f.Live:
			travels = base64.StdEncoding.EncodedLen(len(f.Content))
		}
		size += around + len(f.Path) + travels
	}
	return size
}
