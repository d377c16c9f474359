package spec

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

const maxSSHKeys = 32

// validateCluster checks what belongs to the cluster as a whole.
func (c claim) validateCluster() (field.ErrorList, []string) {
	errs := namespacePattern.Optional(c.path.Child("namespace"), c.spec.Namespace)
	errs = append(errs, versionPattern.Required(c.path.Child("kubernetesVersion"), c.spec.KubernetesVersion)...)
	errs = append(errs, uuidPattern.Required(c.path.Child("projectID"), c.spec.ProjectID)...)
	errs = append(errs, c.validateMetro(c.path.Child("metro"))...)
	errs = append(errs, rule.Items(c.path.Child("sshKeys"), c.spec.SSHKeys, maxSSHKeys, sshKeyPattern.Required)...)
	return append(errs, c.validateVIPManager(c.path.Child("vipManager"))...), nil
}

func (c claim) validateMetro(path *field.Path) field.ErrorList {
	if errs := metroPattern.Required(path, c.spec.Metro); len(errs) > 0 {
		return errs
	}
	return allowed(path, c.spec.Metro, c.in.Allowed.Metros)
}

// allowed checks a value against what the platform team allows; an empty list
// allows everything.
func allowed(path *field.Path, value string, list []string) field.ErrorList {
	if len(list) == 0 {
		return nil
	}
	return rule.OneOf(path, value, list...)
}

// validateVIPManager checks who moves the control plane's address. The
// controllers behind CPEM and EMLB are parts of the cloud controller.
func (c claim) validateVIPManager(path *field.Path) field.ErrorList {
	if errs := rule.OneOf(path, c.spec.VIPManager, CPEM, KubeVIP, EMLB); len(errs) > 0 {
		return errs
	}
	if c.spec.VIPManager != KubeVIP && c.in.Equinix.CloudController.Kind == v1beta1.CloudControllerNone {
		return field.ErrorList{field.Invalid(path, string(c.spec.VIPManager),
			"needs the cloud controller, which the platform team has turned off (cloudController.kind: None); use KUBE_VIP")}
	}
	return nil
}
