package rollout

import (
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// setLabel names the machine set of a worker's machine:
// https://cluster-api.sigs.k8s.io/reference/api/labels-and-annotations.
const setLabel = "cluster.x-k8s.io/set-name"

// poolsOfSets are the pools by the name of each machine set that has machines.
func poolsOfSets(machines object.Required) map[string]string {
	out := map[string]string{}
	for _, v := range machines.Items {
		out[v.String("metadata", "labels", setLabel)] = v.String("metadata", "labels", keep.PoolLabel)
	}
	return out
}

// outdated are the machines in whose place the claim asks for others, and those of
// which nobody can tell.
func (d decision) outdated() map[string]bool {
	sets := map[string]bool{}
	for _, v := range d.MachineSets.Items {
		name := v.String("metadata", "name")
		sets[name] = d.outdatedSet(d.setPools[name], v)
	}
	out := map[string]bool{}
	for _, v := range d.Machines.Items {
		set := v.String("metadata", "labels", setLabel)
		old, known := sets[set]
		if isControlPlane(v) {
			old, known = d.outdatedControlPlane(v), true
		}
		if old || !known && set != "" {
			out[v.String("metadata", "name")] = true
		}
	}
	return out
}

// outdatedSet compares what a machine set was made for with what the claim asks
// for. A set is never made for anything else, so this is never late.
func (d decision) outdatedSet(pool string, set object.View) bool {
	maker, ok := d.makers[pool]
	return ok && starts(maker, set)
}

// outdatedControlPlane asks the control plane, which says of each machine whether
// it is up to date (the condition UpToDate) and is late with it: until it has
// taken in its own last change, and as long as that one is not applied, every
// machine counts as outdated, and so it does while the control plane is not seen.
func (d decision) outdatedControlPlane(machine object.View) bool {
	p := d.progress[plan.ControlPlanePool]
	switch {
	case !p.exists:
		return true
	case p.starts || !p.settled:
		return true
	case p.upToDate == p.replicas:
		return false
	}
	for _, c := range machine.Views("status", "conditions") {
		if c.String("type") == "UpToDate" {
			return c.String("status") == "False"
		}
	}
	return false
}
