package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

func TestValidateNetwork(t *testing.T) {
	cases := map[string]validation{
		"TwoOfOneName": {
			reason: "Ports find networks by name, and find the first.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[2].Name, s.Workers[1].Ports[0].Networks[0].Name = "data", "data"
			},
			want: []string{"spec.networks[2].name: Duplicate value", "spec.workers[1].ports: Required value"},
		},
		"Name": {
			reason: "Names are DNS labels of at most 40 characters.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks = append(s.Networks, Network{Name: "Data", VXLAN: 2, Assignment: AssignNone})
			},
			want: []string{"spec.networks[3].name: Invalid value"},
		},
		"NameOfABond": {
			reason: "Files on servers are named after ports and networks alike.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks = append(s.Networks, Network{Name: "bond0", VXLAN: 2, Assignment: AssignNone})
			},
			want: []string{"spec.networks[3].name: Invalid value"},
			says: `"bond0": is the name of a server's port`,
		},
		"NameOfAPort": {
			reason: "Also that of a port which no server of today has; others that begin alike are free.",
			change: func(s *Spec, _ *v1beta1.Input) {
				for i, name := range []string{"eth10", "eth", "ethernet1", "bond0-a"} {
					s.Networks = append(s.Networks, Network{Name: name, VXLAN: int32(2 + i), Assignment: AssignNone})
				}
			},
			want: []string{"spec.networks[3].name: Invalid value"},
		},
		"LongName": {
			reason: "Names are DNS labels of at most 40 characters.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks = append(s.Networks, Network{Name: strings.Repeat("a", 41), VXLAN: 2, Assignment: AssignNone})
			},
			want: []string{"spec.networks[3].name: Invalid value"},
		},
		"Description": {
			reason: "Free text has a length.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[0].Description = strings.Repeat("x", 256) },
			want:   []string{"spec.networks[0].description: Too long"},
		},
		"VLANBounds": {
			reason: "VLAN ids are 2 to 3999.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[0].VXLAN, s.Networks[1].VXLAN = 1, 4000 },
			want:   []string{"spec.networks[0].vxlan: Invalid value", "spec.networks[1].vxlan: Invalid value"},
			says:   "spec.networks[1].vxlan: Invalid value: 4000: must be between 2 and 3999",
		},
		"TwoOnOneVLAN": {
			reason: "A VLAN id names one VLAN; the names of interfaces that follow from it need no second error.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].VXLAN = 1000 },
			want:   []string{"spec.networks[1].vxlan: Duplicate value"},
		},
		"VLANID": {
			reason: "VLANs are UUIDs to the platform.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].VLANID = "1001" },
			want:   []string{"spec.networks[1].vlanID: Invalid value"},
		},
		"TwoOfOneVLANID": {
			reason: "One VLAN cannot be two.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].VLANID = "8f0b6f0e-1d0b-4c1e-9d0a-5b1f3a0c7d22"
				s.Networks[2].VLANID = s.Networks[1].VLANID
			},
			want: []string{"spec.networks[2].vlanID: Duplicate value"},
		},
		"TwoDefaultRoutes": {
			reason: "A server has one default route.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].DefaultRoute = true },
			want:   []string{"spec.networks[2].defaultRoute: Invalid value"},
			says:   "spec.networks[1].defaultRoute is it already",
			warnings: []string{
				`spec.networks[1].defaultRoute has no effect: no pool in a pure layer-2 mode is on network "data", and other servers keep the platform's default route`,
			},
		},
		"MTUTooLarge": {
			reason: "The platform carries at most 9000 bytes.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].MTU = 9001 },
			want:   []string{"spec.networks[1].mtu: Invalid value"},
			says:   "spec.networks[1].mtu: Invalid value: 9001: must be between 576 and 9000",
		},
		"MTUTooSmallForIPv6": {
			reason: "IPv6 needs 1280 bytes.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[0].MTU = 1000 },
			want:   []string{"spec.networks[0].mtu: Invalid value"},
			says:   "must be at least 1280 with the IPv6 block 2001:db8:60:10::/64",
		},
		"MTUTooSmall": {
			reason: "IPv4 needs 576 bytes.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].MTU = 575 },
			want:   []string{"spec.networks[1].mtu: Invalid value"},
		},
		"InterfaceNameTooLong": {
			reason: "The kernel's names have at most 15 bytes; the error says so.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].InterfaceName = "storage-network1" },
			want:   []string{"spec.networks[1].interfaceName: Invalid value"},
			says:   `"storage-network1": must be an interface name (a lower-case letter, then lower-case letters, digits, _, . and -), of at most 15 characters`,
		},
		"InterfaceNameOfAnother": {
			reason: "The default name of another network is taken.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].InterfaceName = "vlan1000" },
			want:   []string{"spec.networks[1].interfaceName: Duplicate value"},
		},
		"InterfaceNameTwice": {
			reason: "Two networks share a name.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].InterfaceName, s.Networks[1].InterfaceName = "fast", "fast"
			},
			want: []string{"spec.networks[1].interfaceName: Duplicate value"},
		},
		"InterfaceNameWithSlash": {
			reason: "It becomes part of paths.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].InterfaceName = "a/b" },
			want:   []string{"spec.networks[1].interfaceName: Invalid value"},
		},
		"Assignment": {
			reason: "There are four kinds.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].Assignment = "static" },
			want:   []string{"spec.networks[1].assignment: Unsupported value"},
		},
		"IPAMWithoutPool": {
			reason: "There is no pool to ask.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].Assignment = AssignIPAM },
			want:   []string{"spec.networks[1].poolRef: Required value"},
		},
		"PoolWithoutIPAM": {
			reason: "The pool would never be asked.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].PoolRef = &PoolRef{Name: "pooled"} },
			want:   []string{"spec.networks[1].poolRef: Invalid value"},
		},
		"PoolRef": {
			reason: "Group, kind and name are what they are in Kubernetes.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].Assignment = AssignIPAM
				s.Networks[1].PoolRef = &PoolRef{APIGroup: "ipam/v1", Kind: "pool", Name: "Pooled"}
			},
			want: []string{
				"spec.networks[1].poolRef.apiGroup: Invalid value", "spec.networks[1].poolRef.kind: Invalid value",
				"spec.networks[1].poolRef.name: Invalid value",
			},
		},
		"IPAMWithTwoBlocks": {
			reason: "A pool gives a machine one address.",
			change: func(s *Spec, _ *v1beta1.Input) {
				n := &s.Networks[0]
				n.Assignment, n.PoolRef, n.AssignmentRanges = AssignIPAM, &PoolRef{Name: "pooled"}, nil
			},
			want: []string{"spec.networks[0].ipAddresses: Invalid value"},
		},
		"IPAMWithoutSubnet": {
			reason: "The configuration of a machine names the prefix before the pool gives an address.",
			change: func(s *Spec, _ *v1beta1.Input) {
				n := &s.Networks[1]
				n.Assignment, n.PoolRef, n.IPAddresses, n.Gateway = AssignIPAM, &PoolRef{Name: "pooled"}, nil, ""
			},
			want: []string{"spec.networks[1].ipAddresses: Required value"},
		},
		"DHCPWithRanges": {
			reason: "Nobody would look at the ranges.",
			change: func(s *Spec, _ *v1beta1.Input) {
				n := &s.Networks[1]
				n.Assignment, n.AssignmentRanges, n.Exclude = AssignDHCP, []string{"10.61.20.2-10.61.20.9"}, []string{"10.61.20.9"}
			},
			want: []string{"spec.networks[1].assignmentRanges: Invalid value", "spec.networks[1].exclude: Invalid value"},
		},
		"DHCPWithSourceRouting": {
			reason: "The rule needs the machine's own address before there is one.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].Assignment, s.Networks[1].SourceRouting = AssignDHCP, true
			},
			want: []string{"spec.networks[1].sourceRouting: Invalid value"},
		},
		"NoneWithRoutes": {
			reason: "Without an address no router can be reached.",
			change: func(s *Spec, _ *v1beta1.Input) {
				n := &s.Networks[2]
				n.Assignment, n.SourceRouting = AssignNone, true
				n.Routes = []Route{{Destination: "10.99.0.0/16", Gateway: "10.62.0.1"}}
			},
			want: []string{
				"spec.networks[2].defaultRoute: Invalid value", "spec.networks[2].routes: Invalid value",
				"spec.networks[2].sourceRouting: Invalid value",
			},
		},
		"TooManyNetworks": {
			reason: "A list is bounded.",
			change: func(s *Spec, _ *v1beta1.Input) {
				for i := range int32(62) {
					s.Networks = append(s.Networks, Network{Name: fmt.Sprintf("n%d", i), VXLAN: 2000 + i, Assignment: AssignNone})
				}
			},
			want: []string{"spec.networks: Too many"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

// Names of interfaces that the system makes are not free, those of VLAN
// interfaces are.
func TestSystemInterfaces(t *testing.T) {
	cases := map[string]bool{
		"lo": true, "all": true, "default": true, "bond0": true, "bond1": true, "eth0": true, "eth10": true,
		"enp1s0f0": true, "eno1": true, "ens3f1np1": true, "docker0": true, "cni0": true, "cali1234": true,
		"cilium_host": true, "flannel.1": true, "vxlan100": true, "veth12ab": true, "kube-ipvs0": true, "virbr0": true,
		"vlan1001": false, "bond0.1000": false, "storage": false, "eth": false, "enterprise": false, "lo0": false,
	}
	for name, taken := range cases {
		t.Run(name, func(t *testing.T) {
			s := testClaim()
			s.Networks[1].InterfaceName = name
			errs, _ := Validate(s, testInput())
			if got := len(errs) > 0; got != taken {
				t.Errorf("refused: want %t, got %t: %v", taken, got, errs)
			}
		})
	}
}

func TestValidateSubnet(t *testing.T) {
	cases := map[string]validation{
		"None": {
			reason: "There is nothing to assign.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].IPAddresses, s.Networks[1].Gateway = nil, "" },
			want:   []string{"spec.networks[1].ipAddresses: Required value"},
		},
		"EmptyList": {
			reason: "A list that is there has an item.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].IPAddresses, s.Networks[1].Gateway = []string{}, "" },
			want:   []string{"spec.networks[1].ipAddresses: Required value"},
		},
		"NotABlock": {
			reason: "Nothing more is said of what should lie in a block that cannot be read.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].IPAddresses[0] = "10.61.20.0" },
			want:   []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
			says:   "must be a block in prefix notation",
		},
		"NoSuchAddress": {
			reason: "The pattern lets it through, the parser does not.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].IPAddresses[0] = "10.61.256.0/24" },
			want:   []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
		},
		"MappedIPv4": {
			reason: "One block, one spelling.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].IPAddresses[0] = "::ffff:10.61.20.0/120" },
			want:   []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
		},
		"HostBits": {
			reason: "The error says what the block is.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].IPAddresses[0] = "10.61.20.1/24" },
			want:   []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
			says:   "has host bits; the block is 10.61.20.0/24",
		},
		"Loopback": {
			reason: "Blocks with a meaning of their own.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].IPAddresses[0] = "127.1.0.0/16" },
			want:   []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
			says:   "lies in 127.0.0.0/8, which is reserved for loopback",
		},
		"TwoOfOneFamily": {
			reason: "A network has one block of each family.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].IPAddresses = []string{"10.61.20.0/24", "10.61.21.0/24"}
			},
			want: []string{"spec.networks[1].ipAddresses[1]: Invalid value"},
		},
		"NoRoom": {
			reason: "A router and a machine need more.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].IPAddresses, s.Networks[1].Gateway = []string{"10.61.20.0/31"}, ""
			},
			want: []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
			says: "the smallest block of a network is a /30",
		},
		"GatewayOutside": {
			reason: "The router is a neighbour.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].Gateway = "10.61.0.1" },
			want:   []string{"spec.networks[1].gateway: Invalid value"},
			says:   "must lie inside the network's ipAddresses 10.61.20.0/24",
		},
		"GatewayIsTheNetwork": {
			reason: "The first address names the network.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].Gateway = "10.61.20.0" },
			want:   []string{"spec.networks[1].gateway: Invalid value"},
		},
		"GatewayIsBroadcast": {
			reason: "The last IPv4 address is for all.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].Gateway = "10.61.20.255" },
			want:   []string{"spec.networks[1].gateway: Invalid value"},
		},
		"GatewayWithoutSubnet": {
			reason: "There is nothing that it could be in.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].Assignment, s.Networks[1].IPAddresses = AssignDHCP, nil },
			want:   []string{"spec.networks[1].gateway: Invalid value"},
		},
		"GatewaysOfOneFamily": {
			reason: "A second IPv6 router would be ignored.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].Gateway, s.Networks[0].Routes = "2001:db8:60:10::2", nil
			},
			want: []string{"spec.networks[0].gatewayIPv6: Invalid value"},
		},
		"GatewayIPv6IsIPv4": {
			reason: "The IPv6 router has an IPv6 address.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[0].GatewayIPv6 = "10.60.10.2" },
			want:   []string{"spec.networks[0].gatewayIPv6: Invalid value"},
		},
		"GatewayNotAnAddress": {
			reason: "The pattern lets it through, the parser does not.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].Gateway = "10.61.20" },
			want:   []string{"spec.networks[1].gateway: Invalid value"},
		},
		"DefaultRouteWithoutGateway": {
			reason: "A default route leads to a router.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[2].Gateway = "" },
			want:   []string{"spec.networks[2].gateway: Required value"},
		},
		"SourceRoutingWithoutGateway": {
			reason: "Answers leave through the router.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].Gateway, s.Networks[1].SourceRouting = "", true },
			want:   []string{"spec.networks[1].gateway: Required value"},
		},
		"Ranges": {
			reason: "Ranges are read, run forwards, lie in one block, and so do excluded ones.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].AssignmentRanges = []string{
					"10.61.20.9-10.61.20.2", "10.61.21.2", "10.61.20.250-10.61.21.2", "10.61.20.5/29", "10.61.20.2 - 10.61.20.9", "",
				}
				s.Networks[1].Exclude = []string{"10.61.21.0/24", "10.61.20.2-2001:db8::1"}
			},
			want: []string{
				"spec.networks[1].assignmentRanges[0]: Invalid value", "spec.networks[1].assignmentRanges[1]: Invalid value",
				"spec.networks[1].assignmentRanges[2]: Invalid value", "spec.networks[1].assignmentRanges[3]: Invalid value",
				"spec.networks[1].assignmentRanges[4]: Invalid value", "spec.networks[1].assignmentRanges[5]: Required value",
				"spec.networks[1].exclude[0]: Invalid value", "spec.networks[1].exclude[1]: Invalid value",
			},
			says: `"10.61.20.9-10.61.20.2": it runs backwards, write 10.61.20.2-10.61.20.9`,
		},
		"TooManyRanges": {
			reason: "Lists are bounded.",
			change: func(s *Spec, _ *v1beta1.Input) {
				for range 257 {
					s.Networks[1].Exclude = append(s.Networks[1].Exclude, "10.61.20.9")
				}
				s.Networks[1].AssignmentRanges = s.Networks[1].Exclude[:65]
			},
			want: []string{"spec.networks[1].assignmentRanges: Too many", "spec.networks[1].exclude: Too many"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

func TestValidateRoutes(t *testing.T) {
	route := func(destination, gateway string) func(*Spec, *v1beta1.Input) {
		return func(s *Spec, _ *v1beta1.Input) {
			s.Networks[1].Routes = []Route{{Destination: destination, Gateway: gateway}}
		}
	}
	const destination, gateway = "spec.networks[1].routes[0].destination", "spec.networks[1].routes[0].gateway"
	cases := map[string]validation{
		"PlatformRoute": {
			reason: "Servers in hybrid modes reach 10/8 through the platform.",
			change: route("10.0.0.0/8", "10.61.20.1"),
			want:   []string{destination + ": Invalid value"},
			says:   "covers 10.0.0.0/8, which servers in layer3 and hybrid modes reach through the platform's private gateway",
		},
		"WiderThanThePlatformRoute": {
			reason: "The whole kind, not only the one prefix.",
			change: route("8.0.0.0/6", "10.61.20.1"),
			want:   []string{destination + ": Invalid value"},
		},
		"SubnetCoversThePlatformRoute": {
			reason: "A connected network takes the place of a route just as well.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks = []Network{{Name: "data", VXLAN: 2, IPAddresses: []string{"10.0.0.0/8"}}}
				s.VRFs, s.Workers = nil, nil
				s.ControlPlane.Ports[0].Networks = []PortNetwork{{Name: "data"}}
			},
			want: []string{"spec.networks[0].ipAddresses[0]: Invalid value"},
		},
		"DefaultRoute": {
			reason: "There is a field for it.",
			change: route("0.0.0.0/0", "10.61.20.1"),
			want:   []string{destination + ": Invalid value"},
			says:   "use defaultRoute: true",
		},
		"DefaultRouteIPv6": {
			reason: "There is a field for it.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].Routes = []Route{{Destination: "::/0", Gateway: "2001:db8:60:10::1"}}
			},
			want: []string{"spec.networks[0].routes[0].destination: Invalid value"},
		},
		"HostBits": {
			reason: "The error says what the block is.",
			change: route("10.99.0.1/16", "10.61.20.1"),
			want:   []string{destination + ": Invalid value"},
			says:   "the block is 10.99.0.0/16",
		},
		"OwnSubnet": {
			reason: "It is reached without a route.",
			change: route("10.61.20.0/24", "10.61.20.1"),
			want:   []string{destination + ": Invalid value"},
		},
		"AnotherSubnet": {
			reason: "It would take the place of what servers reach without a route.",
			change: route("10.60.10.0/24", "10.61.20.1"),
			want:   []string{destination + ": Invalid value"},
			says:   `"10.60.10.0/24": leads into network "storage" 10.60.10.0/24, which the same servers reach without a route; take it out, or give it a wider destination`,
		},
		"InsideAnotherSubnet": {
			reason: "The longer prefix wins, so a part of the subnet would be elsewhere.",
			change: route("10.60.10.128/25", "10.61.20.1"),
			want:   []string{destination + ": Invalid value"},
		},
		"AnotherSubnetWithSourceRouting": {
			reason: "A table of its own has the default route only; routes stand in the main one, whatever the metric.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].SourceRouting, s.Networks[1].SourceRouting = true, true
				s.Networks[1].Routes = []Route{{Destination: "10.60.10.0/24", Gateway: "10.61.20.1", Metric: 100}}
			},
			want: []string{destination + ": Invalid value"},
		},
		"AnotherSubnetIPv6": {
			reason: "Both families alike.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].IPAddresses = append(s.Networks[1].IPAddresses, "2001:db8:61::/64")
				s.Networks[1].Routes = []Route{{Destination: "2001:db8:60:10:8000::/65", Gateway: "2001:db8:61::1"}}
			},
			want: []string{destination + ": Invalid value"},
			says: `network "storage" 2001:db8:60:10::/64`,
		},
		"ProjectsBlock": {
			reason: "Servers with the platform's own addresses reach it through the platform.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Equinix.Blocks = []string{"10.51.43.128/25"}
				s.Networks[1].Routes = []Route{
					{Destination: "10.51.43.128/25", Gateway: "10.61.20.1"}, {Destination: "10.51.43.192/26", Gateway: "10.61.20.1"},
				}
			},
			want: []string{destination + ": Invalid value", "spec.networks[1].routes[1].destination: Invalid value"},
			says: `"10.51.43.192/26": leads into the project's own block 10.51.43.128/25, which the same servers reach without a route`,
		},
		"Multicast": {
			reason: "A block with a meaning of its own.",
			change: route("224.0.0.0/8", "10.61.20.1"),
			want:   []string{destination + ": Invalid value"},
		},
		"GatewayOutside": {
			reason: "A gateway is a neighbour.",
			change: route("10.99.0.0/16", "10.61.0.1"),
			want:   []string{gateway + ": Invalid value"},
			says:   "must lie inside the network's ipAddresses 10.61.20.0/24",
		},
		"GatewayIsBroadcast": {
			reason: "A gateway is one machine.",
			change: route("10.99.0.0/16", "10.61.20.255"),
			want:   []string{gateway + ": Invalid value"},
		},
		"GatewayOfTheOtherFamily": {
			reason: "IPv4 goes through IPv4.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].Routes = []Route{{Destination: "10.99.0.0/16", Gateway: "2001:db8:60:10::1"}}
			},
			want: []string{"spec.networks[0].routes[0].gateway: Invalid value"},
			says: "must be IPv4, as the destination 10.99.0.0/16 is",
		},
		"Empty": {
			reason: "Both are needed.",
			change: route("", ""),
			want:   []string{destination + ": Required value", gateway + ": Required value"},
		},
		"Metric": {
			reason: "Metrics have 32 bits.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].Routes = []Route{
					{Destination: "10.98.0.0/16", Gateway: "10.61.20.1", Metric: 4294967296},
					{Destination: "10.99.0.0/16", Gateway: "10.61.20.1", Metric: -1},
				}
			},
			want: []string{"spec.networks[1].routes[0].metric: Invalid value", "spec.networks[1].routes[1].metric: Invalid value"},
		},
		"TwiceOnOneNetwork": {
			reason: "One of the two would be lost.",
			change: func(s *Spec, _ *v1beta1.Input) {
				r := Route{Destination: "10.99.0.0/16", Gateway: "10.61.20.1"}
				s.Networks[1].Routes = []Route{r, r}
			},
			want: []string{"spec.networks[1].routes[1].destination: Duplicate value"},
		},
		"TwiceOnTwoNetworks": {
			reason: "A server has one way to a destination, whatever the metrics.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].Routes = []Route{{Destination: "10.60.0.0/16", Gateway: "10.61.20.1", Metric: 100}}
			},
			want: []string{destination + ": Invalid value"},
			says: `network "storage" on the same servers has a route there already`,
		},
		"TwiceWithSourceRoutingAndOneMetric": {
			reason: "Both stand in the main table too, which keeps one of two with one metric.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].SourceRouting, s.Networks[1].SourceRouting = true, true
				s.Networks[1].Routes = []Route{{Destination: "10.60.0.0/16", Gateway: "10.61.20.1"}}
			},
			want: []string{destination + ": Invalid value"},
		},
		"TooMany": {
			reason: "A list is bounded.",
			change: func(s *Spec, _ *v1beta1.Input) {
				for i := range 65 {
					s.Networks[1].Routes = append(s.Networks[1].Routes, Route{Destination: fmt.Sprintf("11.%d.0.0/16", i), Gateway: "10.61.20.1"})
				}
			},
			want: []string{"spec.networks[1].routes: Too many"},
		},
		"IntoPods": {
			reason:   "The pod network may know better, so it is only said.",
			change:   route("192.168.0.0/20", "10.61.20.1"),
			warnings: []string{"spec.networks[1].routes[0]: the route to 192.168.0.0/20 overlaps clusterNetwork.pods 192.168.0.0/16; whether servers reach what is behind it depends on the pod network"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

func TestValidateOverlaps(t *testing.T) {
	cases := map[string]validation{
		"TwoNetworks": {
			reason: "An address would be on two networks.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[2].IPAddresses, s.Networks[2].Gateway = []string{"10.61.0.0/16"}, "10.61.0.1"
			},
			want: []string{"spec.networks[2].ipAddresses[0]: Invalid value"},
			says: `network "uplink" overlaps network "data" 10.61.20.0/24`,
		},
		"PlatformBlock": {
			reason: "The platform's own block is in use; the error names both.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Equinix.Blocks = []string{"10.51.43.128/25"}
				s.Networks[1].IPAddresses, s.Networks[1].Gateway = []string{"10.51.43.0/24"}, ""
			},
			want: []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
			says: `"10.51.43.0/24": network "data" overlaps the project's own block 10.51.43.128/25`,
		},
		"Services": {
			reason: "The error names both.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ClusterNetwork.Services.CIDRBlocks = []string{"10.61.0.0/16"} },
			want:   []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
			says:   `"10.61.20.0/24": network "data" overlaps clusterNetwork.services 10.61.0.0/16`,
		},
		"DefaultPods": {
			reason: "Pods have addresses even where the claim names none.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].IPAddresses, s.Networks[1].Gateway = []string{"192.168.7.0/24"}, ""
			},
			want: []string{"spec.networks[1].ipAddresses[0]: Invalid value"},
			says: `network "data" overlaps clusterNetwork.pods 192.168.0.0/16`,
		},
		"PodsAndServices": {
			reason: "An address is a pod's or a service's.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ClusterNetwork.Services.CIDRBlocks = []string{"192.168.128.0/20"} },
			want:   []string{"spec.clusterNetwork.services.cidrBlocks[0]: Invalid value"},
		},
		"PodsAndPlatform": {
			reason: "Pods could not reach servers of the project.",
			change: func(_ *Spec, in *v1beta1.Input) { in.Equinix.Blocks = []string{"192.168.4.0/25"} },
			want:   []string{"spec.clusterNetwork.pods.cidrBlocks[0]: Invalid value"},
		},
		"IPv6": {
			reason: "Both families alike.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].IPAddresses = append(s.Networks[1].IPAddresses, "2001:db8:60::/48")
			},
			want: []string{"spec.networks[1].ipAddresses[1]: Invalid value"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}
