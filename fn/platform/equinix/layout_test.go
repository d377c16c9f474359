package equinix

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

func TestLayout(t *testing.T) {
	networks := []spec.Network{{Name: "a", VXLAN: 1000}, {Name: "b", VXLAN: 1001}}
	pool := func(change func(*plan.Pool)) plan.Pool {
		p := plan.Pool{
			Ports: []plan.Port{{Name: "bond0", Bonded: true}, {Name: "eth1", Networks: []string{"a", "b"}}},
			Links: []plan.Link{{Network: "a", Port: "eth1", NodeIP: true}, {Network: "b", Port: "eth1"}},
		}
		change(&p)
		return p
	}
	first := layoutOf(pool(func(*plan.Pool) {}), networks)
	want := layout{{Name: "eth1", VLANs: []int32{1000, 1001}, Vital: []int32{1000}}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("a port like a new server's is left out: -want, +got:\n%s", diff)
	}
	text, err := first.text()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := parseLayout(text); !ok || !cmp.Equal(got, first) {
		t.Errorf("%s is read as %v, %t", text, got, ok)
	}
	same := map[string]layout{
		"Names": layoutOf(pool(func(p *plan.Pool) {
			p.Ports[1].Networks = []string{"c", "d"}
			p.Links = nil
		}), []spec.Network{{Name: "d", VXLAN: 1000}, {Name: "c", VXLAN: 1001}}),
		"Vital": layoutOf(pool(func(p *plan.Pool) { p.Links[1].NodeIP = true }), networks),
	}
	for name, l := range same {
		if l.word() != first.word() {
			t.Errorf("%s: the ports are the same, and the word is not", name)
		}
	}
	for name, change := range map[string]func(*plan.Pool){
		"Port": func(p *plan.Pool) { p.Ports[1].Name = "bond1" }, "Bonded": func(p *plan.Pool) { p.Ports[1].Bonded = true },
		"Layer2": func(p *plan.Pool) { p.Ports[1].Layer2 = true }, "Native": func(p *plan.Pool) { p.Ports[1].Native = "a" },
		"Networks": func(p *plan.Pool) { p.Ports[1].Networks = []string{"a"} },
	} {
		if layoutOf(pool(change), networks).word() == first.word() {
			t.Errorf("%s: another layout has the same word", name)
		}
	}
	if layoutOf(pool(func(*plan.Pool) {}), []spec.Network{{Name: "a", VXLAN: 1000}, {Name: "b", VXLAN: 1002}}).word() == first.word() {
		t.Error("another VLAN is another layout")
	}
}

func TestWithout(t *testing.T) {
	cases := map[string]struct {
		reason string
		bond   bool
		asked  portState
		named  []string
		want   portState
	}{
		"Nothing":      {"all of them are networks", true, portState{bonded: true, vlans: []string{"a", "b"}}, []string{"a", "b"}, portState{bonded: true, vlans: []string{"a", "b"}}},
		"Bond":         {"a bond tags whatever is left", true, portState{bonded: true, vlans: []string{"a", "b"}}, []string{"a"}, portState{bonded: true, vlans: []string{"a"}}},
		"BondAll":      {"the platform's own addresses are left", true, portState{bonded: true, vlans: []string{"a"}}, nil, portState{bonded: true, vlans: []string{}}},
		"TwoOfThree":   {"two are tagged as three are", false, portState{vlans: []string{"a", "b", "c"}}, []string{"a", "b"}, portState{vlans: []string{"a", "b"}}},
		"OneOfTwo":     {"one alone is not tagged any more", false, portState{vlans: []string{"a", "b"}}, []string{"a"}, portState{vlans: []string{"a", "b"}}},
		"NativeOfTwo":  {"it was not tagged before", false, portState{vlans: []string{"a", "b"}, native: "a"}, []string{"a"}, portState{vlans: []string{"a"}}},
		"NativeGoes":   {"the others stay tagged", false, portState{vlans: []string{"a", "b", "c"}, native: "a"}, []string{"b", "c"}, portState{vlans: []string{"b", "c"}}},
		"NativeOfPair": {"the other one would lose its tag", false, portState{vlans: []string{"a", "b"}, native: "a"}, []string{"b"}, portState{vlans: []string{"a", "b"}, native: "a"}},
		"None":         {"nothing is left to lose", false, portState{vlans: []string{"a", "b"}}, nil, portState{vlans: []string{}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.asked
			got := observedPort{asked: tc.asked}.without(tc.bond, func(id string) bool { return !slices.Contains(tc.named, id) })
			if diff := cmp.Diff(tc.want, *got, cmp.AllowUnexported(portState{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.asked, cmp.AllowUnexported(portState{})); diff != "" {
				t.Errorf("what is asked for was changed: %s", diff)
			}
		})
	}
}

// The VLANs of a claim in which 1000 and 1001 were, and 1001 is not any more.
const (
	stays = "aaaaaaaa-0000-4000-8000-000000001000"
	goes  = "aaaaaaaa-0000-4000-8000-000000001001"
)

// TestPortsOfOutdatedMachine: whatever the claim asks for, the ports of a machine
// that was set up for something else are as that needs them.
func TestPortsOfOutdatedMachine(t *testing.T) {
	bond := portState{bonded: true, vlans: []string{stays, goes}}
	both := layout{{Name: "bond0", Bonded: true, VLANs: []int32{1000, 1001}}}
	onEth1 := layout{{Name: "eth1", VLANs: []int32{1000}}}
	left := portState{bonded: true, vlans: []string{stays}}
	cases := map[string]struct {
		reason  string
		made    string
		have    map[string]observedPort
		machine infra.Machine
		want    map[string]portState
		// unseen says that a network's VLAN is not observed.
		unseen bool
	}{
		"Goes":    {"What the claim has no network for is detached.", textOf(t, both), hasBond(bond), infra.Machine{}, asks("bond0", left), false},
		"Unseen":  {"A VLAN that is not seen may be any.", textOf(t, both), hasBond(bond), infra.Machine{}, asks("bond0", bond), true},
		"Held":    {"A pool that is held keeps everything.", textOf(t, both), hasBond(bond), infra.Machine{Held: true}, asks("bond0", bond), false},
		"NodeIP":  {"A node without its own address is lost.", textOf(t, layout{{Name: "bond0", Bonded: true, VLANs: []int32{1000, 1001}, Vital: []int32{1001}}}), hasBond(bond), infra.Machine{}, asks("bond0", bond), false},
		"Layer2":  {"In pure layer 2 a server has nothing else.", textOf(t, layout{{Name: "bond0", Bonded: true, Layer2: true, VLANs: []int32{1000, 1001}}}), hasBond(portState{bonded: true, layer2: true, vlans: []string{stays, goes}}), infra.Machine{}, asks("bond0", portState{bonded: true, layer2: true, vlans: []string{stays, goes}}), false},
		"Members": {"Nor has one whose bond is dissolved.", textOf(t, layout{{Name: "bond0", Layer2: true}, {Name: "eth0", VLANs: []int32{1001}}}), map[string]observedPort{"bond0": {asked: portState{layer2: true}}, "eth0": {asked: portState{vlans: []string{goes}}}}, infra.Machine{}, map[string]portState{"bond0": {layer2: true}, "eth0": {vlans: []string{goes}}}, false},
		"Unknown": {"Ports tell by themselves that a bond is in layer 2.", "", hasBond(portState{bonded: true, layer2: true, vlans: []string{goes}}), infra.Machine{Outdated: true}, asks("bond0", portState{bonded: true, layer2: true, vlans: []string{goes}}), false},
		"NoPorts": {"A server that was made without VLANs stays without.", "[]", nil, infra.Machine{Network: infra.NetworkVerified, Joined: true}, map[string]portState{}, false},
		"NoPortsUnknown": {
			"What a server without ports was made for may be anything.", "", nil,
			infra.Machine{Outdated: true, Network: infra.NetworkVerified, Joined: true}, map[string]portState{}, false,
		},
		"Half": {
			"A port that is there keeps what it carries while the other one is made, also a VLAN that is not seen.",
			textOf(t, layout{{Name: "bond0", Bonded: true, VLANs: []int32{1002}}, {Name: "eth1", VLANs: []int32{1000}}}),
			hasBond(portState{bonded: true, vlans: []string{"unseen"}}), infra.Machine{Network: infra.NetworkVerified},
			map[string]portState{"bond0": {bonded: true, vlans: []string{"unseen"}}, "eth1": {vlans: []string{stays}}}, false,
		},
		"Booting":  {"A server that has not got its VLANs yet gets those that it was set up for.", textOf(t, both), nil, infra.Machine{}, asks("bond0", left), false},
		"Released": {"Also outside the bond, when its network is verified.", textOf(t, onEth1), nil, infra.Machine{Network: infra.NetworkVerified}, asks("eth1", portState{vlans: []string{stays}}), false},
		"Early":    {"And not before.", textOf(t, onEth1), nil, infra.Machine{}, map[string]portState{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.machine.Template = "old"
			networks := []spec.Network{{Name: "storage", VXLAN: 1000}}
			if tc.unseen {
				networks = append(networks, spec.Network{Name: "new", VXLAN: 1001})
			}
			p := machinePorts{
				c:       infra.Cluster{Spec: &spec.Spec{Networks: networks}},
				machine: &tc.machine, vlans: map[string]string{"storage": stays}, vxlans: map[int32]string{1000: stays, 1001: goes},
				pool:     plan.Pool{Ports: []plan.Port{{Name: "eth2", Networks: []string{"storage"}}}},
				layout:   lay(layout{{Name: "eth2", VLANs: []int32{1000}}}),
				layouts:  templateLayouts(map[string]object.View{"old": view{"kind": templateKind, "metadata": map[string]any{"name": "old", "annotations": map[string]any{layoutAnnotation: tc.made}}}}),
				observed: map[string]object.View{},
			}
			for port := range tc.have {
				p.observed[port] = view{"metadata": map[string]any{"labels": map[string]any{layoutLabel: "old"}}}
			}
			got := map[string]portState{}
			for _, s := range p.steps(tc.have) {
				if s.state != nil {
					got[s.port] = *s.state
				}
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(portState{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func textOf(t *testing.T, l layout) string {
	t.Helper()
	text, err := l.text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func hasBond(asked portState) map[string]observedPort {
	return map[string]observedPort{"bond0": {asked: asked, is: &asked, ready: true}}
}

func asks(port string, state portState) map[string]portState {
	return map[string]portState{port: state}
}

func TestWhatCannotChange(t *testing.T) {
	exists := func(body map[string]any) view { return view(body) }
	packetCluster := exists(map[string]any{"kind": "PacketCluster", "spec": map[string]any{"projectID": "p", "metro": "da", "vipManager": "CPEM"}})
	port := exists(map[string]any{"kind": "Port", "metadata": map[string]any{"name": "m1-bond0"}, "spec": map[string]any{"forProvider": map[string]any{"vlanIds": []any{vlanUUID}}}})
	status := func(name string, vxlan int64) view {
		return view{"networks": []any{map[string]any{"name": name, "vxlan": vxlan, "vlanID": vlanUUID}}}
	}
	right := spec.Spec{ProjectID: "p", Metro: "da", VIPManager: spec.CPEM, Networks: []spec.Network{{Name: "storage", VXLAN: 1000}}}
	with := func(change func(*spec.Spec)) spec.Spec {
		s := right
		s.Networks = append([]spec.Network{}, right.Networks...)
		change(&s)
		return s
	}
	cases := map[string]struct {
		reason   string
		spec     spec.Spec
		status   view
		observed map[string]object.View
		want     string
	}{
		"Same":         {"nothing changes", right, status("storage", 1000), map[string]object.View{packetClusterKey: packetCluster, "p": port}, ""},
		"New":          {"nothing exists", with(func(s *spec.Spec) { s.Metro = "ny" }), view{}, nil, ""},
		"Metro":        {"servers are where they are", with(func(s *spec.Spec) { s.Metro = "ny" }), view{}, map[string]object.View{packetClusterKey: packetCluster}, `spec.metro: Invalid value: "ny": cannot be changed from da`},
		"VIPManager":   {"the address is moved by one", with(func(s *spec.Spec) { s.VIPManager = spec.KubeVIP }), view{}, map[string]object.View{packetClusterKey: packetCluster}, `spec.vipManager: Invalid value: "KUBE_VIP": cannot be changed from CPEM`},
		"VLAN":         {"a port carries the old one", with(func(s *spec.Spec) { s.Networks[0].VXLAN = 1500 }), status("storage", 1000), map[string]object.View{"p": port}, `spec.networks[storage].vxlan: Invalid value: 1500: cannot change the VLAN of network "storage" from 1000 to 1500: port "m1-bond0" carries it`},
		"VLANOfNobody": {"no port carries the old one", with(func(s *spec.Spec) { s.Networks[0].VXLAN = 1500 }), status("storage", 1000), nil, ""},
		"Renamed": {"the VLAN stays, under another name", with(func(s *spec.Spec) {
			s.Networks = []spec.Network{{Name: "disks", VXLAN: 1000}, {Name: "storage", VXLAN: 1500}}
		}), status("storage", 1000), map[string]object.View{"p": port}, ""},
		"NetworkIsGone": {"taking it out is another edit", with(func(s *spec.Spec) { s.Networks = nil }), status("storage", 1000), map[string]object.View{"p": port}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, "", "")
			c.Spec, c.Observed = &tc.spec, tc.observed
			_, err := Platform{}.Facts(context.Background(), infra.Sources{Cluster: c, Status: tc.status})
			text := ""
			if err != nil {
				text = err.Error()
			}
			if (tc.want == "") != (text == "") || !strings.Contains(text, tc.want) {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, text)
			}
		})
	}
}
