package metal

import (
	"fmt"
	"slices"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// A port is a network card of a server or a bond of two of them.
type port struct {
	id, name, mac string
	device        *device
	bond          *port   // of a network card: the bond that it can be a member of
	members       []*port // of a bond
	bonded        bool
	layer2        bool // of a bond
	attachment
	batches []*batch
	since   map[*vlan]time.Time // when each VLAN was attached
}

// An attachment is what hangs on a port: VLANs in the order in which they
// came, and which of them is native. It is a value: changing it makes another.
type attachment struct {
	vlans  []*vlan
	native *vlan
}

func (p *port) isBond() bool { return p.bond == nil }

// isUplink tells whether a port carries its server's Layer 3 network, unless it
// is in Layer 2: of a server with two bonds that is bond0.
func (p *port) isUplink() bool { return p.name == "bond0" }

// addPorts gives a server its ports: eth0 and eth1 in bond0, or eth0 and eth2
// in bond0 and eth1 and eth3 in bond1.
func (c *Cloud) addPorts(d *device) {
	cards := c.opts.Plans[d.plan]
	bonds := max(1, cards/2)
	var all []*port
	for i := range bonds {
		all = append(all, c.newPort(d, fmt.Sprintf("bond%d", i), nil))
	}
	for i := range cards {
		bond := all[i%bonds]
		p := c.newPort(d, fmt.Sprintf("eth%d", i), bond)
		bond.members = append(bond.members, p)
		all = append(all, p)
	}
	for _, p := range all {
		d.ports = append(d.ports, p)
		c.ports.put(p.id, p)
		c.note(p.change(PortBonded, "", "true"))
		if p.isBond() {
			c.note(p.change(NetworkType, "", string(p.networkType())))
		}
	}
}

func (c *Cloud) newPort(d *device, name string, bond *port) *port {
	p := &port{
		id: uuidOf(c.opts.Seed, "port", d.id, name), name: name, device: d, bond: bond, bonded: true,
		since: map[*vlan]time.Time{},
	}
	if bond != nil {
		p.mac = macOf(c.opts.Seed, "mac", d.id, name)
	}
	return p
}

func (c *Cloud) port(id string) (*port, error) {
	p, known := c.ports.get(id)
	if !known {
		return nil, notFound()
	}
	return p, nil
}

// networkType is a bond's mode.
func (p *port) networkType() metalv1.PortNetworkType {
	whole := p.bonded && !slices.ContainsFunc(p.members, func(m *port) bool { return !m.bonded })
	switch {
	case p.layer2 && whole:
		return metalv1.PORTNETWORKTYPE_LAYER2_BONDED
	case p.layer2:
		return metalv1.PORTNETWORKTYPE_LAYER2_INDIVIDUAL
	case !whole:
		return metalv1.PORTNETWORKTYPE_HYBRID
	case len(p.vlans) > 0:
		return metalv1.PORTNETWORKTYPE_HYBRID_BONDED
	}
	return metalv1.PORTNETWORKTYPE_LAYER3
}

// reshape changes a port and logs what became of it and of its bond.
func (c *Cloud) reshape(p *port, change func()) {
	bond := p
	if p.bond != nil {
		bond = p.bond
	}
	family := append([]*port{bond}, bond.members...)
	mode := bond.networkType()
	before := map[*port]bool{}
	for _, m := range family {
		before[m] = m.bonded
	}
	change()
	for _, m := range family {
		c.note(m.change(PortBonded, fmt.Sprint(before[m]), fmt.Sprint(m.bonded)))
	}
	c.note(bond.change(NetworkType, string(mode), string(bond.networkType())))
}

// attach puts an attachment on a port in place of the one that is there.
func (c *Cloud) attach(p *port, want attachment) {
	had := p.attachment
	c.reshape(p, func() { p.attachment = want })
	for _, v := range had.vlans {
		if !slices.Contains(want.vlans, v) {
			delete(p.since, v)
			c.note(p.change(PortVLAN, v.id, ""))
		}
	}
	for _, v := range want.vlans {
		if !slices.Contains(had.vlans, v) {
			p.since[v] = c.now
			c.note(p.change(PortVLAN, "", v.id))
		}
	}
	c.note(p.change(NativeVLAN, had.native.idOrNone(), want.native.idOrNone()))
}

func (p *port) change(kind Kind, before, after string) Change {
	return Change{
		Kind: kind, Subject: p.id, Device: p.device.id, Hostname: p.device.hostname, Port: p.name,
		Before: before, After: after,
	}
}

// with adds a VLAN to what hangs on a port.
func (a attachment) with(p *port, v *vlan) (attachment, error) {
	switch {
	case v.metro != p.device.metro:
		return a, unprocessable("Virtual network %d is in metro %s, port %s is in metro %s: both must be in the same metro",
			v.vxlan, v.metro, p.name, p.device.metro)
	case !p.isBond() && p.bonded:
		return a, unprocessable("Port %s is bonded: assign the virtual network to %s", p.name, p.bond.name)
	case p.isBond() && !p.bonded:
		return a, unprocessable("Port %s is not bonded: assign the virtual network to one of its members", p.name)
	case slices.Contains(a.vlans, v):
		return a, unprocessable("Virtual network %d already assigned to port %s", v.vxlan, p.name)
	}
	a.vlans = append(slices.Clone(a.vlans), v)
	return a, nil
}

// without takes a VLAN away; if it was native, the port has no native one then.
func (a attachment) without(p *port, v *vlan) (attachment, error) {
	if !slices.Contains(a.vlans, v) {
		return a, unprocessable("Virtual network %d is not assigned to port %s", v.vxlan, p.name)
	}
	a.vlans = slices.DeleteFunc(slices.Clone(a.vlans), func(o *vlan) bool { return o == v })
	if a.native == v {
		a.native = nil
	}
	return a, nil
}

// withNative makes one of the VLANs native.
func (a attachment) withNative(p *port, v *vlan) (attachment, error) {
	switch {
	case p.isBond():
		return a, unprocessable("Port %s is a bond: a native virtual network needs a port that is not bonded", p.name)
	case !slices.Contains(a.vlans, v):
		return a, unprocessable("Virtual network %d must be assigned to port %s before it can be its native one", v.vxlan, p.name)
	case len(a.vlans) < 2:
		return a, unprocessable("Port %s needs more than one virtual network to have a native one", p.name)
	}
	a.native = v
	return a, nil
}

// Carried is a VLAN as it is seen on the wire of a port.
type Carried struct {
	VXLAN  int
	Tagged bool
}

// Wire returns the VLANs that a port carries, in the order in which they were
// assigned. A bond carries them tagged, and so do its members; a port that is
// not bonded carries its only VLAN untagged, and of several the native one. It
// fails if there is no such port.
func (c *Cloud) Wire(portID string) ([]Carried, error) {
	defer c.work()()
	p, known := c.ports.get(portID)
	if !known {
		return nil, fmt.Errorf("cannot look at the wire of port %q: there is none", portID)
	}
	if !p.isBond() && p.bonded {
		p = p.bond
	}
	var out []Carried
	for _, v := range p.vlans {
		untagged := !p.isBond() && (len(p.vlans) == 1 || p.native == v)
		out = append(out, Carried{VXLAN: v.vxlan, Tagged: !untagged})
	}
	return out, nil
}

// portRef shows a port that belongs to a thing.
func (c *Cloud) portRef(p *port, f fields, name string, byDefault bool) metalv1.Port {
	if !f.full(name, byDefault) {
		return metalv1.Port{Href: new(href("ports", p.id))}
	}
	return c.portView(p, f.under(name))
}

// portView shows a port as the API does.
func (c *Cloud) portView(p *port, f fields) metalv1.Port {
	out := metalv1.Port{
		Id: &p.id, Name: &p.name, Href: new(href("ports", p.id)), Type: metalv1.PORTTYPE_NETWORK_BOND_PORT.Ptr(),
		Data: &metalv1.PortData{Bonded: &p.bonded}, DisbondOperationSupported: new(true),
		VirtualNetworks: []metalv1.VirtualNetwork{},
	}
	if p.isBond() {
		out.NetworkType = p.networkType().Ptr()
	}
	if p.bond != nil {
		out.Type = metalv1.PORTTYPE_NETWORK_PORT.Ptr()
		out.Data.Mac = &p.mac
		out.Bond = &metalv1.BondPortData{Id: &p.bond.id, Name: &p.bond.name}
	}
	for _, v := range p.vlans {
		out.VirtualNetworks = append(out.VirtualNetworks, c.vlanRef(v, f, "virtual_networks"))
	}
	if p.native != nil {
		out.NativeVirtualNetwork = new(c.vlanRef(p.native, f, "native_virtual_network"))
	}
	return out
}
