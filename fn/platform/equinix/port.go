package equinix

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

const portKind = "Port"

// portObjects are the ports of the cluster's machines.
type portObjects struct {
	objects []object.Object
	// kept are keys of ports that stay exactly as they were observed.
	kept []string
}

// ports of the machines that exist: each is composed once it is known and once
// its turn has come. It returns an error for a port that a machine's server does
// not have, unless the claim asks for another machine in its place.
func ports(c infra.Cluster, f infra.Facts) (portObjects, error) {
	pools, layouts := map[string]plan.Pool{}, map[string]laid{}
	made, vxlans := templateLayouts(c.Observed), vxlanIDs(c, f)
	for _, p := range c.Plan.Pools {
		pools[p.Name], layouts[p.Name] = p, lay(layoutOf(p, c.Spec.Networks))
	}
	observed := observedPorts(c.Observed)
	out := portObjects{}
	for i := range f.Machines {
		m := &f.Machines[i]
		pool, planned := pools[m.Pool]
		if m.Device == "" || m.Deleting || !planned {
			for _, port := range slices.Sorted(maps.Keys(observed[m.Name])) {
				out.kept = append(out.kept, object.PortKey(m.Name, port))
			}
			continue
		}
		p := machinePorts{
			c: c, machine: m, vlans: f.VLANs, vxlans: vxlans,
			pool: pool, layout: layouts[m.Pool], layouts: made, observed: observed[m.Name],
		}
		if err := p.addTo(&out); err != nil {
			return portObjects{}, fmt.Errorf("cannot configure the ports of machine %q: %w", m.Name, err)
		}
	}
	return out, nil
}

// machinePorts are the ports of one machine.
type machinePorts struct {
	c       infra.Cluster
	machine *infra.Machine
	// vlans are the UUIDs of VLANs by network, and vxlans by VLAN id, also of those
	// that the claim has no network for.
	vlans  map[string]string
	vxlans map[int32]string
	pool   plan.Pool
	// layout of the pool's ports, and layouts by machine template.
	layout   laid
	layouts  map[string]laid
	observed map[string]object.View
}

// vxlanIDs are the UUIDs of the VLANs that exist by their ids.
func vxlanIDs(c infra.Cluster, f infra.Facts) map[int32]string {
	out := map[int32]string{}
	for _, v := range c.Observed {
		id, vxlan := v.String("status", "atProvider", "id"), v.Int("status", "atProvider", "vxlan")
		if v.String("kind") == vlanKind && id != "" && vxlan > 0 && vxlan <= math.MaxInt32 {
			out[int32(vxlan)] = id
		}
	}
	for _, n := range c.Spec.Networks {
		if id := f.VLANs[n.Name]; id != "" {
			out[n.VXLAN] = id
		}
	}
	return out
}

// addTo adds the machine's ports, each a step further or as it was.
func (p machinePorts) addTo(out *portObjects) error {
	have := p.have()
	for _, s := range p.steps(have) {
		was, exists := have[s.port]
		if s.state == nil && exists {
			s.state = &was.asked
		}
		if s.state == nil {
			continue
		}
		id, err := p.uuid(s.port)
		switch {
		case err != nil:
			return err
		case id != "":
			out.objects = append(out.objects, p.compose(s, id))
		case exists:
			out.kept = append(out.kept, object.PortKey(p.machine.Name, s.port))
		}
	}
	return nil
}

func (p machinePorts) steps(have map[string]observedPort) []step {
	want, missing := p.want()
	switch {
	case missing == "" && p.madeForOther():
		return p.asMade(have)
	case missing == "":
		return p.transition(want, have).steps()
	}
	// Without the UUID of a VLAN nobody can tell what to attach and what to
	// detach.
	var out []step
	for _, port := range slices.Sorted(maps.Keys(have)) {
		out = append(out, step{port: port, why: fmt.Sprintf("waits until the VLAN of network %q exists", missing)})
	}
	return out
}

func (p machinePorts) transition(want map[string]portState, have map[string]observedPort) transition {
	return transition{
		want: want, have: have,
		verified: p.machine.Network == infra.NetworkVerified, joined: p.machine.Joined,
	}
}

// want is how the machine's ports should be, or the name of a network whose
// VLAN is not there yet.
func (p machinePorts) want() (map[string]portState, string) {
	out := map[string]portState{}
	for _, port := range p.pool.Ports {
		state := portState{bonded: port.Bonded, layer2: port.Layer2}
		for _, network := range port.Networks {
			id := p.vlans[network]
			if id == "" {
				return nil, network
			}
			state.vlans = append(state.vlans, id)
			if network == port.Native {
				state.native = id
			}
		}
		slices.Sort(state.vlans)
		_, exists := p.observed[port.Name]
		if untouched := port.Bonded && !port.Layer2 && len(port.Networks) == 0; !untouched || exists {
			out[port.Name] = state
		}
	}
	return out, ""
}

func (p machinePorts) have() map[string]observedPort {
	out := make(map[string]observedPort, len(p.observed))
	for name, v := range p.observed {
		port := observedPort{
			asked: stateOf(v.At("spec", "forProvider")),
			ready: conditionOf(v, "Ready").status == "True",
		}
		if v.Has("status", "atProvider", "bonded") {
			is := stateOf(v.At("status", "atProvider"))
			port.is = &is
		}
		out[name] = port
	}
	return out
}

func stateOf(v object.View) portState {
	return portState{
		bonded: v.Bool("bonded"), layer2: v.Bool("layer2"),
		vlans: slices.Sorted(slices.Values(v.Strings("vlanIds"))), native: v.String("nativeVlanId"),
	}
}

// uuid of a port: as looked up, or as composed before. It is empty while nothing
// is known of the server's ports; a name that is not among them is an error. A
// machine that is to be replaced does without such a port: its error would keep
// the claim that corrects it from being carried out.
func (p machinePorts) uuid(port string) (string, error) {
	if id := p.machine.Ports[port]; id != "" {
		return id, nil
	}
	if v, exists := p.observed[port]; exists {
		return v.String("spec", "forProvider", "portId"), nil
	}
	if len(p.machine.Ports) == 0 || p.machine.Outdated || p.madeForOther() {
		return "", nil
	}
	return "", fmt.Errorf("its server has no port %q, only %s", port,
		strings.Join(slices.Sorted(maps.Keys(p.machine.Ports)), ", "))
}

func (p machinePorts) compose(s step, id string) object.Object {
	seen, exists := p.observed[s.port]
	parameters := map[string]any{"portId": id, "bonded": s.state.bonded, "resetOnDelete": true}
	if isBond(s.port) {
		parameters["layer2"] = s.state.layer2
	}
	// An empty list detaches everything; a port that never had a VLAN needs none.
	if len(s.state.vlans) > 0 || exists && hasVLANs(seen) {
		parameters["vlanIds"] = set(s.state.vlans)
	}
	if s.state.native != "" {
		parameters["nativeVlanId"] = s.state.native
	}
	m := managed{
		key: object.PortKey(p.machine.Name, s.port), kind: portKind, part: object.PartPorts,
		name:       object.Name(object.LabelLimit, p.machine.Name, s.port),
		parameters: parameters, exists: id,
		labels: map[string]any{machineLabel: p.machine.Name, portLabel: s.port, layoutLabel: p.laidOut()},
	}
	o := m.compose(p.c)
	switch {
	case s.why != "":
		o.Ready, o.Why = object.NotReady, fmt.Sprintf("port %s of machine %q %s", s.port, p.machine.Name, s.why)
	case o.Ready == object.IsReady && !carriesOut(s, seen):
		o.Ready, o.Why = object.NotReady, fmt.Sprintf("port %s of machine %q is not as asked for yet%s",
			s.port, p.machine.Name, because(trouble(seen)))
	}
	return o
}

func hasVLANs(v object.View) bool {
	return v.Has("spec", "forProvider", "vlanIds") || len(v.Strings("status", "atProvider", "vlanIds")) > 0
}

// carriesOut says whether a port that is reported ready is as asked for: the
// condition may still speak of what was asked for before.
func carriesOut(s step, seen object.View) bool {
	is := stateOf(seen.At("status", "atProvider"))
	return is.bonded == s.state.bonded && slices.Equal(is.vlans, s.state.vlans) &&
		(!isBond(s.port) || is.layer2 == s.state.layer2)
}

// observedPorts are the composed ports by machine and port.
func observedPorts(observed map[string]object.View) map[string]map[string]object.View {
	out := map[string]map[string]object.View{}
	for _, v := range observed {
		machine, port := v.String("metadata", "labels", machineLabel), v.String("metadata", "labels", portLabel)
		if v.String("kind") != portKind || machine == "" || port == "" {
			continue
		}
		if out[machine] == nil {
			out[machine] = map[string]object.View{}
		}
		out[machine][port] = v
	}
	return out
}
