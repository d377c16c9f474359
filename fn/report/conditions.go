package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// reasonWaiting is the reason of what is on its way.
const reasonWaiting = "Waiting"

func (r reporter) networksReady() xr.Condition {
	c := xr.Condition{Type: xr.ConditionNetworksReady, Status: xr.True, Reason: "Ready"}
	if waiting := r.waiting(object.PartNetworks); len(waiting) > 0 {
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, list(waiting)
	}
	return c
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
	if m.Pool == "" {
		return []string{fmt.Sprintf("machine %s: nobody knows its pool, so it gets no addresses and no ports; give it the label l2cluster.io/pool", m.Name)}
	}
	ports := changedPorts(r.pools[m.Pool])
	if m.Device == "" || m.Outdated || len(ports) == 0 {
		return nil
	}
	var out []string
	for _, name := range ports {
		_, composed := r.objects[object.PortKey(m.Name, name)]
		switch {
		case composed:
		case m.Ports == nil:
			return []string{fmt.Sprintf("machine %s: the UUIDs of its ports are not known yet", m.Name)}
		default:
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
		case m.Network != infra.NetworkVerified:
			waiting = append(waiting, fmt.Sprintf("machine %s: %s", m.Name, strings.ToLower(r.network(m))))
		}
	}
	switch {
	case len(failed) > 0:
		c.Status, c.Reason, c.Message = xr.False, "Failed", list(failed)
	case !r.Facts.MachinesKnown:
		c.Status, c.Reason, c.Message = xr.Unknown, "Unknown", "the list of machines has not been read yet"
	case len(r.Facts.Unheard) > 0:
		c.Status, c.Reason, c.Message = xr.Unknown, "Unknown", list(slices.Concat(r.Facts.Unheard, waiting))
	case len(waiting) > 0:
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, list(waiting)
	case len(r.machines()) < r.allWanted():
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, r.existing()
	}
	return c
}

func (r reporter) clusterAvailable() xr.Condition {
	c := xr.Condition{Type: xr.ConditionClusterAvailable, Status: xr.True, Reason: "Available"}
	if waiting := append(r.waiting(object.PartCluster), r.waiting(object.PartDelivery)...); len(waiting) > 0 {
		c.Status, c.Reason, c.Message = xr.False, reasonWaiting, list(waiting)
	}
	return c
}
