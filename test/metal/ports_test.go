package metal_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

func tagged(vxlan int) metal.Carried   { return metal.Carried{VXLAN: vxlan, Tagged: true} }
func untagged(vxlan int) metal.Carried { return metal.Carried{VXLAN: vxlan} }

// TestModes goes into every mode of a server and looks at its ports and at the
// wire.
func TestModes(t *testing.T) {
	cases := map[string]struct {
		reason string
		plan   string
		steps  []step
		want   map[string]shape
	}{
		"Layer3": {
			reason: "A new server is bonded, in Layer 3, without VLANs.",
			plan:   "c3.small.x86",
			want: map[string]shape{
				"bond0": {Mode: "layer3", Bonded: true},
				"eth0":  {Bonded: true},
				"eth1":  {Bonded: true},
			},
		},
		"HybridBonded": {
			reason: "VLANs on a bond in Layer 3 are tagged, on the bond and so on its members.",
			plan:   "c3.small.x86",
			steps:  []step{assign("bond0", "1000"), assign("bond0", "1001")},
			want: map[string]shape{
				"bond0": {Mode: "hybrid-bonded", Bonded: true, VLANs: []int32{1000, 1001}, Wire: []metal.Carried{tagged(1000), tagged(1001)}},
				"eth0":  {Bonded: true, Wire: []metal.Carried{tagged(1000), tagged(1001)}},
				"eth1":  {Bonded: true, Wire: []metal.Carried{tagged(1000), tagged(1001)}},
			},
		},
		"HybridBondedOneVLAN": {
			reason: "A single VLAN on a bond is tagged too.",
			plan:   "c3.small.x86",
			steps:  []step{assign("bond0", "1000")},
			want: map[string]shape{
				"bond0": {Mode: "hybrid-bonded", Bonded: true, VLANs: []int32{1000}, Wire: []metal.Carried{tagged(1000)}},
			},
		},
		"HybridOneVLAN": {
			reason: "The only VLAN of a port that is not bonded is untagged; bond0 keeps Layer 3 on eth0.",
			plan:   "c3.small.x86",
			steps:  []step{disbond("eth1"), assign("eth1", "1000")},
			want: map[string]shape{
				"bond0": {Mode: "hybrid", Bonded: true},
				"eth0":  {Bonded: true},
				"eth1":  {VLANs: []int32{1000}, Wire: []metal.Carried{untagged(1000)}},
			},
		},
		"HybridManyVLANs": {
			reason: "Several VLANs of a port that is not bonded are tagged; VLANs may sit on bond0 as well.",
			plan:   "c3.small.x86",
			steps:  []step{disbond("eth1"), assign("eth1", "1000"), assign("eth1", "1001"), assign("bond0", "1002")},
			want: map[string]shape{
				"bond0": {Mode: "hybrid", Bonded: true, VLANs: []int32{1002}, Wire: []metal.Carried{tagged(1002)}},
				"eth0":  {Bonded: true, Wire: []metal.Carried{tagged(1002)}},
				"eth1":  {VLANs: []int32{1000, 1001}, Wire: []metal.Carried{tagged(1000), tagged(1001)}},
			},
		},
		"HybridNative": {
			reason: "The native one of several VLANs is untagged.",
			plan:   "c3.small.x86",
			steps:  []step{disbond("eth1"), batch("eth1", "+1000", "+1001"), native("eth1", "1001")},
			want: map[string]shape{
				"eth1": {VLANs: []int32{1000, 1001}, Native: 1001, Wire: []metal.Carried{tagged(1000), untagged(1001)}},
			},
		},
		"Layer2Bonded": {
			reason: "VLANs of a bond in Layer 2 are tagged.",
			plan:   "c3.small.x86",
			steps:  []step{toLayer2("bond0"), assign("bond0", "1000")},
			want: map[string]shape{
				"bond0": {Mode: "layer2-bonded", Bonded: true, VLANs: []int32{1000}, Wire: []metal.Carried{tagged(1000)}},
			},
		},
		"HybridBondedToLayer2Bonded": {
			reason: "A bond may take its VLANs along into Layer 2.",
			plan:   "c3.small.x86",
			steps:  []step{assign("bond0", "1000"), toLayer2("bond0")},
			want: map[string]shape{
				"bond0": {Mode: "layer2-bonded", Bonded: true, VLANs: []int32{1000}, Wire: []metal.Carried{tagged(1000)}},
			},
		},
		"Layer2Individual": {
			reason: "In Layer 2 all members may leave the bond and carry VLANs of their own.",
			plan:   "c3.small.x86",
			steps: []step{
				toLayer2("bond0"), disbond("bond0"), assign("eth0", "1000"), batch("eth1", "+1001", "+1002"), native("eth1", "1002"),
			},
			want: map[string]shape{
				"bond0": {Mode: "layer2-individual"},
				"eth0":  {VLANs: []int32{1000}, Wire: []metal.Carried{untagged(1000)}},
				"eth1":  {VLANs: []int32{1001, 1002}, Native: 1002, Wire: []metal.Carried{tagged(1001), untagged(1002)}},
			},
		},
		"Layer2IndividualAsTerraformDoes": {
			reason: "The Terraform provider takes the bond apart before it converts it.",
			plan:   "c3.small.x86",
			steps:  []step{disbond("bond0"), toLayer2("bond0")},
			want: map[string]shape{
				"bond0": {Mode: "layer2-individual"}, "eth0": {}, "eth1": {},
			},
		},
		"BackToLayer3": {
			reason: "Members first, one by one or with the bond, then the bond: a server is as new.",
			plan:   "c3.small.x86",
			steps: []step{
				toLayer2("bond0"), disbond("bond0"), assign("eth1", "1000"),
				unassign("eth1", "1000"), bond("eth1"), bond("bond0"), toLayer3("bond0"),
			},
			want: map[string]shape{
				"bond0": {Mode: "layer3", Bonded: true}, "eth0": {Bonded: true}, "eth1": {Bonded: true},
			},
		},
		"FourPorts": {
			reason: "eth0 and eth2 are in bond0, eth1 and eth3 in bond1; both members of bond1 may leave it in hybrid mode.",
			plan:   "n3.xlarge.x86",
			steps:  []step{disbond("eth1"), disbond("eth3"), assign("eth1", "1000"), assign("eth3", "1001"), assign("bond0", "1002")},
			want: map[string]shape{
				"bond0": {Mode: "hybrid-bonded", Bonded: true, VLANs: []int32{1002}, Wire: []metal.Carried{tagged(1002)}},
				"bond1": {Mode: "hybrid"},
				"eth0":  {Bonded: true, Wire: []metal.Carried{tagged(1002)}},
				"eth1":  {VLANs: []int32{1000}, Wire: []metal.Carried{untagged(1000)}},
				"eth2":  {Bonded: true, Wire: []metal.Carried{tagged(1002)}},
				"eth3":  {VLANs: []int32{1001}, Wire: []metal.Carried{untagged(1001)}},
			},
		},
		"UnassignNative": {
			reason: "A native VLAN may be unassigned; the port has none then, and the other one is alone and untagged.",
			plan:   "c3.small.x86",
			steps:  []step{disbond("eth1"), batch("eth1", "+1000", "+1001"), native("eth1", "1001"), unassign("eth1", "1001")},
			want:   map[string]shape{"eth1": {VLANs: []int32{1000}, Wire: []metal.Carried{untagged(1000)}}},
		},
		"RemoveNative": {
			reason: "A native VLAN becomes an ordinary one.",
			plan:   "c3.small.x86",
			steps:  []step{disbond("eth1"), batch("eth1", "+1000", "*1001"), noNative("eth1")},
			want:   map[string]shape{"eth1": {VLANs: []int32{1000, 1001}, Wire: []metal.Carried{tagged(1000), tagged(1001)}}},
		},
		"BatchSwaps": {
			reason: "A batch takes off before it adds, whatever the order of its lines.",
			plan:   "c3.small.x86",
			steps:  []step{batch("bond0", "+1000", "+1001"), batch("bond0", "+1002", "-1000")},
			want: map[string]shape{
				"bond0": {Mode: "hybrid-bonded", Bonded: true, VLANs: []int32{1001, 1002}, Wire: []metal.Carried{tagged(1001), tagged(1002)}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{})
			w.vlan("da", 1000)
			w.vlan("da", 1001)
			w.vlan("da", 1002)
			s := w.server(tc.plan)
			for i, do := range tc.steps {
				if err := do(s); err != nil {
					t.Fatalf("%s: step %d: %v", tc.reason, i, err)
				}
			}
			for port, want := range tc.want {
				if diff := cmp.Diff(want, s.shape(port), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s\n%s (-want +got):\n%s", tc.reason, port, diff)
				}
			}
		})
	}
}

// TestPortRules breaks each rule of ports once: everything before the last step
// is allowed, the last one is refused.
func TestPortRules(t *testing.T) {
	const no = "422 Unprocessable Entity "
	cases := map[string]struct {
		reason string
		steps  []step
		want   string
	}{
		"VLANOnBondedMember": {
			reason: "A bonded port carries what its bond carries.",
			steps:  []step{assign("eth1", "1000")},
			want:   no + "Port eth1 is bonded: assign the virtual network to bond0",
		},
		"VLANOnBrokenBond": {
			reason: "A bond without members carries nothing.",
			steps:  []step{toLayer2("bond0"), disbond("bond0"), assign("bond0", "1000")},
			want:   no + "Port bond0 is not bonded: assign the virtual network to one of its members",
		},
		"VLANTwice": {
			reason: "Attaching what is attached is refused.",
			steps:  []step{assign("bond0", "1000"), assign("bond0", "1000")},
			want:   no + "Virtual network 1000 already assigned to port bond0",
		},
		"UnassignStranger": {
			reason: "Detaching what is not attached is refused.",
			steps:  []step{unassign("bond0", "1000")},
			want:   no + "Virtual network 1000 is not assigned to port bond0",
		},
		"UnknownVLAN": {
			reason: "A number is looked up in the port's project and metro.",
			steps:  []step{assign("bond0", "77")},
			want:   no + `Virtual network "77" was not found in the project and metro of port bond0`,
		},
		"OtherMetro": {
			reason: "Device and VLAN must be in the same metro.",
			steps:  []step{func(s *server) error { return assign("bond0", s.vlan("sv", 1000).GetId())(s) }},
			want:   no + "Virtual network 1000 is in metro sv, port bond0 is in metro da: both must be in the same metro",
		},
		"OtherMetroByNumber": {
			reason: "The same number in another metro is another network.",
			steps: []step{func(s *server) error {
				s.vlan("sv", 2000)
				return assign("bond0", "2000")(s)
			}},
			want: no + `Virtual network "2000" was not found in the project and metro of port bond0`,
		},
		"NativeOnBond": {
			reason: "There is no native VLAN on a bond.",
			steps:  []step{batch("bond0", "+1000", "+1001"), native("bond0", "1000")},
			want:   no + "Port bond0 is a bond: a native virtual network needs a port that is not bonded",
		},
		"NativeNotAssigned": {
			reason: "A native VLAN must be one of the port's VLANs.",
			steps:  []step{disbond("eth1"), batch("eth1", "+1000", "+1001"), native("eth1", "1002")},
			want:   no + "Virtual network 1002 must be assigned to port eth1 before it can be its native one",
		},
		"NativeAlone": {
			reason: "The only VLAN is untagged anyway.",
			steps:  []step{disbond("eth1"), assign("eth1", "1000"), native("eth1", "1000")},
			want:   no + "Port eth1 needs more than one virtual network to have a native one",
		},
		"NoNativeToRemove": {
			reason: "There must be one to remove.",
			steps:  []step{noNative("eth1")},
			want:   no + "Port eth1 has no native virtual network",
		},
		"BondWithVLANs": {
			reason: "A port that goes back to the bond must be free of VLANs.",
			steps:  []step{disbond("eth1"), assign("eth1", "1000"), bond("eth1")},
			want:   no + "Port eth1 cannot be bonded while virtual networks are assigned to it",
		},
		"BondBondWithVLANs": {
			reason: "The same for all members at once.",
			steps:  []step{toLayer2("bond0"), disbond("bond0"), assign("eth0", "1000"), bond("bond0")},
			want:   no + "Port eth0 cannot be bonded while virtual networks are assigned to it",
		},
		"BondBonded": {
			reason: "A bonded port cannot be bonded again.",
			steps:  []step{bond("eth1")},
			want:   no + "Port eth1 is already bonded",
		},
		"DisbondTwice": {
			reason: "A port leaves its bond once.",
			steps:  []step{disbond("eth1"), disbond("eth1")},
			want:   no + "Port eth1 is not bonded",
		},
		"DisbondLastInLayer3": {
			reason: "bond0 keeps Layer 3 on one port at least.",
			steps:  []step{disbond("eth1"), disbond("eth0")},
			want:   no + "Port eth0 is the last one of bond0, which is configured for Layer 3",
		},
		"DisbondBondWithVLANs": {
			reason: "VLANs of a bond need a member.",
			steps:  []step{toLayer2("bond0"), assign("bond0", "1000"), disbond("bond0")},
			want:   no + "Port bond0 cannot be disbonded while virtual networks are assigned to bond0",
		},
		"Layer2OnMember": {
			reason: "Layer 2 can be set on a bond only.",
			steps:  []step{toLayer2("eth1")},
			want:   no + "Port eth1 is not a bond: only bonds can be converted to Layer 2",
		},
		"Layer2Twice": {
			reason: "The error that users meet when two changes cross.",
			steps:  []step{toLayer2("bond0"), toLayer2("bond0")},
			want:   no + "bond0 is already configured for Layer 2",
		},
		"Layer3OnMember": {
			reason: "Layer 3 can be set on a bond only.",
			steps:  []step{toLayer3("eth1")},
			want:   no + "Port eth1 is not a bond: only bonds can be converted to Layer 3",
		},
		"Layer3Twice": {
			reason: "A new bond is in Layer 3.",
			steps:  []step{toLayer3("bond0")},
			want:   no + "bond0 is already configured for Layer 3",
		},
		"Layer3WithVLANs": {
			reason: "VLANs must be unassigned before a bond is converted to Layer 3.",
			steps:  []step{toLayer2("bond0"), assign("bond0", "1000"), toLayer3("bond0")},
			want:   no + "bond0 cannot be converted to Layer 3 while virtual networks are assigned to bond0",
		},
		"Layer3WithVLANsOnMember": {
			reason: "The same for VLANs of a member that is not bonded.",
			steps:  []step{toLayer2("bond0"), disbond("eth1"), assign("eth1", "1000"), toLayer3("bond0")},
			want:   no + "bond0 cannot be converted to Layer 3 while virtual networks are assigned to eth1",
		},
		"Layer3Disbonded": {
			reason: "A bond must be whole before it carries Layer 3.",
			steps:  []step{toLayer2("bond0"), disbond("bond0"), toLayer3("bond0")},
			want:   no + "bond0 must be bonded before it can be converted to Layer 3",
		},
		"FrozenNetwork": {
			reason: "A frozen network keeps its mode.",
			steps: []step{
				func(s *server) error {
					_, _, err := s.client.DevicesApi.UpdateDevice(s.ctx, s.id).
						DeviceUpdateInput(metalv1.DeviceUpdateInput{NetworkFrozen: new(true)}).Execute()
					return err
				},
				assign("bond0", "1000"),
				disbond("eth1"),
			},
			want: no + "The network of device node is frozen",
		},
		"UnknownPort": {
			reason: "A port that does not exist.",
			steps: []step{func(s *server) error {
				s.ports["eth9"] = "11111111-1111-4111-8111-111111111111"
				return bond("eth9")(s)
			}},
			want: "404 Not Found Not found",
		},
		"EmptyBatch": {
			reason: "A batch has lines.",
			steps:  []step{batch("bond0")},
			want:   no + "Vlan assignments can't be blank",
		},
		"BatchWithUnknownVLAN": {
			reason: "A batch is refused at once when it names no VLAN.",
			steps:  []step{batch("bond0", "+77")},
			want:   no + `Virtual network "77" was not found in the project and metro of port bond0`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{})
			w.vlan("da", 1000)
			w.vlan("da", 1001)
			w.vlan("da", 1002)
			s := w.server("c3.small.x86")
			last := len(tc.steps) - 1
			for i, do := range tc.steps[:last] {
				if err := do(s); err != nil {
					t.Fatalf("%s: step %d: %v", tc.reason, i, err)
				}
			}
			before := w.cloud.Snapshot().Devices
			if diff := cmp.Diff(tc.want, text(tc.steps[last](s))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, w.cloud.Snapshot().Devices); diff != "" {
				t.Errorf("%s: a refused request had an effect (-before +after):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBatchTakesTime(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: metal.Schedule{Batch: 10 * time.Second}})
	w.vlan("da", 1000)
	s := w.server("c3.small.x86")
	b, _, err := w.client.PortsApi.CreatePortVlanAssignmentBatch(w.ctx, s.ports["bond0"]).
		PortVlanAssignmentBatchCreateInput(batchOf("+1000")).Execute()
	must(w, b, err)
	look := func() (metalv1.PortVlanAssignmentBatchState, int) {
		got, _, err := w.client.PortsApi.FindPortVlanAssignmentBatchByPortIdAndBatchId(w.ctx, s.ports["bond0"], b.GetId()).Execute()
		must(w, got, err)
		return got.GetState(), len(s.shape("bond0").VLANs)
	}
	want := []struct {
		state metalv1.PortVlanAssignmentBatchState
		vlans int
	}{
		{metalv1.PORTVLANASSIGNMENTBATCHSTATE_QUEUED, 0},
		{metalv1.PORTVLANASSIGNMENTBATCHSTATE_IN_PROGRESS, 0},
		{metalv1.PORTVLANASSIGNMENTBATCHSTATE_COMPLETED, 1},
	}
	if b.GetState() != want[0].state {
		t.Errorf("a new batch is %s", b.GetState())
	}
	for _, x := range want {
		if state, vlans := look(); state != x.state || vlans != x.vlans {
			t.Errorf("batch is %s with %d VLANs on the port, want %s with %d", state, vlans, x.state, x.vlans)
		}
		w.clock.Advance(5 * time.Second)
	}
	all, _, err := w.client.PortsApi.FindPortVlanAssignmentBatches(w.ctx, s.ports["bond0"]).Execute()
	if must(w, all, err); len(all.Batches) != 1 {
		t.Errorf("the port has %d batches, want 1", len(all.Batches))
	}
}

func TestBatchFailsWhole(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: metal.Schedule{Batch: 10 * time.Second}})
	w.vlan("da", 1000)
	gone := w.vlan("da", 1001)
	s := w.server("c3.small.x86")
	b, _, err := w.client.PortsApi.CreatePortVlanAssignmentBatch(w.ctx, s.ports["bond0"]).
		PortVlanAssignmentBatchCreateInput(batchOf("+1000", "+1001")).Execute()
	must(w, b, err)
	if _, err := w.client.VLANsApi.DeleteVirtualNetwork(w.ctx, gone.GetId()).Execute(); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(10 * time.Second)
	got, _, err := w.client.PortsApi.FindPortVlanAssignmentBatchByPortIdAndBatchId(w.ctx, s.ports["bond0"], b.GetId()).Execute()
	must(w, got, err)
	if got.GetState() != metalv1.PORTVLANASSIGNMENTBATCHSTATE_FAILED {
		t.Errorf("batch is %s, want failed", got.GetState())
	}
	if diff := cmp.Diff([]string{"Virtual network 1001 is gone"}, got.ErrorMessages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if vlans := s.shape("bond0").VLANs; len(vlans) != 0 {
		t.Errorf("a failed batch left VLANs %v on the port", vlans)
	}
	want := []metal.Refusal{{
		At: w.clock.Now(), Method: http.MethodPost, Path: "/ports/" + s.ports["bond0"] + "/vlan-assignments/batches", Messages: got.ErrorMessages,
	}}
	if diff := cmp.Diff(want, w.cloud.Refusals(0)); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

func TestVLANAssignments(t *testing.T) {
	w := newWorld(t, metal.Options{})
	w.vlan("da", 1000)
	w.vlan("da", 1001)
	s := w.server("c3.small.x86")
	for _, do := range []step{disbond("eth1"), batch("eth1", "+1000", "*1001")} {
		if err := do(s); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := w.client.PortsApi.FindPortVlanAssignments(w.ctx, s.ports["eth1"]).Execute()
	must(w, list, err)
	type line struct {
		VLAN   int32
		Native bool
		State  metalv1.PortVlanAssignmentState
	}
	var got []line
	for _, a := range list.VlanAssignments {
		one, _, err := w.client.PortsApi.FindPortVlanAssignmentByPortIdAndAssignmentId(w.ctx, s.ports["eth1"], a.GetId()).Execute()
		must(w, one, err)
		got = append(got, line{one.GetVlan(), one.GetNative(), one.GetState()})
	}
	want := []line{
		{1000, false, metalv1.PORTVLANASSIGNMENTSTATE_ASSIGNED},
		{1001, true, metalv1.PORTVLANASSIGNMENTSTATE_ASSIGNED},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPortShowsReferencesUnlessIncluded(t *testing.T) {
	w := newWorld(t, metal.Options{})
	v := w.vlan("da", 1000)
	s := w.server("c3.small.x86")
	if err := assign("bond0", v.GetId())(s); err != nil {
		t.Fatal(err)
	}
	p, _, err := w.client.PortsApi.FindPortById(w.ctx, s.ports["bond0"]).Execute()
	must(w, p, err)
	want := []metalv1.VirtualNetwork{{Href: new("/metal/v1/virtual-networks/" + v.GetId()), AdditionalProperties: map[string]any{}}}
	if diff := cmp.Diff(want, p.VirtualNetworks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPortsNeedActive(t *testing.T) {
	cases := map[string]struct {
		reason string
		strict bool
		want   string
	}{
		"Lenient": {reason: "Without the option a server that is being provisioned takes VLANs."},
		"Strict": {
			reason: "With the option it does not.",
			strict: true,
			want:   "422 Unprocessable Entity Port bond0 cannot be changed while its device is provisioning",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{
				PortsNeedActive: tc.strict,
				Schedule:        metal.Schedule{Life: metal.Life{Provisioning: time.Minute}},
			})
			w.vlan("da", 1000)
			s := w.server("c3.small.x86")
			if diff := cmp.Diff(tc.want, text(assign("bond0", "1000")(s))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			w.clock.Advance(time.Minute)
			if err := assign("eth0", "1000")(s); text(err) == tc.want {
				t.Errorf("%s: still refused when active: %v", tc.reason, err)
			}
		})
	}
}

func TestConvertWithVLAN(t *testing.T) {
	w := newWorld(t, metal.Options{})
	w.vlan("da", 1000)
	s := w.server("c3.small.x86")
	convert := func(vnid string) error {
		_, _, err := w.client.PortsApi.ConvertLayer2(w.ctx, s.ports["bond0"]).PortAssignInput(metalv1.PortAssignInput{Vnid: &vnid}).Execute()
		return err
	}
	want := `422 Unprocessable Entity Virtual network "77" was not found in the project and metro of port bond0`
	if diff := cmp.Diff(want, text(convert("77"))); diff != "" {
		t.Errorf("with an unknown VLAN (-want +got):\n%s", diff)
	}
	if got := s.shape("bond0").Mode; got != "layer3" {
		t.Errorf("after that the bond is in %s", got)
	}
	if err := convert("1000"); err != nil {
		t.Fatal(err)
	}
	if got := s.shape("bond0"); got.Mode != "layer2-bonded" || len(got.VLANs) != 1 {
		t.Errorf("with a VLAN: %+v", got)
	}
}

func TestConvertToLayer3AsksForAddresses(t *testing.T) {
	cases := map[string]struct {
		reason string
		body   string
		want   []bool // public
	}{
		"Nothing": {"The usual ones.", ``, []bool{true, false}},
		"Private": {"One of them.", `{"request_ips":[{"address_family":4,"public":false}]}`, []bool{false}},
		"IPv6":    {"There is no address of that family.", `{"request_ips":[{"address_family":6,"public":true}]}`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{})
			s := w.server("c3.small.x86")
			if err := toLayer2("bond0")(s); err != nil {
				t.Fatal(err)
			}
			if status, body := w.post("POST", "/metal/v1/ports/"+s.ports["bond0"]+"/convert/layer-3", tc.body); status != 200 {
				t.Fatalf("status %d: %s", status, body)
			}
			var got []bool
			for _, a := range w.device(s.id).IpAddresses {
				got = append(got, a.GetPublic())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBulk(t *testing.T) {
	w := newWorld(t, metal.Options{})
	s := w.server("c3.small.x86")
	if err := toLayer2("bond0")(s); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.client.PortsApi.DisbondPort(w.ctx, s.ports["eth1"]).BulkDisable(true).Execute(); err != nil {
		t.Fatal(err)
	}
	if s.shape("eth0").Bonded || s.shape("eth1").Bonded || s.shape("bond0").Bonded {
		t.Error("bulk_disable left a port bonded")
	}
	if _, _, err := w.client.PortsApi.BondPort(w.ctx, s.ports["eth1"]).BulkEnable(true).Execute(); err != nil {
		t.Fatal(err)
	}
	if !s.shape("eth0").Bonded || !s.shape("eth1").Bonded || !s.shape("bond0").Bonded {
		t.Error("bulk_enable left a port out")
	}
}

func TestVLANOfOtherProject(t *testing.T) {
	w := newWorld(t, metal.Options{})
	v, err := w.tryVLAN(other, metalv1.VirtualNetworkCreateInput{Metro: new("da"), Vxlan: new(int32(2000))})
	must(w, v, err)
	s := w.server("c3.small.x86")
	for _, name := range []string{v.GetId(), "2000"} {
		want := `422 Unprocessable Entity Virtual network "` + name + `" was not found in the project and metro of port bond0`
		if diff := cmp.Diff(want, text(assign("bond0", name)(s))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
