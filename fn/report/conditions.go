package report

import (
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/rollout"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// reasonWaiting is the reason of what is on its way.
const reasonWaiting = "Waiting"

func (r reporter) inputValid() xr.Condition {
	c := xr.Condition{Type: xr.ConditionInputValid, Status: xr.True, Reason: "Valid"}
	if len(r.Warnings) > 0 {
		c.Reason, c.Message = "ValidWithWarnings", strings.Join(r.Warnings, "; ")
	}
	return c
}

func (r reporter) networksReady() xr.Condition {
	c := xr.Condition{Type: xr.ConditionNetworksReady, Status: xr.True, Reason: "Ready"}
	if waiting := r.waiting(object.PartNetworks); len(waiting) > 0 {
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, list(waiting)
	}
	return c
}

// addressesAllocated is true when every machine that exists has its addresses.
// A range without room for a rollout's extra machines is told, and stops
// nothing that runs.
func (r reporter) addressesAllocated() xr.Condition {
	c := xr.Condition{Type: xr.ConditionAddressesAllocated, Status: xr.True, Reason: "Allocated"}
	held := list(r.withoutRoom())
	if problem, ok := r.addressProblem(); ok {
		problem.Type = c.Type
		if held != "" {
			problem.Message += "; " + held
		}
		return problem
	}
	if held != "" {
		c.Status, c.Reason, c.Message = xr.False, "RolloutHeld", held
		return c
	}
	if short := r.short(); len(short) > 0 {
		c.Reason, c.Message = "NoSpareForRollout", list(short)
	}
	return c
}

func (r reporter) addressProblem() (xr.Condition, bool) {
	switch {
	case len(r.Addresses.Book.Conflicts) > 0:
		return xr.Condition{Status: xr.False, Reason: "Conflict", Message: list(r.conflicts())}, true
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
			out = append(out, fmt.Sprintf("network %s (%s): needs %d addresses (machines and the surge of a rollout), has %d; extend its assignment range, or set maxSurge: 0",
				r.networkOf(c.Pool), c.Pool[strings.LastIndex(c.Pool[:strings.LastIndex(c.Pool, "/")], "/")+1:], c.Wanted, c.Total))
		}
	}
	return out
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
		case ipam.Incomplete:
			text += "not everything that decides on it could be read"
		}
		out = append(out, text)
	}
	return out
}

func (r reporter) conflicts() []string {
	out := make([]string, 0, len(r.Addresses.Book.Conflicts))
	for _, c := range r.Addresses.Book.Conflicts {
		machine, _, _ := strings.Cut(c.Key, "/")
		other, _, _ := strings.Cut(c.OtherKey, "/")
		if c.Claim != "" {
			other += " of cluster " + c.Claim
		}
		text := fmt.Sprintf("address %s on network %s is held by machine %s and by machine %s", c.Address, r.networkOf(c.Pool), machine, other)
		switch c.Outcome {
		case ipam.Kept:
			text += "; both may use it, so replace one of the two machines"
		case ipam.Replaced:
			text += "; ours gets another one"
		case ipam.Waiting:
			text += "; ours is delivered as soon as the other has given it up"
		}
		out = append(out, text)
	}
	return out
}

func (r reporter) portsAttached() xr.Condition {
	c := xr.Condition{Type: xr.ConditionPortsAttached, Status: xr.True, Reason: "Attached"}
	waiting := r.waiting(object.PartPorts)
	for _, m := range r.machines() {
		waiting = append(waiting, r.missingPorts(m)...)
	}
	waiting = append(waiting, r.Facts.Warnings...)
	switch {
	case len(waiting) > 0:
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, list(waiting)
	case !r.Facts.MachinesKnown:
		c.Status, c.Reason, c.Message = xr.Unknown, "Unknown", "the list of machines has not been read yet"
	case len(r.machines()) < r.allWanted():
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, r.existing()
	}
	return c
}

// missingPorts are the ports of a machine that are not composed yet: nobody knows
// them, or their turn has not come. A machine that is to be replaced has those
// that it was set up for.
func (r reporter) missingPorts(m infra.Machine) []string {
	ports := changedPorts(r.pools[m.Pool])
	if m.Device == "" || m.Outdated || len(ports) == 0 {
		return nil
	}
	if m.Ports == nil {
		return []string{fmt.Sprintf("machine %s: the UUIDs of its ports are not known yet", m.Name)}
	}
	var out []string
	for _, name := range ports {
		if _, composed := r.objects[object.PortKey(m.Name, name)]; !composed {
			out = append(out, fmt.Sprintf("machine %s: port %s waits for its VLANs, or until the machine's network is verified", m.Name, name))
		}
	}
	return out
}

// changedPorts are the ports of a pool that differ from a new server's.
func changedPorts(p plan.Pool) []string {
	var out []string
	for _, port := range p.Ports {
		if !port.Bonded || port.Layer2 || len(port.Networks) > 0 {
			out = append(out, port.Name)
		}
	}
	return out
}

func (r reporter) nodesVerified() xr.Condition {
	c := xr.Condition{Type: xr.ConditionNodesVerified, Status: xr.True, Reason: "Verified"}
	var failed, waiting []string
	for _, m := range r.machines() {
		switch {
		case m.Network == infra.NetworkFailed:
			failed = append(failed, fmt.Sprintf("machine %s: %s", m.Name, m.Message))
		case !r.verified(m):
			waiting = append(waiting, fmt.Sprintf("machine %s: %s", m.Name, strings.ToLower(r.network(m))))
		}
	}
	switch {
	case len(failed) > 0:
		c.Status, c.Reason, c.Message = xr.False, "Failed", list(failed)
	case !r.Facts.MachinesKnown:
		c.Status, c.Reason, c.Message = xr.Unknown, "Unknown", "the list of machines has not been read yet"
	case len(waiting) > 0:
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, list(waiting)
	case len(r.machines()) < r.allWanted():
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, r.existing()
	}
	return c
}

// verified says whether a machine's network needs no more waiting for: its
// server said so, or its node joined where no server was heard.
func (r reporter) verified(m infra.Machine) bool {
	return m.Network == infra.NetworkVerified || m.Network == infra.NetworkUnknown && m.Joined
}

func (r reporter) clusterAvailable() xr.Condition {
	c := xr.Condition{Type: xr.ConditionClusterAvailable, Status: xr.True, Reason: "Available"}
	if waiting := append(r.waiting(object.PartCluster), r.waiting(object.PartDelivery)...); len(waiting) > 0 {
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, list(waiting)
	}
	return c
}
