package diff

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/l2cluster/function-l2cluster/fn/change"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// Effect of an edit on the machines of a pool.
type Effect string

// The effects.
const (
	// Rolls replaces every server of the pool.
	Rolls Effect = "rolls"
	// Removed deletes every server of the pool.
	Removed Effect = "removed"
	// Scaled makes servers, or deletes some, and leaves the others alone.
	Scaled Effect = "scaled"
	// Reconfigured changes ports, VLANs or addresses of servers that go on
	// running.
	Reconfigured Effect = "reconfigured"
)

// Pool whose machines are affected.
type Pool struct {
	// Name of the pool.
	Name string `json:"name"`
	// ControlPlane says that it is the control plane.
	ControlPlane bool `json:"controlPlane"`
	// Effect on the pool's servers, and when it begins.
	Effect Effect `json:"effect"`
	When   When   `json:"when"`
	// Servers that the pool has.
	Servers int64 `json:"servers"`
	// Asked is how many servers the claim asked for before the edit, and Wanted
	// how many it asks for after it. Of a pool that is scaled automatically it is
	// as many as there are, within the limits.
	Asked  int64 `json:"asked"`
	Wanted int64 `json:"wanted"`
	// Why in words.
	Why string `json:"why,omitempty"`
}

// removes says that servers are deleted and none take their place.
func (p Pool) removes() bool { return p.gone() > 0 }

// gone is how many servers are deleted that none take the place of.
func (p Pool) gone() int64 {
	if p.Asked <= p.Wanted {
		return 0
	}
	return max(0, p.Servers-p.Wanted)
}

// replaces says that servers are deleted and others take their place.
func (p Pool) replaces() bool { return p.Effect == Rolls && p.Servers > 0 }

// effectOf a change on the machines of its pool; "" when it leaves them alone.
func effectOf(e change.Effect) Effect {
	switch e {
	case change.Rolls:
		return Rolls
	case change.Removes:
		return Removed
	case change.Scales:
		return Scaled
	case change.Reconfigures:
		return Reconfigured
	default:
		return ""
	}
}

// pools that the edit affects now, and those that it affects only when
// something else is done; the control plane first.
func pools(in Input) []Pool {
	worst := map[string]Pool{}
	machines := poolsOfMachines(in.Now.Before.Status)
	rolling := rollingNow(in)
	for _, step := range []struct {
		edit Edit
		when When
	}{{in.Now, Now}, {in.Goal, Later}} {
		for _, c := range change.Between(step.edit.Before.Objects, step.edit.After.Objects) {
			name := cmp.Or(c.Pool, machines[c.Machine])
			p := Pool{Name: name, ControlPlane: name == plan.ControlPlanePool, Effect: effectOf(c.Effect), When: step.when, Why: because(c)}
			if p.Effect == Rolls && emptied(in, name) {
				p.Effect, p.Why = Scaled, "no machine is asked for any more"
			}
			if p.Effect == Rolls && p.When == Now && !rolling(name) {
				continue
			}
			if name != "" && severity(p.Effect) > severity(worst[name].Effect) {
				worst[name] = p
			}
		}
	}
	out := []Pool{}
	for _, p := range worst {
		if p = count(p, in); p.Effect != Scaled || p.Asked != p.Wanted {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Pool) int {
		if a.ControlPlane != b.ControlPlane {
			return map[bool]int{true: -1, false: 1}[a.ControlPlane]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return out
}

// emptied says whether a pool is asked to have no server: then none comes in the
// place of those that it has, whatever they would be made from.
func emptied(in Input, pool string) bool {
	n, ok := number(owner(in.Goal.After.Objects, pool), "spec", "replicas")
	return ok && n == 0
}

// rollingNow says whether a pool rolls when the edit is applied to what was
// observed: an edit that only holds back what the claim before it was about to
// roll out replaces nothing.
func rollingNow(in Input) func(pool string) bool {
	replaced := change.Replaced(change.Onto(in.Observed, in.Now.After.Objects))
	return func(pool string) bool { return in.Assumed || slices.Contains(replaced, pool) }
}

// because is why a change has its effect. How many bytes a long value has tells
// nobody anything; what differs in it stands with the object.
func because(c change.Change) string {
	return lengthPattern.ReplaceAllString(c.Why, "")
}

var lengthPattern = regexp.MustCompile(` from \d+ bytes to \d+ bytes| \(\d+ bytes\)`)

// due are the pools that roll or go without the edit as well: whose machines were
// made by another release of the function, or from another claim.
func due(in Input) []string {
	if in.Assumed {
		return []string{}
	}
	return append([]string{}, change.Replaced(change.Onto(in.Observed, in.Now.Before.Objects))...)
}

// severity of an effect on a pool's machines: a harder one counts more.
func severity(e Effect) int {
	return slices.Index([]Effect{"", Reconfigured, Scaled, Rolls, Removed}, e)
}

// poolsOfMachines are the pools by machine, from the composite's status.
func poolsOfMachines(status map[string]any) map[string]string {
	out := map[string]string{}
	machines, _ := status["machines"].([]any)
	for _, m := range machines {
		machine, _ := m.(map[string]any)
		out[text(machine, "name")] = text(machine, "pool")
	}
	return out
}

// count a pool's servers.
func count(p Pool, in Input) Pool {
	var has int64
	for _, pool := range poolsOfMachines(in.Now.Before.Status) {
		if pool == p.Name {
			has++
		}
	}
	// Without a list of machines, what Cluster API counted has to do.
	reported, _ := number(owner(in.Observed, p.Name), "status", "replicas")
	p.Servers = max(has, reported)
	p.Asked = asked(owner(in.Goal.Before.Objects, p.Name), p.Servers)
	if in.Assumed {
		p.Servers = p.Asked
	}
	p.Wanted = asked(owner(in.Goal.After.Objects, p.Name), p.Servers)
	return p
}

// owner of a pool's machines.
func owner(objects change.Objects, pool string) map[string]any {
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		o := objects[key]
		kind := text(o, "kind")
		if text(o, "metadata", "labels", keep.PoolLabel) == pool && (kind == "MachineDeployment" || kind == "KubeadmControlPlane") {
			return o
		}
	}
	return nil
}

// asked is how many servers an owner asks for: its number of replicas, or, when
// that is the autoscaler's, as many as there are within the limits.
func asked(owner map[string]any, servers int64) int64 {
	if n, ok := number(owner, "spec", "replicas"); ok {
		return n
	}
	limit := func(annotation string) int64 {
		n, err := strconv.ParseInt(text(owner, "metadata", "annotations", annotation), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return min(max(servers, limit(minSize)), limit(maxSize))
}

// Annotations of the cluster autoscaler's limits:
// https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/autoscaling.
const (
	minSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	maxSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// Network whose addresses the edit makes more or fewer, or needs more or fewer
// of.
type Network struct {
	// Name of the network.
	Name string `json:"name"`
	// Before and After the edit; nil where the network is not in the claim, or
	// has no addresses of ours.
	Before *Capacity `json:"before,omitempty"`
	After  *Capacity `json:"after,omitempty"`
}

// Capacity of a network in addresses.
type Capacity struct {
	// Total that machines may have.
	Total int64 `json:"total"`
	// Needed by all machines at once, with those of a rollout.
	Needed int64 `json:"needed"`
}

// short says that there are not enough addresses.
func (c *Capacity) short() bool { return c != nil && c.Needed > c.Total }

func networks(e Edit) []Network {
	before, after := capacities(e.Before.Status), capacities(e.After.Status)
	names := maps.Clone(before)
	maps.Copy(names, after)
	out := []Network{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if n := (Network{Name: name, Before: before[name], After: after[name]}); !reflect.DeepEqual(n.Before, n.After) {
			out = append(out, n)
		}
	}
	return out
}

func capacities(status map[string]any) map[string]*Capacity {
	out := map[string]*Capacity{}
	list, _ := status["networks"].([]any)
	for _, n := range list {
		network, _ := n.(map[string]any)
		total, ok := number(network, "capacity", "total")
		if !ok {
			continue
		}
		needed, _ := number(network, "capacity", "needed")
		out[text(network, "name")] = &Capacity{Total: total, Needed: needed}
	}
	return out
}
