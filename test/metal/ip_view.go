package metal

import (
	"net/netip"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// family is 4 or 6.
func family(p netip.Prefix) int32 {
	if p.Addr().Is6() {
		return 6
	}
	return 4
}

// mask is the netmask of a prefix: for IPv6 the prefix length is all that the
// API gives.
func mask(p netip.Prefix) string {
	if p.Addr().Is6() {
		return ""
	}
	return netmask(p.Bits())
}

func (c *Cloud) assignmentView(a *assignment) metalv1.IPAssignment {
	code := a.device.metro
	out := metalv1.IPAssignment{
		Id: &a.id, Href: new(href("ips", a.id)), Address: new(a.prefix.Addr().String()), AddressFamily: new(family(a.prefix)),
		Cidr: new(int32(a.prefix.Bits())), Netmask: new(mask(a.prefix)), Network: new(a.prefix.Masked().Addr().String()),
		Gateway: new(a.prefix.Addr().String()), Public: &a.public, Management: new(a.reservation == nil),
		Manageable: new(a.reservation != nil), Enabled: new(true), GlobalIp: new(false),
		State: metalv1.IPASSIGNMENTSTATE_ACTIVE.Ptr(), Type: metalv1.IPASSIGNMENTTYPE_IP_ASSIGNMENT.Ptr(),
		AssignedTo: ref(href("devices", a.device.id)), CreatedAt: new(stamp(a.created)),
		Metro: &metalv1.IPAssignmentMetro{Id: new(uuidOf("metro", code)), Code: &code, Name: new(metroName(code))},
	}
	if r := a.reservation; r != nil {
		out.ParentBlock = &metalv1.ParentBlock{
			Cidr: new(int32(r.prefix.Bits())), Netmask: new(mask(r.prefix)), Network: new(r.prefix.Addr().String()),
			Href: new(href("ips", r.id)),
		}
	}
	return out
}

// reservationView shows a reservation as the API does: as one of the SDK's two
// models.
func (c *Cloud) reservationView(r *reservation, f fields) any {
	if r.kind == "vrf" {
		return c.vrfReservationView(r, f)
	}
	return c.plainReservationView(r, f)
}

func (c *Cloud) plainReservationView(r *reservation, f fields) metalv1.IPReservation {
	out := metalv1.IPReservation{
		Id: &r.id, Href: new(href("ips", r.id)), Type: metalv1.IPReservationType(r.kind), State: new("created"),
		Address: new(r.prefix.Addr().String()), AddressFamily: new(family(r.prefix)), Cidr: new(int32(r.prefix.Bits())),
		Netmask: new(mask(r.prefix)), Network: new(r.prefix.Addr().String()), Gateway: new(r.prefix.Addr().String()),
		Public: new(r.kind == "public_ipv4"), Management: new(false), Manageable: new(true), Enabled: new(true),
		GlobalIp: new(false), Addon: new(true), Bill: new(false), Details: &r.details, Tags: append([]string{}, r.tags...),
		Customdata: customOf(r), Assignments: []metalv1.IPAssignment{}, CreatedAt: new(stamp(r.created)),
		Project: c.projectView(r.project, f.full("project", false)), ProjectLite: ref(href("projects", r.project)),
		Metro: &metalv1.IPReservationMetro{Id: new(uuidOf("metro", r.metro)), Code: &r.metro, Name: new(metroName(r.metro))},
	}
	if g := c.gatewayWith(r); g != nil {
		out.Gateway = new(g.address().String())
		out.MetalGateway = new(g.lite(f.full("metal_gateway", false)))
	}
	for _, a := range c.assignmentsOf(r) {
		if f.full("assignments", false) {
			out.Assignments = append(out.Assignments, c.assignmentView(a))
			continue
		}
		out.Assignments = append(out.Assignments, metalv1.IPAssignment{Href: new(href("ips", a.id))})
	}
	return out
}

func (c *Cloud) vrfReservationView(r *reservation, f fields) metalv1.VrfIpReservation {
	out := metalv1.VrfIpReservation{
		Id: &r.id, Href: new(href("ips", r.id)), Type: metalv1.VRFIPRESERVATIONTYPE_VRF, State: new("created"),
		Address: new(r.prefix.Addr().String()), AddressFamily: new(family(r.prefix)), Cidr: new(int32(r.prefix.Bits())),
		Netmask: new(mask(r.prefix)), Network: new(r.prefix.Addr().String()), Gateway: new(r.prefix.Addr().Next().String()),
		Public: new(false), Management: new(false), Manageable: new(true), Bill: new(false), Details: &r.details,
		Tags: append([]string{}, r.tags...), Customdata: customOf(r), Vrf: c.vrfRef(r.vrf, f), Metro: c.metroView(r.metro),
		Project: c.projectView(r.project, f.full("project", false)), ProjectLite: c.projectView(r.project, false),
		CreatedAt: new(stamp(r.created)),
	}
	if g := c.gatewayWith(r); g != nil {
		out.MetalGateway = new(g.lite(f.full("metal_gateway", false)))
	}
	return out
}

func customOf(r *reservation) map[string]any {
	custom, err := exactObject([]byte(r.customdata))
	if err != nil {
		return map[string]any{}
	}
	return custom
}
