package assign_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

func view(t *testing.T, text string) object.View {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return xr.ViewOf(s)
}

// status of a composite that holds a record.
func status(t *testing.T, record map[string]any) object.View {
	t.Helper()
	s, err := structpb.NewStruct(map[string]any{"allocations": record})
	if err != nil {
		t.Fatal(err)
	}
	return xr.ViewOf(s)
}

// composite is another claim on VLAN 1000.
func composite(name, created, ranges, held string) string {
	return fmt.Sprintf(`
metadata: {name: %[1]s-xyz, uid: %[1]s, creationTimestamp: %[2]q}
spec:
  projectID: p
  metro: da
  claimRef: {namespace: team-b, name: %[1]s}
  networks: [{name: net, vxlan: 1000, ipAddresses: [10.60.10.0/24], assignmentRanges: [%[3]s]}]
status: {allocations: {"p/da/1000/10.60.10.0/24": {held: {%[4]s}}}}
`, name, created, ranges, held)
}

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func input(t *testing.T, ranges string, machines ...infra.Machine) assign.Input {
	t.Helper()
	replicas := int32(2)
	s := &spec.Spec{
		Networks: []spec.Network{{
			Name: "storage", VXLAN: 1000, IPAddresses: []string{"10.60.10.0/24"}, Assignment: spec.AssignClusterAPI,
			AssignmentRanges: []string{ranges}, Gateway: "10.60.10.1",
		}},
		ControlPlane: spec.ControlPlane{Replicas: 3, Machines: spec.Machines{Ports: bond("storage")}},
		Workers:      []spec.WorkerPool{{Name: "a", Replicas: &replicas, Machines: spec.Machines{Ports: bond("storage")}}},
	}
	p, err := plan.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return assign.Input{
		Scope: assign.Scope{Project: "p", Metro: "da"}, Plan: p,
		Facts:  infra.Facts{MachinesKnown: true, Machines: machines},
		Status: view(t, "{}"), Others: object.Required{Fetched: true},
		Self:     assign.Self{UID: "self", Created: now.Add(-time.Hour)},
		CoolDown: 10 * time.Minute, Now: now,
	}
}

// dualStack is an input whose network has IPv6 addresses as well, each of its
// block.
func dualStack(t *testing.T, machines ...infra.Machine) assign.Input {
	t.Helper()
	in, six := input(t, "10.60.10.2-10.60.10.40", machines...), netip.MustParsePrefix("2001:db8::/64")
	in.Plan.Networks[0].Subnets = append(in.Plan.Networks[0].Subnets, plan.Subnet{Prefix: six})
	for i := range in.Plan.Pools {
		link := &in.Plan.Pools[i].Links[0]
		link.Subnets = append(link.Subnets, plan.LinkSubnet{Key: "vlan1000.ipv6", Prefix: six})
	}
	return in
}

func bond(network string) []spec.Port {
	return []spec.Port{{Name: "bond0", Networks: []spec.PortNetwork{{Name: network}}}}
}

func machine(name, pool string) infra.Machine {
	return infra.Machine{Name: name, Pool: pool, Device: "device-of-" + name}
}

func addresses(t *testing.T, in assign.Input) assign.Result {
	t.Helper()
	r, err := assign.Addresses(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var five = []infra.Machine{
	machine("cp-0", "control-plane"), machine("cp-1", "control-plane"), machine("cp-2", "control-plane"),
	machine("w-0", "a"), machine("w-1", "a"),
}

func TestEveryMachineGetsItsOwn(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.40", five...)
	first := addresses(t, in)
	want := infra.Delivery{
		"cp-0": {"vlan1000.ipv4": "10.60.10.2/24"}, "cp-1": {"vlan1000.ipv4": "10.60.10.3/24"},
		"cp-2": {"vlan1000.ipv4": "10.60.10.4/24"}, "w-0": {"vlan1000.ipv4": "10.60.10.5/24"},
		"w-1": {"vlan1000.ipv4": "10.60.10.6/24"},
	}
	if diff := cmp.Diff(want, first.Addresses); diff != "" {
		t.Errorf("five machines, five addresses: -want, +got:\n%s", diff)
	}
	if len(first.Delivery) != 0 {
		t.Errorf("an address is sent only after the record that holds it was seen: got %v", first.Delivery)
	}

	in.Status = status(t, first.Record)
	second := addresses(t, in)
	if diff := cmp.Diff(want, second.Delivery); diff != "" {
		t.Errorf("the record was seen, so all are sent: -want, +got:\n%s", diff)
	}

	in.Facts.Machines = append(in.Facts.Machines, machine("w-2", "a"))
	in.Status = status(t, second.Record)
	third := addresses(t, in)
	want["w-2"] = map[string]string{"vlan1000.ipv4": "10.60.10.7/24"}
	if diff := cmp.Diff(want, third.Addresses); diff != "" {
		t.Errorf("a sixth disturbs nobody: -want, +got:\n%s", diff)
	}
}

func TestOtherClaims(t *testing.T) {
	const older, younger = "2026-01-01T00:00:00Z", "2026-01-02T11:59:00Z"
	cases := map[string]struct {
		reason string
		other  string
		want   string
	}{
		"OlderRanges": {
			reason: "what an older claim may use is its own",
			other:  composite("b", older, "10.60.10.2-10.60.10.5", ""),
			want:   "10.60.10.6/24",
		},
		"YoungerRanges": {
			reason: "a younger claim has to leave our ranges to us",
			other:  composite("b", younger, "10.60.10.2-10.60.10.5", ""),
			want:   "10.60.10.2/24",
		},
		"YoungerHolds": {
			reason: "what anybody uses already is taken",
			other:  composite("b", younger, "10.60.10.2-10.60.10.5", "m/vlan1000.ipv4: 10.60.10.2/24"),
			want:   "10.60.10.3/24",
		},
		"OlderRangesThatCannotBeParsed": {
			reason: "a claim whose own run fails gives out nothing new",
			other:  composite("b", older, "10.60.10.9-10.60.10.5", "m/vlan1000.ipv4: 10.60.10.2/24"),
			want:   "10.60.10.3/24",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, "10.60.10.2-10.60.10.40", machine("m", "a"))
			in.Others.Items = []object.View{view(t, tc.other)}
			if got := addresses(t, in).Addresses["m"]["vlan1000.ipv4"]; got != tc.want {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestOlderClaimOfTwoFamilies: where an older claim states no range of a family,
// the whole block of that family is its own.
func TestOlderClaimOfTwoFamilies(t *testing.T) {
	const other = `
metadata: {name: b-xyz, uid: b, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  projectID: p
  metro: da
  networks: [{name: net, vxlan: 1000, ipAddresses: [10.60.10.0/29, "2001:db8::/120"], assignmentRanges: [%s]}]
`
	cases := map[string]struct {
		reason, ranges, ipv4, ipv6 string
	}{
		"Neither":        {"both blocks are its own", "", "10.60.10.8/24", "2001:db8::100/64"},
		"IPv4":           {"the IPv6 block is its own", "10.60.10.2-10.60.10.3", "10.60.10.4/24", "2001:db8::100/64"},
		"IPv6":           {"the IPv4 block is its own", `"2001:db8::1-2001:db8::5"`, "10.60.10.8/24", "2001:db8::6/64"},
		"Both":           {"each family has its range", `10.60.10.2-10.60.10.3, "2001:db8::1-2001:db8::5"`, "10.60.10.4/24", "2001:db8::6/64"},
		"CannotBeParsed": {"a claim whose own run fails gives out nothing new", "10.60.10.9-10.60.10.5", "10.60.10.2/24", "2001:db8::1/64"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := dualStack(t, machine("m", "a"))
			in.Others.Items = []object.View{view(t, fmt.Sprintf(other, tc.ranges))}
			want := infra.Delivery{"m": {"vlan1000.ipv4": tc.ipv4, "vlan1000.ipv6": tc.ipv6}}
			if diff := cmp.Diff(want, addresses(t, in).Addresses); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestClaimsElsewhereDoNotMatter(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.40", machine("m", "a"))
	self := composite("self", "2026-01-01T00:00:00Z", "10.60.10.2-10.60.10.5", "")
	metro := "{metadata: {uid: x}, spec: {projectID: p, metro: sv, networks: [{vxlan: 1000, ipAddresses: [10.60.10.0/24]}]}}"
	in.Others.Items = []object.View{view(t, self), view(t, metro)}
	if got := addresses(t, in).Addresses["m"]["vlan1000.ipv4"]; got != "10.60.10.2/24" {
		t.Errorf("the claim itself and the same VLAN id in another metro are no neighbours: got %s", got)
	}
}

func TestOneAddressTwice(t *testing.T) {
	const key = "p/da/1000/10.60.10.0/24"
	mine := map[string]any{key: map[string]any{"held": map[string]any{"m/vlan1000.ipv4": "10.60.10.2/24"}, "pending": []any{"m/vlan1000.ipv4"}}}
	in := input(t, "10.60.10.2-10.60.10.40", machine("m", "a"))
	in.Status = status(t, mine)
	in.Others.Items = []object.View{view(t, composite("b", "2026-01-01T00:00:00Z", "10.60.10.2", "n/vlan1000.ipv4: 10.60.10.2/24"))}
	r := addresses(t, in)
	if got := r.Addresses["m"]["vlan1000.ipv4"]; got != "10.60.10.3/24" {
		t.Errorf("the younger claim takes the next free address before its machine has the first: got %s", got)
	}

	in.Facts.Delivered = map[string]map[string]string{"m": {"vlan1000.ipv4": "10.60.10.2/24"}}
	r = addresses(t, in)
	if got := r.Addresses["m"]["vlan1000.ipv4"]; got != "10.60.10.2/24" || len(r.Book.Conflicts) != 1 || r.Book.Conflicts[0].Claim != "team-b/b" {
		t.Errorf("a machine that has it already keeps it, and the conflict is told: got %s, %v", got, r.Book.Conflicts)
	}
}

func TestNothingIsDecidedOnGaps(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.40", five...)
	in.Status = status(t, addresses(t, in).Record)
	before := addresses(t, in)
	in.Status = status(t, before.Record)
	broken := composite("b", "2026-01-01T00:00:00Z", "10.60.10.2", "m: nonsense")
	cases := map[string]func(*assign.Input){
		"MachinesNotFetched": func(in *assign.Input) { in.Facts = infra.Facts{} },
		"OthersNotFetched":   func(in *assign.Input) { in.Others = object.Required{}; in.Facts.Machines = five[:1] },
		"OtherUnreadable":    func(in *assign.Input) { in.Others.Items = []object.View{view(t, broken)}; in.Facts.Machines = five[:1] },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			in := in
			change(&in)
			r := addresses(t, in)
			if diff := cmp.Diff(before.Record, r.Record); diff != "" {
				t.Errorf("the record must stay as it is: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestLostRecordComesBack(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.40", five...)
	in.Facts.Delivered = map[string]map[string]string{}
	for i, m := range five {
		in.Facts.Delivered[m.Name] = map[string]string{"vlan1000.ipv4": fmt.Sprintf("10.60.10.%d/24", 30+i)}
	}
	r := addresses(t, in)
	if diff := cmp.Diff(infra.Delivery(in.Facts.Delivered), r.Delivery); diff != "" {
		t.Errorf("nobody is renumbered: -want, +got:\n%s", diff)
	}
}

func TestCapacity(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.6", five...)
	r := addresses(t, in)
	if c := r.Book.Capacity[0]; c.Wanted != 7 || c.Total != 5 || c.Used != 5 || len(r.Book.Missing) != 0 {
		t.Errorf("five addresses for five machines and a surge of two: got %+v, missing %v", c, r.Book.Missing)
	}
	in = input(t, "10.60.10.2-10.60.10.8", five...)
	if c := addresses(t, in).Book.Capacity[0]; c.Wanted != 7 || c.Total != 7 {
		t.Errorf("an extended range heals it: got %+v", c)
	}
}

func TestOutsidePool(t *testing.T) {
	in := leased(t, machine("m", "a"))
	r := addresses(t, in)
	if len(r.Book.Missing) != 1 || r.Book.Missing[0].Reason != ipam.Unbound {
		t.Errorf("nothing is chosen here: got %v", r.Book.Missing)
	}
	in.Bound = map[string]map[string]netip.Prefix{"m": {"vlan1000.ipv4": netip.MustParsePrefix("10.60.10.77/24")}}
	in.Status = status(t, addresses(t, in).Record)
	if got := addresses(t, in).Delivery["m"]["vlan1000.ipv4"]; got != "10.60.10.77/24" {
		t.Errorf("the bound address is delivered like our own: got %q", got)
	}
}

func TestSubnetUnderMachines(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.40", five...)
	in.Status = status(t, addresses(t, in).Record)
	in.Plan.Networks[0].Subnets[0].Prefix = netip.MustParsePrefix("10.60.11.0/24")
	in.Plan.Networks[0].Subnets[0].Ranges, in.Plan.Networks[0].Subnets[0].Gateway = nil, netip.Addr{}
	for i := range in.Plan.Pools {
		in.Plan.Pools[i].Links[0].Subnets[0].Prefix = netip.MustParsePrefix("10.60.11.0/24")
	}
	_, err := assign.Addresses(in)
	want := `spec.networks[storage].ipAddresses: Invalid value: "10.60.11.0/24": cannot change the subnet of network "storage": machine cp-0 holds 10.60.10.2/24 of 10.60.10.0/24; put 10.60.10.0/24 back, or take the network off the ports and wait until its machines have let go`
	if err == nil || err.Error() != want {
		t.Errorf("machines would go on using addresses that somebody else could get:\nwant %s\ngot  %v", want, err)
	}
	in.Status, in.Facts.Delivered = view(t, "{}"), infra.Delivery{"cp-0": {"vlan1000.ipv4": "10.60.10.2/24", "vlan1000.ipv6": "2001:db8::2/64"}}
	if _, err := assign.Addresses(in); err == nil || err.Error() != want {
		t.Errorf("also when the record was lost at the same moment:\nwant %s\ngot  %v", want, err)
	}
	in.Facts.Machines = nil
	if _, err := assign.Addresses(in); err != nil {
		t.Errorf("without machines a subnet may change: %v", err)
	}
}

// TestRecordDecidesOnTheSubnet: what a machine was sent counts where the record
// does not know it. A prefix length that somebody changed by hand is no other
// subnet.
func TestRecordDecidesOnTheSubnet(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.40", machine("m", "a"))
	in.Status = status(t, addresses(t, in).Record)
	in.Facts.Delivered = infra.Delivery{"m": {"vlan1000.ipv4": "10.60.10.2/16"}}
	if got := addresses(t, in).Delivery["m"]["vlan1000.ipv4"]; got != "10.60.10.2/16" {
		t.Errorf("the machine keeps what it has: got %s", got)
	}
}

func TestNetworkTakenOffAPool(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.3", five[:1]...)
	in.Facts.Machines = []infra.Machine{machine("w-0", "a"), machine("cp-0", "control-plane")}
	in.Facts.Delivered = map[string]map[string]string{"w-0": {"vlan1000.ipv4": "10.60.10.2/24"}}
	in.Plan.Pools[1].Links = nil
	in.Status = status(t, map[string]any{"p/da/1000/10.60.10.0/24": map[string]any{
		"held": map[string]any{"w-0/vlan1000.ipv4": "10.60.10.2/24"}, "used": []any{"10.60.10.2"},
	}})
	r := addresses(t, in)
	want := infra.Delivery{"w-0": {"vlan1000.ipv4": "10.60.10.2/24"}, "cp-0": {"vlan1000.ipv4": "10.60.10.3/24"}}
	if diff := cmp.Diff(want, r.Addresses); diff != "" {
		t.Errorf("a machine uses its address until it is replaced: -want, +got:\n%s", diff)
	}
	in.Plan.Networks = nil
	in.Plan.Pools[0].Links = nil
	in.Status = status(t, r.Record)
	delete(want, "cp-0")
	if diff := cmp.Diff(want, addresses(t, in).Delivery); diff != "" {
		t.Errorf("also when the whole network is gone: -want, +got:\n%s", diff)
	}
	in.Status, in.Facts.Delivered = status(t, addresses(t, in).Record), nil
	if diff := cmp.Diff(want, addresses(t, in).Delivery); diff != "" {
		t.Errorf("also when nobody sees any more what it was sent: -want, +got:\n%s", diff)
	}
	in.Status = status(t, addresses(t, in).Record)
	in.Facts.Machines = nil
	if got := addresses(t, in).Addresses; len(got) != 0 {
		t.Errorf("when the machine is gone its address is free: got %v", got)
	}
}

func TestFamilyTakenOffANetwork(t *testing.T) {
	in := input(t, "10.60.10.2-10.60.10.40", machine("cp-0", "control-plane"))
	in.Status = status(t, map[string]any{
		"p/da/1000/10.60.10.0/24":     map[string]any{"held": map[string]any{"cp-0/vlan1000.ipv4": "10.60.10.2/24"}},
		"p/da/1000/2001:db8:0:1::/64": map[string]any{"held": map[string]any{"cp-0/vlan1000.ipv6": "2001:db8:0:1::2/64"}},
	})
	want := infra.Delivery{"cp-0": {"vlan1000.ipv4": "10.60.10.2/24", "vlan1000.ipv6": "2001:db8:0:1::2/64"}}
	if diff := cmp.Diff(want, addresses(t, in).Delivery); diff != "" {
		t.Errorf("a machine uses both addresses until it is replaced: -want, +got:\n%s", diff)
	}
}
