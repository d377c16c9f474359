// Package bootstrap is what a server does between its first boot and its being
// a node: the files it gets, the commands it runs around kubeadm, and the
// arguments of its kubelet.
package bootstrap

import "github.com/l2cluster/function-l2cluster/fn/osnet"

// Bootstrap of one pool's machines, or a part of it.
type Bootstrap struct {
	// Files that cloud-init writes before any command runs.
	Files []osnet.File
	// Orders are what the node script obeys beside its own orders: shell
	// functions order_NAME and what they call, without comments. They may call
	// the functions that the script has in every way, and each other.
	Orders []string
	// PreKubeadm are commands before kubeadm, in order. Each is run by a shell
	// that goes on after a command that fails, unless it exits.
	PreKubeadm []string
	// PostKubeadm are commands after kubeadm, in order.
	PostKubeadm []string
	// KubeletArgs are arguments of the kubelet, without dashes.
	KubeletArgs []Arg
	// ControllerManagerArgs are arguments of the controller manager, without
	// dashes.
	ControllerManagerArgs []Arg
	// IgnorePreflight are checks of kubeadm join that the machine's own
	// preparation makes fail on purpose.
	IgnorePreflight []string
}

// Arg is an argument of a component.
type Arg struct {
	// Name without dashes.
	Name string
	// Value of the argument.
	Value string
}

// Join puts parts together, in order.
func Join(parts ...Bootstrap) Bootstrap {
	out := Bootstrap{}
	for _, p := range parts {
		out.Files = append(out.Files, p.Files...)
		out.Orders = append(out.Orders, p.Orders...)
		out.PreKubeadm = append(out.PreKubeadm, p.PreKubeadm...)
		out.PostKubeadm = append(out.PostKubeadm, p.PostKubeadm...)
		out.KubeletArgs = append(out.KubeletArgs, p.KubeletArgs...)
		out.ControllerManagerArgs = append(out.ControllerManagerArgs, p.ControllerManagerArgs...)
		out.IgnorePreflight = append(out.IgnorePreflight, p.IgnorePreflight...)
	}
	return out
}
