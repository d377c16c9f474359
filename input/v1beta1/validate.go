package v1beta1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

// Sizes of lists.
const (
	maxAllowed   = 256
	maxBlocks    = 256
	maxBackends  = 32
	maxAddOns    = 32
	maxResources = 32
)

// Bounds of times. Crossplane gives all functions of a reconcile two minutes
// together; a server that waits for its network for half an hour has no network.
const (
	minTimeout        = time.Millisecond
	maxTotalTimeout   = time.Minute
	minNetworkTimeout = time.Minute
	maxNetworkTimeout = 30 * time.Minute
	maxCoolDown       = 7 * 24 * time.Hour
)

// Validate an input that has its defaults. It returns every error at once,
// sorted by path below input, each with the value that was given and what would
// be right. It repeats the rules of the schema: Crossplane hands an input to the
// function as it was written.
func Validate(in *Input) field.ErrorList {
	path := field.NewPath("input")
	errs := rule.OneOf(path.Child("platform"), in.Platform, PlatformEquinix)
	errs = append(errs, labelPattern.Optional(path.Child("namespace"), in.Namespace)...)
	errs = append(errs, validateAllowed(in.Allowed, path.Child("allowed"))...)
	errs = append(errs, validateEquinix(in.Equinix, path.Child("equinix"))...)
	errs = append(errs, validateBootstrap(in.Bootstrap, path.Child("bootstrap"))...)
	errs = append(errs, validateNetwork(in.Network, path.Child("network"))...)
	errs = append(errs, validateAddOns(in.AddOns, path.Child("addOns"))...)
	return rule.Sort(errs)
}

func validateAllowed(a Allowed, path *field.Path) field.ErrorList {
	errs := rule.Set(path.Child("metros"), a.Metros, maxAllowed, metroPattern.Required)
	errs = append(errs, rule.Set(path.Child("machineTypes"), a.MachineTypes, maxAllowed, slugPattern.Required)...)
	return append(errs, rule.Set(path.Child("operatingSystems"), a.OperatingSystems, maxAllowed, slugPattern.Required)...)
}

func validateNetwork(n Network, path *field.Path) field.ErrorList {
	backends := path.Child("backends")
	errs := rule.AtMostItems(backends, len(n.Backends), maxBackends)
	seen := rule.Seen[string]{}
	for i, b := range n.Backends {
		errs = append(errs, osPrefixPattern.Required(backends.Index(i).Child("osPrefix"), b.OSPrefix)...)
		errs = append(errs, seen.Add(backends.Index(i).Child("osPrefix"), b.OSPrefix)...)
		errs = append(errs, rule.OneOf(backends.Index(i).Child("name"), b.Name, "ifupdown", "netplan", "networkd", "networkmanager")...)
	}
	errs = append(errs, validateDuration(path.Child("timeout"), n.Timeout, minNetworkTimeout, maxNetworkTimeout)...)
	return append(errs, validateDuration(path.Child("coolDown"), n.CoolDown, 0, maxCoolDown)...)
}

// validateDuration checks a time against its bounds, both included.
func validateDuration(path *field.Path, d *metav1.Duration, low, high time.Duration) field.ErrorList {
	if d == nil {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must be between %s and %s", low, high))}
	}
	if d.Duration < low || d.Duration > high {
		return field.ErrorList{field.Invalid(path, d.Duration.String(), fmt.Sprintf("must be between %s and %s", low, high))}
	}
	return nil
}

func validateAddOns(addOns []AddOn, path *field.Path) field.ErrorList {
	errs := rule.AtMostItems(path, len(addOns), maxAddOns)
	names := rule.Seen[string]{}
	for i, a := range addOns {
		p := path.Index(i)
		errs = append(errs, addOnPattern.Required(p.Child("name"), a.Name)...)
		errs = append(errs, names.Add(p.Child("name"), a.Name)...)
		errs = append(errs, rule.OneOf(p.Child("strategy"), a.Strategy, StrategyApplyOnce, StrategyReconcile)...)
		errs = append(errs, validateResources(a.Resources, p.Child("resources"))...)
	}
	return errs
}

func validateResources(resources []AddOnResource, path *field.Path) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(path, "an add-on needs at least one ConfigMap or Secret with its manifests")}
	}
	errs := rule.AtMostItems(path, len(resources), maxResources)
	seen := rule.Seen[AddOnResource]{}
	for i, r := range resources {
		errs = append(errs, rule.OneOf(path.Index(i).Child("kind"), r.Kind, "ConfigMap", "Secret")...)
		errs = append(errs, objectNamePattern.Required(path.Index(i).Child("name"), r.Name)...)
		errs = append(errs, seen.Add(path.Index(i), r)...)
	}
	return errs
}
