package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Names of a server's ports.
const (
	bond   = "bond0"
	member = "eth1"
)

// bootLimit is how long a server waits for its addresses.
const bootLimit = 30 * time.Minute

// cloud is what the platform has, and what reaches servers.
type cloud struct {
	w       *World
	vlans   map[string]*vlan // by UUID
	servers []*server
	ports   map[string]*cloudPort // by UUID
	// holders are the servers that were ever given an address, and may still
	// answer for it.
	holders map[place][]*server
	// patient servers wait for their addresses without end.
	patient bool
}

// place is an address in the space in which it is unique.
type place struct {
	metro   string
	vxlan   int
	address string
}

type vlan struct {
	id, metro string
	vxlan     int
}

// server is one server, from its creation until it is gone for good.
type server struct {
	id, name, metro string
	owner           *Composite
	machine         *machine
	created         time.Time
	// hasPorts and active say how far its life is.
	hasPorts, active bool
	activeAt         time.Time
	ports            map[string]*cloudPort
	// customData are the addresses that it finds in its custom data.
	customData map[string]string
	// ever are all addresses that it was ever given.
	ever map[string]string
	// configured are the addresses that its system has taken.
	configured map[string]string
	failed     bool
	events     []fields
	// deletion is when it will be gone, once somebody has asked for that.
	deletion time.Time
	gone     bool
	// machineGone is when nothing in the control plane knew it any more.
	machineGone time.Time
	// forgotten says that nobody can know any more what it held.
	forgotten bool
}

type cloudPort struct {
	id, name       string
	server         *server
	bonded, layer2 bool
	vlans          []string
	native         string
}

func (c *cloud) newVLAN(metro string, vxlan int) *vlan {
	v := &vlan{id: c.w.uuid(), metro: metro, vxlan: vxlan}
	c.vlans[v.id] = v
	c.w.changed()
	return v
}

func (c *cloud) findVLAN(metro string, vxlan int) *vlan {
	for _, v := range c.vlans {
		if v.metro == metro && v.vxlan == vxlan {
			return v
		}
	}
	return nil
}

// carried says whether a port carries a VLAN.
func (c *cloud) carried(id string) bool {
	for _, p := range c.ports {
		if slices.Contains(p.vlans, id) {
			return true
		}
	}
	return false
}

func (c *cloud) server(id string) *server {
	for _, s := range c.servers {
		if s.id == id {
			return s
		}
	}
	return nil
}

// create a server for a machine.
func (c *cloud) create(m *machine) *server {
	s := &server{
		id: c.w.uuid(), name: m.name, metro: m.owner.now().spec.metro, owner: m.owner, machine: m, created: c.w.now,
		ports: map[string]*cloudPort{}, customData: map[string]string{}, ever: map[string]string{},
	}
	for _, name := range []string{bond, "eth0", member} {
		s.ports[name] = &cloudPort{id: c.w.uuid(), name: name, server: s, bonded: true}
		c.ports[s.ports[name].id] = s.ports[name]
	}
	c.servers = append(c.servers, s)
	c.w.changed()
	return s
}

// delete a server: it lives on for a while, always less than the cool-down.
func (c *cloud) delete(s *server) {
	digit := int(hashOf(structOf(fields{"name": s.id}))[0]) % 16
	s.deletion = c.w.now.Add(30*time.Second + time.Duration(digit)*CoolDown/17)
	c.w.changed()
}

// tick is one step in a server's life.
func (c *cloud) tick(s *server) {
	switch {
	case !s.deletion.IsZero() && !c.w.now.Before(s.deletion):
		s.gone = true
		c.w.logf("server of machine %s is gone", s.name)
		c.w.note("server gone")
		for _, p := range s.ports {
			delete(c.ports, p.id)
		}
		c.servers = slices.DeleteFunc(c.servers, func(other *server) bool { return other == s })
		c.w.changed()
	case !s.hasPorts:
		s.hasPorts = true
		c.w.changed()
	case !s.active:
		s.active, s.activeAt = true, c.w.now
		c.w.changed()
	case s.configured == nil && !s.failed:
		c.boot(s)
	}
}

// boot lets a server configure its network with what its custom data say.
func (c *cloud) boot(s *server) {
	if len(s.events) == 0 {
		s.report(1000, "network_configuration_started")
		c.w.changed()
	}
	found := map[string]string{}
	for _, want := range s.machine.setup.wants {
		key := addressKey(want.vxlan, want.ipv6)
		if a := s.customData[key]; a != "" {
			found[key] = a
		}
	}
	switch {
	case len(found) == len(s.machine.setup.wants):
		s.configured = found
		s.report(1001, "network_configuration_success")
		c.w.changed()
	case !c.patient && c.w.now.Sub(s.activeAt) > bootLimit:
		c.fail(s, "no addresses")
	}
}

// fail a server's network.
func (c *cloud) fail(s *server, why string) {
	s.failed = true
	c.w.note("network failed")
	s.report(1002, "network_configuration_failed: "+why)
	c.w.changed()
}

func (s *server) report(code int, message string) {
	s.events = append(s.events, fields{"type": fmt.Sprintf("user.%d", code), "body": message})
}

// device is the server as the API shows it.
func (s *server) device() fields {
	out := fields{"id": s.id, "hostname": s.name, "network_ports": []fields{}}
	if !s.hasPorts {
		return out
	}
	ports := make([]fields, 0, len(s.ports))
	for _, name := range slices.Sorted(maps.Keys(s.ports)) {
		kind := "NetworkPort"
		if name == bond {
			kind = "NetworkBondPort"
		}
		ports = append(ports, fields{"id": s.ports[name].id, "name": name, "type": kind})
	}
	out["network_ports"] = ports
	return out
}

// eventList is the server's events, newest first.
func (s *server) eventList() fields {
	events := slices.Clone(s.events)
	slices.Reverse(events)
	if events == nil {
		events = []fields{}
	}
	return fields{"events": events, "meta": fields{"total": len(events), "current_page": 1, "last_page": 1}}
}

// deliver writes addresses into a server's custom data. Here is judged what
// matters most: who has which address, and that nobody is renumbered.
func (c *cloud) deliver(s *server, addresses map[string]string) {
	for key, a := range addresses {
		if old := s.ever[key]; old != "" && old != a {
			c.w.violationf("machine %s had %s for %s and is given %s", s.name, old, key, a)
		}
		if s.ever[key] == a {
			continue
		}
		s.ever[key] = a
		c.w.note("address delivered")
		c.w.logf("server of machine %s is given %s", s.name, a)
		c.take(s, key, a)
	}
	if !maps.Equal(s.customData, addresses) {
		s.customData = maps.Clone(addresses)
		c.w.changed()
	}
}

// take notes that a server has an address, and whether it may.
func (c *cloud) take(s *server, key, a string) {
	var vxlan int
	if _, err := fmt.Sscanf(key, "vlan%d.", &vxlan); err != nil {
		c.w.violationf("machine %s is given an address under the unknown key %q", s.name, key)
		return
	}
	bare, _, _ := strings.Cut(a, "/")
	p := place{metro: s.metro, vxlan: vxlan, address: bare}
	if len(c.holders[p]) > 0 {
		c.w.note("address used again")
	}
	c.holders[p] = slices.DeleteFunc(c.holders[p], func(other *server) bool { return !other.blocks(c.w.now) })
	for _, other := range c.holders[p] {
		if !other.owner.deleted && !s.owner.deleted {
			c.w.violationf("machine %s of %s is given %s on VLAN %d, which machine %s of %s has or has just had",
				s.name, s.owner.name, a, vxlan, other.name, other.owner.name)
		}
	}
	c.holders[p] = append(c.holders[p], s)
}

// blocks says whether nobody else may have the server's addresses.
func (s *server) blocks(now time.Time) bool {
	if s.machineGone.IsZero() {
		return true
	}
	return !s.forgotten && now.Before(s.machineGone.Add(CoolDown))
}

// forgetReleased notes that a composite's memory of removed machines is lost.
func (c *cloud) forgetReleased(owner *Composite) {
	for _, servers := range c.holders {
		for _, s := range servers {
			if s.owner == owner && !s.machineGone.IsZero() {
				s.forgotten = true
			}
		}
	}
}
