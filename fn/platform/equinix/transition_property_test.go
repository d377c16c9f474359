package equinix

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

const testProject = "2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11"

// provider does to ports what provider-jet-equinix does: the same calls in the
// same order as the Terraform provider below it.
type provider struct {
	api   http.Handler
	ports map[string]string
}

func (p provider) read(name string) (portState, error) {
	var found metalv1.Port
	err := call(p.api, http.MethodGet, "/ports/"+p.ports[name]+"?include=virtual_networks,native_virtual_network", nil, &found)
	if err != nil {
		return portState{}, err
	}
	data, kind := found.GetData(), found.GetNetworkType()
	s := portState{
		bonded: data.GetBonded(), native: found.NativeVirtualNetwork.GetId(),
		layer2: kind == metalv1.PORTNETWORKTYPE_LAYER2_BONDED || kind == metalv1.PORTNETWORKTYPE_LAYER2_INDIVIDUAL,
	}
	for _, v := range found.GetVirtualNetworks() {
		s.vlans = append(s.vlans, v.GetId())
	}
	slices.Sort(s.vlans)
	return s, nil
}

// bring a port to a state, or return the first refusal of the API.
func (p provider) bring(name string, want portState) error {
	is, err := p.read(name)
	if err != nil {
		return err
	}
	if is.native != "" && is.native != want.native {
		err = p.act(name, http.MethodDelete, "/native-vlan", nil)
	}
	for _, v := range is.vlans {
		if err == nil && !slices.Contains(want.vlans, v) {
			err = p.act(name, http.MethodPost, "/unassign", map[string]any{"vnid": v})
		}
	}
	if err == nil && !want.bonded && is.bonded {
		err = p.act(name, http.MethodPost, "/disbond?bulk_disable="+strconv.FormatBool(isBond(name)), nil)
	}
	if err == nil && isBond(name) && want.layer2 && !is.layer2 {
		err = p.act(name, http.MethodPost, "/convert/layer-2", map[string]any{})
	}
	if err == nil && want.bonded && !is.bonded {
		err = p.act(name, http.MethodPost, "/bond?bulk_enable="+strconv.FormatBool(isBond(name)), nil)
	}
	if err == nil && isBond(name) && !want.layer2 && is.layer2 {
		err = p.act(name, http.MethodPost, "/convert/layer-3", map[string]any{})
	}
	for _, v := range want.vlans {
		if err == nil && !slices.Contains(is.vlans, v) {
			err = p.act(name, http.MethodPost, "/assign", map[string]any{"vnid": v})
		}
	}
	if err == nil && want.native != "" && want.native != is.native {
		err = p.act(name, http.MethodPost, "/native-vlan?vnid="+want.native, nil)
	}
	return err
}

func (p provider) act(name, method, action string, in any) error {
	if err := call(p.api, method, "/ports/"+p.ports[name]+action, in, nil); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// modes are pools' ports in every mode of a server with two ports.
func modes(vlans []string) *rapid.Generator[map[string]portState] {
	some := func(t *rapid.T, least int) []string {
		picked := rapid.SliceOfNDistinct(rapid.SampledFrom(vlans), least, len(vlans), rapid.ID).Draw(t, "vlans")
		slices.Sort(picked)
		return picked
	}
	member := func(t *rapid.T) portState {
		s := portState{vlans: some(t, 1)}
		if len(s.vlans) > 1 && rapid.Bool().Draw(t, "native") {
			s.native = s.vlans[0]
		}
		return s
	}
	return rapid.Custom(func(t *rapid.T) map[string]portState {
		switch rapid.SampledFrom([]string{
			"layer3", "hybrid-bonded", "hybrid", "layer2-bonded", "layer2-individual",
		}).Draw(t, "mode") {
		case "hybrid-bonded":
			return map[string]portState{"bond0": want(true, false, some(t, 1)...)}
		case "hybrid":
			out := map[string]portState{"eth1": member(t)}
			if rapid.Bool().Draw(t, "bond carries VLANs too") {
				free := slices.DeleteFunc(some(t, 1), func(v string) bool { return slices.Contains(out["eth1"].vlans, v) })
				if len(free) > 0 {
					out["bond0"] = want(true, false, free...)
				}
			}
			return out
		case "layer2-bonded":
			return map[string]portState{"bond0": want(true, true, some(t, 1)...)}
		case "layer2-individual":
			out := map[string]portState{"bond0": want(false, true), "eth1": member(t), "eth0": {}}
			return out
		default:
			return map[string]portState{}
		}
	})
}

// settles is how many rounds any change needs at most, with a provider that
// skips some and observations that are late.
const settles = 40

// A machine's ports go from any mode to any other, changed again at any moment,
// without one refusal of the platform, and arrive.
func TestTransitionsAreNeverRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	rapid.Check(t, func(t *rapid.T) { change(t, func(err error) { t.Fatal(err) }, 0) })
}

// Observations may be late. Then the platform may refuse a step; the provider
// tries again, and the ports arrive all the same.
func TestTransitionsArriveOnLateObservations(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	rapid.Check(t, func(t *rapid.T) { change(t, func(error) {}, 3) })
}

func change(t *rapid.T, refused func(error), late int) {
	p, vlans := newServer(t, metal.New(metal.Options{Projects: map[string]string{testProject: "ours"}}))
	w := machineWorld{provider: p, have: map[string]observedPort{}, refused: refused, late: late}
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		wanted := modes(vlans).Draw(t, "wanted")
		for range rapid.IntRange(0, 14).Draw(t, "rounds before the next change") {
			w.round(t, wanted)
		}
	}
	last := modes(vlans).Draw(t, "last")
	for range settles {
		w.round(t, last)
	}
	w.arrived(t, last)
}

// machineWorld is one machine's ports, composed and real.
type machineWorld struct {
	provider

	have map[string]observedPort
	// refused is told what the platform refused.
	refused func(error)
	// late is how many of ten observations do not come.
	late int
}

func newServer(t *rapid.T, api http.Handler) (provider, []string) {
	var d metalv1.Device
	if err := call(api, http.MethodGet, "/devices/"+createServer(t, api), nil, &d); err != nil {
		t.Fatal(err)
	}
	p := provider{api: api, ports: map[string]string{}}
	for _, port := range d.GetNetworkPorts() {
		p.ports[port.GetName()] = port.GetId()
	}
	var vlans []string
	for vxlan := 1000; vxlan < 1003; vxlan++ {
		var v metalv1.VirtualNetwork
		in := map[string]any{"metro": "da", "vxlan": vxlan}
		if err := call(api, http.MethodPost, "/projects/"+testProject+"/virtual-networks", in, &v); err != nil {
			t.Fatal(err)
		}
		vlans = append(vlans, v.GetId())
	}
	return p, vlans
}

// round is one run of the function, after which the provider works on the ports
// in any order, and not always on all of them.
func (w machineWorld) round(t *rapid.T, wanted map[string]portState) {
	composed := map[string]bool{}
	for _, s := range (transition{want: wanted, have: w.have, verified: true, joined: true}).steps() {
		port, exists := w.have[s.port]
		if s.state == nil && !exists {
			continue
		}
		if s.state != nil {
			port.asked = *s.state
		}
		composed[s.port], w.have[s.port] = true, port
	}
	for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(w.have))).Draw(t, "order") {
		if rapid.IntRange(0, 9).Draw(t, "busy") == 0 {
			continue
		}
		w.reconcile(name, composed[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.have)) {
		if rapid.IntRange(0, 9).Draw(t, "late") < w.late {
			continue
		}
		is, err := w.read(name)
		if err != nil {
			t.Fatal(err)
		}
		port := w.have[name]
		port.is, port.ready = &is, true
		w.have[name] = port
	}
}

// reconcile is what the provider does to one port: it resets one that is given
// up.
func (w machineWorld) reconcile(name string, composed bool) {
	want := portState{bonded: true}
	if composed {
		want = w.have[name].asked
	}
	err := w.bring(name, want)
	if err != nil {
		w.refused(err)
		return
	}
	if !composed {
		delete(w.have, name)
	}
}

func (w machineWorld) arrived(t *rapid.T, wanted map[string]portState) {
	for _, name := range slices.Sorted(maps.Keys(w.ports)) {
		is, err := w.read(name)
		if err != nil {
			t.Fatal(err)
		}
		want, named := wanted[name]
		if !named {
			want = portState{bonded: true}
			if bond := wanted["bond0"]; !isBond(name) && bond.layer2 && !bond.bonded {
				want.bonded = false
			}
		}
		is.layer2 = is.layer2 && isBond(name)
		if want.bonded != is.bonded || want.layer2 != is.layer2 || want.native != is.native || !slices.Equal(want.vlans, is.vlans) {
			t.Fatalf("port %s: want %+v, is %+v", name, want, is)
		}
	}
}
