package assign_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// networked is an input whose claim has one network, with all pools on it.
func networked(t *testing.T, n spec.Network, machines ...infra.Machine) assign.Input {
	t.Helper()
	n.Name, n.VXLAN, n.Assignment = "storage", 1000, spec.AssignClusterAPI
	p, err := plan.Build(&spec.Spec{
		Networks:     []spec.Network{n},
		ControlPlane: spec.ControlPlane{Replicas: 3, Machines: spec.Machines{Ports: bond("storage")}},
		Workers:      []spec.WorkerPool{{Name: "a", Machines: spec.Machines{Ports: bond("storage")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := input(t, "10.60.10.2", machines...)
	in.Plan = p
	return in
}

// TestNobodyGetsARoutersAddress: what is sent to a router must not reach a
// machine, so its address is neither given out nor counted.
func TestNobodyGetsARoutersAddress(t *testing.T) {
	const v4, v6 = "10.60.10.0/29", "2001:db8:0:1::/125"
	via := func(gateways ...string) []spec.Route {
		var out []spec.Route
		for i, g := range gateways {
			out = append(out, spec.Route{Destination: []string{"10.70.0.0/16", "10.71.0.0/16", "2001:db8:7::/48"}[i], Gateway: g})
		}
		return out
	}
	cases := map[string]struct {
		reason  string
		network spec.Network
		want    map[string]string
		total   []int64
	}{
		"Gateway": {
			reason:  "the network's gateway is a router",
			network: spec.Network{IPAddresses: []string{v4}, Gateway: "10.60.10.1"},
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.2/29"}, total: []int64{5},
		},
		"NextHops": {
			reason:  "so are the next hops of its routes, of six hosts .1 and .3",
			network: spec.Network{IPAddresses: []string{v4}, Routes: via("10.60.10.1", "10.60.10.3")},
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.2/29"}, total: []int64{4},
		},
		"OneForAll": {
			reason:  "one router is one address, however many routes go through it",
			network: spec.Network{IPAddresses: []string{v4}, Gateway: "10.60.10.1", Routes: via("10.60.10.1", "10.60.10.1")},
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.2/29"}, total: []int64{5},
		},
		"InTheRange": {
			reason:  "a range that names a router's address does not offer it",
			network: spec.Network{IPAddresses: []string{v4}, AssignmentRanges: []string{"10.60.10.4-10.60.10.6"}, Routes: via("10.60.10.4")},
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.5/29"}, total: []int64{2},
		},
		"BothFamilies": {
			reason:  "each router is of one family; of eight IPv6 addresses ::0 and ::1 are not for machines",
			network: spec.Network{IPAddresses: []string{v4, v6}, Routes: via("10.60.10.1", "10.60.10.2", "2001:db8:0:1::1")},
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.3/29", "vlan1000.ipv6": "2001:db8:0:1::2/125"}, total: []int64{4, 6},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := addresses(t, networked(t, tc.network, machine("m", "a")))
			if diff := cmp.Diff(tc.want, r.Addresses["m"]); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			var total []int64
			for _, c := range r.Book.Capacity {
				total = append(total, c.Total)
			}
			if diff := cmp.Diff(tc.total, total); diff != "" {
				t.Errorf("%s: addresses of each block: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRoutersOfOtherClaims: a router that any claim on the VLAN speaks of is
// there.
func TestRoutersOfOtherClaims(t *testing.T) {
	const claim = `
metadata: {name: b-xyz, uid: b, creationTimestamp: %q}
spec: {projectID: p, metro: da, claimRef: {namespace: team-b, name: b}, networks: [%s]}
`
	const older, younger = "2026-01-01T00:00:00Z", "2026-01-02T11:59:00Z"
	cases := map[string]struct {
		reason           string
		created, network string
		want             map[string]string
		total            []int64
	}{
		"Gateways": {
			reason: "of six and of seven hosts one is a router", created: older,
			network: "{vxlan: 1000, assignment: none, ipAddresses: [10.60.10.0/29], gateway: 10.60.10.1, gatewayIPv6: '2001:db8:0:1::1'}",
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.2/29", "vlan1000.ipv6": "2001:db8:0:1::2/125"}, total: []int64{5, 6},
		},
		"GatewayOfAYounger": {
			reason: "a younger claim's router is as real", created: younger,
			network: "{vxlan: 1000, assignment: none, ipAddresses: [10.60.10.0/24], gateway: 10.60.10.1}",
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.2/29", "vlan1000.ipv6": "2001:db8:0:1::1/125"}, total: []int64{5, 7},
		},
		"NextHops": {
			reason: "a next hop is a router", created: younger,
			network: "{vxlan: 1000, assignment: none, ipAddresses: [10.60.10.0/29], routes: [{destination: 10.70.0.0/16, gateway: 10.60.10.1}, {destination: 10.71.0.0/16, gateway: nonsense}]}",
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.2/29", "vlan1000.ipv6": "2001:db8:0:1::1/125"}, total: []int64{5, 7},
		},
		"MetalGateway": {
			reason: "in a VRF the Metal Gateway has the first address of the IPv4 block", created: younger,
			network: "{vxlan: 1000, assignment: none, ipAddresses: ['2001:db8:0:1::/64', 10.60.10.0/29], metalGateway: {vrf: v}}",
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.2/29", "vlan1000.ipv6": "2001:db8:0:1::1/125"}, total: []int64{5, 7},
		},
		"AnotherVLAN": {
			reason: "the same subnet on another VLAN is another network", created: older,
			network: "{vxlan: 1001, assignment: none, ipAddresses: [10.60.10.0/29], gateway: 10.60.10.1, metalGateway: {vrf: v}}",
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.1/29", "vlan1000.ipv6": "2001:db8:0:1::1/125"}, total: []int64{6, 7},
		},
		"Exclude": {
			reason: "two claims may share a subnet by excluding each other's half", created: older,
			network: "{vxlan: 1000, assignmentRanges: [10.60.10.5-10.60.10.6], ipAddresses: [10.60.10.0/29], exclude: [10.60.10.1-10.60.10.3]}",
			want:    map[string]string{"vlan1000.ipv4": "10.60.10.1/29", "vlan1000.ipv6": "2001:db8:0:1::1/125"}, total: []int64{6, 7},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := networked(t, spec.Network{IPAddresses: []string{"10.60.10.0/29", "2001:db8:0:1::/125"}}, machine("m", "a"))
			in.Others.Items = []object.View{view(t, fmt.Sprintf(claim, tc.created, tc.network))}
			r := addresses(t, in)
			if diff := cmp.Diff(tc.want, r.Addresses["m"]); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			var total []int64
			for _, c := range r.Book.Capacity {
				total = append(total, c.Total)
			}
			if diff := cmp.Diff(tc.total, total); diff != "" {
				t.Errorf("%s: addresses of each block: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAddressThatBecameAnothersRouter: the claim that states the router is
// named.
func TestAddressThatBecameAnothersRouter(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.40", machine("m", "a"))
	in.Facts.Delivered = map[string]map[string]string{"m": {"vlan1000.ipv4": "10.60.10.9/24"}}
	in.Others.Items = []object.View{view(t, "{metadata: {uid: b}, spec: {projectID: p, metro: da, claimRef: {namespace: team-b, name: b}, networks: [{vxlan: 1000, gateway: 10.60.10.9}]}}")}
	want := []ipam.Warning{{
		Key: "m/vlan1000.ipv4", Pool: "p/da/1000/10.60.10.0/24", Address: netip.MustParsePrefix("10.60.10.9/24"),
		Concern: ipam.RouterHasIt, Claim: "team-b/b",
	}}
	if diff := cmp.Diff(want, addresses(t, in).Book.Warnings, samePrefix); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestAddressThatBecameARouters: a machine keeps its address, also when the
// claim makes it a router's, and this is told.
func TestAddressThatBecameARouters(t *testing.T) {
	n := spec.Network{IPAddresses: []string{"10.60.10.0/24"}}
	in := networked(t, n, machine("m", "a"), machine("n", "a"))
	in.Facts.Delivered = map[string]map[string]string{"m": {"vlan1000.ipv4": "10.60.10.9/24"}, "n": {"vlan1000.ipv4": "10.60.10.7/24"}}
	in.Status = status(t, addresses(t, in).Record)
	if r := addresses(t, in); len(r.Book.Warnings) != 0 {
		t.Errorf("nothing is wrong yet: got %v", r.Book.Warnings)
	}

	n.Gateway, n.Routes = "10.60.10.9", []spec.Route{{Destination: "10.70.0.0/16", Gateway: "10.60.10.7"}}
	in.Plan = networked(t, n).Plan
	r := addresses(t, in)
	if diff := cmp.Diff(infra.Delivery(in.Facts.Delivered), r.Delivery); diff != "" {
		t.Errorf("nobody is renumbered: -want, +got:\n%s", diff)
	}
	want := []ipam.Warning{
		{Key: "m/vlan1000.ipv4", Pool: "p/da/1000/10.60.10.0/24", Address: netip.MustParsePrefix("10.60.10.9/24"), Concern: ipam.RouterHasIt},
		{Key: "n/vlan1000.ipv4", Pool: "p/da/1000/10.60.10.0/24", Address: netip.MustParsePrefix("10.60.10.7/24"), Concern: ipam.RouterHasIt},
	}
	if diff := cmp.Diff(want, r.Book.Warnings, samePrefix); diff != "" {
		t.Errorf("both routers are told of: -want, +got:\n%s", diff)
	}
}

// samePrefix compares what go-cmp cannot look into.
var samePrefix = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
