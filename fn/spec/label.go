package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

// Domains of labels. Cluster API puts those of the synced domains on a node
// (https://cluster-api.sigs.k8s.io/reference/api/metadata-propagation); a
// kubelet may give itself those of the kubelet domains and any outside of
// Kubernetes' own, but no other of those
// (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction).
var (
	syncedTable       = []string{"node-restriction.kubernetes.io", "node.cluster.x-k8s.io"}
	kubeletTable      = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}
	ownedTable        = []string{"kubernetes.io", "k8s.io", "cluster.x-k8s.io"}
	kubeletLabelTable = []string{
		"topology.kubernetes.io/region", "topology.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
		"beta.kubernetes.io/instance-type",
	}
)

// Labels of a node's role.
const (
	roleDomain       = "node-role.kubernetes.io"
	controlPlaneRole = roleDomain + "/control-plane"
)

func validateLabels(p pool) field.ErrorList {
	path := p.path.Child("labels")
	errs := rule.AtMostItems(path, len(p.Labels), maxLabels)
	for key, value := range p.Labels {
		if reasons := content.IsLabelKey(key); len(reasons) > 0 {
			errs = append(errs, field.Invalid(path, key, "the key of a label: "+strings.Join(reasons, "; ")))
			continue
		}
		if reasons := content.IsLabelValue(value); len(reasons) > 0 {
			errs = append(errs, field.Invalid(path.Key(key), value, strings.Join(reasons, "; ")))
		}
		if reason := refusedLabel(key, p.worker); reason != "" {
			errs = append(errs, field.Invalid(path, key, reason))
		}
	}
	if registered := RegisteredLabels(p.Labels); len(errs) == 0 && len(registered) > maxRegistered {
		errs = append(errs, field.Invalid(path, registered, fmt.Sprintf(
			"the kubelet's argument for them has %d characters, and Cluster API accepts %d; give the nodes fewer or shorter labels, or put them below %s or %s, whose labels Cluster API sets",
			len(registered), maxRegistered, syncedTable[0], syncedTable[1])))
	}
	return errs
}

// maxRegistered is how many characters the value of a kubelet's argument may have:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/api/bootstrap/kubeadm/v1beta2/kubeadm_types.go.
const maxRegistered = 1024

// SyncedLabel says whether Cluster API itself carries a label from machine to
// node, at any time and without a new machine; the kubelet must not set some of
// them: https://cluster-api.sigs.k8s.io/reference/api/metadata-propagation.
func SyncedLabel(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == roleDomain || inDomain(domain, syncedTable)
}

// RegisteredLabels are those of a node's labels that the kubelet registers, as
// the value of its argument node-labels, sorted. Cluster API carries the others.
func RegisteredLabels(labels map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if !SyncedLabel(key) {
			out = append(out, key+"="+labels[key])
		}
	}
	return strings.Join(out, ",")
}

// refusedLabel says why a node cannot get the label, or nothing.
func refusedLabel(key string, worker bool) string {
	domain, _, prefixed := strings.Cut(key, "/")
	switch {
	case !prefixed:
		return ""
	case key == controlPlaneRole && worker:
		return "marks servers of the control plane; choose another role for workers, for example node-role.kubernetes.io/worker"
	case domain == roleDomain || inDomain(domain, syncedTable) || inDomain(domain, kubeletTable) || slices.Contains(kubeletLabelTable, key):
		return ""
	case inDomain(domain, ownedTable):
		return "neither Cluster API nor the kubelet may set a label of this domain; use one of your own, or node-role.kubernetes.io, node-restriction.kubernetes.io or node.cluster.x-k8s.io"
	default:
		return ""
	}
}

// inDomain says whether a domain is one of the domains or below one.
func inDomain(domain string, domains []string) bool {
	for _, d := range domains {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return true
		}
	}
	return false
}

func validateTaints(p pool) field.ErrorList {
	path := p.path.Child("taints")
	errs := rule.AtMostItems(path, len(p.Taints), maxTaints)
	seen := rule.Seen[string]{}
	for i, t := range p.Taints {
		errs = append(errs, validateTaint(t, path.Index(i))...)
		errs = append(errs, seen.Add(path.Index(i), t.Key+":"+t.Effect)...)
	}
	return errs
}

func validateTaint(t Taint, path *field.Path) field.ErrorList {
	errs := taintKeyPattern.Required(path.Child("key"), t.Key)
	if reasons := content.IsLabelKey(t.Key); len(errs) == 0 && len(reasons) > 0 {
		errs = append(errs, field.Invalid(path.Child("key"), t.Key, strings.Join(reasons, "; ")))
	}
	errs = append(errs, taintValuePattern.Optional(path.Child("value"), t.Value)...)
	return append(errs, rule.OneOf(path.Child("effect"), t.Effect, "NoSchedule", "PreferNoSchedule", "NoExecute")...)
}
