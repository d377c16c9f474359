package metal

import (
	"encoding/json"
	"math/bits"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// A gateway is the router of a VLAN. Its address is the first usable one of a
// reservation.
type gateway struct {
	id, project      string
	vlan             *vlan
	reservation      *reservation
	owned            bool // the reservation was made for the gateway and goes with it
	state            metalv1.MetalGatewayState
	created, updated time.Time
}

// privateSizes are the sizes of private subnets that Equinix chooses.
var privateSizes = []int32{8, 16, 32, 64, 128}

func gatewayRoutes() routes {
	return routes{
		"POST /projects/{id}/metal-gateways": (*Cloud).createGateway,
		"GET /projects/{id}/metal-gateways":  (*Cloud).listGateways,
		"GET /metal-gateways/{id}":           (*Cloud).getGateway,
		"DELETE /metal-gateways/{id}":        (*Cloud).deleteGateway,
	}
}

func (c *Cloud) createGateway(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.MetalGatewayCreateInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	v, known := c.vlans.get(in.VirtualNetworkId)
	if !known || v.project != p.id {
		return reply{}, unprocessable("Virtual network %q was not found in the project", in.VirtualNetworkId)
	}
	if len(c.gatewaysOf(v)) > 0 {
		return reply{}, unprocessable("Virtual network %d has a metal gateway already", v.vxlan)
	}
	r, owned, err := c.gatewayBlock(in, v)
	if err != nil {
		return reply{}, err
	}
	g := &gateway{
		id: c.newID("gateway", v.id), project: p.id, vlan: v, reservation: r, owned: owned, created: c.now, updated: c.now,
	}
	c.gateways.put(g.id, g)
	c.setGatewayState(g, metalv1.METALGATEWAYSTATE_READY)
	c.after(c.opts.Schedule.Gateway, func() {
		if g.state == metalv1.METALGATEWAYSTATE_READY {
			c.setGatewayState(g, metalv1.METALGATEWAYSTATE_ACTIVE)
		}
	})
	return created(c.gatewayView(g, q.fields))
}

// gatewayBlock returns the reservation of a new gateway: the one that the
// request names, or a private one that is made for it.
func (c *Cloud) gatewayBlock(in metalv1.MetalGatewayCreateInput, v *vlan) (r *reservation, owned bool, err error) {
	id, size := in.GetIpReservationId(), in.GetPrivateIpv4SubnetSize()
	switch {
	case (id == "") == (size == 0):
		return nil, false, unprocessable("Either ip_reservation_id or private_ipv4_subnet_size must be specified")
	case id != "":
		r, err = c.namedBlock(id, v)
		return r, false, err
	case !slices.Contains(privateSizes, size):
		return nil, false, unprocessable("Private ipv4 subnet size must be one of 8, 16, 32, 64, 128")
	}
	prefix, free := c.pools.gateway.take(32 - bits.TrailingZeros32(uint32(size)))
	if !free {
		return nil, false, unprocessable("There are no private subnets left")
	}
	r = &reservation{
		id: c.newID("reservation", v.id, "private_ipv4"), project: v.project, metro: v.metro, kind: "private_ipv4", prefix: prefix,
	}
	c.keep(r)
	return r, true, nil
}

func (c *Cloud) namedBlock(id string, v *vlan) (*reservation, error) {
	r, known := c.reservations.get(id)
	switch {
	case !known || r.project != v.project:
		return nil, unprocessable("IP reservation %q was not found in the project", id)
	case r.metro != v.metro:
		return nil, unprocessable("IP reservation is in metro %s, virtual network is in metro %s", r.metro, v.metro)
	case c.gatewayWith(r) != nil:
		return nil, unprocessable("IP reservation %s is used by another metal gateway", r.prefix)
	case len(c.assignmentsOf(r)) > 0:
		return nil, unprocessable("IP reservation %s has addresses that are assigned to devices", r.prefix)
	case r.prefix.Addr().Is4() && r.prefix.Bits() > 29:
		return nil, unprocessable("IP reservation %s is too small for a metal gateway", r.prefix)
	}
	return r, nil
}

func (c *Cloud) setGatewayState(g *gateway, s metalv1.MetalGatewayState) {
	c.note(Change{Kind: Gateway, Subject: g.id, Before: string(g.state), After: string(s)})
	g.state, g.updated = s, c.now
}

// gatewaysOf returns a VLAN's gateways, with those that are being deleted.
func (c *Cloud) gatewaysOf(v *vlan) []*gateway {
	return c.gateways.where(func(g *gateway) bool { return g.vlan == v })
}

// gatewayWith returns the gateway that uses a reservation, or nil.
func (c *Cloud) gatewayWith(r *reservation) *gateway {
	found := c.gateways.where(func(g *gateway) bool { return g.reservation == r })
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// address is the gateway's own address.
func (g *gateway) address() netip.Addr {
	return g.reservation.prefix.Addr().Next()
}

func (c *Cloud) listGateways(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	list, meta := page(q, c.gateways.where(func(g *gateway) bool { return g.project == p.id }), 10)
	out := struct {
		MetalGateways []any         `json:"metal_gateways"`
		Meta          *metalv1.Meta `json:"meta"`
	}{MetalGateways: []any{}, Meta: meta}
	for _, g := range list {
		out.MetalGateways = append(out.MetalGateways, c.gatewayView(g, q.fields))
	}
	return ok(out)
}

func (c *Cloud) getGateway(q *query) (reply, error) {
	g, known := c.gateways.get(q.PathValue("id"))
	if !known {
		return reply{}, notFound()
	}
	return ok(c.gatewayView(g, q.fields))
}

func (c *Cloud) deleteGateway(q *query) (reply, error) {
	g, known := c.gateways.get(q.PathValue("id"))
	if !known {
		return reply{}, notFound()
	}
	if g.state != metalv1.METALGATEWAYSTATE_DELETING {
		c.setGatewayState(g, metalv1.METALGATEWAYSTATE_DELETING)
		c.after(c.opts.Schedule.GatewayDeletion, func() { c.removeGateway(g) })
	}
	return reply{status: http.StatusAccepted, body: c.gatewayView(g, q.fields)}, nil
}

func (c *Cloud) removeGateway(g *gateway) {
	c.setGatewayState(g, "")
	c.gateways.drop(g.id)
	if g.owned {
		c.release(g.reservation)
	}
}

// lite shows a gateway that belongs to a thing.
func (g *gateway) lite(full bool) metalv1.MetalGatewayLite {
	out := metalv1.MetalGatewayLite{Href: new(href("metal-gateways", g.id))}
	if full {
		out.Id, out.State, out.Vlan = &g.id, &g.state, new(int32(g.vlan.vxlan))
		out.GatewayAddress = new(netip.PrefixFrom(g.address(), g.reservation.prefix.Bits()).String())
		out.CreatedAt, out.UpdatedAt = new(stamp(g.created)), new(stamp(g.updated))
	}
	return out
}

// gatewayView shows a gateway as the API does: as one of the SDK's two models.
// The SDK can tell them apart only if the reservation was included.
func (c *Cloud) gatewayView(g *gateway, f fields) any {
	if g.reservation.vrf != nil {
		return c.vrfGatewayView(g, f)
	}
	out := metalv1.MetalGateway{
		Id: &g.id, Href: new(href("metal-gateways", g.id)), State: &g.state,
		Project: c.projectView(g.project, f.full("project", false)), VirtualNetwork: new(c.vlanRef(g.vlan, f, "virtual_network")),
		IpReservation: new(c.plainReservationView(g.reservation, f.under("ip_reservation"))),
		CreatedAt:     new(stamp(g.created)), UpdatedAt: new(stamp(g.updated)),
	}
	if !f.full("ip_reservation", false) {
		return bare(out, g)
	}
	return out
}

func (c *Cloud) vrfGatewayView(g *gateway, f fields) any {
	out := metalv1.VrfMetalGateway{
		Id: &g.id, Href: new(href("metal-gateways", g.id)), State: &g.state,
		Project: c.projectView(g.project, f.full("project", false)), VirtualNetwork: new(c.vlanRef(g.vlan, f, "virtual_network")),
		IpReservation: new(c.vrfReservationView(g.reservation, f.under("ip_reservation"))),
		Vrf:           new(c.vrfRef(g.reservation.vrf, f)),
		CreatedAt:     new(stamp(g.created)), UpdatedAt: new(stamp(g.updated)),
	}
	if !f.full("ip_reservation", false) {
		return bare(out, g)
	}
	return out
}

// bare shows a gateway without its reservation: the API gives a reference, for
// which the SDK's models have no room.
func bare(view any, g *gateway) any {
	raw, err := json.Marshal(view)
	if err != nil {
		return view
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		return view
	}
	out["ip_reservation"] = ref(href("ips", g.reservation.id))
	return out
}
