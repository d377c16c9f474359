package bootstrap

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

//go:generate go run ./internal/pack node/assembled/apt.sh node/parts/common.sh node/parts/packages.sh node/parts/apt.sh node/parts/main.sh
//go:generate go run ./internal/pack node/assembled/dnf.sh node/parts/common.sh node/parts/packages.sh node/parts/dnf.sh node/parts/main.sh
//go:generate go run ./internal/pack node/assembled/image.sh node/parts/common.sh node/parts/image.sh

// The script that prepares a server, for each way that packages come to it, and
// the same compressed for user data.
//
//go:embed node/assembled
var nodeSetupFS embed.FS

// NodeSetupPath is where the script lies that prepares a server for kubeadm.
const NodeSetupPath = "/usr/local/sbin/l2cluster-node-setup"

// ErrUnsupportedOS says that packages cannot be installed on an operating system.
var ErrUnsupportedOS = errors.New("packages can be installed on Ubuntu, Debian, Rocky, Alma and RHEL only; " +
	"use an image that has containerd, kubelet and kubeadm, and set bootstrap.nodePackages: Image in the function's input")

// Node is what every server needs before kubeadm: no swap, the kernel's modules
// and settings for pods and, unless the image has them, containerd with systemd's
// cgroups and kubelet, kubeadm and kubectl of the Kubernetes version (v1.34.2).
// The os is the beginning of an operating system's name, such as ubuntu_22_04.
// The error is ErrUnsupportedOS where packages are to be installed on another one.
func Node(os string, b v1beta1.Bootstrap, kubernetesVersion string) (Bootstrap, error) {
	if b.NodePackages == v1beta1.NodePackagesImage {
		return nodeSetup("image", "")
	}
	manager, err := packageManager(os)
	if err != nil {
		return Bootstrap{}, err
	}
	return nodeSetup(manager, fmt.Sprintf(" '%s' '%s'", kubernetesVersion, strings.TrimRight(b.KubernetesRepository, "/")))
}

// nodeSetup is the script for one way that packages come to a server, run with
// arguments before kubeadm.
func nodeSetup(way, arguments string) (Bootstrap, error) {
	script, err := nodeSetupFS.ReadFile("node/assembled/" + way + ".sh")
	if err != nil {
		return Bootstrap{}, fmt.Errorf("cannot read the node script: %w", err)
	}
	packed, err := nodeSetupFS.ReadFile("node/assembled/" + way + ".sh.gz")
	if err != nil {
		return Bootstrap{}, fmt.Errorf("cannot read the node script: %w", err)
	}
	return Bootstrap{
		Files:      []osnet.File{{Path: NodeSetupPath, Permissions: "0755", Content: string(script), Gzip: packed}},
		PreKubeadm: []string{NodeSetupPath + arguments + " || exit 1"},
	}, nil
}

func packageManager(os string) (string, error) {
	managers := []struct{ prefix, name string }{
		{"ubuntu", "apt"},
		{"debian", "apt"},
		{"rocky", "dnf"},
		{"alma", "dnf"},
		{"rhel", "dnf"},
	}
	for _, m := range managers {
		if strings.HasPrefix(os, m.prefix) {
			return m.name, nil
		}
	}
	return "", fmt.Errorf("cannot prepare nodes on operating system %q: %w", os, ErrUnsupportedOS)
}

// IPv6Forwarding is what servers need besides where pods or services have IPv6
// addresses: kubeadm refuses to start without it.
func IPv6Forwarding() Bootstrap {
	return Bootstrap{Files: []osnet.File{{
		Path: "/etc/sysctl.d/99-l2cluster-ipv6.conf", Permissions: "0644",
		Content: "net.ipv6.conf.all.forwarding = 1\nnet.ipv6.conf.default.forwarding = 1\n",
	}}}
}

// Custom is what a platform team adds in the function's input. Its files reach the
// disk byte for byte; its commands see cloud-init's templates, as everywhere in
// Cluster API, but not those of the infrastructure provider before it.
func Custom(b v1beta1.Bootstrap) Bootstrap {
	out := Bootstrap{}
	for _, f := range b.Files {
		permissions := f.Permissions
		if permissions == "" {
			permissions = "0644"
		}
		out.Files = append(out.Files, osnet.File{Path: f.Path, Permissions: permissions, Content: f.Content})
	}
	for _, c := range b.PreKubeadmCommands {
		out.PreKubeadm = append(out.PreKubeadm, Escape(c))
	}
	for _, c := range b.PostKubeadmCommands {
		out.PostKubeadm = append(out.PostKubeadm, Escape(c))
	}
	return out
}

// Escape makes Go's text/template print the text as it is. Infrastructure
// providers run user data through that engine, with credentials at hand, before
// cloud-init sees it:
// https://github.com/kubernetes-retired/cluster-api-provider-packet/blob/v0.9.0/pkg/cloud/packet/client.go.
func Escape(text string) string {
	return strings.ReplaceAll(text, "{{", "{{`{{`}}")
}
