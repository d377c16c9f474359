package spec

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

func TestModeOf(t *testing.T) {
	no := new(false)
	on := func(names ...string) []PortNetwork {
		out := make([]PortNetwork, 0, len(names))
		for _, n := range names {
			out = append(out, PortNetwork{Name: n})
		}
		return out
	}
	type want struct {
		mode Mode
		errs []string
	}
	cases := map[string]struct {
		reason string
		ports  []Port
		want   want
	}{
		"None":            {"A new server's ports.", nil, want{mode: Layer3}},
		"BondAsItIs":      {"Naming the bond changes nothing.", []Port{{Name: "bond0"}}, want{mode: Layer3}},
		"HybridBonded":    {"VLANs beside the platform's addresses.", []Port{{Name: "bond0", Networks: on("a")}}, want{mode: HybridBonded}},
		"SecondBond":      {"A server with four ports.", []Port{{Name: "bond1", Layer2: true, Networks: on("a")}}, want{mode: HybridBonded}},
		"Hybrid":          {"eth1 leaves the bond.", []Port{{Name: "eth1", Bonded: no, Networks: on("a")}}, want{mode: Hybrid}},
		"HybridAndBonded": {"VLANs on both.", []Port{{Name: "bond0", Networks: on("b")}, {Name: "eth1", Bonded: no, Networks: on("a")}}, want{mode: Hybrid}},
		"HybridFourPorts": {
			"eth1 and eth3 leave their bond.",
			[]Port{{Name: "eth1", Bonded: no, Networks: on("a")}, {Name: "eth3", Bonded: no, Networks: on("b")}}, want{mode: Hybrid},
		},
		"Layer2Bonded": {"Only VLANs, on the bond.", []Port{{Name: "bond0", Layer2: true, Networks: on("a")}}, want{mode: Layer2Bonded}},
		"Layer2Individual": {
			"Only VLANs, on ports outside the bond.",
			[]Port{{Name: "bond0", Bonded: no, Layer2: true}, {Name: "eth0", Bonded: no, Networks: on("a")}, {Name: "eth1", Bonded: no, Networks: on("b", "c"), NativeNetwork: "c"}},
			want{mode: Layer2Individual},
		},
		"DissolvedWithoutLayer2": {
			"A bond is dissolved only in layer 2.",
			[]Port{{Name: "bond0", Bonded: no}}, want{errs: []string{"ports[0].bonded: Invalid value"}},
		},
		"DissolvedWithNetworks": {
			"There is no bond to put them on.",
			[]Port{{Name: "bond0", Bonded: no, Layer2: true, Networks: on("a")}}, want{errs: []string{"ports[0].networks: Invalid value"}},
		},
		"Layer2WithoutNetworks": {
			"The server would be cut off.",
			[]Port{{Name: "bond0", Layer2: true}}, want{errs: []string{"ports[0].networks: Required value"}},
		},
		"NativeOnBond": {
			"Every VLAN on a bond is tagged.",
			[]Port{{Name: "bond0", NativeNetwork: "a", Networks: on("a")}}, want{errs: []string{"ports[0].nativeNetwork: Invalid value"}},
		},
		"Layer2OnMember": {
			"The flag is for bonds.",
			[]Port{{Name: "eth1", Bonded: no, Layer2: true, Networks: on("a")}}, want{errs: []string{"ports[0].layer2: Invalid value"}},
		},
		"BondedMemberWithNetworks": {
			"A port in its bond carries the bond's networks.",
			[]Port{{Name: "eth1", Networks: on("a")}}, want{errs: []string{"ports[0].bonded: Invalid value"}},
		},
		"NativeElsewhere": {
			"The native VLAN is one of the port's.",
			[]Port{{Name: "eth1", Bonded: no, Networks: on("a"), NativeNetwork: "b"}}, want{errs: []string{"ports[0].nativeNetwork: Invalid value"}},
		},
		"Layer2BondAndPortOutside": {
			"No mode of the platform.",
			[]Port{{Name: "bond0", Layer2: true, Networks: on("a")}, {Name: "eth1", Bonded: no, Networks: on("b")}},
			want{mode: Layer2Bonded, errs: []string{"ports: Invalid value"}},
		},
		"DissolvedForNothing": {
			"No network at all.",
			[]Port{{Name: "bond0", Bonded: no, Layer2: true}}, want{mode: Layer2Individual, errs: []string{"ports: Required value"}},
		},
		"DissolvedWithBondedMember": {
			"A port cannot be in a bond that is dissolved.",
			[]Port{{Name: "bond0", Bonded: no, Layer2: true}, {Name: "eth0"}, {Name: "eth1", Bonded: no, Networks: on("a")}},
			want{mode: Layer2Individual, errs: []string{"ports[1].bonded: Invalid value"}},
		},
		"HybridOnEth0": {
			"eth0 carries the platform's addresses.",
			[]Port{{Name: "eth0", Bonded: no, Networks: on("a")}}, want{mode: Hybrid, errs: []string{"ports[0].bonded: Invalid value"}},
		},
		"HybridOnEth3Alone": {
			"eth3 leaves only together with eth1.",
			[]Port{{Name: "eth3", Bonded: no, Networks: on("a")}}, want{mode: Hybrid, errs: []string{"ports[0].bonded: Invalid value"}},
		},
		"HybridForNothing": {
			"A port outside the bond has a purpose.",
			[]Port{{Name: "eth1", Bonded: no}}, want{mode: Hybrid, errs: []string{"ports[0].networks: Required value"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mode, errs := ModeOf(tc.ports, field.NewPath("ports"))
			got := want{mode: mode}
			for _, err := range errs {
				got.errs = append(got.errs, fmt.Sprintf("%s: %s", err.Field, err.Type))
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nModeOf(): -want, +got:\n%s%v", tc.reason, diff, errs)
			}
		})
	}
}

func TestValidatePorts(t *testing.T) {
	const ports = "spec.workers[0].ports"
	cases := map[string]validation{
		"Name": {
			reason: "The platform has six names.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[0].Ports[0].Name = "bond2" },
			want:   []string{ports + "[0].name: Invalid value"},
		},
		"Twice": {
			reason: "A port is there once.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[0].Ports = append(s.Workers[0].Ports, Port{Name: "bond0"}) },
			want:   []string{ports + "[1].name: Duplicate value"},
		},
		"TooMany": {
			reason: "A list is bounded.",
			change: func(s *Spec, _ *v1beta1.Input) {
				for range 6 {
					s.Workers[0].Ports = append(s.Workers[0].Ports, Port{Name: "bond1"})
				}
			},
			want: []string{
				ports + ": Too many", ports + "[2].name: Duplicate value", ports + "[3].name: Duplicate value",
				ports + "[4].name: Duplicate value", ports + "[5].name: Duplicate value", ports + "[6].name: Duplicate value",
			},
		},
		"UnknownNetwork": {
			reason: "The error lists those that there are.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[0].Ports[0].Networks[1].Name = "date" },
			want:   []string{ports + "[0].networks[1].name: Not found"},
			says:   `Not found: "date": must name one of spec.networks: storage, data, uplink`,
		},
		"NetworkTwiceOnOnePort": {
			reason: "A network is on a server once.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[0].Ports[0].Networks[1].Name = "storage" },
			want:   []string{ports + "[0].networks[1].name: Duplicate value"},
		},
		"NetworkTwiceOnTwoPorts": {
			reason: "A network is on a server once.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Ports = append(s.Workers[0].Ports, Port{Name: "eth1", Bonded: new(false), Networks: []PortNetwork{{Name: "data"}}})
			},
			want: []string{ports + "[1].networks[0].name: Duplicate value"},
		},
		"NativeNetworkName": {
			reason: "Names are DNS labels.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Ports = []Port{{Name: "eth1", Bonded: new(false), NativeNetwork: "Data", Networks: []PortNetwork{{Name: "data"}}}}
			},
			want: []string{ports + "[0].nativeNetwork: Invalid value", ports + "[0].nativeNetwork: Invalid value"},
		},
		"DHCPOutsideTheBond": {
			reason: "The server would wait for an address from a network that it is connected to only afterwards.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].Assignment = AssignDHCP
				s.Networks[1].AssignmentRanges, s.Networks[1].Exclude = nil, nil
				s.Workers[0].Ports = []Port{{Name: "eth1", Bonded: new(false), Networks: []PortNetwork{{Name: "data"}}}}
			},
			want: []string{ports + "[0].networks[0].name: Invalid value"},
		},
		"AddressType": {
			reason: "There are two.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[0].Ports[0].Networks[0].AddressType = "Public" },
			want:   []string{ports + "[0].networks[0].addressType: Unsupported value"},
		},
		"AssignmentRangeOutside": {
			reason: "The pool's addresses are the network's.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Ports[0].Networks[0].AssignmentRange = "10.61.20.2-10.61.20.9"
			},
			want: []string{ports + "[0].networks[0].assignmentRange: Invalid value"},
			says: "must lie inside the network's ipAddresses 10.60.10.0/24, 2001:db8:60:10::/64",
		},
		"AssignmentRangeUnreadable": {
			reason: "A range is a-b, an address or a block.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Ports[0].Networks[0].AssignmentRange = "10.60.10.9-10.60.10.2"
			},
			want: []string{ports + "[0].networks[0].assignmentRange: Invalid value"},
		},
		"AssignmentRangeIgnored": {
			reason: "A DHCP server knows nothing of it.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].Assignment = AssignDHCP
				s.Workers[0].Ports[0].Networks[1].AssignmentRange = "10.61.20.2-10.61.20.9"
			},
			want: []string{ports + "[0].networks[1].assignmentRange: Invalid value"},
		},
		"NodeIPWithCloudController": {
			reason: "CPEM cannot confirm an address that is not the platform's.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Equinix.CloudController.Kind = v1beta1.CloudControllerCPEM
				s.Networks, s.Workers = s.Networks[:2], s.Workers[:1]
				s.Workers[0].Ports[0].Networks[1].NodeIP = true
			},
			want: []string{ports + "[0].networks[1].nodeIP: Invalid value"},
			says: "the cloud controller (CPEM) confirms only addresses of the platform",
		},
		"NodeIPTwice": {
			reason: "A node has one address of a family.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Ports[0].Networks[0].NodeIP, s.Workers[0].Ports[0].Networks[1].NodeIP = true, true
			},
			want: []string{ports + "[0].networks[1].nodeIP: Invalid value"},
			says: `network "storage" gives the node its IPv4 address already`,
		},
		"NodeIPWithoutAddress": {
			reason: "DHCP may give another address later, none gives none.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].Assignment = AssignDHCP
				s.Networks[0] = Network{Name: "storage", VXLAN: 1000, Assignment: AssignNone}
				s.VRFs = nil
				s.Workers[0].Ports[0].Networks[0].NodeIP, s.Workers[0].Ports[0].Networks[1].NodeIP = true, true
			},
			want: []string{ports + "[0].networks[0].nodeIP: Invalid value", ports + "[0].networks[1].nodeIP: Invalid value"},
		},
		"ControlPlaneInLayer2": {
			reason: "The endpoint is an address of the platform.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.ControlPlane.Ports = []Port{{Name: "bond0", Layer2: true, Networks: []PortNetwork{{Name: "uplink"}}}}
			},
			want: []string{"spec.controlPlane.ports: Invalid value"},
			says: "elastic address of the platform",
		},
		"WorkersInLayer2WithoutRoute": {
			reason: "They would reach nothing, not even the control plane.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[1].Ports[0].Networks[0].Name = "data" },
			want:   []string{"spec.workers[1].ports: Required value"},
			says:   "put the network that has defaultRoute: true",
			warnings: []string{
				`spec.networks[2].defaultRoute has no effect: no pool in a pure layer-2 mode is on network "uplink", and other servers keep the platform's default route`,
			},
		},
		"WorkersInLayer2WithCloudController": {
			reason: "It is said once for each pool what becomes of its nodes' addresses.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Equinix.CloudController.Kind = v1beta1.CloudControllerCPEM
				individual := s.Workers[1]
				individual.Name, individual.Ports = "individual", []Port{
					{Name: "bond0", Bonded: new(false), Layer2: true},
					{Name: "eth0", Bonded: new(false), Networks: []PortNetwork{{Name: "uplink"}}},
				}
				s.Workers = append(s.Workers, individual)
			},
			warnings: []string{
				"spec.workers[1].ports: in mode layer2-bonded the InternalIP of nodes stays the platform's address, which is gone once their ports are converted, since the cloud controller (CPEM) knows no other: logs, exec and network plugins that go by it do not reach them. Ask the platform team for cloudController.kind: None, which needs vipManager: KUBE_VIP, and set nodeIP on one of the pool's networks",
				"spec.workers[2].ports: in mode layer2-individual the InternalIP of nodes stays the platform's address, which is gone once their ports are converted, since the cloud controller (CPEM) knows no other: logs, exec and network plugins that go by it do not reach them. Ask the platform team for cloudController.kind: None, which needs vipManager: KUBE_VIP, and set nodeIP on one of the pool's networks",
			},
		},
		"DefaultRouteBesideThePlatforms": {
			reason: "In hybrid modes the bond's default stays the only one.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers = s.Workers[:1]
				s.Workers[0].Ports[0].Networks[0].Name = "uplink"
			},
			warnings: []string{
				`spec.networks[2].defaultRoute has no effect: no pool in a pure layer-2 mode is on network "uplink", and other servers keep the platform's default route`,
			},
		},
		"NoMode": {
			reason: "What the mode would ask is not asked when there is none.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[1].Ports[0].NativeNetwork = "uplink" },
			want:   []string{"spec.workers[1].ports[0].nativeNetwork: Invalid value"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}
