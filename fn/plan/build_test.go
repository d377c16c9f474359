package plan_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"

	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

var equal = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b netipx.IPRange) bool { return a == b }),
}

// base is a claim with one storage network on the bond of all machines.
func base() *spec.Spec {
	return &spec.Spec{
		Networks: []spec.Network{{
			Name: "storage", VXLAN: 1000, IPAddresses: []string{"10.60.10.0/24"}, Assignment: spec.AssignClusterAPI,
			AssignmentRanges: []string{"10.60.10.2-10.60.10.40"}, Exclude: []string{"10.60.10.20"}, Gateway: "10.60.10.1",
		}},
		ControlPlane: spec.ControlPlane{Replicas: 3, Machines: spec.Machines{OS: "ubuntu_22_04", Ports: on("bond0", "storage")}},
		Workers: []spec.WorkerPool{{
			Name: "a", Replicas: new(int32(2)), Machines: spec.Machines{OS: "ubuntu_22_04", Ports: on("bond0", "storage")},
		}},
	}
}

// on puts networks on a bond.
func on(port string, networks ...string) []spec.Port {
	p := spec.Port{Name: port}
	for _, n := range networks {
		p.Networks = append(p.Networks, spec.PortNetwork{Name: n})
	}
	return []spec.Port{p}
}

// off puts networks on a port that left its bond.
func off(port string, networks ...string) spec.Port {
	p := on(port, networks...)[0]
	p.Bonded = new(false)
	return p
}

func TestBuild(t *testing.T) {
	got, err := plan.Build(base())
	if err != nil {
		t.Fatal(err)
	}
	subnet := netip.MustParsePrefix("10.60.10.0/24")
	gateway := netip.MustParseAddr("10.60.10.1")
	link := plan.Link{
		Network: "storage", ID: 1000, Port: "bond0", VLAN: 1000, Interface: "vlan1000", Assignment: plan.AssignStatic,
		Subnets: []plan.LinkSubnet{{Key: "vlan1000.ipv4", Prefix: subnet, Gateway: gateway}},
	}
	port := plan.Port{Name: "bond0", Bonded: true, Networks: []string{"storage"}}
	want := plan.Plan{
		Networks: []plan.Network{{
			Name: "storage", VLAN: 1000, Assignment: plan.AssignStatic, Links: true,
			Needed: 3 + 1 + 2 + 1,
			Subnets: []plan.Subnet{{
				Prefix: subnet, Gateway: gateway,
				Ranges:  []netipx.IPRange{netipx.MustParseIPRange("10.60.10.2-10.60.10.40")},
				Exclude: []netipx.IPRange{netipx.MustParseIPRange("10.60.10.20-10.60.10.20")},
			}},
		}},
		Pools: []plan.Pool{
			{Name: "control-plane", Role: plan.ControlPlane, OS: "ubuntu_22_04", Replicas: 3, Surge: 1, Mode: spec.HybridBonded, Ports: []plan.Port{port}, Links: []plan.Link{link}},
			{Name: "a", Role: plan.Worker, OS: "ubuntu_22_04", Replicas: 2, Surge: 1, Mode: spec.HybridBonded, Ports: []plan.Port{port}, Links: []plan.Link{link}},
		},
	}
	if diff := cmp.Diff(want, got, equal...); diff != "" {
		t.Errorf("plan of the base claim: -want, +got:\n%s", diff)
	}
}

func TestModes(t *testing.T) {
	networks := []spec.Network{
		{Name: "one", VXLAN: 1000, Assignment: spec.AssignNone},
		{Name: "two", VXLAN: 1001, Assignment: spec.AssignNone, InterfaceName: "data0"},
	}
	type link struct {
		Network, Port, Interface string
		VLAN                     int
	}
	type want struct {
		mode  spec.Mode
		links []link
	}
	cases := map[string]struct {
		reason string
		ports  []spec.Port
		want   want
	}{
		"Layer3": {
			reason: "without networks nothing changes",
			want:   want{mode: spec.Layer3},
		},
		"HybridBonded": {
			reason: "every VLAN on a bond is tagged, also a single one",
			ports:  on("bond0", "two", "one"),
			want: want{spec.HybridBonded, []link{
				{"one", "bond0", "vlan1000", 1000}, {"two", "bond0", "data0", 1001},
			}},
		},
		"HybridOneVLANIsUntagged": {
			reason: "a port outside the bond carries its only VLAN untagged",
			ports:  []spec.Port{off("eth1", "one")},
			want:   want{spec.Hybrid, []link{{"one", "eth1", "", 0}}},
		},
		"HybridTwoVLANsAreTagged": {
			reason: "two VLANs on a port need tags",
			ports:  []spec.Port{off("eth1", "one", "two")},
			want: want{spec.Hybrid, []link{
				{"one", "eth1", "vlan1000", 1000}, {"two", "eth1", "data0", 1001},
			}},
		},
		"HybridNative": {
			reason: "the native VLAN is untagged beside the tagged ones",
			ports: []spec.Port{func() spec.Port {
				p := off("eth1", "one", "two")
				p.NativeNetwork = "two"
				return p
			}()},
			want: want{spec.Hybrid, []link{
				{"one", "eth1", "vlan1000", 1000}, {"two", "eth1", "", 0},
			}},
		},
		"HybridWithVLANOnTheBond": {
			reason: "a VLAN may stay on the bond beside the port that left it",
			ports:  []spec.Port{on("bond0", "one")[0], off("eth1", "two")},
			want: want{spec.Hybrid, []link{
				{"one", "bond0", "vlan1000", 1000}, {"two", "eth1", "", 0},
			}},
		},
		"Layer2Bonded": {
			reason: "the bond loses the platform's addresses",
			ports:  []spec.Port{{Name: "bond0", Layer2: true, Networks: []spec.PortNetwork{{Name: "one"}}}},
			want:   want{spec.Layer2Bonded, []link{{"one", "bond0", "vlan1000", 1000}}},
		},
		"Layer2Individual": {
			reason: "each port of the dissolved bond has its own networks",
			ports:  []spec.Port{{Name: "bond0", Layer2: true, Bonded: new(false)}, off("eth0", "one"), off("eth1", "two")},
			want: want{spec.Layer2Individual, []link{
				{"one", "eth0", "", 0}, {"two", "eth1", "", 0},
			}},
		},
		"FourPorts": {
			reason: "the second bond of a server with four ports may be in layer 2",
			ports:  []spec.Port{{Name: "bond1", Layer2: true, Networks: []spec.PortNetwork{{Name: "one"}}}},
			want:   want{spec.HybridBonded, []link{{"one", "bond1", "vlan1000", 1000}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := base()
			s.Networks = networks
			s.ControlPlane.Ports = nil
			s.Workers[0].Ports = tc.ports
			p, err := plan.Build(s)
			if err != nil {
				t.Fatal(err)
			}
			got := want{mode: p.Pools[1].Mode}
			for _, l := range p.Pools[1].Links {
				got.links = append(got.links, link{l.Network, l.Port, l.Interface, l.VLAN})
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMTU(t *testing.T) {
	cases := map[string]struct {
		reason string
		mtus   [2]int32
		want   [2]int
		port   int
	}{
		"NotGiven":       {"nothing is said about MTU", [2]int32{0, 0}, [2]int{0, 0}, 0},
		"OneIsLarge":     {"the neighbour of a large one gets the default said", [2]int32{9000, 0}, [2]int{9000, 1500}, 9000},
		"Both":           {"the port gets the highest", [2]int32{9000, 1500}, [2]int{9000, 1500}, 9000},
		"SmallIsSmaller": {"a small one neither raises the port nor its neighbour", [2]int32{1400, 0}, [2]int{1400, 0}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := base()
			s.Networks = []spec.Network{
				{Name: "one", VXLAN: 1000, MTU: tc.mtus[0]}, {Name: "two", VXLAN: 1001, MTU: tc.mtus[1]},
			}
			s.Workers = nil
			s.ControlPlane.Ports = on("bond0", "one", "two")
			p, err := plan.Build(s)
			if err != nil {
				t.Fatal(err)
			}
			pool := p.Pools[0]
			if got := [2]int{pool.Links[0].MTU, pool.Links[1].MTU}; got != tc.want || pool.Ports[0].MTU != tc.port {
				t.Errorf("%s: want links %v and port %d, got %v and %d", tc.reason, tc.want, tc.port, got, pool.Ports[0].MTU)
			}
		})
	}
}

func TestGateways(t *testing.T) {
	s := base()
	s.Networks = []spec.Network{
		{Name: "routed", VXLAN: 1000, IPAddresses: []string{"10.60.10.0/24"}, MetalGateway: &spec.MetalGateway{VRF: "backbone"}},
		{Name: "both", VXLAN: 254, IPAddresses: []string{"2001:db8::/64", "10.60.20.0/24"}, Gateway: "10.60.20.254", GatewayIPv6: "2001:db8::1",
			SourceRouting: true, DefaultRoute: true},
	}
	s.ControlPlane.Ports = on("bond0", "routed", "both")
	s.Workers[0].Ports = []spec.Port{{Name: "bond0", Layer2: true, Networks: []spec.PortNetwork{{Name: "both"}}}}
	p, err := plan.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	routed := p.Pools[0].Links[1].Subnets[0]
	if want := netip.MustParseAddr("10.60.10.1"); routed.Gateway != want {
		t.Errorf("a gateway in a VRF takes the first address: want %s, got %s", want, routed.Gateway)
	}
	both := p.Pools[0].Links[0]
	if both.Table != 10254 {
		t.Errorf("VLAN 254 must not use the kernel's table 254: got table %d", both.Table)
	}
	if both.Subnets[0].Key != "vlan254.ipv4" || both.Subnets[1].Key != "vlan254.ipv6" {
		t.Errorf("IPv4 comes first: got %v", both.Subnets)
	}
	if both.Subnets[0].Default || !p.Pools[1].Links[0].Subnets[0].Default || !p.Pools[1].Links[0].Subnets[1].Default {
		t.Error("only machines in a pure layer-2 mode take their default route from a network")
	}
}

func TestOrderOfTheClaimDoesNotMatter(t *testing.T) {
	a, b := base(), base()
	extra := spec.Network{Name: "data", VXLAN: 1001, IPAddresses: []string{"10.60.20.0/24"}, Assignment: spec.AssignClusterAPI,
		Routes: []spec.Route{{Destination: "10.61.0.0/16", Gateway: "10.60.20.1"}, {Destination: "10.62.0.0/16", Gateway: "10.60.20.1"}}}
	reversed := extra
	reversed.Routes = []spec.Route{extra.Routes[1], extra.Routes[0]}
	a.Networks = append(a.Networks, extra)
	b.Networks = append([]spec.Network{reversed}, b.Networks...)
	a.Workers[0].Ports, b.Workers[0].Ports = on("bond0", "storage", "data"), on("bond0", "data", "storage")
	a.Workers = append(a.Workers, spec.WorkerPool{Name: "b"})
	b.Workers = append([]spec.WorkerPool{{Name: "b"}}, b.Workers...)
	pa, err := plan.Build(a)
	if err != nil {
		t.Fatal(err)
	}
	pb, err := plan.Build(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pa, pb, equal...); diff != "" {
		t.Errorf("the same claim in another order: -first, +second:\n%s", diff)
	}
}
