package bootstrap

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/fn/osnet/stablegzip"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

//go:generate go run -C ../../test/tools/pack . -in fn/bootstrap/node -plain assembled/apt.sh parts/common.sh parts/packages.sh parts/apt.sh parts/main.sh
//go:generate go run -C ../../test/tools/pack . -in fn/bootstrap/node -plain assembled/dnf.sh parts/common.sh parts/packages.sh parts/dnf.sh parts/main.sh
//go:generate go run -C ../../test/tools/pack . -in fn/bootstrap/node -plain assembled/image.sh parts/common.sh parts/image.sh
//go:generate go run -C ../../test/tools/pack . -in fn/bootstrap/node -plain assembled/obey.sh parts/obey.sh

// The node script, for each way that packages come to a server, but for the
// platform's orders and for its end, which obeys one.
//
//go:embed node/assembled
var nodeScripts embed.FS

// NodeScriptPath is where the script lies that obeys the orders: it is one, since
// a script of its own costs more than what it does.
const NodeScriptPath = "/usr/local/sbin/l2cluster-node"

// AuthorizedKeysPath is where keys lie, one a line, that are to log in as root
// beside those that may already; the node script sees to it.
const AuthorizedKeysPath = "/etc/l2cluster/authorized_keys"

// ErrUnsupportedOS says that servers with an operating system cannot become nodes.
var ErrUnsupportedOS = errors.New("unsupported operating system")

// Why an operating system is not supported, and what would be.
const (
	noPackages = "packages can be installed on Ubuntu, Debian, Rocky, Alma and RHEL only; " +
		"use an image that has containerd, kubelet and kubeadm, and set bootstrap.nodePackages: Image in the function's input"
	noCloudInit = "Flatcar is prepared by Ignition and has no Python, and servers here are prepared by cloud-init's commands and a Python program; " +
		"use Ubuntu, Debian, Rocky, Alma or RHEL"
)

// Node is what every server needs before kubeadm: the script that prepares it, and
// obeys the platform's orders too. It leaves no swap, the kernel's modules and
// settings for pods and, unless the image has them, containerd with systemd's
// cgroups and kubelet, kubeadm and kubectl of the Kubernetes version (v1.34.2).
// The os is the beginning of an operating system's name, such as ubuntu_22_04.
// The error is ErrUnsupportedOS for one that does not obey cloud-init, and where
// packages are to be installed on one that we do not know.
func Node(os string, b v1beta1.Bootstrap, kubernetesVersion string, orders ...string) (Bootstrap, error) {
	if strings.HasPrefix(os, "flatcar") {
		return Bootstrap{}, unsupported(os, noCloudInit)
	}
	if b.NodePackages == v1beta1.NodePackagesImage {
		return node("image", "", orders)
	}
	manager, err := packageManager(os)
	if err != nil {
		return Bootstrap{}, err
	}
	return node(manager, fmt.Sprintf(" '%s' '%s'", kubernetesVersion, strings.TrimRight(b.KubernetesRepository, "/")), orders)
}

// node has the script for one way that packages come to a server, and prepares
// the server with arguments.
func node(way, arguments string, orders []string) (Bootstrap, error) {
	script, err := NodeScript(way, orders...)
	if err != nil {
		return Bootstrap{}, err
	}
	return Bootstrap{
		Files: []osnet.File{{
			Path: NodeScriptPath, Permissions: "0755", Content: script, Gzip: stablegzip.Compress([]byte(script)),
		}},
		PreKubeadm: []string{NodeScriptPath + " setup" + arguments + " || exit 1"},
	}, nil
}

// NodeScript is the text of the node script with orders. The way that packages
// come to a server is apt, dnf or image; the error is for another one.
func NodeScript(way string, orders ...string) (string, error) {
	begin, err := nodeScripts.ReadFile("node/assembled/" + way + ".sh")
	if err != nil {
		return "", fmt.Errorf("cannot read the node script: %w", err)
	}
	end, err := nodeScripts.ReadFile("node/assembled/obey.sh")
	if err != nil {
		return "", fmt.Errorf("cannot read the node script: %w", err)
	}
	return string(begin) + strings.Join(orders, "") + string(end), nil
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
	return "", unsupported(os, noPackages)
}

func unsupported(os, why string) error {
	return fmt.Errorf("cannot prepare nodes on %w %q: %s", ErrUnsupportedOS, os, why)
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
