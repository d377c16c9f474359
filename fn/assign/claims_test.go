package assign_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/infra"
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
