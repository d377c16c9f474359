package metal

import (
	"encoding/json"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// A reservation is a block of addresses that a project holds.
type reservation struct {
	id, project, metro, details string
	kind                        string // public_ipv4, private_ipv4 or vrf
	prefix                      netip.Prefix
	tags                        []string
	customdata                  string
	vrf                         *vrf
	created                     time.Time
}

// An assignment is an address of a server: one of the management addresses
// that it got when it was provisioned, or one of a reservation.
type assignment struct {
	id          string
	device      *device
	prefix      netip.Prefix
	public      bool
	reservation *reservation // nil for a management address
	created     time.Time
}

// The sizes that a reservation of a VRF may have, as prefix lengths.
const (
	minVRFBits = 22
	maxVRFBits = 29
)

func ipRoutes() routes {
	return routes{
		"POST /projects/{id}/ips": (*Cloud).createReservation,
		"GET /projects/{id}/ips":  (*Cloud).listReservations,
		"GET /ips/{id}":           (*Cloud).getIP,
		"PATCH /ips/{id}":         (*Cloud).updateIP,
		"DELETE /ips/{id}":        (*Cloud).deleteIP,
		"POST /devices/{id}/ips":  (*Cloud).assignIP,
		"GET /devices/{id}/ips":   (*Cloud).listDeviceIPs,
	}
}

func (c *Cloud) createReservation(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var what struct {
		Type       string          `json:"type"`
		Customdata json.RawMessage `json:"customdata"`
	}
	if err := q.decode(&what); err != nil {
		return reply{}, err
	}
	custom, err := canonical(what.Customdata)
	if err != nil {
		return reply{}, err
	}
	var r *reservation
	switch what.Type {
	case "vrf":
		r, err = c.vrfReservation(q, p)
	case "public_ipv4":
		r, err = c.elasticReservation(q, p)
	default:
		err = unprocessable("Type %q cannot be reserved here", what.Type)
	}
	if err != nil {
		return reply{}, err
	}
	r.customdata = custom
	c.keep(r)
	return created(c.reservationView(r, q.fields))
}

// keep adds a reservation to the cloud.
func (c *Cloud) keep(r *reservation) {
	r.created = c.now
	c.reservations.put(r.id, r)
	c.note(Change{Kind: Reservation, Subject: r.id, After: r.prefix.String()})
}

func (c *Cloud) elasticReservation(q *query, p *project) (*reservation, error) {
	var in metalv1.IPReservationRequestInput
	if err := q.decode(&in); err != nil {
		return nil, err
	}
	metro, _ := c.locate(place{Metro: in.GetMetro(), Facility: facilities{in.GetFacility()}})
	if !slices.Contains(c.opts.Metros, metro) {
		return nil, unprocessable("Metro %q is not a metro", metro)
	}
	n := int(in.Quantity)
	if n < 1 || bits.OnesCount(uint(n)) != 1 || n > 256 {
		return nil, unprocessable("Quantity must be a power of two up to 256")
	}
	if c.elasticIPs(p)+n > c.opts.ElasticIPs {
		return nil, unprocessable("The quantity exceeds the project's quota of %d addresses", c.opts.ElasticIPs)
	}
	prefix, free := c.pools.elastic.take(32 - bits.TrailingZeros(uint(n)))
	if !free {
		return nil, unprocessable("There are no addresses left in metro %s", metro)
	}
	return &reservation{
		id: c.newID("reservation", p.id, metro, in.Type), project: p.id, metro: metro, kind: in.Type, prefix: prefix,
		details: in.GetDetails(), tags: slices.Clone(in.Tags),
	}, nil
}

// elasticIPs counts the addresses that a project has reserved.
func (c *Cloud) elasticIPs(p *project) int {
	n := 0
	for _, r := range c.reservations.all() {
		if r.project == p.id && r.kind == "public_ipv4" {
			n += 1 << (32 - r.prefix.Bits())
		}
	}
	return n
}

func (c *Cloud) vrfReservation(q *query, p *project) (*reservation, error) {
	var in metalv1.VrfIpReservationCreateInput
	if err := q.decode(&in); err != nil {
		return nil, err
	}
	v, known := c.vrfs.get(in.VrfId)
	if !known || v.project != p.id {
		return nil, unprocessable("VRF %q was not found in the project", in.VrfId)
	}
	addr, err := netip.ParseAddr(in.Network)
	if err != nil {
		return nil, unprocessable("Network %q is not an address", in.Network)
	}
	prefix := netip.PrefixFrom(addr, int(in.Cidr))
	if !vrfReservable(prefix) {
		return nil, unprocessable("Cidr must be between %d and %d for IPv4 and 64 for IPv6, and the network its first address",
			minVRFBits, maxVRFBits)
	}
	if !contained(prefix, v.ranges) {
		return nil, unprocessable("%s is in none of the VRF's IP ranges", prefix)
	}
	for _, r := range c.reservationsIn(v) {
		if r.prefix.Overlaps(prefix) {
			return nil, unprocessable("%s overlaps %s, which is reserved already", prefix, r.prefix)
		}
	}
	return &reservation{
		id: c.newID("reservation", v.id, prefix.String()), project: p.id, metro: v.metro, kind: "vrf", prefix: prefix,
		details: in.GetDetails(), tags: slices.Clone(in.Tags), vrf: v,
	}, nil
}

func vrfReservable(p netip.Prefix) bool {
	if !p.IsValid() || p != p.Masked() {
		return false
	}
	if p.Addr().Is6() {
		return p.Bits() == 64
	}
	return p.Bits() >= minVRFBits && p.Bits() <= maxVRFBits
}

func (c *Cloud) listReservations(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var types []string
	for _, t := range q.URL.Query()["types"] {
		types = append(types, strings.Split(t, ",")...)
	}
	found := c.reservations.where(func(r *reservation) bool {
		return r.project == p.id && (len(types) == 0 || slices.Contains(types, r.kind))
	})
	list, meta := page(q, found, 250)
	out := struct {
		IPAddresses []any         `json:"ip_addresses"`
		Meta        *metalv1.Meta `json:"meta"`
	}{IPAddresses: []any{}, Meta: meta}
	for _, r := range list {
		out.IPAddresses = append(out.IPAddresses, c.reservationView(r, q.fields))
	}
	return ok(out)
}

func (c *Cloud) getIP(q *query) (reply, error) {
	id := q.PathValue("id")
	if r, known := c.reservations.get(id); known {
		return ok(c.reservationView(r, q.fields))
	}
	if a, known := c.assignments.get(id); known {
		return ok(c.assignmentView(a))
	}
	return reply{}, notFound()
}

func (c *Cloud) updateIP(q *query) (reply, error) {
	r, known := c.reservations.get(q.PathValue("id"))
	if !known {
		return reply{}, notFound()
	}
	var in metalv1.IPAssignmentUpdateInput
	var exact place
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	if err := q.decode(&exact); err != nil {
		return reply{}, err
	}
	if len(exact.Customdata) > 0 {
		custom, err := canonical(exact.Customdata)
		if err != nil {
			return reply{}, err
		}
		r.customdata = custom
	}
	set(&r.details, in.Details)
	if in.Tags != nil {
		r.tags = slices.Clone(in.Tags)
	}
	return ok(c.reservationView(r, q.fields))
}

// deleteIP ends a reservation, or takes an address off a server.
func (c *Cloud) deleteIP(q *query) (reply, error) {
	id := q.PathValue("id")
	if a, known := c.assignments.get(id); known {
		if a.reservation == nil {
			return reply{}, unprocessable("Cannot delete the management address %s of a device", a.prefix.Addr())
		}
		c.unassign(a)
		return noContent()
	}
	r, known := c.reservations.get(id)
	if !known {
		return reply{}, notFound()
	}
	if len(c.assignmentsOf(r)) > 0 {
		return reply{}, unprocessable("Cannot delete an IP reservation when addresses of it are assigned")
	}
	if g := c.gatewayWith(r); g != nil {
		return reply{}, unprocessable("Cannot delete an IP reservation when a metal gateway uses it")
	}
	c.release(r)
	return noContent()
}

// release ends a reservation.
func (c *Cloud) release(r *reservation) {
	c.pools.elastic.give(r.prefix)
	c.pools.gateway.give(r.prefix)
	c.reservations.drop(r.id)
	c.note(Change{Kind: Reservation, Subject: r.id, Before: r.prefix.String()})
}

func (c *Cloud) assignmentsOf(r *reservation) []*assignment {
	return c.assignments.where(func(a *assignment) bool { return a.reservation == r })
}

// assignIP gives an address of a reservation to a server of the same project
// and metro.
func (c *Cloud) assignIP(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.IPAssignmentInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	prefix, err := hostPrefix(in.Address)
	if err != nil {
		return reply{}, err
	}
	r, err := c.assignable(d, prefix)
	if err != nil {
		return reply{}, err
	}
	a := &assignment{
		id: c.newID("assignment", d.id, prefix.String()), device: d, prefix: prefix, public: true, reservation: r, created: c.now,
	}
	c.assign(a)
	return created(c.assignmentView(a))
}

// hostPrefix reads an address, with or without a prefix length.
func hostPrefix(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p, nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, unprocessable("Address %q is not an address", s)
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// assignable finds the reservation that an address may be taken from.
func (c *Cloud) assignable(d *device, prefix netip.Prefix) (*reservation, error) {
	if state := d.state; state == metalv1.DEVICESTATE_QUEUED || state == metalv1.DEVICESTATE_DEPROVISIONING {
		return nil, unprocessable("Cannot assign an address to a device while it is %s", state)
	}
	found := c.reservations.where(func(r *reservation) bool {
		return r.kind == "public_ipv4" && r.project == d.project && contained(prefix, []netip.Prefix{r.prefix})
	})
	if len(found) == 0 {
		return nil, unprocessable("Address %s is in none of the project's reservations", prefix)
	}
	r := found[0]
	if r.metro != d.metro {
		return nil, unprocessable("Address %s is reserved in metro %s, the device is in metro %s", prefix, r.metro, d.metro)
	}
	for _, a := range c.assignmentsOf(r) {
		if a.prefix.Overlaps(prefix) {
			return nil, unprocessable("Address %s has already been assigned", prefix)
		}
	}
	if c.gatewayWith(r) != nil {
		return nil, unprocessable("Address %s belongs to a metal gateway", prefix)
	}
	return r, nil
}

func (c *Cloud) assign(a *assignment) {
	c.assignments.put(a.id, a)
	a.device.addresses = append(a.device.addresses, a)
	c.note(a.change("", a.prefix.Addr().String()))
}

// unassign takes an address off its server.
func (c *Cloud) unassign(a *assignment) {
	if a.reservation == nil {
		c.pools.public.give(a.prefix)
		c.pools.private.give(a.prefix)
	}
	c.assignments.drop(a.id)
	a.device.addresses = slices.DeleteFunc(a.device.addresses, func(o *assignment) bool { return o == a })
	c.note(a.change(a.prefix.Addr().String(), ""))
}

func (a *assignment) change(before, after string) Change {
	return Change{
		Kind: Address, Subject: a.device.id, Device: a.device.id, Hostname: a.device.hostname,
		Before: before, After: after,
	}
}

// addManagementAddress gives a server the public or the private address that
// it reaches the network with.
func (c *Cloud) addManagementAddress(d *device, public bool) {
	from := c.pools.private
	if public {
		from = c.pools.public
	}
	prefix, free := from.take(32)
	if !free {
		return
	}
	c.assign(&assignment{
		id: c.newID("assignment", d.id, prefix.String()), device: d, prefix: prefix, public: public, created: c.now,
	})
}

// dropManagementAddresses takes all addresses off a server that leaves Layer 3:
// elastic ones go back to their reservations.
func (c *Cloud) dropManagementAddresses(d *device) {
	for _, a := range slices.Clone(d.addresses) {
		c.unassign(a)
	}
}

func (c *Cloud) listDeviceIPs(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	out := metalv1.IPAssignmentList{IpAddresses: []metalv1.IPAssignment{}}
	for _, a := range d.addresses {
		out.IpAddresses = append(out.IpAddresses, c.assignmentView(a))
	}
	return ok(out)
}
