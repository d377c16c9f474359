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

func TestAddressClaims(t *testing.T) {
	const key = "machine-m-address-vlan1000"
	pool := []spec.Network{{
		Name: "storage", VXLAN: 1000, IPAddresses: []string{"10.60.10.0/24"}, Assignment: spec.AssignIPAM,
		PoolRef: &spec.PoolRef{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "pool"},
	}}
	machines := []infra.Machine{machine("m", "a")}
	given := infra.Delivery{"m": {"vlan1000.ipv4": "10.60.10.2/24"}}
	cases := map[string]struct {
		reason        string
		networks      []spec.Network
		facts         infra.Facts
		given         infra.Delivery
		objects, kept []string
	}{
		"OnThePool": {
			reason: "a machine claims an address on a network with a pool", networks: pool,
			facts: infra.Facts{MachinesKnown: true, Machines: machines}, given: given, objects: []string{key},
		},
		"OffThePool": {
			reason: "the machine still uses the address that it was given, so the pool must not bind it to another",
			facts:  infra.Facts{MachinesKnown: true, Machines: machines}, given: given, kept: []string{key},
		},
		"NeverGiven": {
			reason: "an address that no machine was given goes back",
			facts:  infra.Facts{MachinesKnown: true, Machines: machines},
		},
		"Gone": {
			reason: "the address of a machine that is gone goes back", networks: pool,
			facts: infra.Facts{MachinesKnown: true},
		},
		"NobodyLooked": {
			reason: "a machine list that was not read changes nothing", networks: pool,
			facts: infra.Facts{}, kept: []string{key},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &spec.Spec{Networks: tc.networks, Workers: []spec.WorkerPool{{Name: "a"}}}
			if len(tc.networks) > 0 {
				s.Workers[0].Ports = bond("storage")
			}
			p, err := plan.Build(s)
			if err != nil {
				t.Fatal(err)
			}
			objects, kept := assign.Claims(infra.Cluster{
				Name: "c", Namespace: "team-a", Spec: s, Plan: p,
				Observed: map[string]object.View{key: view(t, "{kind: IPAddressClaim}")},
			}, tc.facts, tc.given)
			var keys []string
			for _, o := range objects {
				keys = append(keys, o.Key)
			}
			if diff := cmp.Diff([][]string{tc.objects, tc.kept}, [][]string{keys, kept}); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAddressClaimStaysWithItsPool: Cluster API refuses every change of a claim,
// so only a machine that comes later asks the other pool.
func TestAddressClaimStaysWithItsPool(t *testing.T) {
	s := &spec.Spec{
		Networks: []spec.Network{{
			Name: "leased", VXLAN: 1000, IPAddresses: []string{"10.60.10.0/24"}, Assignment: spec.AssignIPAM,
			PoolRef: &spec.PoolRef{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "new"},
		}},
		Workers: []spec.WorkerPool{{Name: "a", Machines: spec.Machines{Ports: bond("leased")}}},
	}
	p, err := plan.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	objects, _ := assign.Claims(infra.Cluster{
		Name: "c", Namespace: "team-a", Spec: s, Plan: p,
		Observed: map[string]object.View{"machine-old-address-vlan1000": view(t, "{kind: IPAddressClaim, spec: {clusterName: c, poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: old}}}")},
	}, infra.Facts{MachinesKnown: true, Machines: []infra.Machine{machine("new", "a"), machine("old", "a")}}, nil)
	got := map[string]any{}
	for _, o := range objects {
		got[o.Key] = o.Body["spec"].(map[string]any)["poolRef"].(map[string]any)["name"]
	}
	want := map[string]any{"machine-new-address-vlan1000": "new", "machine-old-address-vlan1000": "old"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestBound: what a pool bound is told, also when it lies in no block of the
// network, so that it can be refused by name.
func TestBound(t *testing.T) {
	const address = "{spec: {address: %q, claimRef: {name: m-vlan1000}}}"
	cases := map[string]struct{ reason, address, want string }{
		"InTheSubnet":     {"the prefix length is the network's", "10.60.10.9", "10.60.10.9/24"},
		"OutsideOfIt":     {"the allocator refuses it", "10.99.10.9", "10.99.10.9/24"},
		"OfTheOtherOne":   {"also an address of the other family", "2001:db8::9", "2001:db8::9/24"},
		"IPv4WrittenAsV6": {"an address has one form", "::ffff:10.60.10.9", "10.60.10.9/24"},
		"NoAddress":       {"nothing is bound yet", "nonsense", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := leased(t, machine("m", "a"))
			got := assign.Bound(in.Plan, in.Facts, object.Required{Items: []object.View{view(t, fmt.Sprintf(address, tc.address))}})
			text := ""
			if p, ok := got["m"]["vlan1000.ipv4"]; ok {
				text = p.String()
			}
			if text != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, text)
			}
		})
	}
}

// leased is an input whose network gets its addresses from an outside pool.
func leased(t *testing.T, machines ...infra.Machine) assign.Input {
	t.Helper()
	in := input(t, "10.60.10.2", machines...)
	in.Plan.Networks[0].Assignment = plan.AssignPool
	for i := range in.Plan.Pools {
		in.Plan.Pools[i].Links[0].Assignment = plan.AssignPool
	}
	return in
}

// TestBoundToNoMachine: a pool that does not know the network may bind what no
// machine can have.
func TestBoundToNoMachine(t *testing.T) {
	cases := map[string]struct {
		reason, address string
		want            ipam.Reason
	}{
		"Outside":   {"the machine would reach nobody", "10.99.10.9/24", ipam.BoundOutside},
		"Network":   {"the first address is the subnet's", "10.60.10.0/24", ipam.BoundNoHost},
		"Broadcast": {"the last address is everybody's", "10.60.10.255/24", ipam.BoundNoHost},
		"Gateway":   {"the router has it", "10.60.10.1/24", ipam.BoundRouter},
		"NextHop":   {"so has a route's", "10.60.10.7/24", ipam.BoundRouter},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := leased(t, machine("m", "a"))
			for i := range in.Plan.Pools {
				in.Plan.Pools[i].Links[0].Routes = []plan.Route{{Destination: netip.MustParsePrefix("10.70.0.0/16"), Gateway: netip.MustParseAddr("10.60.10.7")}}
			}
			in.Bound = map[string]map[string]netip.Prefix{"m": {"vlan1000.ipv4": netip.MustParsePrefix(tc.address)}}
			in.Status = status(t, addresses(t, in).Record)
			r := addresses(t, in)
			if len(r.Book.Missing) != 1 || r.Book.Missing[0].Reason != tc.want || len(r.Addresses) != 0 {
				t.Errorf("%s: want %s, got %v and %v", tc.reason, tc.want, r.Book.Missing, r.Addresses)
			}
		})
	}
}

// TestSource: a claim goes to the pool that it was made for.
func TestSource(t *testing.T) {
	c := infra.Cluster{
		Spec:     &spec.Spec{Networks: []spec.Network{{Name: "storage", PoolRef: &spec.PoolRef{Name: "new"}}}},
		Observed: map[string]object.View{"machine-old-address-vlan1000": view(t, "{spec: {poolRef: {name: old}}}")},
	}
	for _, name := range []string{"old", "new"} {
		pool, claim := assign.Source(c, name, plan.Network{Name: "storage", VLAN: 1000})
		if pool != name || claim != name+"-vlan1000" {
			t.Errorf("machine %s: got pool %s and claim %s", name, pool, claim)
		}
	}
}
