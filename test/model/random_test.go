package model

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// driver decides at random what happens next.
type driver struct {
	t *rapid.T
	w *World
	// adopted are the UUIDs of VLANs that were there before everybody, by metro.
	adopted map[string]map[int]string
	names   int
	steps   int
	// uniform are the generators of below.
	uniform map[int]*rapid.Generator[int]
}

// shuffled is after how many steps the function is asked once more with everything
// in another order, which costs ten times what the rest of a step does.
const shuffled = 64

// The VLANs that claims share.
var sharedVLANs = []int{1000, 1001}

func newDriver(t *rapid.T) *driver {
	d := &driver{t: t, w: New(), adopted: map[string]map[int]string{}, uniform: map[int]*rapid.Generator[int]{}}
	d.w.Log = t.Logf
	for _, metro := range []string{"da", "ny"} {
		d.adopted[metro] = map[int]string{}
		for _, vxlan := range sharedVLANs {
			d.adopted[metro][vxlan] = d.w.cloud.newVLAN(metro, vxlan).id
		}
	}
	return d
}

// below draws a number from 0 to n-1, each as often as any other: rapid's own
// generators prefer small numbers and the bounds, and a world that mostly does
// the first thing on the list never gets far. It shrinks to 0.
func (d *driver) below(n int) *rapid.Generator[int] {
	if g, known := d.uniform[n]; known {
		return g
	}
	width := bits.Len(uint(n)) + 4
	d.uniform[n] = rapid.Custom(func(t *rapid.T) int {
		u := 0
		for range width {
			u *= 2
			if coin.Draw(t, "bit") {
				u++
			}
		}
		return u * n >> width
	})
	return d.uniform[n]
}

var coin = rapid.Bool()

func (d *driver) int(label string, low, high int) int {
	return low + d.below(high-low+1).Draw(d.t, label)
}

// chance of one in n; it shrinks to no.
func (d *driver) chance(label string, n int) bool { return d.int(label, 0, n-1) == n-1 }

func pick[T any](d *driver, label string, items []T) T { return items[d.int(label, 0, len(items)-1)] }

// action of the driver, and how often it comes.
type action struct {
	name   string
	weight int
	do     func(*driver)
}

var actions = []action{
	{"reconcile", 14, func(d *driver) { d.w.Reconcile(d.claim(), Trouble{}) }},
	{"act", 30, (*driver).act},
	{"everybody", 3, (*driver).everybody},
	{"race", 2, (*driver).race},
	{"trouble", 8, func(d *driver) { d.w.Reconcile(d.claim(), d.trouble()) }},
	{"wait", 5, func(d *driver) { d.w.Advance(time.Duration(d.int("seconds", 1, 60)) * time.Second) }},
	{"wait long", 1, func(d *driver) { d.w.Advance(time.Duration(d.int("minutes", 2, 12)) * time.Minute) }},
	{"edit", 3, (*driver).edit},
	{"delete machine", 1, (*driver).deleteMachine},
	{"network fails", 1, (*driver).failNetwork},
	{"autoscale", 1, (*driver).autoscale},
	{"delete request", 1, (*driver).deleteRequest},
	{"lose status", 1, (*driver).loseStatus},
	{"API", 1, func(d *driver) { d.w.APIDown = !d.w.APIDown }},
	{"create claim", 1, (*driver).createClaim},
	{"delete claim", 1, (*driver).deleteClaim},
}

// wheel has every action as often as it weighs.
var wheel = func() []int {
	var out []int
	for i, a := range actions {
		for range a.weight {
			out = append(out, i)
		}
	}
	return out
}()

func (d *driver) step() {
	a := actions[wheel[d.int("action", 0, len(wheel)-1)]]
	d.steps++
	d.w.Advance(time.Second)
	d.w.Shuffle = d.steps%shuffled == 0
	if len(d.w.alive()) == 0 && a.name != "act" {
		d.createClaim()
		return
	}
	d.w.logf("-- %s", a.name)
	a.do(d)
}

func (d *driver) claim() *Composite { return pick(d, "claim", d.w.alive()) }

func (d *driver) act() {
	if n := d.w.Actors(); n > 0 {
		d.w.Progress(d.int("actor", 0, n-1))
	}
}

func (d *driver) everybody() {
	d.steps += d.w.ActAll()
	for _, c := range d.w.alive() {
		d.w.Reconcile(c, Trouble{})
		d.steps++
	}
}

// race lets machines come and then all claims choose at the same moment, none of
// them seeing what the others have just chosen.
func (d *driver) race() {
	for range d.int("head start", 1, 6) {
		d.steps += d.w.ActAll()
		d.w.Advance(5 * time.Second)
	}
	for _, c := range d.w.alive() {
		d.w.Reconcile(c, Trouble{OldOthers: true})
		d.steps++
	}
	d.w.noteTwice()
}

// The composites are not among them: those are as old as the claim's own.
var requirements = []string{"machines", "packet-machines", "machine-sets", "ip-addresses", "kubeconfig"}

// trouble of one kind at a time, and perhaps a crash.
func (d *driver) trouble() Trouble {
	t := Trouble{Crash: Crash(d.int("crash", 0, 3))}
	some := func(names []string) map[string]bool {
		out := map[string]bool{}
		for _, n := range names {
			if d.chance("that one", 2) {
				out[n] = true
			}
		}
		return out
	}
	switch d.int("trouble", 0, 4) {
	case 0:
		t.OldComposite, t.OldOthers = true, d.chance("others too", 2)
	case 1:
		t.OldLists, t.OldOthers = some(requirements), d.chance("others too", 2)
	case 2:
		t.Unfetched = some(append([]string{"composites"}, requirements...))
	case 3:
		t.OldObjects = some(d.keys())
	case 4:
		t.Hidden = some(d.keys())
	}
	return t
}

// keys of the composed objects of all claims.
func (d *driver) keys() []string {
	out := make([]string, 0, len(d.w.objects))
	for _, o := range d.w.objects {
		out = append(out, o.key)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if n := len(out); n > 6 {
		from := d.int("from", 0, n-6)
		out = out[from : from+6]
	}
	return out
}

func (d *driver) deleteMachine() {
	if len(d.w.machines) > 0 {
		d.w.deleteMachine(pick(d, "machine", d.w.machines))
	}
}

func (d *driver) failNetwork() {
	if len(d.w.cloud.servers) == 0 || !d.chance("really", 4) {
		return
	}
	if s := pick(d, "server", d.w.cloud.servers); s.active && s.configured == nil && !s.failed {
		d.w.cloud.fail(s, "no carrier")
	}
}

func (d *driver) autoscale() {
	for _, o := range d.w.objects {
		if o.kind == "MachineDeployment" && o.spec["replicas"] != nil {
			d.w.setSpec(o, "replicas", d.int("replicas", 0, maxAutoscaled))
			o.generation++
		}
	}
}

func (d *driver) requests(c *Composite) []*composed {
	var out []*composed
	for _, o := range d.w.objects {
		if o.kind == "Request" && (c == nil || o.owner == c) {
			out = append(out, o)
		}
	}
	return out
}

func (d *driver) deleteRequest() {
	if r := d.requests(nil); len(r) > 0 {
		d.w.remove(pick(d, "request", r))
	}
}

// loseStatus of a claim, unless what it could be rebuilt from is not all there:
// then nobody could.
func (d *driver) loseStatus() {
	c := d.claim()
	if c.now().spec.broken || !d.chance("really", 3) {
		return
	}
	complete := map[string]bool{}
	for _, o := range d.requests(c) {
		if o.deleted.IsZero() && c.now().refs[o.key] == o.ref {
			complete[text(o.body, "metadata", "labels", machineLabel)] = true
		}
	}
	for _, s := range d.w.cloud.servers {
		if s.owner == c && s.machineGone.IsZero() && len(s.ever) > 0 && !complete[s.name] {
			return
		}
	}
	d.w.loseStatus(c, pick(d, "part", []string{"allocations", "", "ports", "machines"}))
	d.w.Reconcile(c, Trouble{})
}

func (d *driver) deleteClaim() {
	if len(d.w.alive()) > 1 && d.chance("really", 4) {
		d.w.delete(d.claim())
	}
}

func (d *driver) createClaim() {
	if len(d.w.alive()) < 3 && (len(d.w.alive()) == 0 || d.chance("really", 3)) {
		d.names++
		d.w.create(fmt.Sprintf("c%d", d.names), d.spec())
		for range d.int("head start", 0, 20) {
			d.everybody()
			d.w.Advance(5 * time.Second)
		}
	}
}

// spec of a new claim.
func (d *driver) spec() *spec {
	s := &spec{metro: "da", version: "v1.34.2", number: d.names}
	if d.chance("other metro", 8) {
		s.metro = "ny"
	}
	s.pools = []pool{{name: controlPlanePool, machineType: "c3.small.x86", replicas: pick(d, "control plane", []int{1, 3}), surge: 1}}
	for range d.int("networks", 1, 3) {
		d.addNetwork(s)
	}
	for range d.int("pools", 0, 2) {
		d.addPool(s)
	}
	d.connect(s, &s.pools[0])
	return s
}

// addNetwork on a VLAN that the claim does not have yet.
func (d *driver) addNetwork(s *spec) {
	own := 2000 + 10*s.number
	vxlan := pick(d, "vlan", []int{1000, 1000, 1001, own, own + 1, 3000 + s.number})
	if s.onVLAN(vxlan) != nil {
		return
	}
	n := network{name: fmt.Sprintf("net-%d", vxlan), vxlan: vxlan, assignment: static, adopted: d.adopted[s.metro][vxlan]}
	switch {
	case vxlan >= 3000:
		n.name, n.assignment = fmt.Sprintf("pool-%d", vxlan), pooled
	case d.chance("dhcp", 12):
		n.assignment = dhcp
	default:
		n.dual = d.chance("dual stack", 4)
		d.ranges(&n)
	}
	s.networks = append(s.networks, n)
}

// ranges, exclusions and gateway of a network.
func (d *driver) ranges(n *network) {
	n.ranges, n.exclude, n.gateway = nil, nil, 0
	for range d.int("ranges", 0, 2) {
		from := d.int("from", firstHost, lastHostIPv4)
		n.ranges = append(n.ranges, span{from, d.int("to", from, lastHostIPv4)})
	}
	for range d.int("exclude", 0, 2) {
		n.exclude = append(n.exclude, d.int("host", firstHost, lastHostIPv4))
	}
	if d.chance("gateway", 2) {
		n.gateway = d.int("router", firstHost, lastHostIPv4)
	}
}

func (d *driver) addPool(s *spec) {
	name := pick(d, "pool", []string{"w1", "w2"})
	if s.pool(name) != nil {
		return
	}
	p := pool{name: name, machineType: "c3.small.x86", replicas: d.int("replicas", 0, 3), surge: d.int("surge", 0, 1)}
	if p.surge == 0 || d.chance("unavailable", 3) {
		p.unavailable = 1
	}
	p.autoscaled = d.chance("autoscaled", 6)
	d.connect(s, &p)
	s.pools = append(s.pools, p)
}

// connect a pool's ports to networks.
func (d *driver) connect(s *spec, p *pool) {
	p.ports = nil
	onBond, onMember := port{name: bond}, port{name: member}
	for _, n := range s.networks {
		pn := portNetwork{name: n.name}
		if n.assignment == static && d.chance("narrow", 6) {
			from := d.int("from", firstHost, lastHostIPv4)
			pn.narrow = span{from, d.int("to", from, lastHostIPv4)}
		}
		switch d.int("port", 0, 9) {
		case 0:
		case 9:
			// A port outside the bond carries nothing before its network is up,
			// and DHCP needs to be carried for that: validation refuses it.
			if n.assignment == dhcp {
				continue
			}
			onMember.networks = append(onMember.networks, pn)
		default:
			onBond.networks = append(onBond.networks, pn)
		}
	}
	for _, pt := range []port{onBond, onMember} {
		if len(pt.networks) > 0 {
			p.ports = append(p.ports, pt)
		}
	}
}

// edit a claim in one way.
func (d *driver) edit() {
	c := d.claim()
	s := c.now().spec.clone()
	s.broken = d.chance("broken", 12)
	if !s.broken {
		pick(d, "what", edits)(d, s)
	}
	d.w.edit(c, s)
}

var edits = []func(*driver, *spec){
	func(d *driver, s *spec) { p := pick(d, "pool", s.pools); d.scale(s.pool(p.name)) },
	func(d *driver, s *spec) { p := pick(d, "pool", s.pools); d.scale(s.pool(p.name)) },
	func(d *driver, s *spec) {
		p := s.pool(pick(d, "pool", s.pools).name)
		p.machineType = pick(d, "type", []string{"c3.small.x86", "m3.large.x86", "s3.xlarge.x86"})
	},
	func(d *driver, s *spec) {
		if n := d.staticNetwork(s); n != nil {
			d.ranges(n)
		}
	},
	func(d *driver, s *spec) {
		if n := d.staticNetwork(s); n != nil {
			n.mtu = pick(d, "MTU", []int{0, 1500, 9000})
		}
	},
	func(d *driver, s *spec) {
		if n := d.staticNetwork(s); n != nil {
			n.description = fmt.Sprint("text ", d.int("text", 0, 3))
		}
	},
	func(d *driver, s *spec) { d.addNetwork(s); d.connect(s, s.pool(pick(d, "pool", s.pools).name)) },
	(*driver).removeNetwork,
	func(d *driver, s *spec) { d.connect(s, s.pool(pick(d, "pool", s.pools).name)) },
	func(d *driver, s *spec) { d.addPool(s) },
	func(d *driver, s *spec) {
		if len(s.pools) > 1 {
			i := d.int("worker pool", 1, len(s.pools)-1)
			s.pools = slices.Delete(s.pools, i, i+1)
		}
	},
	(*driver).upgrade,
}

// upgrade to another patch version, or to the next minor one; never back to an
// older minor version.
func (d *driver) upgrade(s *spec) {
	if minorOf(s.version) == "v1.35" {
		s.version = pick(d, "version", []string{"v1.35.0", "v1.35.1"})
		return
	}
	s.version = pick(d, "version", []string{"v1.34.2", "v1.34.3", "v1.35.0"})
	if minorOf(s.version) == "v1.35" {
		d.w.note("next minor version")
	}
}

func (d *driver) scale(p *pool) {
	if p.name == controlPlanePool {
		p.replicas = pick(d, "control plane", []int{1, 3})
		return
	}
	p.replicas = d.int("replicas", 0, 3)
}

func (d *driver) staticNetwork(s *spec) *network {
	if len(s.networks) == 0 {
		return nil
	}
	n := &s.networks[d.int("network", 0, len(s.networks)-1)]
	if n.assignment != static {
		return nil
	}
	return n
}

func (d *driver) removeNetwork(s *spec) {
	if len(s.networks) == 0 {
		return
	}
	i := d.int("network", 0, len(s.networks)-1)
	name := s.networks[i].name
	s.networks = slices.Delete(s.networks, i, i+1)
	for i := range s.pools {
		for j := range s.pools[i].ports {
			pt := &s.pools[i].ports[j]
			pt.networks = slices.DeleteFunc(pt.networks, func(pn portNetwork) bool { return pn.name == name })
		}
		s.pools[i].ports = slices.DeleteFunc(s.pools[i].ports, func(pt port) bool { return len(pt.networks) == 0 })
	}
}
