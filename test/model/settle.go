package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// Bounds of coming to rest.
const (
	settleRounds = 600
	quietRounds  = 8
)

// Settle lets the world run without any trouble until nothing changes any more,
// and judges what has become of it. It returns the number of steps.
func (w *World) Settle() int {
	w.APIDown = false
	w.cloud.patient = true
	defer func() { w.cloud.patient = false }()
	for _, m := range slices.Clone(w.machines) {
		if m.server != nil && m.server.failed {
			w.deleteMachine(m)
		}
	}
	steps, quiet := 0, 0
	for range settleRounds {
		if len(w.violations) > 0 {
			return steps
		}
		before := w.changes
		steps += w.ActAll()
		for _, c := range w.alive() {
			w.Reconcile(c, Trouble{})
			steps++
		}
		w.Advance(5 * time.Second)
		if w.changes != before {
			quiet = 0
			continue
		}
		quiet++
		if quiet == quietRounds {
			w.judgeRest()
			return steps
		}
		w.Advance(CoolDown / 2)
	}
	w.violationf("the world does not come to rest")
	return steps
}

// judgeRest judges a world in which nothing changes any more.
func (w *World) judgeRest() {
	for _, c := range w.composites {
		if c.deleted {
			w.judgeGone(c)
			continue
		}
		w.judgeAddresses(c)
		// What Crossplane has lost sight of stays as it is until the claim goes.
		if !w.hasOrphans(c) {
			w.judgeLeftovers(c)
			w.judgePorts(c)
			w.judgeReady(c)
		}
	}
}

// judgeGone: of a claim that is gone, nothing is left.
func (w *World) judgeGone(c *Composite) {
	for _, o := range w.objects {
		if o.owner == c {
			w.violationf("%s is gone, and %s %s is still there", c, o.kind, o.name)
		}
	}
	for _, s := range w.cloud.servers {
		if s.owner == c {
			w.violationf("%s is gone, and server %s still runs", c, s.name)
		}
	}
}

// machinesOfClaim are the machines of a claim that are not on their way out.
func (w *World) machinesOfClaim(c *Composite) []*machine {
	var out []*machine
	for _, m := range w.machines {
		if m.owner == c && !m.deleting {
			out = append(out, m)
		}
	}
	return out
}

// judgeAddresses: whoever fits has the address that he needs, and his server has
// it too.
func (w *World) judgeAddresses(c *Composite) {
	v := c.now()
	for _, m := range w.machinesOfClaim(c) {
		p := v.spec.pool(m.pool)
		if p == nil {
			continue
		}
		for _, want := range v.spec.wants(p) {
			key := addressKey(want.vxlan, want.ipv6)
			held := heldIn(v.status, m.name+"/"+key)
			switch {
			case held == "":
				w.note("at rest without an address")
				if free := w.free(v.spec, p, want); free != "" {
					w.violationf("machine %s of %s has no address %s, though %s is free", m.name, c, key, free)
				}
			case m.server != nil && m.server.customData[key] != held:
				w.violationf("machine %s of %s holds %s for %s, and its server was sent %q", m.name, c, held, key, m.server.customData[key])
			}
		}
	}
}

// free is an address that a machine of the pool could have, or "".
func (w *World) free(s *spec, p *pool, want want) string {
	n := s.onVLAN(want.vxlan)
	if n.assignment != static {
		return ""
	}
	for host := range lastHostIPv6 + 1 {
		if n.usable(p, host, want.ipv6) && !w.taken(s.metro, want, host) && (want.ipv6 || !w.routed(s.metro, want.vxlan, host)) {
			return address(want.vxlan, host, want.ipv6)
		}
	}
	return ""
}

// taken says whether any claim's record or any server has an address.
func (w *World) taken(metro string, want want, host int) bool {
	at := place{metro: metro, vxlan: want.vxlan, address: bare(want.vxlan, host, want.ipv6)}
	for _, s := range w.cloud.holders[at] {
		if s.blocks(w.now) {
			return true
		}
	}
	for _, c := range w.alive() {
		if c.now().spec.metro != metro {
			continue
		}
		for _, p := range object(c.now().status, "allocations").GetFields() {
			for key, held := range object(p.GetStructValue(), "held").GetFields() {
				if strings.HasSuffix(key, "/"+addressKey(want.vxlan, want.ipv6)) && held.GetStringValue() == address(want.vxlan, host, want.ipv6) {
					return true
				}
			}
		}
	}
	return false
}

// routed says whether any claim has a router with an IPv4 address.
func (w *World) routed(metro string, vxlan, host int) bool {
	return slices.ContainsFunc(w.alive(), func(c *Composite) bool {
		s := c.now().spec
		n := s.onVLAN(vxlan)
		return s.metro == metro && n != nil && n.gateway == host
	})
}

// besideRouter says whether a machine of a claim has the address of a router: it
// keeps that until a person replaces it, and until then the claim is not ready.
func (w *World) besideRouter(c *Composite) bool {
	s := c.now().spec
	for _, n := range s.networks {
		if n.assignment == dhcp {
			continue
		}
		for host := firstHost; host <= lastHostIPv4; host++ {
			if w.routed(s.metro, n.vxlan, host) && c.holds(n.vxlan, host) {
				return true
			}
		}
	}
	return false
}

// holds says whether a machine of the claim has an IPv4 address, as its record has
// it.
func (c *Composite) holds(vxlan, host int) bool {
	for _, p := range object(c.now().status, "allocations").GetFields() {
		for key, held := range object(p.GetStructValue(), "held").GetFields() {
			if strings.HasSuffix(key, "/"+addressKey(vxlan, false)) && held.GetStringValue() == address(vxlan, host, false) {
				return true
			}
		}
	}
	return false
}

// judgeLeftovers: nothing is left of machines, networks and templates that the
// claim does not have any more.
func (w *World) judgeLeftovers(c *Composite) {
	for _, o := range w.objects {
		if o.owner != c {
			continue
		}
		if why := w.leftover(c, o); why != "" {
			w.violationf("%s: %s %s is left over: %s", c, o.kind, o.name, why)
		}
	}
}

// hasOrphans says whether a claim has objects that Crossplane has lost sight of.
func (w *World) hasOrphans(c *Composite) bool {
	return slices.ContainsFunc(w.objects, func(o *composed) bool { return o.owner == c && o.orphan })
}

func (w *World) leftover(c *Composite, o *composed) string {
	s := c.now().spec
	switch o.kind {
	case "Request", "Port":
		name := text(o.body, "metadata", "labels", machineLabel)
		if !slices.ContainsFunc(w.machines, func(m *machine) bool { return m.name == name }) {
			return "machine " + name + " is gone"
		}
	case "Vlan":
		vxlan := number(o.body, "spec", "forProvider", "vxlan")
		if s.onVLAN(vxlan) == nil && !w.carriedByOld(c, text(o.body, "metadata", "annotations", externalName)) {
			return fmt.Sprintf("no network is on VLAN %d", vxlan)
		}
	case "PacketMachineTemplate", "KubeadmConfigTemplate":
		name := text(o.body, "metadata", "labels", poolLabel)
		// What a pool that is held is to have in the end may be there already.
		if p := s.pool(name); p == nil || w.rolledOut(c, p) && !c.held(name) && !w.refersTo(c, o) {
			return "nothing refers to it"
		}
	case "MachineDeployment":
		if s.pool(text(o.body, "metadata", "labels", poolLabel)) == nil {
			return "its pool is gone"
		}
	}
	return ""
}

// held says whether the machines of a pool stay as they are because there is no
// room to replace them.
func (c *Composite) held(pool string) bool {
	return strings.Contains(text(c.now().conditions["AddressesAllocated"], "message"), "pool "+pool+" keeps its machines as they are")
}

// keeps says whether a machine keeps the ports with which it booted: it is to be
// replaced, and is not yet because there is no room, because its control plane is
// not done with a version, or because the machine in its place does not come up.
func (w *World) keeps(m *machine) bool {
	if m.owner.held(m.pool) {
		return true
	}
	if m.set == nil {
		return m.upToDate != nil && !*m.upToDate
	}
	o := w.deployment(m.set)
	return o != nil && (!m.set.madeFor(o) || m.set.version != m.owner.now().spec.version)
}

// carriedByOld says whether a machine that keeps its ports carries a VLAN.
func (w *World) carriedByOld(c *Composite, vlan string) bool {
	for _, m := range w.machinesOfClaim(c) {
		if m.server == nil || !w.keeps(m) {
			continue
		}
		for _, p := range m.server.ports {
			if slices.Contains(p.vlans, vlan) {
				return true
			}
		}
	}
	return false
}

// roller is the object that rolls a pool out.
func (w *World) roller(c *Composite, p *pool) *composed {
	for _, o := range w.objects {
		if o.owner == c && (o.kind == "MachineDeployment" || o.kind == "KubeadmControlPlane") &&
			text(o.body, "metadata", "labels", poolLabel) == p.name {
			return o
		}
	}
	return nil
}

// rolledOut says whether a pool has what it shall have.
func (w *World) rolledOut(c *Composite, p *pool) bool {
	o := w.roller(c, p)
	if o == nil {
		return false
	}
	wanted := number(o.read(), "spec", "replicas")
	for _, count := range []string{"replicas", "upToDateReplicas", "readyReplicas"} {
		if number(o.status, count) != wanted {
			return false
		}
	}
	return o.observed == o.generation
}

func (w *World) refersTo(c *Composite, template *composed) bool {
	for _, o := range w.objects {
		if o.owner != c {
			continue
		}
		for _, path := range [][]string{
			{"spec", "template", "spec", "infrastructureRef", "name"},
			{"spec", "template", "spec", "bootstrap", "configRef", "name"},
			{"spec", "machineTemplate", "spec", "infrastructureRef", "name"},
		} {
			if text(o.body, path...) == template.name {
				return true
			}
		}
	}
	return false
}

// judgePorts: the ports of machines that have joined carry what the claim says,
// and no other ports carry anything.
func (w *World) judgePorts(c *Composite) {
	s := c.now().spec
	for _, m := range w.machinesOfClaim(c) {
		p := s.pool(m.pool)
		if p == nil || !m.joined || w.keeps(m) {
			continue
		}
		for _, name := range []string{bond, member} {
			want := w.vlansOn(s, p.port(name))
			have := slices.Sorted(slices.Values(m.server.ports[name].vlans))
			if !slices.Equal(want, have) {
				w.violationf("%s: port %s of machine %s carries VLANs %v and should carry %v", c, name, m.name, have, want)
			}
		}
	}
}

func (w *World) vlansOn(s *spec, p *port) []string {
	var out []string
	if p == nil {
		return out
	}
	for _, pn := range p.networks {
		n := s.network(pn.name)
		if v := w.cloud.findVLAN(s.metro, n.vxlan); v != nil {
			out = append(out, v.id)
		}
	}
	slices.Sort(out)
	return out
}

// judgeReady: a claim that has everything it asks for says so.
func (w *World) judgeReady(c *Composite) {
	complete := true
	for i := range c.now().spec.pools {
		complete = complete && w.rolledOut(c, &c.now().spec.pools[i])
	}
	for i := range c.now().spec.pools {
		// It has all its machines, and not those that it shall have.
		complete = complete && !c.held(c.now().spec.pools[i].name)
	}
	complete = complete && !w.besideRouter(c)
	isReady := c.last.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE
	if complete && !isReady {
		w.violationf("%s has all its machines and is not ready: %s", c, messages(c.now().conditions))
	}
	if !complete && isReady {
		w.violationf("%s does not have all its machines and is ready", c)
	}
}

// messages of the conditions that are not true.
func messages(conditions map[string]*structpb.Struct) string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(conditions)) {
		if c := conditions[kind]; text(c, "status") != "True" {
			out = append(out, kind+": "+text(c, "message"))
		}
	}
	return strings.Join(out, "; ")
}
