package keep

import "strings"

// Kinds of the objects that make machines.
const (
	kindControlPlane = "KubeadmControlPlane"
	kindDeployment   = "MachineDeployment"
)

// RolledFields are the fields of an object that makes machines by which a
// rollout begins: when one of them changes, every machine is replaced. Everything
// else of it is carried to machines in place or concerns only the next ones. An
// object of another kind has none. For a MachineDeployment see
// MachineTemplateUpToDate in
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/core/reconcilers/machinedeployment/mdutil/util.go,
// for a KubeadmControlPlane UpToDate in
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/controlplane/kubeadm/pkg/filters.go.
func RolledFields(kind string) [][]string {
	switch kind {
	case kindDeployment:
		return paths(
			"spec.template.spec.version", "spec.template.spec.bootstrap",
			"spec.template.spec.infrastructureRef", "spec.template.spec.failureDomain",
		)
	case kindControlPlane:
		return paths("spec.version", "spec.machineTemplate.spec.infrastructureRef", "spec.kubeadmConfigSpec")
	default:
		return nil
	}
}

// TemplateReferences are the fields in which objects that make machines name the
// templates that they read.
func TemplateReferences() [][]string {
	return paths(
		"spec.template.spec.infrastructureRef", "spec.template.spec.bootstrap.configRef",
		"spec.machineTemplate.spec.infrastructureRef",
	)
}

func paths(dotted ...string) [][]string {
	out := make([][]string, 0, len(dotted))
	for _, path := range dotted {
		out = append(out, strings.Split(path, "."))
	}
	return out
}
