package bootstrap

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

//go:generate go run ./internal/pack node-setup.sh

//go:embed node-setup.sh
var nodeSetup string

//go:embed node-setup.sh.gz
var nodeSetupPacked []byte

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
	out := Bootstrap{
		Files: []osnet.File{
			{Path: "/etc/modules-load.d/l2cluster.conf", Permissions: "0644", Content: "overlay\nbr_netfilter\n"},
			{Path: "/etc/sysctl.d/99-l2cluster.conf", Permissions: "0644", Content: "net.ipv4.ip_forward = 1\n" +
				"net.bridge.bridge-nf-call-iptables = 1\n" +
				"net.bridge.bridge-nf-call-ip6tables = 1\n"},
			{Path: NodeSetupPath, Permissions: "0755", Content: nodeSetup, Gzip: nodeSetupPacked},
		},
		PreKubeadm: []string{NodeSetupPath + " image || exit 1"},
	}
	if b.NodePackages == v1beta1.NodePackagesImage {
		return out, nil
	}
	manager, err := packageManager(os)
	if err != nil {
		return Bootstrap{}, err
	}
	out.Files = append(out.Files, osnet.File{Path: "/etc/crictl.yaml", Permissions: "0644",
		Content: "runtime-endpoint: unix:///run/containerd/containerd.sock\n" +
			"image-endpoint: unix:///run/containerd/containerd.sock\n"})
	out.PreKubeadm = []string{fmt.Sprintf("%s %s '%s' '%s' || exit 1", NodeSetupPath, manager, kubernetesVersion,
		strings.TrimRight(b.KubernetesRepository, "/"))}
	return out, nil
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
