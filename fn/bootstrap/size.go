package bootstrap

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
)

// Budget is what Size may be at most, in bytes: user data is limited, a first
// control plane machine's certificates take most of it, and it cannot be
// compressed as a whole on every platform.
const Budget = 16 << 10

// Encoded is a file as it travels in user data.
type Encoded struct {
	// Path on the machine.
	Path string
	// Permissions in octal; "" for those that cloud-init gives by itself.
	Permissions string
	// Encoding of Content: base64, gzip+base64, or "" for none.
	Encoding string
	// Content in that encoding.
	Content string
}

// Encode a file of root's. It says nothing that cloud-init does by itself: files
// are root's, and everybody may read them:
// https://docs.cloud-init.io/en/latest/reference/modules.html#write-files.
func Encode(f osnet.File) Encoded {
	out := Encoded{Path: f.Path, Permissions: f.Permissions}
	if f.Permissions == "0644" {
		out.Permissions = ""
	}
	switch {
	case f.Live:
		out.Content = f.Content
	case len(f.Gzip) > 0:
		out.Encoding, out.Content = "gzip+base64", base64.StdEncoding.EncodeToString(f.Gzip)
	default:
		out.Encoding, out.Content = "base64", base64.StdEncoding.EncodeToString([]byte(f.Content))
	}
	return out
}

// Size is what the file adds to the user data, in bytes:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/bootstrap/kubeadm/pkg/cloudinit/files.go.
func (e Encoded) Size() int {
	text := "\n-   path: " + e.Path + "\n    content: |\n"
	if e.Encoding != "" {
		text += "    encoding: \"" + e.Encoding + "\"\n"
	}
	if e.Permissions != "" {
		text += "    permissions: '" + e.Permissions + "'\n"
	}
	const indent = 6
	return len(text) + len(e.Content) + indent*(1+strings.Count(e.Content, "\n"))
}

// Size is what a bootstrap's files and commands add to the user data, in bytes,
// exactly as Cluster API writes them.
func Size(b Bootstrap) int {
	size := 0
	for _, f := range b.Files {
		size += Encode(f).Size()
	}
	for _, c := range slices.Concat(b.PreKubeadm, b.PostKubeadm) {
		size += CommandSize(c)
	}
	return size
}

// CommandSize is what a command adds to the user data, in bytes:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/bootstrap/kubeadm/pkg/cloudinit/commands.go.
func CommandSize(command string) int {
	return len("\n  - ") + len(strconv.Quote(command))
}
