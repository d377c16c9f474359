// Package rollout decides which pools may begin to replace their machines now,
// and holds the others back as they are: before anything is changed, not when
// the first new machine waits for what it cannot get.
package rollout

import (
	"maps"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/change"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// Input is what is decided from.
type Input struct {
	// Cluster with its plan and what was observed of it.
	Cluster infra.Cluster
	// Facts about its machines.
	Facts infra.Facts
	// Machines and MachineSets of Cluster API, as they were fetched.
	Machines, MachineSets object.Required
	// Rooms of the assignment ranges.
	Rooms []assign.Room
	// Desired objects that make machines, as the claim asks for them; others
	// among them count for nothing.
	Desired []object.Object
}

// Decision on the rollouts of one cluster.
type Decision struct {
	// Holds are the pools that must not begin to roll now, in the plan's order.
	// Those that have begun go on.
	Holds []Hold
	// Outdated are the machines in whose place the claim asks for others, by
	// name, and those of which that cannot be told.
	Outdated map[string]bool
	// Unsure says that nobody can tell which machines are outdated, so all of them
	// may be.
	Unsure bool

	observed map[string]object.View
}

// Hold keeps the machines of a pool as they are.
type Hold struct {
	// Pool that is held back.
	Pool string
	// Reason that it is.
	Reason Reason
	// Why in words, a clause that follows the name of the pool.
	Why string
}

// brief is why a pool is held where the whole story is told elsewhere.
func (h Hold) brief() string {
	if h.Reason == NoRoom {
		return "keeps its machines as they are: there is no room to replace them"
	}
	return h.Why
}

// Reason of a hold.
type Reason int

// The reasons.
const (
	// NoRoom says that a network has no address for a machine more.
	NoRoom Reason = iota
	// ControlPlaneFirst says that the control plane does not run the version yet.
	ControlPlaneFirst
)

// decision on the pools of one cluster.
type decision struct {
	Input

	// makers are the desired objects that make the machines of each pool.
	makers map[string]object.Object
	// progress of what was observed of them, by pool.
	progress map[string]progress
	// setPools are the pools of machine sets with machines, by name.
	setPools map[string]string
}

// progress of a pool's machines.
type progress struct {
	// exists says that the object that makes them was observed.
	exists bool
	// settled says that its status speaks of its spec.
	settled bool
	// replicas exist, of which upToDate are made from the spec as it is, and
	// ready are at work.
	replicas, upToDate, ready int64
	// starts says that applying what is desired begins a rollout.
	starts bool
}

// begun says whether a rollout has begun, certainly, and is not over.
func (p progress) begun() bool { return p.exists && p.settled && p.upToDate < p.replicas }

func decide(in Input) decision {
	d := decision{Input: in, makers: map[string]object.Object{}, progress: map[string]progress{}}
	for _, o := range in.Desired {
		if pool, ok := makes(o); ok {
			d.makers[pool] = o
			d.progress[pool] = progressOf(o, in.Cluster.Observed[o.Key])
		}
	}
	return d
}

// makes says whose machines an object makes.
func makes(o object.Object) (pool string, ok bool) {
	kind, _ := o.Body["kind"].(string)
	return poolOf(o.Body), len(keep.RolledFields(kind)) > 0
}

func poolOf(body map[string]any) string {
	metadata, _ := body["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	pool, _ := labels[keep.PoolLabel].(string)
	return pool
}

func progressOf(o object.Object, seen object.View) progress {
	if seen == nil {
		return progress{}
	}
	return progress{
		exists:   true,
		settled:  seen.Int("status", "observedGeneration") == seen.Int("metadata", "generation"),
		replicas: seen.Int("status", "replicas"),
		upToDate: seen.Int("status", "upToDateReplicas"),
		ready:    seen.Int("status", "readyReplicas"),
		starts:   starts(o, seen),
	}
}

// starts says whether applying an object onto what was observed of it begins a
// rollout.
func starts(o object.Object, seen object.View) bool {
	kind, _ := o.Body["kind"].(string)
	changes := change.Onto(change.Objects{"": rolled(kind, seen)}, change.Objects{"": o.Body})
	return slices.ContainsFunc(changes, func(c change.Change) bool { return c.Effect == change.Rolls })
}

// rolled is an object of a kind with no more than what a rollout compares.
func rolled(kind string, seen object.View) map[string]any {
	out := map[string]any{"kind": kind}
	for _, path := range keep.RolledFields(kind) {
		if v := seen.Any(path...); v != nil {
			put(out, v, path...)
		}
	}
	return out
}

// Decide on the rollouts of a cluster.
func Decide(in Input) Decision {
	d := decide(in)
	d.setPools = poolsOfSets(in.Machines)
	return Decision{
		Holds: d.holds(), Outdated: d.outdated(), Unsure: !in.Machines.Fetched || !in.MachineSets.Fetched,
		observed: in.Cluster.Observed,
	}
}

func (d decision) holds() []Hold {
	var out []Hold
	rolls := d.rolls()
	for _, pool := range d.Cluster.Plan.Pools {
		if why := d.beforeControlPlane(pool); why != "" {
			out = append(out, Hold{pool.Name, ControlPlaneFirst, why})
			continue
		}
		if p := d.progress[pool.Name]; !p.starts || p.begun() || p.replicas == 0 {
			continue
		}
		if why := d.withoutRoom(pool, rolls); why != "" {
			out = append(out, Hold{pool.Name, NoRoom, why})
			continue
		}
		rolls[pool.Name] = true
	}
	return out
}

// rolls are the pools that may roll already, which matters only to a pool that
// would begin.
func (d decision) rolls() map[string]bool {
	out := map[string]bool{}
	for _, p := range d.progress {
		if p.starts {
			for pool := range d.progress {
				out[pool] = d.mayRoll(pool)
			}
			return out
		}
	}
	return out
}

// Mark the machines that are outdated, and those of pools that are held, in a copy
// of the facts.
func (d Decision) Mark(f infra.Facts) infra.Facts {
	held := map[string]bool{}
	for _, h := range d.Holds {
		held[h.Pool] = true
	}
	f.Machines = slices.Clone(f.Machines)
	for i, m := range f.Machines {
		f.Machines[i].Outdated, f.Machines[i].Held = d.Unsure || d.Outdated[m.Name], held[m.Pool]
	}
	return f
}

// Apply the holds to the desired objects: what makes the machines of a held pool
// keeps what a rollout compares as it was observed, and is not made at all where
// it does not exist; templates that nothing will name are left out. The objects
// that were given are not changed.
func (d Decision) Apply(desired []object.Object) []object.Object {
	if len(d.Holds) == 0 {
		return desired
	}
	held := make(map[string]Hold, len(d.Holds))
	for _, h := range d.Holds {
		held[h.Pool] = h
	}
	out := make([]object.Object, 0, len(desired))
	for _, o := range desired {
		h, isHeld := held[poolOf(o.Body)]
		seen, exists := d.observed[o.Key]
		kind, _ := o.Body["kind"].(string)
		rolled := keep.RolledFields(kind)
		switch {
		case !isHeld || len(rolled) == 0 && !strings.HasSuffix(kind, "Template"):
			out = append(out, o)
		case !exists:
		case len(rolled) == 0:
			out = append(out, o)
		default:
			o.Body = asObserved(o.Body, seen, rolled)
			o.Ready, o.Why = object.NotReady, "pool "+h.Pool+" "+h.brief()
			out = append(out, o)
		}
	}
	return out
}

// asObserved is a body with some fields as they were observed.
func asObserved(body map[string]any, seen object.View, paths [][]string) map[string]any {
	for _, path := range paths {
		body = with(body, seen.Any(path...), path...)
	}
	return body
}

// with is an object with another value at a path, or without one for nil. What
// is not on the path is shared with the object that was given.
func with(o map[string]any, v any, path ...string) map[string]any {
	out := maps.Clone(o)
	if out == nil {
		out = map[string]any{}
	}
	switch {
	case len(path) > 1:
		next, _ := out[path[0]].(map[string]any)
		out[path[0]] = with(next, v, path[1:]...)
	case v == nil:
		delete(out, path[0])
	default:
		out[path[0]] = v
	}
	return out
}

// put a value at a path of an object.
func put(o map[string]any, v any, path ...string) {
	for _, name := range path[:len(path)-1] {
		next, _ := o[name].(map[string]any)
		if next == nil {
			next = map[string]any{}
			o[name] = next
		}
		o = next
	}
	o[path[len(path)-1]] = v
}

// Wanted is how many machines a pool shall have now: an autoscaled one what its
// autoscaler says.
func Wanted(c infra.Cluster, p plan.Pool) int {
	for _, w := range c.Spec.Workers {
		if w.Name != p.Name || w.Autoscaling == nil {
			continue
		}
		if v, ok := c.Observed[object.DeploymentKey(p.Name)]; ok {
			return int(v.Int("spec", "replicas"))
		}
		return int(w.Autoscaling.Min)
	}
	return p.Replicas
}
