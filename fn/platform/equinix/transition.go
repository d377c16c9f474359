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
	// joined says that the machine is a node: only then may the platform's own
	// network be taken away.
	joined bool
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
	case t.released(name) && t.restored() == "":
		return t.release(name, want), true
	default:
		return t.giveBack(name)
	}
}

// released says whether a port has to be outside its bond in the end.
func (t transition) released(name string) bool {
	want, wanted := t.want[name]
	return wanted && !isBond(name) && !want.bonded
}

// restored is a bond that has to become a whole bond, or to carry the platform's
// addresses again, and does not yet; or "". Meanwhile all its members have to be
// in it: the platform refuses while one of them carries VLANs.
func (t transition) restored() string {
	for _, name := range slices.Sorted(maps.Keys(t.have)) {
		if !isBond(name) {
			continue
		}
		want, wanted := t.want[name]
		if !wanted {
			want = portState{bonded: true}
		}
		have := t.have[name]
		layer2 := have.asked.layer2 || have.is != nil && have.is.layer2
		if layer2 && !want.layer2 || !have.asked.bonded && want.bonded {
			return name
		}
	}
	return ""
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
	switch {
	case !converts || converted:
	case !t.verified:
		return step{why: waitsForNetwork}
	case !t.joined:
		return step{why: waitsForNode}
	}
	if exists && have.detachesFirst(want) {
		return step{
			state: &portState{bonded: have.asked.bonded, layer2: have.asked.layer2 || have.is != nil && have.is.layer2},
			why:   "waits until its VLANs are detached before it is converted",
		}
	}
	return t.attach(name, want)
}

// detachesFirst says whether a bond has to be without VLANs before it can go on
// to a state: a bond with VLANs is neither dissolved nor given the platform's
// addresses back.
func (p observedPort) detachesFirst(want portState) bool {
	switch {
	case p.asked.bonded && !want.bonded:
		return p.carriesAny()
	case want.layer2:
		return false
	case p.asked.layer2:
		return p.carriesAny()
	default:
		// Asked for in one step too early, on an observation that was late.
		return p.is != nil && p.is.layer2 && len(p.is.vlans) > 0
	}
}

// Why a port waits that takes something away. Between its report and its node a
// machine still fetches packages and images through the platform's own network.
const (
	waitsForNetwork = "waits until the machine's network is verified"
	waitsForNode    = "waits until the machine has joined its cluster, for which it needs the platform's own network"
)

// release takes a member out of its bond.
func (t transition) release(name string, want portState) step {
	have, exists := t.have[name]
	if exists && !have.asked.bonded {
		return t.attach(name, want)
	}
	if !t.verified {
		return step{why: waitsForNetwork}
	}
	if bond := t.undissolved(); bond != "" {
		return step{why: fmt.Sprintf("waits until %s is dissolved", bond)}
	}
	return t.attach(name, want)
}

// undissolved is a bond that has to be dissolved and is not yet, or may become whole
// once more because it was asked to before; or "".
func (t transition) undissolved() string {
	for _, name := range slices.Sorted(maps.Keys(t.want)) {
		if !isBond(name) || t.want[name].bonded {
			continue
		}
		have, exists := t.have[name]
		switch {
		case !exists, !have.ready, have.is == nil:
			return name
		case have.is.bonded, have.asked.bonded, !have.is.layer2, !have.asked.layer2:
			return name
		}
	}
	return ""
}

// giveBack puts a member back into its bond: first without VLANs, then bonded,
// and when that is observed the port is given up, unless the claim names it.
func (t transition) giveBack(name string) (step, bool) {
	have, exists := t.have[name]
	want, wanted := t.want[name]
	switch {
	case !exists && t.released(name):
		return step{why: fmt.Sprintf("waits until %s is a bond again", t.restored())}, true
	case !exists:
		return step{}, false
	case have.is == nil:
		return step{why: "waits until it is observed"}, true
	case have.carriesAny() && !have.asked.bonded:
		return step{state: &portState{}, why: "waits until its VLANs are detached before it goes back into the bond"}, true
	case !have.is.bonded || !have.asked.bonded:
		return step{state: &portState{bonded: true}, why: "waits until it is back in the bond"}, true
	case t.released(name):
		return step{why: fmt.Sprintf("waits until %s is a bond again", t.restored())}, true
	default:
		return step{state: &want}, wanted
	}
}

// unreturned says which member is still on its way back into its bond, or "".
func (t transition) unreturned() string {
	restored := t.restored()
	for _, name := range slices.Sorted(maps.Keys(t.have)) {
		if isBond(name) || t.released(name) && restored == "" {
			continue
		}
		have := t.have[name]
		if have.is == nil || !have.is.bonded || !have.asked.bonded {
			return fmt.Sprintf("waits until %s is back in the bond", name)
		}
	}
	return ""
}

// attach brings a port to its state, but for VLANs that another port of the
// machine still carries and is to lose. A port that is not composed yet waits
// for those.
func (t transition) attach(name string, want portState) step {
	_, exists := t.have[name]
	now, why := want, ""
	now.vlans = nil
	for _, vlan := range want.vlans {
		other := t.loses(name, vlan)
		if other == "" {
			now.vlans = append(now.vlans, vlan)
			continue
		}
		why = fmt.Sprintf("waits until VLAN %s is detached from %s", vlan, other)
	}
	if why != "" && !exists {
		return step{why: why}
	}
	// A native VLAN is one of several.
	if len(now.vlans) < 2 || !slices.Contains(now.vlans, now.native) {
		now.native = ""
	}
	return step{state: &now, why: why}
}

// loses is another port that carries a VLAN and is to lose it, or "".
func (t transition) loses(name, vlan string) string {
	for _, other := range slices.Sorted(maps.Keys(t.have)) {
		if other != name && t.have[other].carries(vlan) && !slices.Contains(t.want[other].vlans, vlan) {
			return other
		}
	}
	return ""
}
