package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// withoutRoom says what is missing for a rollout of a pool beside those that
// roll already, or "". A pool that may make no machine more than it has needs
// nothing more: its user has said so.
func (d decision) withoutRoom(pool plan.Pool, rolls map[string]bool) string {
	if pool.Surge == 0 {
		return ""
	}
	var missing []string
	for _, room := range d.Rooms {
		if !slices.Contains(room.Pools, pool.Name) {
			continue
		}
		where := fmt.Sprintf("network %s (VLAN %d, %s)", room.Network, room.VLAN, room.Subnet)
		if !room.Known {
			missing = append(missing, where+": nobody can tell how many addresses are free, since not everything that decides on it could be read")
			continue
		}
		machines, surge := d.need(room, pool.Name, rolls)
		if need := machines + surge; need > room.Total {
			missing = append(missing, fmt.Sprintf("%s: needs %d addresses (%d machines and a surge of %d), has %d",
				where, need, machines, surge, room.Total))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "keeps its machines as they are, since there is no room to replace them: " +
		strings.Join(missing, "; ") + "; " + remedy(pool)
}

// withoutSurge is how many control plane machines a rollout needs that takes one
// away first: etcd would lose its majority.
const withoutSurge = 3

func remedy(pool plan.Pool) string {
	if pool.Role == plan.ControlPlane && pool.Replicas < withoutSurge {
		return "extend the assignment range"
	}
	return "extend the assignment range, or set rollout.maxSurge: 0"
}

// mayRoll says whether a pool may make machines beside those that it has, without
// anything being applied: its room is not free. It counts from the moment in which
// a new spec is applied, and what the controller says is late: until it has taken
// the spec in, its figures are those of the old one, and a deployment's are later
// still, since they come from its machine sets, each in its own time.
func (d decision) mayRoll(pool string) bool {
	p := d.progress[pool]
	switch {
	case !p.exists || p.replicas == 0:
		return false
	case p.begun():
		return true
	}
	if old, known := d.oldSets(pool); known {
		return old
	}
	return !p.settled
}

// oldSets says whether a pool has machines of a machine set that was made for
// something else than its deployment asks for as it was observed. That is known
// when the sets of all its machines are.
func (d decision) oldSets(pool string) (old, known bool) {
	maker := d.makers[pool]
	kind, _ := maker.Body["kind"].(string)
	asks := object.Object{Body: rolled(kind, d.Cluster.Observed[maker.Key])}
	sets := map[string]bool{}
	for _, set := range d.MachineSets.Items {
		if name := set.String("metadata", "name"); d.setPools[name] == pool {
			sets[name] = starts(asks, set)
		}
	}
	for _, m := range d.Machines.Items {
		if m.String("metadata", "labels", keep.PoolLabel) != pool {
			continue
		}
		isOld, found := sets[m.String("metadata", "labels", setLabel)]
		if !found {
			return old, old
		}
		known, old = true, old || isOld
	}
	return old, known
}

// need of a range when a pool rolls beside others: for the machines that are
// there or shall be, and for those that a rollout makes beside them.
func (d decision) need(room assign.Room, starting string, rolls map[string]bool) (machines, surge int64) {
	for _, p := range d.Cluster.Plan.Pools {
		if !slices.Contains(room.Pools, p.Name) {
			continue
		}
		wanted, exist := Wanted(d.Cluster, p), d.existing(p.Name)
		more := 0
		if p.Name == starting || rolls[p.Name] {
			more = p.Surge
		}
		machines += int64(max(wanted, exist))
		surge += int64(max(wanted+more-max(wanted, exist), 0))
	}
	return machines, surge
}

// existing machines of a pool; those on their way out still have their
// addresses.
func (d decision) existing(pool string) int {
	n := 0
	for _, m := range d.Facts.Machines {
		if m.Pool == pool {
			n++
		}
	}
	return n
}
