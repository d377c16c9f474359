package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/rollout"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// addressesAllocated is true when every machine that exists has its addresses.
// A range without room for a rollout's extra machines is told, and stops
// nothing that runs; so are addresses that machines keep until they are
// replaced.
func (r reporter) addressesAllocated() xr.Condition {
	held, keeping := list(r.withoutRoom()), list(r.keeping())
	c := xr.Condition{Type: xr.ConditionAddressesAllocated, Status: xr.True}
	if problem, ok := r.addressProblem(); ok {
		c.Status, c.Reason = problem.Status, problem.Reason
		c.Message = sentences(problem.Message, held, keeping)
		return c
	}
	if held != "" {
		c.Status, c.Reason, c.Message = xr.False, "RolloutHeld", sentences(held, keeping)
		return c
	}
	short := list(r.short())
	c.Message = sentences(short, keeping)
	switch {
	case short != "":
		c.Reason = "NoSpareForRollout"
	case keeping != "":
		c.Reason = "AllocatedWithWarnings"
	default:
		c.Reason = "Allocated"
	}
	return c
}

// sentences of a message, without those that say nothing.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

func (r reporter) addressProblem() (xr.Condition, bool) {
	conflicts := append(r.conflicts(), r.routed()...)
	switch {
	case len(conflicts) > 0:
		return xr.Condition{Status: xr.False, Reason: "Conflict", Message: list(conflicts)}, true
	case len(r.Addresses.Unreadable) > 0:
		return xr.Condition{Status: xr.Unknown, Reason: "Unreadable", Message: "no new address is given out until the record of these clusters on the same VLANs can be read: " + list(r.Addresses.Unreadable)}, true
	case !r.Facts.MachinesKnown:
		return xr.Condition{Status: xr.Unknown, Reason: "Unknown", Message: "the list of machines has not been read yet"}, true
	case len(r.Addresses.Book.Missing) > 0:
		return xr.Condition{Status: xr.False, Reason: "Missing", Message: list(append(r.short(), r.missing()...))}, true
	case len(r.machines()) < r.allWanted():
		return xr.Condition{Status: xr.False, Reason: reasonWaiting, Message: list(append(r.short(), r.existing()))}, true
	default:
		return xr.Condition{}, false
	}
}

// withoutRoom are the pools that are held back because there is no address for
// one machine more.
func (r reporter) withoutRoom() []string {
	var out []string
	for _, h := range r.Holds {
		if h.Reason == rollout.NoRoom {
			out = append(out, fmt.Sprintf("pool %s %s", h.Pool, h.Why))
		}
	}
	return out
}

func (r reporter) existing() string {
	return fmt.Sprintf("%d of %d machines exist", len(r.machines()), r.allWanted())
}

// short says where addresses are fewer than machines and their rollout need.
func (r reporter) short() []string {
	var out []string
	for _, c := range r.Addresses.Book.Capacity {
		if c.Wanted > c.Total {
			out = append(out, fmt.Sprintf("network %s (%s): needs %d addresses (machines and the surge of a rollout), has %d%s; extend its assignment range, or set maxSurge: 0",
				r.networkOf(c.Pool), subnetOf(c.Pool), c.Wanted, c.Total, shared(c)))
		}
	}
	return out
}

// shared says how many addresses of a range an older claim on the VLAN may take
// as well.
func shared(c ipam.Capacity) string {
	if c.Shared == 0 {
		return ""
	}
	return fmt.Sprintf(", of which an older cluster on the VLAN may take %d", c.Shared)
}

func (r reporter) missing() []string {
	out := make([]string, 0, len(r.Addresses.Book.Missing))
	for _, m := range r.Addresses.Book.Missing {
		machine, _, _ := strings.Cut(m.Key, "/")
		text := fmt.Sprintf("machine %s has no address on network %s: ", machine, r.networkOf(m.Pool))
		switch m.Reason {
		case ipam.Exhausted:
			text += "every address of the range is taken"
		case ipam.Cooling:
			text += "the free ones were released too recently; the next one is free at " + m.Until.UTC().Format("15:04:05") + " UTC"
		case ipam.Unbound:
			text += "its pool has not bound one yet"
		case ipam.BoundOutside, ipam.BoundNoHost, ipam.BoundRouter:
			text += r.refused(machine, m)
		case ipam.Incomplete:
			text += "not everything that decides on it could be read"
		}
		out = append(out, text)
	}
	return out
}

// conflicts are the addresses that are held twice, and of which one of our
// machines has to wait or to go.
func (r reporter) conflicts() []string {
	var out []string
	for _, c := range r.Addresses.Book.Conflicts {
		if c.Outcome != ipam.Yielding {
			out = append(out, r.conflict(c))
		}
	}
	return out
}

func (r reporter) conflict(c ipam.Conflict) string {
	machine, _, _ := strings.Cut(c.Key, "/")
	other, _, _ := strings.Cut(c.OtherKey, "/")
	if c.Claim != "" {
		other += " of cluster " + c.Claim
	}
	text := fmt.Sprintf("address %s on network %s is held by machine %s and by machine %s; ", c.Address, r.networkOf(c.Pool), machine, other)
	switch c.Outcome {
	case ipam.Kept:
		text += "both may use it, so replace one of the two machines"
	case ipam.Yielding:
		text += "ours keeps it, and the other, which was not sent it yet, gets another one by itself"
	case ipam.Replaced:
		text += "ours gets another one"
	case ipam.Waiting:
		text += "ours is delivered as soon as the other has given it up"
	case ipam.Blocked:
		pool, claim := r.source(machine, c.Pool)
		text += fmt.Sprintf("machine %s is not sent it: pool %s bound what another one has; %s", machine, pool, rebind(claim))
	}
	return text
}

// keeping are the machines that keep an address although it is not one that they
// would get today, or another cluster holds it for a moment.
func (r reporter) keeping() []string {
	var out []string
	for _, c := range r.Addresses.Book.Conflicts {
		if c.Outcome == ipam.Yielding {
			out = append(out, r.conflict(c))
		}
	}
	for _, w := range r.Addresses.Book.Warnings {
		machine, _, _ := strings.Cut(w.Key, "/")
		text := fmt.Sprintf("machine %s keeps %s on network %s until it is replaced", machine, w.Address.Addr(), r.networkOf(w.Pool))
		switch w.Concern {
		case ipam.OutOfRange:
			out = append(out, text+": the address is outside of the assignment ranges, or excluded")
		case ipam.FixedDiffers:
			out = append(out, text+": its pool has bound another one since")
		case ipam.RouterHasIt:
		}
	}
	return out
}

// routed are the machines that have the address of a router.
func (r reporter) routed() []string {
	var out []string
	for _, w := range r.Addresses.Book.Warnings {
		if w.Concern != ipam.RouterHasIt {
			continue
		}
		machine, _, _ := strings.Cut(w.Key, "/")
		out = append(out, fmt.Sprintf("machine %s has address %s on network %s, which is %s; replace the machine, or give the router another address",
			machine, w.Address.Addr(), r.networkOf(w.Pool), routerOf(w.Claim)))
	}
	return out
}

// refused says which address an outside pool bound that no machine can have, and
// why.
func (r reporter) refused(machine string, m ipam.Missing) string {
	subnet := subnetOf(m.Pool)
	why := "does not lie in the subnet " + subnet
	if m.Reason == ipam.BoundNoHost {
		why = "no machine may have in the subnet " + subnet
	}
	if m.Reason == ipam.BoundRouter {
		why = "is " + routerOf(m.Claim)
	}
	pool, claim := r.source(machine, m.Pool)
	return fmt.Sprintf("pool %s bound %s, which %s; %s", pool, m.Refused, why, rebind(claim))
}

// source is the outside pool, and the claim on it, that a machine has its address
// from in a pool of the allocator.
func (r reporter) source(machine, pool string) (name, claim string) {
	for _, n := range r.Cluster.Plan.Networks {
		if n.Name == r.networkOf(pool) {
			return assign.Source(r.Cluster, machine, n)
		}
	}
	return "", ""
}

// rebind says how a machine gets another address from an outside pool.
func rebind(claim string) string {
	return fmt.Sprintf("mend the pool, and delete IPAddressClaim %s, so that it binds another one", claim)
}

// subnetOf is the subnet in the key of a pool of the allocator.
func subnetOf(pool string) string {
	return pool[strings.LastIndex(pool[:strings.LastIndex(pool, "/")], "/")+1:]
}

// routerOf names a router that a cluster states: ours, or another one.
func routerOf(claim string) string {
	const router = "the gateway or the next hop of a route"
	if claim == "" {
		return router
	}
	return router + " of cluster " + claim
}
