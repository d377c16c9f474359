package equinix

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

func TestLayout(t *testing.T) {
	networks := []spec.Network{{Name: "a", VXLAN: 1000}, {Name: "b", VXLAN: 1001}}
	pool := func(change func(*plan.Port)) plan.Pool {
		p := plan.Port{Name: "eth1", Networks: []string{"a", "b"}}
		change(&p)
		return plan.Pool{Ports: []plan.Port{p}}
	}
	same := layoutOf(pool(func(*plan.Port) {}), networks)
	renamed := layoutOf(pool(func(p *plan.Port) { p.Networks = []string{"c", "d"} }), []spec.Network{{Name: "d", VXLAN: 1000}, {Name: "c", VXLAN: 1001}})
	if renamed != same {
		t.Error("names of networks are only words, and their order means nothing")
	}
	for name, change := range map[string]func(*plan.Port){
		"Port": func(p *plan.Port) { p.Name = "bond0" }, "Bonded": func(p *plan.Port) { p.Bonded = true },
		"Layer2": func(p *plan.Port) { p.Layer2 = true }, "Native": func(p *plan.Port) { p.Native = "a" },
		"Networks": func(p *plan.Port) { p.Networks = []string{"a"} },
	} {
		if layoutOf(pool(change), networks) == same {
			t.Errorf("%s: another layout has the same word", name)
		}
	}
	if got := layoutOf(pool(func(*plan.Port) {}), []spec.Network{{Name: "a", VXLAN: 1000}, {Name: "b", VXLAN: 1002}}); got == same {
		t.Error("another VLAN is another layout")
	}
}

func TestPortsOfOutdatedMachine(t *testing.T) {
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
		"Layer2All":    {"nothing would be left", true, portState{bonded: true, layer2: true, vlans: []string{"a"}}, nil, portState{bonded: true, layer2: true, vlans: []string{"a"}}},
		"TwoOfThree":   {"two are tagged as three are", false, portState{vlans: []string{"a", "b", "c"}}, []string{"a", "b"}, portState{vlans: []string{"a", "b"}}},
		"OneOfTwo":     {"one alone is not tagged any more", false, portState{vlans: []string{"a", "b"}}, []string{"a"}, portState{vlans: []string{"a", "b"}}},
		"NativeOfTwo":  {"it was not tagged before", false, portState{vlans: []string{"a", "b"}, native: "a"}, []string{"a"}, portState{vlans: []string{"a"}}},
		"NativeGoes":   {"the others stay tagged", false, portState{vlans: []string{"a", "b", "c"}, native: "a"}, []string{"b", "c"}, portState{vlans: []string{"b", "c"}}},
		"NativeOfPair": {"the other one would lose its tag", false, portState{vlans: []string{"a", "b"}, native: "a"}, []string{"b"}, portState{vlans: []string{"a", "b"}, native: "a"}},
		"None":         {"nothing is left to lose", false, portState{vlans: []string{"a", "b"}}, nil, portState{vlans: []string{}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			named := map[string]bool{}
			for _, id := range tc.named {
				named[id] = true
			}
			before := tc.asked
			got := observedPort{asked: tc.asked}.without(tc.bond, named)
			if diff := cmp.Diff(tc.want, *got, cmp.AllowUnexported(portState{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.asked, cmp.AllowUnexported(portState{})); diff != "" {
				t.Errorf("what is asked for was changed: %s", diff)
			}
		})
	}
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
		"Metro":        {"servers are where they are", with(func(s *spec.Spec) { s.Metro = "ny" }), view{}, map[string]object.View{packetClusterKey: packetCluster}, "cannot change spec.metro from da to ny"},
		"VIPManager":   {"the address is moved by one", with(func(s *spec.Spec) { s.VIPManager = spec.KubeVIP }), view{}, map[string]object.View{packetClusterKey: packetCluster}, "cannot change spec.vipManager from CPEM to KUBE_VIP"},
		"VLAN":         {"a port carries the old one", with(func(s *spec.Spec) { s.Networks[0].VXLAN = 1500 }), status("storage", 1000), map[string]object.View{"p": port}, `cannot change the VLAN of network "storage" from 1000 to 1500: port "m1-bond0" carries it`},
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
