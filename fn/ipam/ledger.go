package ipam

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"
)

// ledger is the state of one pool during one run. Its methods are the steps of
// Assign, in this order: adopt, release, bind, settle, choose, deliver; then
// report and record.
type ledger struct {
	in      *Input
	pool    Pool
	demands []*Demand // sorted by key
	given   PoolRecord
	ranges  map[string]*netipx.IPSet
	older   *netipx.IPSet // what older claims may use
	routers map[netip.Addr]Router

	held     map[string]lease
	owner    map[netip.Addr]*Demand // by the addresses of held, from settle on
	released []span                 // our releases until now, disjoint
	freed    []span                 // our releases of this run
	chosen   []netip.Addr           // to be added to what was used
	adopted  bool                   // the record had to be corrected

	foreign   map[netip.Addr]holder
	elsewhere []span // releases of the other claims, disjoint
	past      []span // what history has worked out

	missing   []Missing
	conflicts []Conflict
}

// lease is an address that a key holds.
type lease struct {
	address  netip.Prefix
	pending  bool // not let go to the machine yet
	observed bool // the record that was read back has it
	waiting  bool // somebody else holds it too
}

// holder is a key of another claim.
type holder struct {
	claim, key     string
	older, pending bool
}

func newLedger(in *Input, pool Pool, demands []*Demand) *ledger {
	l := &ledger{
		in: in, pool: pool, demands: demands, given: in.Record[pool.Key],
		ranges: make(map[string]*netipx.IPSet, len(pool.Ranges)),
		owner:  make(map[netip.Addr]*Demand, len(demands)), routers: map[netip.Addr]Router{},
	}
	for _, r := range pool.Ranges {
		l.ranges[r.Name] = &netipx.IPSet{}
		if r.Usable != nil {
			l.ranges[r.Name] = r.Usable
		}
	}
	for _, r := range pool.Routers {
		if other, ok := l.routers[r.Address]; !ok || r.Claim < other.Claim {
			l.routers[r.Address] = r
		}
	}
	l.held = make(map[string]lease, len(l.given.Held))
	for key, address := range l.given.Held {
		if address.IsValid() {
			l.held[key] = lease{address: address, observed: true}
		}
	}
	for _, key := range l.given.Pending {
		if x, ok := l.held[key]; ok {
			x.pending = true
			l.held[key] = x
		}
	}
	l.released = l.given.spans()
	l.readForeign()
	return l
}

// readForeign indexes what the other claims hold, may use and have released.
func (l *ledger) readForeign() {
	l.foreign = map[netip.Addr]holder{}
	var older netipx.IPSetBuilder
	for _, f := range l.pool.Foreign {
		if f.Older {
			older.AddSet(f.Ranges)
		}
		l.elsewhere = append(l.elsewhere, f.Record.spans()...)
		pending := make(map[string]struct{}, len(f.Record.Pending))
		for _, key := range f.Record.Pending {
			pending[key] = struct{}{}
		}
		for key, address := range f.Record.Held {
			_, isPending := pending[key]
			h := holder{claim: f.Claim, key: key, older: f.Older, pending: isPending}
			if other, ok := l.foreign[address.Addr()]; !ok || h.before(other) {
				l.foreign[address.Addr()] = h
			}
		}
	}
	l.older = built(&older)
	l.elsewhere = overlay(l.elsewhere)
}

// before orders those who hold one address: first who has the stronger claim
// to it.
func (h holder) before(o holder) bool {
	if h.firm() != o.firm() {
		return h.firm()
	}
	if h.older != o.older {
		return h.older
	}
	return cmp.Or(cmp.Compare(h.claim, o.claim), cmp.Compare(h.key, o.key)) < 0
}

// firm says that a pending address of ours has to give way.
func (h holder) firm() bool { return h.older || !h.pending }

// adopt believes what machines were seen to have over what the record says.
//
// If that is news, the record was lost or is out of date. Addresses released
// meanwhile are then unknown, so all that could have been count as released
// just now: new machines wait for one cool-down, and none gets an address that
// a removed one still answers to.
func (l *ledger) adopt() {
	for _, d := range l.demands {
		if !d.Delivered.IsValid() {
			continue
		}
		x, ok := l.held[d.Key]
		if !ok || x.address != d.Delivered {
			l.adopted = true
			l.chosen = append(l.chosen, d.Delivered.Addr())
		}
		if ok && x.address.Addr() != d.Delivered.Addr() {
			l.free(x.address.Addr())
		}
		l.held[d.Key] = lease{address: d.Delivered, observed: true}
	}
	if !l.adopted {
		return
	}
	var lost []span
	for _, usable := range l.ranges {
		for _, r := range usable.Ranges() {
			lost = append(lost, span{IPRange: r, at: seconds(l.in.Now)})
		}
	}
	lost = without(overlay(lost), maps.Keys(l.foreign))
	l.released = overlay(slices.Concat(l.released, lost))
}

// free notes that an address is released now.
func (l *ledger) free(a netip.Addr) {
	l.freed = append(l.freed, spanOf(a, seconds(l.in.Now)))
}

// release takes the addresses of keys that nobody demands any more.
func (l *ledger) release() {
	demanded := make(map[string]struct{}, len(l.demands))
	for _, d := range l.demands {
		demanded[d.Key] = struct{}{}
	}
	for key, x := range l.held {
		if _, ok := demanded[key]; !ok {
			l.free(x.address.Addr())
			delete(l.held, key)
		}
	}
}

// bind takes over addresses that were bound outside, except where the machine
// has another one already, and those that no machine can have.
func (l *ledger) bind() {
	for _, d := range l.demands {
		if !d.bound() {
			continue
		}
		x, ok := l.held[d.Key]
		if ok && !x.pending {
			continue
		}
		if l.refusal(d) != "" {
			delete(l.held, d.Key)
			continue
		}
		if ok && x.address == d.Fixed {
			continue
		}
		if ok && x.address.Addr() != d.Fixed.Addr() {
			l.free(x.address.Addr())
		}
		l.held[d.Key] = lease{address: d.Fixed, pending: true}
	}
}

// refusal says why an address that was bound outside cannot be a machine's, if so.
func (l *ledger) refusal(d *Demand) Reason {
	a := d.Fixed.Addr()
	_, routed := l.routers[a]
	switch {
	case !d.bound():
		return ""
	case !l.pool.Subnet.Contains(a):
		return BoundOutside
	case notHosts(l.pool.Subnet).Contains(a):
		return BoundNoHost
	case routed:
		return BoundRouter
	default:
		return ""
	}
}

func (d *Demand) bound() bool { return d.External && d.Fixed.IsValid() }

// standing is how far a key has come with its address: who has come farther
// keeps one that is held twice.
type standing int

const (
	sent   standing = iota // the machine may use it
	fixed                  // pending, and bound outside: nobody here can choose another
	chosen                 // pending, and it can be given up
)

func standingOf(d *Demand, x lease) standing {
	switch {
	case !x.pending:
		return sent
	case d.bound():
		return fixed
	default:
		return chosen
	}
}

// settle finds addresses that are held twice and gives up pending ones that
// have to give way, also to routers.
func (l *ledger) settle() {
	for _, s := range []standing{sent, fixed, chosen} {
		for _, d := range l.demands {
			x, ok := l.held[d.Key]
			if !ok || s != standingOf(d, x) {
				continue
			}
			if s == chosen && l.routed(x) || !l.settleForeign(d, &x, s) || !l.settleOwn(d, &x, s) {
				delete(l.held, d.Key)
				continue
			}
			if x.waiting {
				l.held[d.Key] = x
			}
		}
	}
}

// routed reports whether a router has the address of a lease.
func (l *ledger) routed(x lease) bool {
	_, ok := l.routers[x.address.Addr()]
	return ok
}

// settleForeign reports whether a key may keep its address although, perhaps,
// another claim holds it.
//
// Why no two claims deliver one address: to deliver, a claim must have read
// back its own record with the address and must then not see it in the other's.
// Of two claims that do so, one wrote its record last; when it read the other's
// after that, the other held the address.
func (l *ledger) settleForeign(d *Demand, x *lease, s standing) bool {
	h, ok := l.foreign[x.address.Addr()]
	if !ok {
		// A pending address that another claim has used and released in the
		// meantime is not worth the wait.
		at, released := covers(l.elsewhere, x.address.Addr())
		return s != chosen || !released || !l.cooling(at)
	}
	outcome := Waiting
	switch {
	case s == sent && h.pending:
		outcome = Yielding
	case s == sent:
		outcome = Kept
	case h.firm() && s == fixed:
		outcome = Blocked
	case h.firm():
		outcome = Replaced
	}
	l.conflicts = append(l.conflicts, Conflict{
		Key: d.Key, Pool: l.pool.Key, Address: x.address.Addr(), Claim: h.claim, OtherKey: h.key, Outcome: outcome,
	})
	x.waiting = true
	return outcome != Replaced
}

// settleOwn reports whether a key may keep its address although, perhaps,
// another key of ours holds it.
func (l *ledger) settleOwn(d *Demand, x *lease, s standing) bool {
	other, ok := l.owner[x.address.Addr()]
	if !ok {
		l.owner[x.address.Addr()] = d
		return true
	}
	outcome := map[standing]Outcome{sent: Kept, fixed: Blocked, chosen: Replaced}[s]
	l.conflicts = append(l.conflicts, Conflict{
		Key: d.Key, Pool: l.pool.Key, Address: x.address.Addr(), OtherKey: other.Key, Outcome: outcome,
	})
	x.waiting = true
	return outcome != Replaced
}

// cooling reports whether an address released at a time is still cooling down.
func (l *ledger) cooling(at int64) bool {
	return freeAt(at, l.in.CoolDown).After(l.in.Now)
}

// history returns all releases, ours and others', disjoint.
func (l *ledger) history() []span {
	if l.past == nil && len(l.released)+len(l.freed)+len(l.elsewhere) > 0 {
		l.past = overlay(slices.Concat(l.released, l.freed, l.elsewhere))
	}
	return l.past
}

// choose finds addresses for the demands that have none.
func (l *ledger) choose() {
	lines := map[string]*queue{}
	promised := map[netip.Addr]struct{}{}
	taken := func(a netip.Addr) bool {
		_, ours := l.owner[a]
		_, theirs := l.foreign[a]
		_, later := promised[a]
		return ours || theirs || later
	}
	for _, d := range l.without() {
		line, ok := lines[d.Range]
		if !ok {
			line = l.line(l.ranges[d.Range])
			lines[d.Range] = line
		}
		a, at, ok := line.pop(taken)
		switch {
		case !ok:
			l.miss(d, Exhausted, time.Time{})
		case l.cooling(at):
			promised[a] = struct{}{}
			l.miss(d, Cooling, freeAt(at, l.in.CoolDown))
		default:
			l.held[d.Key] = lease{address: netip.PrefixFrom(a, l.pool.Subnet.Bits()), pending: true}
			l.owner[a] = d
			l.chosen = append(l.chosen, a)
		}
	}
}

// without returns the demands to choose for in the order of service: those with
// the fewest addresses to choose from first, or others would take the last ones
// from them; then by key.
func (l *ledger) without() []*Demand {
	var out []*Demand
	for _, d := range l.demands {
		if _, ok := l.held[d.Key]; ok {
			continue
		}
		if d.External {
			l.missing = append(l.missing, l.unbound(d))
			continue
		}
		out = append(out, d)
	}
	size := make(map[string]int64, len(l.ranges))
	for name, usable := range l.ranges {
		size[name] = Count(usable)
	}
	slices.SortStableFunc(out, func(a, b *Demand) int { return cmp.Compare(size[a.Range], size[b.Range]) })
	return out
}

// unbound says why a demand whose address is chosen elsewhere has none.
func (l *ledger) unbound(d *Demand) Missing {
	out := Missing{Key: d.Key, Pool: d.Pool, Range: d.Range, Reason: cmp.Or(l.refusal(d), Unbound)}
	if out.Reason != Unbound {
		out.Refused = d.Fixed.Addr()
	}
	if out.Reason == BoundRouter {
		out.Claim = l.routers[out.Refused].Claim
	}
	return out
}

func (l *ledger) miss(d *Demand, why Reason, until time.Time) {
	l.missing = append(l.missing, Missing{Key: d.Key, Pool: d.Pool, Range: d.Range, Reason: why, Until: until})
}

// line queues the addresses of a range in the order of choice. Of what no older
// claim may use, and then of the rest: the never used ones, lowest first; those
// released before anybody remembers; those released longest ago. At the end come
// all that are still cooling down, the first to be free first.
func (l *ledger) line(usable *netipx.IPSet) *queue {
	used := setOf(l.given.Used...)
	var free, cooling []span
	for _, part := range []*netipx.IPSet{minus(usable, l.older), intersect(usable, l.older)} {
		known := clip(l.history(), part)
		unknown := minus(part, setOfSpans(known))
		free = append(free, spansOf(minus(unknown, used))...)
		free = append(free, spansOf(intersect(unknown, used))...)
		slices.SortFunc(known, byRelease)
		for _, s := range known {
			if l.cooling(s.at) {
				cooling = append(cooling, s)
				continue
			}
			free = append(free, s)
		}
	}
	slices.SortFunc(cooling, byRelease)
	return &queue{spans: append(free, cooling...)}
}

// deliver lets go of pending addresses that the record has and nobody else
// holds, for the demands that are ready.
func (l *ledger) deliver() {
	for _, d := range l.demands {
		x, ok := l.held[d.Key]
		if ok && x.pending && d.Ready && x.observed && !x.waiting {
			x.pending = false
			l.held[d.Key] = x
		}
	}
}
