package metal

import (
	"slices"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

func portRoutes() routes {
	return routes{
		"GET /ports/{id}":                  (*Cloud).getPort,
		"POST /ports/{id}/assign":          onPort(assignVLAN),
		"POST /ports/{id}/unassign":        onPort(unassignVLAN),
		"POST /ports/{id}/native-vlan":     onPort(assignNative),
		"DELETE /ports/{id}/native-vlan":   onPort(removeNative),
		"POST /ports/{id}/bond":            onPort(bondPort),
		"POST /ports/{id}/disbond":         onPort(disbondPort),
		"POST /ports/{id}/convert/layer-2": onPort(toLayer2),
		"POST /ports/{id}/convert/layer-3": onPort(toLayer3),
	}
}

func (c *Cloud) getPort(q *query) (reply, error) {
	p, err := c.port(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(c.portView(p, q.fields))
}

// onPort makes an endpoint of a change of a port: it finds the port, checks
// that its server is in a state to be changed, and answers with the port.
func onPort(change func(*Cloud, *query, *port) error) endpoint {
	return func(c *Cloud, q *query) (reply, error) {
		p, err := c.port(q.PathValue("id"))
		if err != nil {
			return reply{}, err
		}
		if err := c.changeable(p); err != nil {
			return reply{}, err
		}
		if err := change(c, q, p); err != nil {
			return reply{}, err
		}
		return ok(c.portView(p, q.fields))
	}
}

func (c *Cloud) changeable(p *port) error {
	state := p.device.state
	if state == metalv1.DEVICESTATE_DEPROVISIONING ||
		c.opts.PortsNeedActive && state != metalv1.DEVICESTATE_ACTIVE {
		return unprocessable("Port %s cannot be changed while its device is %s", p.name, state)
	}
	return nil
}

// thawed says no if the network of a port's server must stay as it is.
func thawed(p *port) error {
	if p.device.frozen {
		return unprocessable("The network of device %s is frozen", p.device.hostname)
	}
	return nil
}

func assignVLAN(c *Cloud, q *query, p *port) error {
	v, err := c.namedVLAN(q, p)
	if err != nil {
		return err
	}
	want, err := p.with(p, v)
	if err != nil {
		return err
	}
	c.attach(p, want)
	return nil
}

func unassignVLAN(c *Cloud, q *query, p *port) error {
	v, err := c.namedVLAN(q, p)
	if err != nil {
		return err
	}
	want, err := p.without(p, v)
	if err != nil {
		return err
	}
	c.attach(p, want)
	return nil
}

// namedVLAN finds the VLAN that the body of a request names.
func (c *Cloud) namedVLAN(q *query, p *port) (*vlan, error) {
	var in metalv1.PortAssignInput
	if err := q.decode(&in); err != nil {
		return nil, err
	}
	return c.vlanFor(p, in.GetVnid())
}

func assignNative(c *Cloud, q *query, p *port) error {
	v, err := c.vlanFor(p, q.param("vnid"))
	if err != nil {
		return err
	}
	want, err := p.withNative(p, v)
	if err != nil {
		return err
	}
	c.attach(p, want)
	return nil
}

func removeNative(c *Cloud, _ *query, p *port) error {
	if p.native == nil {
		return unprocessable("Port %s has no native virtual network", p.name)
	}
	want := p.attachment
	want.native = nil
	c.attach(p, want)
	return nil
}

// bondPort puts a network card back into its bond, or all of them with
// bulk_enable or on the bond itself.
func bondPort(c *Cloud, q *query, p *port) error {
	if err := thawed(p); err != nil {
		return err
	}
	bond, joining := p, p.members
	if !p.isBond() {
		bond, joining = p.bond, []*port{p}
	}
	if q.flag("bulk_enable") {
		joining = bond.members
	}
	joining = slices.DeleteFunc(slices.Clone(joining), func(m *port) bool { return m.bonded })
	if len(joining) == 0 && bond.bonded {
		return unprocessable("Port %s is already bonded", p.name)
	}
	for _, m := range joining {
		if len(m.vlans) > 0 {
			return unprocessable("Port %s cannot be bonded while virtual networks are assigned to it", m.name)
		}
	}
	c.reshape(bond, func() {
		for _, m := range joining {
			m.bonded = true
		}
		if p.isBond() || !slices.ContainsFunc(bond.members, func(m *port) bool { return !m.bonded }) {
			bond.bonded = true
		}
	})
	return nil
}

// disbondPort takes a network card out of its bond, or all of them with
// bulk_disable or on the bond itself.
func disbondPort(c *Cloud, q *query, p *port) error {
	if err := thawed(p); err != nil {
		return err
	}
	bond, leaving := p, p.members
	if !p.isBond() {
		bond, leaving = p.bond, []*port{p}
	}
	whole := p.isBond() || q.flag("bulk_disable")
	if whole {
		leaving = bond.members
	}
	if err := canLeave(p, bond, leaving, whole); err != nil {
		return err
	}
	c.reshape(bond, func() {
		for _, m := range leaving {
			m.bonded = false
		}
		if !slices.ContainsFunc(bond.members, func(m *port) bool { return m.bonded }) {
			bond.bonded = false
		}
	})
	return nil
}

// canLeave says no to what would leave VLANs or the Layer 3 network without a
// port. A whole bond may be taken apart in Layer 3 as the step before its
// conversion to Layer 2: that is how the Terraform provider gets to
// layer2-individual.
func canLeave(p, bond *port, leaving []*port, whole bool) error {
	stay := slices.ContainsFunc(bond.members, func(m *port) bool { return m.bonded && !slices.Contains(leaving, m) })
	switch {
	case !slices.ContainsFunc(leaving, func(m *port) bool { return m.bonded }):
		return unprocessable("Port %s is not bonded", p.name)
	case !stay && len(bond.vlans) > 0:
		return unprocessable("Port %s cannot be disbonded while virtual networks are assigned to %s", p.name, bond.name)
	case !stay && !whole && bond.isUplink() && !bond.layer2:
		return unprocessable("Port %s is the last one of %s, which is configured for Layer 3", p.name, bond.name)
	}
	return nil
}

// toLayer2 converts a bond to Layer 2; its server loses its addresses if the
// bond carried them.
func toLayer2(c *Cloud, q *query, p *port) error {
	if err := thawed(p); err != nil {
		return err
	}
	if !p.isBond() {
		return unprocessable("Port %s is not a bond: only bonds can be converted to Layer 2", p.name)
	}
	if p.layer2 {
		return unprocessable("%s is already configured for Layer 2", p.name)
	}
	want, err := c.extraVLAN(q, p)
	if err != nil {
		return err
	}
	c.reshape(p, func() { p.layer2 = true })
	c.attach(p, want)
	if p.isUplink() {
		c.dropManagementAddresses(p.device)
	}
	return nil
}

// extraVLAN is what hangs on a port together with the VLAN that a conversion
// may name.
func (c *Cloud) extraVLAN(q *query, p *port) (attachment, error) {
	var in metalv1.PortAssignInput
	if err := q.decode(&in); err != nil || in.GetVnid() == "" {
		return p.attachment, err
	}
	v, err := c.vlanFor(p, in.GetVnid())
	if err != nil {
		return p.attachment, err
	}
	return p.with(p, v)
}

// toLayer3 converts a bond back to Layer 3. The VLANs of the bond and of its
// members must have been unassigned before.
func toLayer3(c *Cloud, q *query, p *port) error {
	if err := thawed(p); err != nil {
		return err
	}
	switch {
	case !p.isBond():
		return unprocessable("Port %s is not a bond: only bonds can be converted to Layer 3", p.name)
	case !p.layer2:
		return unprocessable("%s is already configured for Layer 3", p.name)
	case !p.bonded:
		return unprocessable("%s must be bonded before it can be converted to Layer 3", p.name)
	}
	for _, m := range append([]*port{p}, p.members...) {
		if len(m.vlans) > 0 {
			return unprocessable("%s cannot be converted to Layer 3 while virtual networks are assigned to %s", p.name, m.name)
		}
	}
	var in metalv1.PortConvertLayer3Input
	if err := q.decode(&in); err != nil {
		return err
	}
	c.reshape(p, func() { p.layer2 = false })
	if p.isUplink() {
		c.requestAddresses(p.device, in.RequestIps)
	}
	return nil
}

// requestAddresses gives a server that is back in Layer 3 the addresses that
// it asked for, or the usual ones. IPv6 ones are asked for in vain: there is one
// loopback address of that family only.
func (c *Cloud) requestAddresses(d *device, wanted []metalv1.PortConvertLayer3InputRequestIpsInner) {
	if len(wanted) == 0 {
		c.addManagementAddress(d, true)
		c.addManagementAddress(d, false)
		return
	}
	for _, w := range wanted {
		if w.GetAddressFamily() == 4 {
			c.addManagementAddress(d, w.GetPublic())
		}
	}
}
