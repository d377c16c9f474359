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
	"github.com/l2cluster/function-l2cluster/fn/osnet/netplan"
	"github.com/l2cluster/function-l2cluster/fn/osnet/networkd"
	"github.com/l2cluster/function-l2cluster/fn/osnet/networkmanager"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/osnet/script"
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

// Options are the platform team's choices.
type Options struct {
	// Metadata is the base URL of the metadata service.
	Metadata string
	// Timeout of what the node script does, in whole seconds.
	Timeout time.Duration
}

// Render the files of a pool's machines. A pool without links gets none, and
// needs no Command. It returns an error for a pool whose links the back end
// cannot bring up, and for a file that is over FileLimit.
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
	d, err := layout.Describe(renderer)
	if err != nil {
		return nil, fmt.Errorf("cannot render the network of pool %q: %w", pool.Name, err)
	}
	d.Backend, d.Mode, d.Metadata = string(backend), string(pool.Mode), opts.Metadata
	d.Timeout = int(opts.Timeout / time.Second)
	description, err := encode(d)
	if err != nil {
		return nil, fmt.Errorf("cannot render the network of pool %q: %w", pool.Name, err)
	}
	files, err := script.Files(string(backend), layout.Handover)
	if err != nil {
		return nil, fmt.Errorf("cannot render the network of pool %q: %w", pool.Name, err)
	}
	files = append(files, File{
		Path: node.DescriptionPath, Permissions: "0644",
		Content: string(description), Gzip: stablegzip.Compress(description),
	})
	if err := checkSize(files); err != nil {
		return nil, fmt.Errorf("cannot render the network of pool %q: %w: give the pool fewer networks or routes", pool.Name, err)
	}
	return files, nil
}

// rendererOf a back end.
func rendererOf(backend Backend) (node.Renderer, error) {
	switch backend {
	case Ifupdown:
		return node.Renderer{Port: sure(ifupdown.Port), Link: sure(ifupdown.Link), Machine: sure(ifupdown.Machine)}, nil
	case Netplan:
		return node.Renderer{Port: netplan.Port, Link: netplan.Link, Machine: netplan.Machine}, nil
	case Networkd:
		return node.Renderer{Port: sure(networkd.Port), Link: sure(networkd.Link), Machine: sure(networkd.Machine)}, nil
	case NetworkManager:
		return node.Renderer{Port: sure(networkmanager.Port), Link: sure(networkmanager.Link), Machine: sure(networkmanager.Machine)}, nil
	default:
		return node.Renderer{}, fmt.Errorf("unknown back end %q: use %s", backend, backendNames())
	}
}

// sure makes a renderer that cannot fail look like one that can.
func sure[T any](render func(T) []node.Template) func(T) ([]node.Template, error) {
	return func(v T) ([]node.Template, error) { return render(v), nil }
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

// FileLimit is what Cluster API accepts of one file as it travels, in
// characters:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/api/bootstrap/kubeadm/v1beta2/kubeadmconfig_types.go.
const FileLimit = 10240

func checkSize(files []File) error {
	for _, f := range files {
		if n := travels(f); n > FileLimit {
			return fmt.Errorf("file %q takes %d bytes, Cluster API accepts %d", f.Path, n, FileLimit)
		}
	}
	return nil
}

// travels is the size of a file's content in the user data.
func travels(f File) int {
	switch {
	case len(f.Gzip) > 0:
		return base64.StdEncoding.EncodedLen(len(f.Gzip))
	case f.Live:
		return len(f.Content)
	default:
		return base64.StdEncoding.EncodedLen(len(f.Content))
	}
}
