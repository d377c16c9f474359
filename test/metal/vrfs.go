package metal

import (
	"net/netip"
	"slices"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

type vrf struct {
	id, project, metro, name, description string
	asn                                   int64
	ranges                                []netip.Prefix
	tags                                  []string
	created, updated                      time.Time
}

// defaultASN is the autonomous system of a VRF that names none.
const defaultASN = 65000

func vrfRoutes() routes {
	return routes{
		"POST /projects/{id}/vrfs": (*Cloud).createVRF,
		"GET /projects/{id}/vrfs":  (*Cloud).listVRFs,
		"GET /vrfs/{id}":           (*Cloud).getVRF,
		"PUT /vrfs/{id}":           (*Cloud).updateVRF,
		"DELETE /vrfs/{id}":        (*Cloud).deleteVRF,
		"GET /vrfs/{id}/ips":       (*Cloud).listVRFReservations,
		"GET /vrfs/{id}/ips/{ip}":  (*Cloud).getVRFReservation,
	}
}

func (c *Cloud) createVRF(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.VrfCreateInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	metro, _ := c.locate(place{Metro: in.Metro})
	if !slices.Contains(c.opts.Metros, metro) {
		return reply{}, unprocessable("Metro %q is not a metro", metro)
	}
	ranges, err := vrfRanges(in.IpRanges)
	if err != nil {
		return reply{}, err
	}
	v := &vrf{
		id: c.newID("vrf", p.id, metro, in.Name), project: p.id, metro: metro, name: in.Name,
		description: in.GetDescription(), asn: defaultASN, ranges: ranges, tags: slices.Clone(in.Tags),
		created: c.now, updated: c.now,
	}
	set(&v.asn, in.LocalAsn)
	c.vrfs.put(v.id, v)
	c.note(Change{Kind: VRF, Subject: v.id, After: v.name})
	return created(c.vrfView(v, q.fields))
}

// vrfRanges reads the ranges of a VRF: IPv4 blocks from /8 to /29 or IPv6 ones
// from /59 to /64, none overlapping another.
func vrfRanges(in []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range in {
		p, err := netip.ParsePrefix(s)
		if err != nil || p != p.Masked() {
			return nil, unprocessable("Ip ranges: %q is not a network in CIDR notation", s)
		}
		if p.Addr().Is4() && (p.Bits() < 8 || p.Bits() > 29) {
			return nil, unprocessable("Ip ranges: %s must be between /8 and /29 in size", p)
		}
		if p.Addr().Is6() && (p.Bits() < 59 || p.Bits() > 64) {
			return nil, unprocessable("Ip ranges: %s must be between /59 and /64 in size", p)
		}
		if slices.ContainsFunc(out, p.Overlaps) {
			return nil, unprocessable("Ip ranges: %s overlaps another range", p)
		}
		out = append(out, p)
	}
	return out, nil
}

func (c *Cloud) vrf(id string) (*vrf, error) {
	v, known := c.vrfs.get(id)
	if !known {
		return nil, notFound()
	}
	return v, nil
}

func (c *Cloud) listVRFs(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	found := c.vrfs.where(func(v *vrf) bool { return v.project == p.id && same(q.param("metro"), v.metro) })
	list, meta := page(q, found, 10)
	out := metalv1.VrfList{Vrfs: []metalv1.Vrf{}, Meta: meta}
	for _, v := range list {
		out.Vrfs = append(out.Vrfs, c.vrfView(v, q.fields))
	}
	return ok(out)
}

func (c *Cloud) getVRF(q *query) (reply, error) {
	v, err := c.vrf(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(c.vrfView(v, q.fields))
}

func (c *Cloud) updateVRF(q *query) (reply, error) {
	v, err := c.vrf(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.VrfUpdateInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	ranges := v.ranges
	if in.IpRanges != nil {
		if ranges, err = vrfRanges(in.IpRanges); err != nil {
			return reply{}, err
		}
	}
	for _, r := range c.reservationsIn(v) {
		if !contained(r.prefix, ranges) {
			return reply{}, unprocessable("Ip ranges: %s is still reserved", r.prefix)
		}
	}
	v.ranges, v.updated = ranges, c.now
	set(&v.name, in.Name)
	set(&v.description, in.Description)
	if in.LocalAsn != nil {
		v.asn = int64(*in.LocalAsn)
	}
	if in.Tags != nil {
		v.tags = slices.Clone(in.Tags)
	}
	return ok(c.vrfView(v, q.fields))
}

func (c *Cloud) deleteVRF(q *query) (reply, error) {
	v, err := c.vrf(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if len(c.reservationsIn(v)) > 0 {
		return reply{}, unprocessable("Cannot delete VRF when it has IP reservations")
	}
	c.vrfs.drop(v.id)
	c.note(Change{Kind: VRF, Subject: v.id, Before: v.name})
	return noContent()
}

func (c *Cloud) reservationsIn(v *vrf) []*reservation {
	return c.reservations.where(func(r *reservation) bool { return r.vrf == v })
}

func (c *Cloud) listVRFReservations(q *query) (reply, error) {
	v, err := c.vrf(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	out := metalv1.VrfIpReservationList{IpAddresses: []metalv1.VrfIpReservation{}}
	for _, r := range c.reservationsIn(v) {
		out.IpAddresses = append(out.IpAddresses, c.vrfReservationView(r, q.fields))
	}
	return ok(out)
}

func (c *Cloud) getVRFReservation(q *query) (reply, error) {
	r, known := c.reservations.get(q.PathValue("ip"))
	if !known || r.vrf == nil || r.vrf.id != q.PathValue("id") {
		return reply{}, notFound()
	}
	return ok(c.vrfReservationView(r, q.fields))
}

// contained tells whether one of the ranges holds all of p.
func contained(p netip.Prefix, ranges []netip.Prefix) bool {
	return slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Contains(p.Addr()) && r.Bits() <= p.Bits() })
}

// vrfRef shows a VRF that belongs to a thing.
func (c *Cloud) vrfRef(v *vrf, f fields) metalv1.Vrf {
	if !f.full("vrf", false) {
		return metalv1.Vrf{Href: new(href("vrfs", v.id))}
	}
	return c.vrfView(v, f.under("vrf"))
}

func (c *Cloud) vrfView(v *vrf, f fields) metalv1.Vrf {
	out := metalv1.Vrf{
		Id: &v.id, Href: new(href("vrfs", v.id)), Name: &v.name, Description: &v.description, LocalAsn: &v.asn,
		Bill: new(false), IpRanges: []string{}, Tags: append([]string{}, v.tags...),
		Project: c.projectView(v.project, f.full("project", false)), Metro: c.metroView(v.metro),
		CreatedAt: new(stamp(v.created)), UpdatedAt: new(stamp(v.updated)),
		VirtualCircuits: []metalv1.VrfVirtualCircuit{},
	}
	for _, r := range v.ranges {
		out.IpRanges = append(out.IpRanges, r.String())
	}
	return out
}
