package metal_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

func TestCreateVLAN(t *testing.T) {
	const no = "422 Unprocessable Entity "
	numbered := func(metro string, n int32) metalv1.VirtualNetworkCreateInput {
		return metalv1.VirtualNetworkCreateInput{Metro: &metro, Vxlan: &n}
	}
	cases := map[string]struct {
		reason  string
		project string
		in      metalv1.VirtualNetworkCreateInput
		vxlan   int32
		want    string
	}{
		"Free":          {reason: "A free number.", in: numbered("da", 1001), vxlan: 1001},
		"Taken":         {reason: "A number is unique in project and metro.", in: numbered("da", 1000), want: no + "Vxlan 1000 has already been taken in metro da"},
		"OtherMetro":    {reason: "The same number in another metro is another network.", in: numbered("sv", 1000), vxlan: 1000},
		"OtherProject":  {reason: "The same number in another project, too.", project: other, in: numbered("da", 1000), vxlan: 1000},
		"Lowest":        {reason: "The lowest number.", in: numbered("da", 2), vxlan: 2},
		"Highest":       {reason: "The highest number.", in: numbered("da", 3999), vxlan: 3999},
		"TooLow":        {reason: "1 is no number.", in: numbered("da", 1), want: no + "Vxlan must be between 2 and 3999"},
		"TooHigh":       {reason: "4000 is no number.", in: numbered("da", 4000), want: no + "Vxlan must be between 2 and 3999"},
		"Chosen":        {reason: "Without a number the API takes a free one.", in: metalv1.VirtualNetworkCreateInput{Metro: new("da")}, vxlan: 1001},
		"CapitalMetro":  {reason: "A metro may be written in capitals.", in: numbered("DA", 5), vxlan: 5},
		"UnknownMetro":  {reason: "The metro must exist.", in: numbered("xx", 5), want: no + `Metro "xx" is not a metro`},
		"NoMetro":       {reason: "The metro must be named.", in: metalv1.VirtualNetworkCreateInput{}, want: no + `Metro "" is not a metro`},
		"UnknownParent": {reason: "The project must exist.", project: "x", in: numbered("da", 5), want: "404 Not Found Not found"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{})
			w.vlan("da", 1000)
			in := project
			if tc.project != "" {
				in = tc.project
			}
			v, err := w.tryVLAN(in, tc.in)
			if diff := cmp.Diff(tc.want, text(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.want == "" && v.GetVxlan() != tc.vxlan {
				t.Errorf("%s: vxlan %d, want %d", tc.reason, v.GetVxlan(), tc.vxlan)
			}
		})
	}
}

func TestVLANShowsWhoUsesIt(t *testing.T) {
	w := newWorld(t, metal.Options{})
	v := w.vlan("da", 1000)
	s := w.server("c3.small.x86")
	if err := assign("bond0", "1000")(s); err != nil {
		t.Fatal(err)
	}
	plain, _, err := w.client.VLANsApi.GetVirtualNetwork(w.ctx, v.GetId()).Execute()
	must(w, plain, err)
	if len(plain.Instances) != 1 || plain.Instances[0].GetHref() != "/metal/v1/devices/"+s.id || plain.Instances[0].Id != nil {
		t.Errorf("instances without include: %+v", plain.Instances)
	}
	if plain.GetMetroCode() != "da" || plain.AssignedTo.GetHref() != "/metal/v1/projects/"+project {
		t.Errorf("metro %q, project %+v", plain.GetMetroCode(), plain.AssignedTo)
	}
	full, _, err := w.client.VLANsApi.GetVirtualNetwork(w.ctx, v.GetId()).
		Include([]string{"instances", "instances.network_ports.virtual_networks", "assigned_to"}).Execute()
	must(w, full, err)
	if full.AssignedTo.GetId() != project || full.Instances[0].GetId() != s.id {
		t.Errorf("with include: %+v", full)
	}
	if got := full.Instances[0].NetworkPorts[0].VirtualNetworks[0].GetVxlan(); got != 1000 {
		t.Errorf("three levels down: vxlan %d", got)
	}
	list, _, err := w.client.VLANsApi.FindVirtualNetworks(w.ctx, project).Metro("sv").Execute()
	if must(w, list, err); len(list.VirtualNetworks) != 0 {
		t.Errorf("%d VLANs in another metro", len(list.VirtualNetworks))
	}
	up, _, err := w.client.VLANsApi.UpdateVirtualNetwork(w.ctx, v.GetId()).
		VirtualNetworkUpdateInput(metalv1.VirtualNetworkUpdateInput{Description: new("storage"), Tags: []string{"a"}}).Execute()
	if must(w, up, err); up.GetDescription() != "storage" || len(up.Tags) != 1 {
		t.Errorf("after an update: %+v", up)
	}
}

var gatewayParts = []string{"project", "ip_reservation", "virtual_network", "vrf"}

func (w *world) tryGateway(in metalv1.MetalGatewayCreateInput) (*metalv1.FindMetalGatewayById200Response, error) {
	g, _, err := w.client.MetalGatewaysApi.CreateMetalGateway(w.ctx, project).
		CreateMetalGatewayRequest(metalv1.CreateMetalGatewayRequest{MetalGatewayCreateInput: &in}).Include(gatewayParts).Execute()
	return g, err
}

func (w *world) tryVRF(ranges ...string) (*metalv1.Vrf, error) {
	v, _, err := w.client.VRFsApi.CreateVrf(w.ctx, project).
		VrfCreateInput(metalv1.VrfCreateInput{Metro: "da", Name: "net", IpRanges: ranges}).Execute()
	return v, err
}

func (w *world) tryReserveVRF(vrf, network string, cidr int32) (*metalv1.VrfIpReservation, error) {
	r, _, err := w.client.IPAddressesApi.RequestIPReservation(w.ctx, project).RequestIPReservationRequest(
		metalv1.RequestIPReservationRequest{VrfIpReservationCreateInput: &metalv1.VrfIpReservationCreateInput{
			Cidr: cidr, Network: network, Type: "vrf", VrfId: vrf,
		}}).Execute()
	if err != nil {
		return nil, err
	}
	return r.VrfIpReservation, nil
}

func TestDeleteVLAN(t *testing.T) {
	const no = "422 Unprocessable Entity "
	var none string
	cases := map[string]struct {
		reason string
		use    func(w *world, v *metalv1.VirtualNetwork)
		want   string
	}{
		"Unused": {reason: "Nothing holds it.", use: func(*world, *metalv1.VirtualNetwork) {}, want: none},
		"Released": {
			reason: "It was unassigned before.",
			use: func(w *world, v *metalv1.VirtualNetwork) {
				s := w.server("c3.small.x86")
				for _, do := range []step{assign("bond0", v.GetId()), unassign("bond0", v.GetId())} {
					if err := do(s); err != nil {
						w.t.Fatal(err)
					}
				}
			},
			want: none,
		},
		"Port": {
			reason: "A port is assigned to it.",
			use: func(w *world, v *metalv1.VirtualNetwork) {
				if err := assign("bond0", v.GetId())(w.server("c3.small.x86")); err != nil {
					w.t.Fatal(err)
				}
			},
			want: no + "Cannot delete Virtual Network when port is assigned",
		},
		"Gateway": {
			reason: "A gateway uses it.",
			use: func(w *world, v *metalv1.VirtualNetwork) {
				g, err := w.tryGateway(metalv1.MetalGatewayCreateInput{VirtualNetworkId: v.GetId(), PrivateIpv4SubnetSize: new(int32(8))})
				must(w, g, err)
			},
			want: no + "Cannot delete Virtual Network when a metal gateway is assigned",
		},
		"GatewayBeingDeleted": {
			reason: "A gateway uses it until it is gone.",
			use: func(w *world, v *metalv1.VirtualNetwork) {
				g, err := w.tryGateway(metalv1.MetalGatewayCreateInput{VirtualNetworkId: v.GetId(), PrivateIpv4SubnetSize: new(int32(8))})
				must(w, g, err)
				_, _, err = w.client.MetalGatewaysApi.DeleteMetalGateway(w.ctx, g.MetalGateway.GetId()).Include(gatewayParts).Execute()
				must(w, g, err)
			},
			want: no + "Cannot delete Virtual Network when a metal gateway is assigned",
		},
		"Twice": {
			reason: "It is gone already.",
			use: func(w *world, v *metalv1.VirtualNetwork) {
				if _, err := w.client.VLANsApi.DeleteVirtualNetwork(w.ctx, v.GetId()).Execute(); err != nil {
					w.t.Fatal(err)
				}
			},
			want: "404 Not Found Not found",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{Schedule: metal.Schedule{GatewayDeletion: time.Minute}})
			v := w.vlan("da", 1000)
			tc.use(w, v)
			_, err := w.client.VLANsApi.DeleteVirtualNetwork(w.ctx, v.GetId()).Execute()
			if diff := cmp.Diff(tc.want, text(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestVRFRules(t *testing.T) {
	const no = "422 Unprocessable Entity "
	reserve := func(network string, cidr int32) func(*world) error {
		return func(w *world) error {
			v, err := w.tryVRF("10.60.0.0/16", "10.70.0.0/29", "fd00::/59")
			must(w, v, err)
			first, err := w.tryReserveVRF(v.GetId(), "10.60.10.0", 24)
			must(w, first, err)
			_, err = w.tryReserveVRF(v.GetId(), network, cidr)
			return err
		}
	}
	vrf := func(ranges ...string) func(*world) error {
		return func(w *world) error { _, err := w.tryVRF(ranges...); return err }
	}
	sizes := no + "Cidr must be between 22 and 29 for IPv4 and 64 for IPv6, and the network its first address"
	cases := map[string]struct {
		reason string
		do     func(*world) error
		want   string
	}{
		"Largest":            {reason: "A range may be a /8.", do: vrf("10.0.0.0/8")},
		"Smallest":           {reason: "A range may be a /29.", do: vrf("10.0.0.0/29")},
		"TooLarge":           {reason: "A /7 is too large.", do: vrf("10.0.0.0/7"), want: no + "Ip ranges: 10.0.0.0/7 must be between /8 and /29 in size"},
		"TooSmall":           {reason: "A /30 is too small.", do: vrf("10.0.0.0/30"), want: no + "Ip ranges: 10.0.0.0/30 must be between /8 and /29 in size"},
		"HostBits":           {reason: "A range is a network.", do: vrf("10.0.0.1/24"), want: no + `Ip ranges: "10.0.0.1/24" is not a network in CIDR notation`},
		"OverlappingRanges":  {reason: "Ranges do not overlap.", do: vrf("10.0.0.0/16", "10.0.1.0/24"), want: no + "Ip ranges: 10.0.1.0/24 overlaps another range"},
		"LargeIPv6":          {reason: "An IPv6 range may be a /59 to /64.", do: vrf("fd00::/58"), want: no + "Ip ranges: fd00::/58 must be between /59 and /64 in size"},
		"ReserveLargest":     {reason: "A reservation may be a /22.", do: reserve("10.60.4.0", 22)},
		"ReserveSmallest":    {reason: "A reservation may be a /29.", do: reserve("10.70.0.0", 29)},
		"ReserveIPv6":        {reason: "An IPv6 reservation is a /64.", do: reserve("fd00::", 64)},
		"ReserveTooLarge":    {reason: "A /21 is too large.", do: reserve("10.60.0.0", 21), want: sizes},
		"ReserveTooSmall":    {reason: "A /30 is too small.", do: reserve("10.60.0.0", 30), want: sizes},
		"ReserveHostBits":    {reason: "The network is the first address.", do: reserve("10.60.1.1", 24), want: sizes},
		"ReserveOutside":     {reason: "It must be inside a range.", do: reserve("10.61.0.0", 24), want: no + "10.61.0.0/24 is in none of the VRF's IP ranges"},
		"ReserveOverlapping": {reason: "It must not overlap another.", do: reserve("10.60.10.128", 25), want: no + "10.60.10.128/25 overlaps 10.60.10.0/24, which is reserved already"},
		"ReserveNowhere": {
			reason: "The VRF must exist.",
			do:     func(w *world) error { _, err := w.tryReserveVRF("x", "10.60.0.0", 24); return err },
			want:   no + `VRF "x" was not found in the project`,
		},
		"DeleteInUse": {
			reason: "A VRF goes after its reservations.",
			do: func(w *world) error {
				v, err := w.tryVRF("10.60.0.0/16")
				must(w, v, err)
				r, err := w.tryReserveVRF(v.GetId(), "10.60.10.0", 24)
				must(w, r, err)
				_, err = w.client.VRFsApi.DeleteVrf(w.ctx, v.GetId()).Execute()
				return err
			},
			want: no + "Cannot delete VRF when it has IP reservations",
		},
		"ShrinkInUse": {
			reason: "A range with a reservation stays.",
			do: func(w *world) error {
				v, err := w.tryVRF("10.60.0.0/16")
				must(w, v, err)
				r, err := w.tryReserveVRF(v.GetId(), "10.60.10.0", 24)
				must(w, r, err)
				_, _, err = w.client.VRFsApi.UpdateVrf(w.ctx, v.GetId()).VrfUpdateInput(metalv1.VrfUpdateInput{IpRanges: []string{"10.61.0.0/16"}}).Execute()
				return err
			},
			want: no + "Ip ranges: 10.60.10.0/24 is still reserved",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, text(tc.do(newWorld(t, metal.Options{})))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGatewayRules(t *testing.T) {
	const no = "422 Unprocessable Entity "
	private := func(size int32) func(*world) error {
		return func(w *world) error {
			_, err := w.tryGateway(metalv1.MetalGatewayCreateInput{VirtualNetworkId: w.vlan("da", 1000).GetId(), PrivateIpv4SubnetSize: &size})
			return err
		}
	}
	wrongSize := no + "Private ipv4 subnet size must be one of 8, 16, 32, 64, 128"
	cases := map[string]struct {
		reason string
		do     func(*world) error
		want   string
	}{
		"Size8":   {reason: "The smallest subnet.", do: private(8)},
		"Size16":  {reason: "The next one.", do: private(16)},
		"Size32":  {reason: "The next one.", do: private(32)},
		"Size64":  {reason: "The next one.", do: private(64)},
		"Size128": {reason: "The largest subnet.", do: private(128)},
		"Size4":   {reason: "Too small.", do: private(4), want: wrongSize},
		"Size24":  {reason: "Not a size.", do: private(24), want: wrongSize},
		"Size256": {reason: "Too large.", do: private(256), want: wrongSize},
		"Nothing": {
			reason: "One of the two is needed.",
			do:     private(0),
			want:   no + "Either ip_reservation_id or private_ipv4_subnet_size must be specified",
		},
		"Both": {
			reason: "Only one of the two.",
			do: func(w *world) error {
				_, err := w.tryGateway(metalv1.MetalGatewayCreateInput{
					VirtualNetworkId: w.vlan("da", 1000).GetId(), PrivateIpv4SubnetSize: new(int32(8)), IpReservationId: new("x"),
				})
				return err
			},
			want: no + "Either ip_reservation_id or private_ipv4_subnet_size must be specified",
		},
		"NoVLAN": {
			reason: "The VLAN must exist.",
			do: func(w *world) error {
				_, err := w.tryGateway(metalv1.MetalGatewayCreateInput{VirtualNetworkId: "x", PrivateIpv4SubnetSize: new(int32(8))})
				return err
			},
			want: no + `Virtual network "x" was not found in the project`,
		},
		"Second": {
			reason: "One gateway a VLAN.",
			do: func(w *world) error {
				in := metalv1.MetalGatewayCreateInput{VirtualNetworkId: w.vlan("da", 1000).GetId(), PrivateIpv4SubnetSize: new(int32(8))}
				g, err := w.tryGateway(in)
				must(w, g, err)
				_, err = w.tryGateway(in)
				return err
			},
			want: no + "Virtual network 1000 has a metal gateway already",
		},
		"OtherMetro": {
			reason: "Reservation and VLAN must be in one metro.",
			do:     vrfGateway("sv", 1),
			want:   no + "IP reservation is in metro da, virtual network is in metro sv",
		},
		"ReservationTwice": {
			reason: "One gateway a reservation.",
			do:     vrfGateway("da", 2),
			want:   no + "IP reservation 10.60.10.0/24 is used by another metal gateway",
		},
		"NoReservation": {
			reason: "The reservation must exist.",
			do: func(w *world) error {
				_, err := w.tryGateway(metalv1.MetalGatewayCreateInput{VirtualNetworkId: w.vlan("da", 1000).GetId(), IpReservationId: new("x")})
				return err
			},
			want: no + `IP reservation "x" was not found in the project`,
		},
		"TooSmall": {
			reason: "A single address is no subnet.",
			do: func(w *world) error {
				r, err := w.tryReserve(metalv1.IPReservationRequestInput{Type: "public_ipv4", Quantity: 1, Metro: new("da")})
				must(w, r, err)
				_, err = w.tryGateway(metalv1.MetalGatewayCreateInput{VirtualNetworkId: w.vlan("da", 1000).GetId(), IpReservationId: r.Id})
				return err
			},
			want: no + "IP reservation 127.66.0.1/32 is too small for a metal gateway",
		},
		"ReservationInUse": {
			reason: "A reservation goes after its gateway.",
			do: func(w *world) error {
				if err := vrfGateway("da", 1)(w); err != nil {
					return err
				}
				_, err := w.client.IPAddressesApi.DeleteIPAddress(w.ctx, w.cloud.Snapshot().VRFReservations[0].GetId()).Execute()
				return err
			},
			want: no + "Cannot delete an IP reservation when a metal gateway uses it",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, text(tc.do(newWorld(t, metal.Options{})))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// vrfGateway makes gateways for that many VLANs, all with one reservation of a
// VRF in metro da, and returns the last error.
func vrfGateway(metro string, vlans int32) func(*world) error {
	return func(w *world) error {
		v, err := w.tryVRF("10.60.0.0/16")
		must(w, v, err)
		r, err := w.tryReserveVRF(v.GetId(), "10.60.10.0", 24)
		must(w, r, err)
		for n := range vlans {
			_, err = w.tryGateway(metalv1.MetalGatewayCreateInput{VirtualNetworkId: w.vlan(metro, 1000+n).GetId(), IpReservationId: r.Id})
		}
		return err
	}
}

func TestVRFGatewayLife(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: metal.Schedule{Gateway: time.Minute, GatewayDeletion: 2 * time.Minute}})
	if err := vrfGateway("da", 1)(w); err != nil {
		t.Fatal(err)
	}
	id := w.cloud.Snapshot().VRFGateways[0].GetId()
	get := func() (*metalv1.VrfMetalGateway, int) {
		g, resp, err := w.client.MetalGatewaysApi.FindMetalGatewayById(w.ctx, id).Include(gatewayParts).Execute()
		if resp != nil && resp.StatusCode != http.StatusOK {
			return nil, resp.StatusCode
		}
		must(w, g, err)
		return g.VrfMetalGateway, 200
	}
	g, _ := get()
	if g.GetState() != metalv1.METALGATEWAYSTATE_READY || g.VirtualNetwork.GetVxlan() != 1000 || g.Vrf.GetName() != "net" {
		t.Errorf("a new gateway: %+v", g)
	}
	if got := g.IpReservation.GetGateway(); got != "10.60.10.1" {
		t.Errorf("the gateway has address %s, want the first usable one", got)
	}
	w.clock.Advance(time.Minute)
	if g, _ := get(); g.GetState() != metalv1.METALGATEWAYSTATE_ACTIVE {
		t.Errorf("after a minute it is %s", g.GetState())
	}
	_, resp, err := w.client.MetalGatewaysApi.DeleteMetalGateway(w.ctx, id).Include(gatewayParts).Execute()
	if must(w, resp, err); resp.StatusCode != http.StatusAccepted {
		t.Errorf("deletion: %d", resp.StatusCode)
	}
	if g, _ := get(); g.GetState() != metalv1.METALGATEWAYSTATE_DELETING {
		t.Errorf("after deletion it is %s", g.GetState())
	}
	w.clock.Advance(2 * time.Minute)
	if _, status := get(); status != 404 {
		t.Errorf("at the end: %d", status)
	}
	snap := w.cloud.Snapshot()
	for _, id := range []string{snap.VRFReservations[0].GetId()} {
		if _, err := w.client.IPAddressesApi.DeleteIPAddress(w.ctx, id).Execute(); err != nil {
			t.Errorf("the reservation stays: %v", err)
		}
	}
	if _, err := w.client.VRFsApi.DeleteVrf(w.ctx, snap.VRFs[0].GetId()).Execute(); err != nil {
		t.Errorf("the VRF stays: %v", err)
	}
}

func TestPrivateGatewayTakesItsSubnetAlong(t *testing.T) {
	w := newWorld(t, metal.Options{})
	g, err := w.tryGateway(metalv1.MetalGatewayCreateInput{VirtualNetworkId: w.vlan("da", 1000).GetId(), PrivateIpv4SubnetSize: new(int32(16))})
	must(w, g, err)
	r := g.MetalGateway.IpReservation
	if r.GetCidr() != 28 || r.GetType() != metalv1.IPRESERVATIONTYPE_PRIVATE_IPV4 || r.GetNetwork() != "127.67.0.16" || r.GetGateway() != "127.67.0.17" {
		t.Errorf("its reservation: %s/%d with gateway %s", r.GetNetwork(), r.GetCidr(), r.GetGateway())
	}
	list, _, err := w.client.MetalGatewaysApi.FindMetalGatewaysByProject(w.ctx, project).Include(gatewayParts).Execute()
	if must(w, list, err); len(list.MetalGateways) != 1 || list.MetalGateways[0].MetalGateway.GetId() != g.MetalGateway.GetId() {
		t.Errorf("the project's gateways: %+v", list)
	}
	_, _, err = w.client.MetalGatewaysApi.DeleteMetalGateway(w.ctx, g.MetalGateway.GetId()).Include(gatewayParts).Execute()
	must(w, g, err)
	if snap := w.cloud.Snapshot(); len(snap.Gateways) != 0 || len(snap.Reservations) != 0 {
		t.Errorf("left behind: %+v", snap)
	}
}

func TestVRFReads(t *testing.T) {
	w := newWorld(t, metal.Options{})
	v, err := w.tryVRF("10.60.0.0/16")
	must(w, v, err)
	r, err := w.tryReserveVRF(v.GetId(), "10.60.10.0", 24)
	must(w, r, err)
	list, _, err := w.client.VRFsApi.FindVrfs(w.ctx, project).Metro("da").Execute()
	if must(w, list, err); len(list.Vrfs) != 1 || list.Vrfs[0].GetLocalAsn() != 65000 {
		t.Errorf("VRFs: %+v", list.Vrfs)
	}
	ips, _, err := w.client.VRFsApi.FindVrfIpReservations(w.ctx, v.GetId()).Execute()
	if must(w, ips, err); len(ips.IpAddresses) != 1 || ips.IpAddresses[0].GetNetwork() != "10.60.10.0" {
		t.Errorf("reservations: %+v", ips.IpAddresses)
	}
	same, _, err := w.client.VRFsApi.FindVrfById(w.ctx, v.GetId()).Execute()
	if must(w, same, err); same.GetName() != "net" || same.Metro.GetCode() != "da" {
		t.Errorf("VRF: %+v", same)
	}
	one, _, err := w.client.VRFsApi.FindVrfIpReservation(w.ctx, v.GetId(), r.GetId()).Execute()
	if must(w, one, err); one.GetId() != r.GetId() || one.Vrf.GetHref() != "/metal/v1/vrfs/"+v.GetId() {
		t.Errorf("reservation: %+v", one)
	}
	up, _, err := w.client.VRFsApi.UpdateVrf(w.ctx, v.GetId()).VrfUpdateInput(metalv1.VrfUpdateInput{
		IpRanges: []string{"10.60.0.0/16", "10.61.0.0/16"}, Name: new("wide"),
	}).Execute()
	if must(w, up, err); len(up.IpRanges) != 2 || up.GetName() != "wide" {
		t.Errorf("updated: %+v", up)
	}
}

// TestGatewayWithoutIncludes shows why clients of the SDK must include the
// reservation: what the API gives without fits none of its models.
func TestGatewayWithoutIncludes(t *testing.T) {
	w := newWorld(t, metal.Options{})
	if err := vrfGateway("da", 1)(w); err != nil {
		t.Fatal(err)
	}
	snap := w.cloud.Snapshot()
	_, body := w.post(http.MethodGet, "/metal/v1/metal-gateways/"+snap.VRFGateways[0].GetId(), "")
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"href": "/metal/v1/ips/" + snap.VRFReservations[0].GetId()}
	if diff := cmp.Diff(want, got["ip_reservation"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, _, err := w.client.MetalGatewaysApi.FindMetalGatewayById(w.ctx, snap.VRFGateways[0].GetId()).Execute(); err == nil {
		t.Error("the SDK can read it after all")
	}
}
