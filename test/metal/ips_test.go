package metal_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

func (w *world) tryReserve(in metalv1.IPReservationRequestInput) (*metalv1.IPReservation, error) {
	r, _, err := w.client.IPAddressesApi.RequestIPReservation(w.ctx, project).
		RequestIPReservationRequest(metalv1.RequestIPReservationRequest{IPReservationRequestInput: &in}).Execute()
	if err != nil {
		return nil, err
	}
	return r.IPReservation, nil
}

func (w *world) tryAssignIP(device, address string) (*metalv1.IPAssignment, error) {
	a, _, err := w.client.DevicesApi.CreateIPAssignment(w.ctx, device).IPAssignmentInput(metalv1.IPAssignmentInput{Address: address}).Execute()
	return a, err
}

// TestElasticIPAsCAPPDoes goes the way of a control plane endpoint: reserved with
// a tag, found by it, assigned to a server, and free again with it.
func TestElasticIPAsCAPPDoes(t *testing.T) {
	w := newWorld(t, metal.Options{})
	const tag = "cluster-api-provider-packet:cluster-id:edge"
	r, err := w.tryReserve(metalv1.IPReservationRequestInput{
		Type: "public_ipv4", Quantity: 1, Facility: new(""), Metro: new("da"), FailOnApprovalRequired: new(true), Tags: []string{tag},
	})
	must(w, r, err)
	if addr := netip.MustParseAddr(r.GetAddress()); !addr.IsLoopback() {
		t.Errorf("elastic address %s is not a loopback one", addr)
	}
	find := func() *metalv1.IPReservation {
		list, _, err := w.client.IPAddressesApi.FindIPReservations(w.ctx, project).Execute()
		must(w, list, err)
		for _, one := range list.IpAddresses {
			if one.IPReservation != nil && len(one.IPReservation.Tags) == 1 && one.IPReservation.Tags[0] == tag {
				return one.IPReservation
			}
		}
		t.Fatal("the reservation is not found by its tag")
		return nil
	}
	if found := find(); found.GetId() != r.GetId() || len(found.Assignments) != 0 {
		t.Errorf("found %+v", found)
	}
	d := w.create("node", "c3.small.x86", "da")
	a, err := w.tryAssignIP(d.GetId(), r.GetAddress())
	must(w, a, err)
	if found := find(); len(found.Assignments) != 1 || found.Assignments[0].GetHref() != "/metal/v1/ips/"+a.GetId() {
		t.Errorf("its assignments: %+v", found.Assignments)
	}
	ips, _, err := w.client.DevicesApi.FindIPAssignments(w.ctx, d.GetId()).Execute()
	if must(w, ips, err); len(ips.IpAddresses) != 3 {
		t.Errorf("the server has %d addresses, want 3", len(ips.IpAddresses))
	}
	_, err = w.client.IPAddressesApi.DeleteIPAddress(w.ctx, r.GetId()).Execute()
	if got := text(err); got != "422 Unprocessable Entity Cannot delete an IP reservation when addresses of it are assigned" {
		t.Errorf("deleting it while assigned: %q", got)
	}
	if _, err := w.client.DevicesApi.DeleteDevice(w.ctx, d.GetId()).Execute(); err != nil {
		t.Fatal(err)
	}
	if found := find(); len(found.Assignments) != 0 {
		t.Errorf("still assigned after the server is gone: %+v", found.Assignments)
	}
	if _, err := w.client.IPAddressesApi.DeleteIPAddress(w.ctx, r.GetId()).Execute(); err != nil {
		t.Error(err)
	}
}

func TestReservationRules(t *testing.T) {
	const no = "422 Unprocessable Entity "
	ask := func(kind, metro string, n int32) func(*world) error {
		return func(w *world) error {
			_, err := w.tryReserve(metalv1.IPReservationRequestInput{Type: kind, Quantity: n, Metro: &metro})
			return err
		}
	}
	cases := map[string]struct {
		reason string
		do     func(*world) error
		want   string
	}{
		"One":          {reason: "One address.", do: ask("public_ipv4", "da", 1)},
		"Eight":        {reason: "A block.", do: ask("public_ipv4", "da", 8)},
		"Three":        {reason: "A block has a power of two.", do: ask("public_ipv4", "da", 3), want: no + "Quantity must be a power of two up to 256"},
		"Zero":         {reason: "A block has an address.", do: ask("public_ipv4", "da", 0), want: no + "Quantity must be a power of two up to 256"},
		"Quota":        {reason: "A project has a quota.", do: ask("public_ipv4", "da", 16), want: no + "The quantity exceeds the project's quota of 8 addresses"},
		"UnknownMetro": {reason: "The metro must exist.", do: ask("public_ipv4", "xx", 1), want: no + `Metro "xx" is not a metro`},
		"OtherType":    {reason: "Some types the fake does not have.", do: ask("global_ipv4", "da", 1), want: no + `Type "global_ipv4" cannot be reserved here`},
		"AssignStranger": {
			reason: "Only what is reserved can be assigned.",
			do: func(w *world) error {
				_, err := w.tryAssignIP(w.create("node", "c3.small.x86", "da").GetId(), "127.66.9.9")
				return err
			},
			want: no + "Address 127.66.9.9/32 is in none of the project's reservations",
		},
		"AssignNonsense": {
			reason: "An address is an address.",
			do: func(w *world) error {
				_, err := w.tryAssignIP(w.create("node", "c3.small.x86", "da").GetId(), "x")
				return err
			},
			want: no + `Address "x" is not an address`,
		},
		"AssignTwice": {
			reason: "An address is one server's.",
			do: func(w *world) error {
				r, err := w.tryReserve(metalv1.IPReservationRequestInput{Type: "public_ipv4", Quantity: 1, Metro: new("da")})
				must(w, r, err)
				a, b := w.create("a", "c3.small.x86", "da"), w.create("b", "c3.small.x86", "da")
				first, err := w.tryAssignIP(a.GetId(), r.GetAddress()+"/32")
				must(w, first, err)
				_, err = w.tryAssignIP(b.GetId(), r.GetAddress())
				return err
			},
			want: no + "Address 127.66.0.1/32 has already been assigned",
		},
		"AssignOtherMetro": {
			reason: "Reservation and server must be in one metro.",
			do: func(w *world) error {
				r, err := w.tryReserve(metalv1.IPReservationRequestInput{Type: "public_ipv4", Quantity: 1, Metro: new("da")})
				must(w, r, err)
				_, err = w.tryAssignIP(w.create("a", "c3.small.x86", "sv").GetId(), r.GetAddress())
				return err
			},
			want: no + "Address 127.66.0.1/32 is reserved in metro da, the device is in metro sv",
		},
		"DeleteManagement": {
			reason: "A server's own address stays.",
			do: func(w *world) error {
				d := w.device(w.create("a", "c3.small.x86", "da").GetId())
				_, err := w.client.IPAddressesApi.DeleteIPAddress(w.ctx, d.IpAddresses[0].GetId()).Execute()
				return err
			},
			want: no + "Cannot delete the management address 127.64.0.1 of a device",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{ElasticIPs: 8})
			if diff := cmp.Diff(tc.want, text(tc.do(w))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAddressesFollowTheMode(t *testing.T) {
	w := newWorld(t, metal.Options{LoopbackOctet: 200})
	s := w.server("c3.small.x86")
	addresses := func() []string {
		var out []string
		for _, a := range w.device(s.id).IpAddresses {
			out = append(out, a.GetAddress())
		}
		return out
	}
	if diff := cmp.Diff([]string{"127.200.0.1", "127.201.0.1"}, addresses()); diff != "" {
		t.Errorf("in Layer 3 (-want +got):\n%s", diff)
	}
	if err := toLayer2("bond0")(s); err != nil {
		t.Fatal(err)
	}
	if got := addresses(); len(got) != 0 {
		t.Errorf("in Layer 2: %v", got)
	}
	if err := toLayer3("bond0")(s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"127.200.0.2", "127.201.0.2"}, addresses()); diff != "" {
		t.Errorf("in Layer 3 again (-want +got):\n%s", diff)
	}
}

func TestIPReads(t *testing.T) {
	w := newWorld(t, metal.Options{})
	r, err := w.tryReserve(metalv1.IPReservationRequestInput{Type: "public_ipv4", Quantity: 2, Metro: new("da")})
	must(w, r, err)
	d := w.create("a", "c3.small.x86", "da")
	a, err := w.tryAssignIP(d.GetId(), r.GetAddress())
	must(w, a, err)
	got, _, err := w.client.IPAddressesApi.FindIPAddressById(w.ctx, r.GetId()).Execute()
	if must(w, got, err); got.IPReservation.GetCidr() != 31 {
		t.Errorf("reservation: %+v", got.IPReservation)
	}
	got, _, err = w.client.IPAddressesApi.FindIPAddressById(w.ctx, a.GetId()).Execute()
	if must(w, got, err); got.IPAssignment.GetAddress() != r.GetAddress() || got.IPAssignment.ParentBlock.GetHref() != r.GetHref() {
		t.Errorf("assignment: %+v", got.IPAssignment)
	}
	got, _, err = w.client.IPAddressesApi.UpdateIPAddress(w.ctx, r.GetId()).
		IPAssignmentUpdateInput(metalv1.IPAssignmentUpdateInput{Details: new("x"), Tags: []string{"t"}}).Execute()
	if must(w, got, err); got.IPReservation.GetDetails() != "x" || len(got.IPReservation.Tags) != 1 {
		t.Errorf("updated reservation: %+v", got.IPReservation)
	}
	v, err := w.tryVRF("10.60.0.0/16")
	must(w, v, err)
	vr, err := w.tryReserveVRF(v.GetId(), "10.60.10.0", 24)
	must(w, vr, err)
	list, _, err := w.client.IPAddressesApi.FindIPReservations(w.ctx, project).
		Types([]metalv1.FindIPReservationsTypesParameterInner{metalv1.FINDIPRESERVATIONSTYPESPARAMETERINNER_VRF}).Execute()
	if must(w, list, err); len(list.IpAddresses) != 1 || list.IpAddresses[0].VrfIpReservation.GetId() != vr.GetId() {
		t.Errorf("reservations of type vrf: %+v", list.IpAddresses)
	}
	if _, err := w.client.IPAddressesApi.DeleteIPAddress(w.ctx, a.GetId()).Execute(); err != nil {
		t.Error(err)
	}
	if got := len(w.device(d.GetId()).IpAddresses); got != 2 {
		t.Errorf("after the assignment is gone the server has %d addresses, want 2", got)
	}
}

func TestBGP(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d := w.create("node", "c3.small.x86", "da")
	session := func() error {
		_, _, err := w.client.DevicesApi.CreateBgpSession(w.ctx, d.GetId()).
			BGPSessionInput(metalv1.BGPSessionInput{AddressFamily: metalv1.BGPSESSIONINPUTADDRESSFAMILY_IPV4.Ptr()}).Execute()
		return err
	}
	none, _, err := w.client.BGPApi.FindBgpConfigByProject(w.ctx, project).Execute()
	if must(w, none, err); none.GetId() != "" {
		t.Errorf("a project without BGP has config %+v", none)
	}
	if got := text(session()); got != "422 Unprocessable Entity BGP is not enabled for the project" {
		t.Errorf("a session without BGP: %q", got)
	}
	_, err = w.client.BGPApi.RequestBgpConfig(w.ctx, project).BgpConfigRequestInput(metalv1.BgpConfigRequestInput{
		Asn: 65000, DeploymentType: "local", Md5: new(""), UseCase: new("kubernetes-load-balancer"),
	}).Execute()
	must(w, d, err)
	config, _, err := w.client.BGPApi.FindBgpConfigByProject(w.ctx, project).Execute()
	if must(w, config, err); config.GetAsn() != 65000 || config.GetStatus() != metalv1.BGPCONFIGSTATUS_ENABLED {
		t.Errorf("config: %+v", config)
	}
	if err := session(); err != nil {
		t.Fatal(err)
	}
	if got := text(session()); got != "422 Unprocessable Entity Device already has session for ipv4" {
		t.Errorf("a second session: %q", got)
	}
	if body, _ := fetch(t, w.cloud.MetadataURL(d.GetId())); !strings.Contains(body, `"bgp_neighbors":[{"address_family":4,"customer_as":65000}]`) {
		t.Errorf("the metadata has no neighbors: %s", body)
	}
	list, _, err := w.client.BGPApi.FindProjectBgpSessions(w.ctx, project).Execute()
	must(w, list, err)
	mine, _, err := w.client.DevicesApi.FindBgpSessions(w.ctx, d.GetId()).Execute()
	must(w, mine, err)
	if len(list.BgpSessions) != 1 || len(mine.BgpSessions) != 1 || list.BgpSessions[0].GetId() != mine.BgpSessions[0].GetId() {
		t.Errorf("sessions: %+v, %+v", list.BgpSessions, mine.BgpSessions)
	}
	one, _, err := w.client.BGPApi.FindBgpSessionById(w.ctx, mine.BgpSessions[0].GetId()).Execute()
	must(w, one, err)
	if _, err := w.client.BGPApi.DeleteBgpSession(w.ctx, one.GetId()).Execute(); err != nil {
		t.Error(err)
	}
	if err := session(); err != nil {
		t.Errorf("a session after the first one is gone: %v", err)
	}
}
