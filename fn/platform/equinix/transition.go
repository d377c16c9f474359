package equinix

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// portState is how a port is, or should be.
type portState struct {
	// bonded says that the port is in its bond, or is a working bond.
	bonded bool
	// layer2 says that a bond carries no addresses of the platform.
	layer2 bool
	// vlans are the UUIDs of the VLANs on the port, sorted.
	vlans []string
	// native is the UUID of the VLAN without a tag, or "".
	native string
}

// observedPort is a port that is composed already.
type observedPort struct {
	// asked is how it should be.
	asked portState
	// is says how it is; nil while nobody knows.
	is *portState
	// ready says that the provider has brought it there.
	ready bool
}

// carries says whether a VLAN is on the port, or on its way to it.
func (p observedPort) carries(vlan string) bool {
	return slices.Contains(p.asked.vlans, vlan) || p.is != nil && slices.Contains(p.is.vlans, vlan)
}

func (p observedPort) carriesAny() bool {
	return len(p.asked.vlans) > 0 || p.is != nil && len(p.is.vlans) > 0
}

// step is what happens to a port now.
type step struct {
	// port by name.
	port string
	// state to ask for; nil leaves a port that is composed already as it is, and
	// does not compose one.
	state *portState
	// why says what the port waits for; "" when it has nothing to wait for.
	why string
}

// transition of the ports of one machine from how they are to how they should
// be. The platform wants an order: a bond is dissolved before its members carry
// VLANs, and VLANs leave a member before it goes back into the bond:
// https://deploy.equinix.com/developers/docs/metal/layer2-networking/overview/.
type transition struct {
	// want is how the ports should be that differ from a new server's.
	want map[string]portState
	// have are the ports that are composed already.
	have map[string]observedPort
	// verified says that the machine's network came up: only then may something
	// be taken away from it.
	verified bool
}

// steps for all ports, sorted by name. A port that is composed already and is
// not among them is given up.
func (t transition) steps() []step {
	names := slices.Sorted(maps.Keys(t.have))
	for _, name := range slices.Sorted(maps.Keys(t.want)) {
		if _, exists := t.have[name]; !exists {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []step
	for _, name := range names {
		s, goesOn := t.step(name)
		if goesOn {
			s.port = name
			out = append(out, s)
		}
	}
	return out
}

func (t transition) step(name string) (step, bool) {
	want, wanted := t.want[name]
	switch {
	case isBond(name) && wanted:
		return t.bond(name, want), true
	case isBond(name):
		// Giving up a bond's port resets the bond.
		why := t.unreturned()
		return step{why: why}, why != ""
	case wanted && !want.bonded:
		return t.release(name, want), true
	default:
		return t.giveBack(name, want, wanted)
	}
}

func isBond(name string) bool { return strings.HasPrefix(name, "bond") }

// bond changes a bond. What takes the platform's addresses away waits until the
// machine does without them.
func (t transition) bond(name string, want portState) step {
	have, exists := t.have[name]
	if why := t.unreturned(); why != "" {
		return step{why: why}
	}
	converts := want.layer2 || !want.bonded
	converted := exists && have.asked.layer2 == want.layer2 && have.asked.bonded == want.bonded
	if converts && !converted && !t.verified {
		return step{why: waitsForNetwork}
	}
	if exists && have.asked.bonded && !want.bonded && have.carriesAny() {
		return step{
			state: &portState{bonded: true, layer2: have.asked.layer2},
			why:   "waits until its VLANs are detached before it is dissolved",
		}
	}
	return t.attach(name, want)
}

// waitsForNetwork is why a port waits that takes something away.
const waitsForNetwork = "waits until the machine's network is verified"

// release takes a member out of its bond.
func (t transition) release(name string, want portState) step {
	have, exists := t.have[name]
	released := exists && !have.asked.bonded
	if !released && !t.verified {
		return step{why: waitsForNetwork}
	}
	if bond := t.undissolved(); bond != "" && !released {
		return step{why: fmt.Sprintf("waits until %s is dissolved", bond)}
	}
	return t.attach(name, want)
}

// undissolved is a bond that has to be dissolved and is not yet, or "".
func (t transition) undissolved() string {
	for _, name := range slices.Sorted(maps.Keys(t.want)) {
		if !isBond(name) || t.want[name].bonded {
			continue
		}
		have, exists := t.have[name]
		if !exists || !have.ready || have.is == nil || have.is.bonded || !have.is.layer2 {
			return name
		}
	}
	return ""
}

// giveBack puts a member back into its bond: first without VLANs, then bonded,
// and when that is observed the port is given up.
func (t transition) giveBack(name string, want portState, wanted bool) (step, bool) {
	have, exists := t.have[name]
	switch {
	case !exists || have.is != nil && have.is.bonded && have.asked.bonded:
		if !wanted || !exists {
			return step{}, false
		}
		return step{state: &want}, true
	case have.is == nil:
		return step{why: "waits until the port is observed"}, true
	case have.carriesAny():
		return step{state: &portState{}, why: "waits until its VLANs are detached before it goes back into the bond"}, true
	default:
		return step{state: &portState{bonded: true}, why: "waits until it is back in the bond"}, true
	}
}

// unreturned says which member is still on its way back into its bond, or "".
func (t transition) unreturned() string {
	for _, name := range slices.Sorted(maps.Keys(t.have)) {
		want, wanted := t.want[name]
		have := t.have[name]
		if isBond(name) || wanted && !want.bonded {
			continue
		}
		if have.is == nil || !have.is.bonded || !have.asked.bonded {
			return fmt.Sprintf("waits until %s is back in the bond", name)
		}
	}
	return ""
}

// attach brings a port to its state, unless another port of the machine still
// carries one of its VLANs and is to lose it.
func (t transition) attach(name string, want portState) step {
	for _, other := range slices.Sorted(maps.Keys(t.have)) {
		if other == name {
			continue
		}
		for _, vlan := range want.vlans {
			if t.have[other].carries(vlan) && !slices.Contains(t.want[other].vlans, vlan) {
				return step{why: fmt.Sprintf("waits until VLAN %s is detached from %s", vlan, other)}
			}
		}
	}
	return step{state: &want}
}
