package equinix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// layoutLabel on a port says what the ports of its machine were laid out for.
const layoutLabel = "l2cluster.io/layout"

// layoutOf a pool is a short word for how the ports of its machines shall be.
func layoutOf(pool plan.Pool, networks []spec.Network) string {
	vxlans := make(map[string]int32, len(networks))
	for _, n := range networks {
		vxlans[n.Name] = n.VXLAN
	}
	var b strings.Builder
	for _, port := range pool.Ports {
		var on []int32
		for _, network := range port.Networks {
			on = append(on, vxlans[network])
		}
		slices.Sort(on)
		fmt.Fprintln(&b, port.Name, port.Bonded, port.Layer2, on, vxlans[port.Native])
	}
	return object.Hash(b.String())
}

// laidOut is the layout that goes onto the machine's ports: its pool's, unless
// the machine was set up for another one.
func (p machinePorts) laidOut() string {
	if was, exists := p.laidOutFor(); exists && p.machine.Outdated {
		return was
	}
	return p.layout
}

// laidOutFor is the layout that the ports which exist are for, if there are any.
func (p machinePorts) laidOutFor() (layout string, exists bool) {
	for _, port := range slices.Sorted(maps.Keys(p.observed)) {
		layout, exists = p.observed[port].String("metadata", "labels", layoutLabel), true
	}
	return layout, exists
}

// madeForOther says whether the claim asks for another machine in the place of
// this one, with its ports laid out in another way. Its operating system was set
// up when it booted and knows nothing of that, so its ports stay as they are
// until it is replaced.
func (p machinePorts) madeForOther() bool {
	was, exists := p.laidOutFor()
	return exists && p.machine.Outdated && was != p.layout
}

// stay leaves the ports of a machine as they are asked for, but for VLANs that
// the claim has no network for any more: those are wanted gone now.
func (p machinePorts) stay(have map[string]observedPort) []step {
	named := map[string]bool{}
	for _, id := range p.vlans {
		named[id] = true
	}
	out := make([]step, 0, len(have))
	for _, port := range slices.Sorted(maps.Keys(have)) {
		out = append(out, step{port: port, state: have[port].without(isBond(port), named)})
	}
	return out
}

// without the VLANs that are not named, unless that would change more than them:
// a port outside its bond stops tagging the last of several VLANs
// (https://deploy.equinix.com/developers/docs/metal/layer2-networking/overview/),
// and a server that has only VLANs would be cut off without any.
func (p observedPort) without(bond bool, named map[string]bool) *portState {
	left := p.asked
	left.vlans = slices.DeleteFunc(slices.Clone(left.vlans), func(id string) bool { return !named[id] })
	if !slices.Contains(left.vlans, left.native) {
		left.native = ""
	}
	alone := !bond && len(left.vlans) == 1 && len(p.asked.vlans) > 1
	switch {
	case alone && left.vlans[0] != p.asked.native:
		return &p.asked
	case len(left.vlans) == 0 && p.asked.layer2:
		return &p.asked
	}
	if alone {
		left.native = ""
	}
	return &left
}
