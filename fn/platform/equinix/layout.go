package equinix

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// Where it stands what ports were laid out for: in a word on the ports of a
// machine, and in full on the machine template that a server was made from.
const (
	layoutLabel      = "l2cluster.io/layout"
	layoutAnnotation = "l2cluster.io/layout"
)

// layout of the ports of a pool's servers, as their operating systems are set up
// for when they boot. Only ports that differ from a new server's are in it, sorted
// by name.
type layout []laidPort

// laidPort is a port in a layout.
type laidPort struct {
	Name   string `json:"name"`
	Bonded bool   `json:"bonded,omitempty"`
	Layer2 bool   `json:"layer2,omitempty"`
	// VLANs by their ids, sorted.
	VLANs []int32 `json:"vlans,omitempty"`
	// Native is the id of the VLAN without a tag, or 0.
	Native int32 `json:"native,omitempty"`
	// Vital are the ids of VLANs without which a node is lost: they carry its own
	// address or its default route.
	Vital []int32 `json:"vital,omitempty"`
}

// layoutOf a pool. Names of networks are only words, and mean nothing in it.
func layoutOf(pool plan.Pool, networks []spec.Network) layout {
	vxlans := make(map[string]int32, len(networks))
	for _, n := range networks {
		vxlans[n.Name] = n.VXLAN
	}
	out := layout{}
	for _, port := range pool.Ports {
		laid := laidPort{Name: port.Name, Bonded: port.Bonded, Layer2: port.Layer2, Native: vxlans[port.Native]}
		for _, network := range port.Networks {
			laid.VLANs = append(laid.VLANs, vxlans[network])
		}
		for _, l := range pool.Links {
			if l.Port == port.Name && vital(l) {
				laid.Vital = append(laid.Vital, vxlans[l.Network])
			}
		}
		slices.Sort(laid.VLANs)
		slices.Sort(laid.Vital)
		if !laid.Bonded || laid.Layer2 || len(laid.VLANs) > 0 {
			out = append(out, laid)
		}
	}
	slices.SortFunc(out, func(a, b laidPort) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func vital(l plan.Link) bool {
	return l.NodeIP || slices.ContainsFunc(l.Subnets, func(s plan.LinkSubnet) bool { return s.Default })
}

// parseLayout reads what text says; it returns false for text that says nothing.
func parseLayout(text string) (layout, bool) {
	var out layout
	if text == "" || json.Unmarshal([]byte(text), &out) != nil {
		return nil, false
	}
	return out, true
}

// text of the layout, from which it can be read again.
func (l layout) text() (string, error) {
	out, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("cannot write the layout of ports: %w", err)
	}
	return string(out), nil
}

// word for how the ports are, short enough for a label. It leaves out which VLANs
// are vital: that changes no port.
func (l layout) word() string {
	var out strings.Builder
	for _, p := range l {
		fmt.Fprintln(&out, p.Name, p.Bonded, p.Layer2, p.VLANs, p.Native)
	}
	return object.Hash(out.String())
}

// laid is a layout with its word, of which many machines have the same.
type laid struct {
	layout

	word string
}

func lay(l layout) laid { return laid{layout: l, word: l.word()} }

// pure says whether servers have nothing but their VLANs: no bond carries
// addresses of the platform.
func (l layout) pure() bool {
	return slices.ContainsFunc(l, func(p laidPort) bool { return isBond(p.Name) && p.Layer2 })
}

func (l layout) vital(vxlan int32) bool {
	return slices.ContainsFunc(l, func(p laidPort) bool { return slices.Contains(p.Vital, vxlan) })
}

// seen says whether the UUIDs of all its VLANs are known.
func (l layout) seen(ids map[int32]string) bool {
	return !slices.ContainsFunc(l, func(p laidPort) bool {
		return slices.ContainsFunc(p.VLANs, func(vxlan int32) bool { return ids[vxlan] == "" })
	})
}

// want is how ports should be, as far as the VLANs' UUIDs are known.
func (l layout) want(ids map[int32]string) map[string]portState {
	out := make(map[string]portState, len(l))
	for _, p := range l {
		state := portState{bonded: p.Bonded, layer2: p.Layer2, native: ids[p.Native]}
		for _, vxlan := range p.VLANs {
			if id := ids[vxlan]; id != "" {
				state.vlans = append(state.vlans, id)
			}
		}
		slices.Sort(state.vlans)
		out[p.Name] = state
	}
	return out
}

// original is what a machine's server was set up for, if that is known: it stands
// on the template that it was made from, which is kept as long as the machine.
func (p machinePorts) original() (laid, bool) {
	made, known := p.layouts[p.machine.Template]
	return made, known
}

// templateLayouts are the layouts by the name of the machine template.
func templateLayouts(observed map[string]object.View) map[string]laid {
	out := map[string]laid{}
	for _, v := range observed {
		if v.String("kind") != templateKind {
			continue
		}
		if l, ok := parseLayout(v.String("metadata", "annotations", layoutAnnotation)); ok {
			out[v.String("metadata", "name")] = lay(l)
		}
	}
	return out
}

// laidOut is the word for the layout that goes onto the machine's ports: its
// pool's, unless the machine was set up for another one.
func (p machinePorts) laidOut() string {
	if made, known := p.original(); known {
		return made.word
	}
	if was, exists := p.laidOutFor(); exists && was != "" {
		return was
	}
	return p.layout.word
}

// laidOutFor is the layout that the ports which exist are for, if there are any.
func (p machinePorts) laidOutFor() (word string, exists bool) {
	for _, port := range slices.Sorted(maps.Keys(p.observed)) {
		word, exists = p.observed[port].String("metadata", "labels", layoutLabel), true
	}
	return word, exists
}

// madeForOther says whether the machine's ports were laid out in another way than
// the claim asks for. Its operating system was set up when it booted and knows
// nothing of that, so its ports stay as they were until it is replaced. Where
// nothing says what a machine in whose place another one is asked for was set up
// for, that may be anything.
func (p machinePorts) madeForOther() bool {
	if made, known := p.original(); known {
		return made.word != p.layout.word
	}
	if was, exists := p.laidOutFor(); exists {
		return was != "" && was != p.layout.word
	}
	return p.machine.Outdated
}

// asMade are the steps of a machine that was made for another layout: its ports
// are brought to that one, or stay as they are where nobody knows it. VLANs that
// the claim has no network for any more are wanted gone now, unless the machine
// is lost without them.
func (p machinePorts) asMade(have map[string]observedPort) []step {
	made, known := p.original()
	mayGo := p.mayGo(made.layout, have)
	if !known || hasAll(have, made.layout) || len(p.vlans) < len(p.c.Spec.Networks) {
		out := make([]step, 0, len(have))
		for _, port := range slices.Sorted(maps.Keys(have)) {
			out = append(out, step{port: port, state: have[port].without(isBond(port), mayGo)})
		}
		return out
	}
	want := made.want(p.vxlans)
	for name, state := range want {
		// What a port carries may be a VLAN that is not seen now.
		state.vlans = union(state.vlans, have[name].asked.vlans)
		want[name] = *observedPort{asked: state}.without(isBond(name), mayGo)
	}
	return p.transition(want, have).steps()
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

func hasAll(have map[string]observedPort, made layout) bool {
	return !slices.ContainsFunc(made, func(p laidPort) bool {
		_, exists := have[p.Name]
		return !exists
	})
}

// mayGo says which VLANs may be taken from a machine that was made for another
// layout, by UUID. None may while its pool is held as it is, where it has nothing
// but its VLANs, or as long as not every network of the claim is known by its VLAN.
func (p machinePorts) mayGo(made layout, have map[string]observedPort) func(id string) bool {
	kept := map[string]bool{}
	for _, id := range p.vlans {
		kept[id] = true
	}
	for vxlan, id := range p.vxlans {
		if made.vital(vxlan) {
			kept[id] = true
		}
	}
	all := p.machine.Held || made.pure() || len(p.vlans) < len(p.c.Spec.Networks) || !made.seen(p.vxlans)
	for name, port := range have {
		all = all || isBond(name) && (port.asked.layer2 || port.is != nil && port.is.layer2)
	}
	return func(id string) bool { return !all && !kept[id] }
}

// without the VLANs that may go, unless that would change more than them: a port
// outside its bond stops tagging the last of several VLANs
// (https://deploy.equinix.com/developers/docs/metal/layer2-networking/overview/).
func (p observedPort) without(bond bool, mayGo func(id string) bool) *portState {
	left := p.asked
	left.vlans = slices.DeleteFunc(slices.Clone(left.vlans), mayGo)
	if !slices.Contains(left.vlans, left.native) {
		left.native = ""
	}
	alone := !bond && len(left.vlans) == 1 && len(p.asked.vlans) > 1
	if alone && left.vlans[0] != p.asked.native {
		return &p.asked
	}
	if alone {
		left.native = ""
	}
	return &left
}
