package spec

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// Validate a claim that has its defaults against an input that has its own. It
// returns every error at once, sorted by path, each with the value that was
// given and what would be right; and warnings, sorted, about what is allowed
// and has no effect or not the expected one.
//
// It repeats the rules of the schema: a claim that is rendered offline never
// met an API server. Only the rules that compare a claim with its former self
// are left to the API server.
func Validate(s *Spec, in *v1beta1.Input) (field.ErrorList, []string) {
	path := field.NewPath("spec")
	c := newClaim(s, in, path)
	var errs field.ErrorList
	var warnings []string
	for _, check := range []func() (field.ErrorList, []string){
		c.validateCluster,
		c.validateClusterNetwork,
		c.validateVRFs,
		c.validateNetworks,
		c.validateOverlaps,
		c.validatePools,
		c.validateLinks,
	} {
		e, w := check()
		errs = append(errs, e...)
		warnings = append(warnings, w...)
	}
	slices.Sort(warnings)
	return rule.Sort(errs), slices.Compact(warnings)
}

// claim is a claim as validation looks at it: with its addresses parsed and its
// pools in one list.
type claim struct {
	spec     *Spec
	in       *v1beta1.Input
	path     *field.Path
	pods     []block
	services []block
	networks []network
	pools    []pool
}

func newClaim(s *Spec, in *v1beta1.Input, path *field.Path) claim {
	clusterNetwork := path.Child("clusterNetwork")
	return claim{
		spec:     s,
		in:       in,
		path:     path,
		pods:     parseBlocks(clusterNetwork.Child("pods", "cidrBlocks"), s.ClusterNetwork.Pods.CIDRBlocks),
		services: parseBlocks(clusterNetwork.Child("services", "cidrBlocks"), s.ClusterNetwork.Services.CIDRBlocks),
		networks: newNetworks(s.Networks, path.Child("networks")),
		pools:    newPools(s, path),
	}
}

// network of a name; nil when there is none.
func (c claim) network(name string) *network {
	for i := range c.networks {
		if c.networks[i].Name == name {
			return &c.networks[i]
		}
	}
	return nil
}
