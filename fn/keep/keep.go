// Package keep says which observed objects must stay although the claim no
// longer asks for them. Crossplane deletes what a response leaves out before it
// applies what is new, so a template that a rollout still reads has to stay in
// the response until nothing can need it.
package keep

import (
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/object"
)

// PoolLabel names the pool of a template, of the object that rolls it out, and
// of the machines made from it.
const PoolLabel = "l2cluster.io/pool"

// Templates are the keys of observed machine and bootstrap templates that are
// not desired any more and that something may still read, sorted.
//
// A machine set reads its templates whenever it makes a machine, also one that
// is scaled up again when a rollout is taken back; a control plane and a
// deployment read theirs until what they rolled out is complete:
// https://cluster-api.sigs.k8s.io/tasks/upgrading-clusters. As long as the
// machine sets were not fetched, every template stays.
func Templates(desired []object.Object, observed map[string]object.View, machineSets object.Required) []string {
	wanted := make(map[string]bool, len(desired))
	for _, o := range desired {
		wanted[o.Key] = true
	}
	used := usage(observed, machineSets)
	var out []string
	for key, v := range observed {
		if wanted[key] || !strings.HasSuffix(v.String("kind"), "Template") {
			continue
		}
		if !machineSets.Fetched || used.by(v) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// uses are the templates that something may read.
type uses struct {
	names   map[string]bool // kind/name
	rolling map[string]bool // pools whose rollout is not complete
}

func (u uses) by(template object.View) bool {
	if u.names[template.String("kind")+"/"+template.String("metadata", "name")] {
		return true
	}
	pool := template.String("metadata", "labels", PoolLabel)
	return u.rolling[pool] || pool == "" && len(u.rolling) > 0
}

func usage(observed map[string]object.View, machineSets object.Required) uses {
	u := uses{names: map[string]bool{}, rolling: map[string]bool{}}
	for _, v := range observed {
		switch v.String("kind") {
		case "MachineDeployment":
			u.add(v, "spec", "template", "spec")
			u.rollout(v)
		case "KubeadmControlPlane":
			u.add(v, "spec", "machineTemplate", "spec")
			u.rollout(v)
		}
	}
	for _, v := range machineSets.Items {
		if v.Int("spec", "replicas") > 0 || v.Int("status", "replicas") > 0 {
			u.add(v, "spec", "template", "spec")
		}
	}
	return u
}

// add the templates that a machine template names.
func (u uses) add(v object.View, path ...string) {
	for _, ref := range [][]string{{"infrastructureRef"}, {"bootstrap", "configRef"}} {
		at := v.At(append(slices.Clone(path), ref...)...)
		u.names[at.String("kind")+"/"+at.String("name")] = true
	}
}

func (u uses) rollout(v object.View) {
	wanted := v.Int("spec", "replicas")
	settled := v.Int("status", "observedGeneration") == v.Int("metadata", "generation") &&
		v.Int("status", "replicas") == wanted &&
		v.Int("status", "upToDateReplicas") == wanted &&
		v.Int("status", "readyReplicas") == wanted
	if !settled {
		u.rolling[v.String("metadata", "labels", PoolLabel)] = true
	}
}
