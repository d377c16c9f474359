package metal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// The VLAN ids that a virtual network may have.
const (
	minVXLAN = 2
	maxVXLAN = 3999
	// firstVXLAN is where the API begins to count when it chooses itself.
	firstVXLAN = 1000
)

type vlan struct {
	id, project, metro, description string
	vxlan                           int
	tags                            []string
	created                         time.Time
}

func vlanRoutes() routes {
	return routes{
		"POST /projects/{id}/virtual-networks": (*Cloud).createVLAN,
		"GET /projects/{id}/virtual-networks":  (*Cloud).listVLANs,
		"GET /virtual-networks/{id}":           (*Cloud).getVLAN,
		"PUT /virtual-networks/{id}":           (*Cloud).updateVLAN,
		"DELETE /virtual-networks/{id}":        (*Cloud).deleteVLAN,
	}
}

// idOrNone returns a VLAN's id; no VLAN has none.
func (v *vlan) idOrNone() string {
	if v == nil {
		return ""
	}
	return v.id
}

func (c *Cloud) createVLAN(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.VirtualNetworkCreateInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	metro, _ := c.locate(place{Metro: in.GetMetro(), Facility: facilities{in.GetFacility()}})
	if !slices.Contains(c.opts.Metros, metro) {
		return reply{}, unprocessable("Metro %q is not a metro", metro)
	}
	vxlan, err := c.freeVXLAN(p.id, metro, in.Vxlan)
	if err != nil {
		return reply{}, err
	}
	v := &vlan{
		id:      c.newID("vlan", p.id, metro, strconv.Itoa(vxlan)),
		project: p.id, metro: metro, vxlan: vxlan, description: in.GetDescription(), tags: slices.Clone(in.Tags), created: c.now,
	}
	c.vlans.put(v.id, v)
	c.note(Change{Kind: VLAN, Subject: v.id, After: v.String()})
	return created(c.vlanView(v, q.fields))
}

// freeVXLAN returns the VLAN id that was asked for if it is free in the project
// and metro, or the lowest free one if none was asked for.
func (c *Cloud) freeVXLAN(project, metro string, wanted *int32) (int, error) {
	if wanted != nil {
		n := int(*wanted)
		if n < minVXLAN || n > maxVXLAN {
			return 0, unprocessable("Vxlan must be between %d and %d", minVXLAN, maxVXLAN)
		}
		if c.vlanByNumber(project, metro, n) != nil {
			return 0, unprocessable("Vxlan %d has already been taken in metro %s", n, metro)
		}
		return n, nil
	}
	for n := firstVXLAN; n <= maxVXLAN; n++ {
		if c.vlanByNumber(project, metro, n) == nil {
			return n, nil
		}
	}
	return 0, unprocessable("There is no free vxlan in metro %s", metro)
}

func (c *Cloud) vlanByNumber(project, metro string, vxlan int) *vlan {
	found := c.vlans.where(func(v *vlan) bool { return v.project == project && v.metro == metro && v.vxlan == vxlan })
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// vlanFor finds the VLAN that a request on a port names: by UUID in the whole
// project, by number in the port's metro.
func (c *Cloud) vlanFor(p *port, name string) (*vlan, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if v := c.vlanByNumber(p.device.project, p.device.metro, n); v != nil {
			return v, nil
		}
	}
	if v, known := c.vlans.get(name); known && v.project == p.device.project {
		return v, nil
	}
	return nil, unprocessable("Virtual network %q was not found in the project and metro of port %s", name, p.name)
}

func (c *Cloud) vlan(id string) (*vlan, error) {
	v, known := c.vlans.get(id)
	if !known {
		return nil, notFound()
	}
	return v, nil
}

func (c *Cloud) listVLANs(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	out := metalv1.VirtualNetworkList{VirtualNetworks: []metalv1.VirtualNetwork{}}
	for _, v := range c.vlans.where(func(v *vlan) bool { return v.project == p.id && same(q.param("metro"), v.metro) }) {
		out.VirtualNetworks = append(out.VirtualNetworks, c.vlanView(v, q.fields))
	}
	return ok(out)
}

func (c *Cloud) getVLAN(q *query) (reply, error) {
	v, err := c.vlan(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(c.vlanView(v, q.fields))
}

func (c *Cloud) updateVLAN(q *query) (reply, error) {
	v, err := c.vlan(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.VirtualNetworkUpdateInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	set(&v.description, in.Description)
	if in.Tags != nil {
		v.tags = slices.Clone(in.Tags)
	}
	return ok(c.vlanView(v, q.fields))
}

func (c *Cloud) deleteVLAN(q *query) (reply, error) {
	v, err := c.vlan(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if len(c.portsOf(v)) > 0 {
		return reply{}, unprocessable("Cannot delete Virtual Network when port is assigned")
	}
	if len(c.gatewaysOf(v)) > 0 {
		return reply{}, unprocessable("Cannot delete Virtual Network when a metal gateway is assigned")
	}
	c.vlans.drop(v.id)
	c.note(Change{Kind: VLAN, Subject: v.id, Before: v.String()})
	return noContent()
}

// portsOf returns the ports that a VLAN is attached to.
func (c *Cloud) portsOf(v *vlan) []*port {
	return c.ports.where(func(p *port) bool { return slices.Contains(p.vlans, v) })
}

// String is a VLAN as the log tells it.
func (v *vlan) String() string {
	return strings.Join([]string{v.project, v.metro, fmt.Sprint(v.vxlan)}, " ")
}

// vlanRef shows a VLAN that belongs to a thing.
func (c *Cloud) vlanRef(v *vlan, f fields, name string) metalv1.VirtualNetwork {
	if !f.full(name, false) {
		return metalv1.VirtualNetwork{Href: new(href("virtual-networks", v.id))}
	}
	return c.vlanView(v, f.under(name))
}

// vlanView shows a VLAN as the API does.
func (c *Cloud) vlanView(v *vlan, f fields) metalv1.VirtualNetwork {
	out := metalv1.VirtualNetwork{
		Id: &v.id, Href: new(href("virtual-networks", v.id)), Vxlan: new(int32(v.vxlan)),
		Description: &v.description, Tags: append([]string{}, v.tags...), CreatedAt: new(stamp(v.created)),
		Metro: c.metroView(v.metro), MetroCode: &v.metro, AssignedToVirtualCircuit: new(false),
		AssignedTo: c.projectView(v.project, f.full("assigned_to", false)),
		Instances:  []metalv1.Device{}, MetalGateways: []metalv1.MetalGatewayLite{},
	}
	seen := map[string]bool{}
	for _, p := range c.portsOf(v) {
		if !seen[p.device.id] {
			out.Instances = append(out.Instances, c.instanceRef(p.device, f))
		}
		seen[p.device.id] = true
	}
	for _, g := range c.gatewaysOf(v) {
		out.MetalGateways = append(out.MetalGateways, g.lite(f.full("metal_gateways", false)))
	}
	return out
}

func (c *Cloud) instanceRef(d *device, f fields) metalv1.Device {
	if !f.full("instances", false) {
		return metalv1.Device{Href: new(href("devices", d.id))}
	}
	return c.deviceView(d, f.under("instances"))
}
