package assign_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

func TestRooms(t *testing.T) {
	both := []string{plan.ControlPlanePool, "a"}
	room := func(known bool, total int64) []assign.Room {
		return []assign.Room{{
			Network: "storage", VLAN: 1000, Subnet: netip.MustParsePrefix("10.60.10.0/24"), Pools: both, Known: known, Total: total,
		}}
	}
	unknown := func(in *assign.Input) { in.Others = object.Required{} }
	cases := map[string]struct {
		reason, ranges string
		change         func(*assign.Input)
		want           []assign.Room
	}{
		"AllHeld":  {"five addresses for five machines", "10.60.10.2-10.60.10.6", nil, room(true, 5)},
		"OneSpare": {"and one more", "10.60.10.2-10.60.10.7", nil, room(true, 6)},
		"Gateway":  {"nobody gets the router's address", "10.60.10.1-10.60.10.6", nil, room(true, 5)},
		"Unknown":  {"the other claims were not read", "10.60.10.2-10.60.10.6", unknown, room(false, 0)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, tc.ranges, five...)
			if tc.change != nil {
				tc.change(&in)
			}
			if diff := cmp.Diff(tc.want, addresses(t, in).Rooms, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRoomOutsideTheRange: a machine that holds an address outside of a range
// that was moved takes none of it away, and its own address is room for it.
func TestRoomOutsideTheRange(t *testing.T) {
	before := input(t, "10.60.10.2-10.60.10.6", five...)
	in := input(t, "10.60.10.50-10.60.10.51", five...)
	in.Status = status(t, addresses(t, before).Record)
	if got := addresses(t, in).Rooms[0].Total; got != 7 {
		t.Errorf("two new addresses and five that are held: got %d", got)
	}
}

// TestRoomUnderARouter: a machine that has what became a router's address is
// counted with it, and no other machine is.
func TestRoomUnderARouter(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.6", five...)
	in.Status = status(t, addresses(t, in).Record)
	in.Status = status(t, addresses(t, in).Record)
	in.Plan.Networks[0].Subnets[0].Gateway = netip.MustParseAddr("10.60.10.2")
	if got := addresses(t, in).Rooms[0].Total; got != 5 {
		t.Errorf("four addresses of the range and one that is held: got %d", got)
	}
}

// TestRoomOfEachRange: a port's own range is counted by itself, and a network
// without addresses of ours not at all.
func TestRoomOfEachRange(t *testing.T) {
	s := &spec.Spec{
		Networks: []spec.Network{
			{Name: "storage", VXLAN: 1000, IPAddresses: []string{"10.60.10.0/24"}, Assignment: spec.AssignClusterAPI},
			{Name: "leased", VXLAN: 1001, IPAddresses: []string{"10.60.20.0/24"}, Assignment: spec.AssignDHCP},
		},
		ControlPlane: spec.ControlPlane{Replicas: 3, Machines: spec.Machines{Ports: bond("storage")}},
		Workers: []spec.WorkerPool{
			{Name: "a", Machines: spec.Machines{Ports: []spec.Port{{Name: "bond0", Networks: []spec.PortNetwork{{Name: "storage", AssignmentRange: "10.60.10.100-10.60.10.109"}, {Name: "leased"}}}}}},
			{Name: "b", Machines: spec.Machines{Ports: bond("storage")}},
		},
	}
	p, err := plan.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	in := input(t, "10.60.10.2")
	in.Plan = p
	got := map[string][]string{}
	totals := map[string]int64{}
	for _, r := range addresses(t, in).Rooms {
		got[r.Range], totals[r.Range] = r.Pools, r.Total
	}
	want := map[string][]string{"": {plan.ControlPlanePool, "b"}, "10.60.10.100-10.60.10.109": {"a"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who draws from which range: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"": 254, "10.60.10.100-10.60.10.109": 10}, totals); diff != "" {
		t.Errorf("how much there is: -want, +got:\n%s", diff)
	}
}
