package capi

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// Limits of Cluster API, in characters:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/api/bootstrap/kubeadm/v1beta2/kubeadmconfig_types.go.
const (
	// contentLimit is that of a file's content as it travels, and of a command.
	contentLimit = 10240
	// argumentLimit is that of an argument's value.
	argumentLimit = 1024
)

// apiServerPort is where every API server of ours listens.
const apiServerPort = 6443

// certificatesDir is kubeadm's own default. It is stated because Cluster API
// refuses an update in which the cluster configuration, left without any field,
// disappears: for instance when its only argument is no longer needed.
const certificatesDir = "/etc/kubernetes/pki"

// controlPlaneConfig is what the first control plane machine and those that join
// it need.
func controlPlaneConfig(p plan.Pool, m spec.Machines, b bootstrap.Bootstrap) (bootstrapv1.KubeadmConfigSpec, error) {
	out, err := workerConfig(p, m, b)
	if err != nil {
		return out, err
	}
	controllerManager, err := arguments(b.ControllerManagerArgs)
	if err != nil {
		return out, fmt.Errorf("cannot configure the controller manager: %w", err)
	}
	node := out.JoinConfiguration.NodeRegistration
	node.Taints = controlPlaneTaints(m.Taints)
	first := node
	first.IgnorePreflightErrors = nil
	out.ClusterConfiguration = bootstrapv1.ClusterConfiguration{
		CertificatesDir:   certificatesDir,
		ControllerManager: bootstrapv1.ControllerManager{ExtraArgs: controllerManager},
	}
	out.InitConfiguration = bootstrapv1.InitConfiguration{NodeRegistration: first}
	out.JoinConfiguration = bootstrapv1.JoinConfiguration{NodeRegistration: node}
	if hasNodeIP(p) {
		endpoint := bootstrapv1.APIEndpoint{AdvertiseAddress: osnet.NodeIPPlaceholder, BindPort: apiServerPort}
		out.InitConfiguration.LocalAPIEndpoint = endpoint
		out.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{LocalAPIEndpoint: endpoint}
	}
	return out, nil
}

// workerConfig is what a machine that joins a cluster needs.
func workerConfig(p plan.Pool, m spec.Machines, b bootstrap.Bootstrap) (bootstrapv1.KubeadmConfigSpec, error) {
	out := bootstrapv1.KubeadmConfigSpec{Format: bootstrapv1.CloudConfig}
	args := slices.Clone(b.KubeletArgs)
	if labels := spec.RegisteredLabels(m.Labels); labels != "" {
		args = append(args, bootstrap.Arg{Name: "node-labels", Value: labels})
	}
	if hasNodeIP(p) {
		args = append(args, bootstrap.Arg{Name: "node-ip", Value: osnet.NodeIPsPlaceholder})
	}
	kubelet, err := arguments(args)
	if err != nil {
		return out, fmt.Errorf("cannot configure the kubelet: %w", err)
	}
	out.JoinConfiguration.NodeRegistration = bootstrapv1.NodeRegistrationOptions{
		KubeletExtraArgs: kubelet, IgnorePreflightErrors: b.IgnorePreflight,
	}
	if len(m.Taints) > 0 {
		list := taints(m.Taints)
		out.JoinConfiguration.NodeRegistration.Taints = &list
	}
	if out.Files, err = files(b.Files); err != nil {
		return out, err
	}
	if out.PreKubeadmCommands, err = commands(b.PreKubeadm); err != nil {
		return out, err
	}
	out.PostKubeadmCommands, err = commands(b.PostKubeadm)
	return out, err
}

func hasNodeIP(p plan.Pool) bool {
	return slices.ContainsFunc(p.Links, func(l plan.Link) bool { return l.NodeIP })
}

// arguments as Cluster API takes them, sorted by name.
func arguments(args []bootstrap.Arg) ([]bootstrapv1.Arg, error) {
	args = slices.Clone(args)
	slices.SortStableFunc(args, func(a, b bootstrap.Arg) int { return cmp.Compare(a.Name, b.Name) })
	var out []bootstrapv1.Arg
	for i, a := range args {
		if i > 0 && args[i-1].Name == a.Name {
			return nil, fmt.Errorf("argument %q is given twice: %q and %q", a.Name, args[i-1].Value, a.Value)
		}
		if len(a.Value) > argumentLimit {
			return nil, fmt.Errorf("argument %q has %d characters, and Cluster API accepts %d: give the nodes fewer or shorter labels",
				a.Name, len(a.Value), argumentLimit)
		}
		out = append(out, bootstrapv1.Arg{Name: a.Name, Value: &a.Value})
	}
	return out, nil
}

// addSynced adds the node labels that machines carry.
func addSynced(machine, node map[string]string) {
	for name, value := range node {
		if spec.SyncedLabel(name) {
			machine[name] = value
		}
	}
}

func taints(list []spec.Taint) []corev1.Taint {
	out := make([]corev1.Taint, 0, len(list))
	for _, t := range list {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	slices.SortFunc(out, func(a, b corev1.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Value, b.Value))
	})
	return slices.CompactFunc(out, func(a, b corev1.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect })
}

// controlPlaneTaints adds the taint that keeps workloads off control plane nodes.
// kubeadm sets it by itself when no taints are given at all.
func controlPlaneTaints(list []spec.Taint) *[]corev1.Taint {
	if len(list) == 0 {
		return nil
	}
	own := spec.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: string(corev1.TaintEffectNoSchedule)}
	out := taints(append([]spec.Taint{own}, list...))
	return &out
}

// files as Cluster API takes them. Encoded content passes every template engine
// on the way to the machine as it is.
func files(list []osnet.File) ([]bootstrapv1.File, error) {
	var out []bootstrapv1.File
	paths := make(map[string]bool, len(list))
	for _, f := range list {
		if paths[f.Path] {
			return nil, fmt.Errorf("two files have the path %q", f.Path)
		}
		paths[f.Path] = true
		if err := survives(f.Content); f.Live && err != nil {
			return nil, fmt.Errorf("file %q cannot travel unencoded: %w", f.Path, err)
		}
		e := bootstrap.Encode(f)
		file := bootstrapv1.File{Path: e.Path, Permissions: e.Permissions, Encoding: bootstrapv1.Encoding(e.Encoding), Content: e.Content}
		if len(file.Content) > contentLimit {
			return nil, fmt.Errorf("file %q has %d characters as it travels, and Cluster API accepts %d, which is %d bytes of content",
				f.Path, len(file.Content), contentLimit, base64.StdEncoding.DecodedLen(contentLimit))
		}
		out = append(out, file)
	}
	return out, nil
}

// survives says whether text comes out of a YAML block as it went in: Cluster
// API's bootstrap provider indents it and does nothing else.
func survives(text string) error {
	switch {
	case strings.TrimLeft(text, " \t\n") != text:
		return fmt.Errorf("it begins with white space: %q", text[:1])
	case !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n"):
		return errors.New("it does not end in exactly one newline")
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (r == utf8.RuneError || !unicode.IsPrint(r)) {
			return fmt.Errorf("it holds the character %q", r)
		}
	}
	return nil
}

func commands(list []string) ([]string, error) {
	for _, c := range list {
		if c == "" || len(c) > contentLimit {
			return nil, fmt.Errorf("command %.40q has %d characters as it travels, and Cluster API accepts 1 to %d; put it into a file", c, len(c), contentLimit)
		}
	}
	return list, nil
}
