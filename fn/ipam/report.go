package ipam

import (
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// report enters the outcome into the book, except for the record.
func (l *ledger) report(b *Book) {
	for _, d := range l.demands {
		x, ok := l.held[d.Key]
		if !ok {
			continue
		}
		b.Assigned[d.Key] = Assignment{Address: x.address, Deliver: !x.pending}
		switch r, routed := l.routers[x.address.Addr()]; {
		case routed:
			b.Warnings = append(b.Warnings, Warning{Key: d.Key, Pool: d.Pool, Address: x.address, Concern: RouterHasIt, Claim: r.Claim})
		case !d.External && !l.ranges[d.Range].Contains(x.address.Addr()):
			b.Warnings = append(b.Warnings, Warning{Key: d.Key, Pool: d.Pool, Address: x.address, Concern: OutOfRange})
		}
		if d.bound() && x.address != d.Fixed {
			b.Warnings = append(b.Warnings, Warning{Key: d.Key, Pool: d.Pool, Address: x.address, Concern: FixedDiffers})
		}
	}
	if !l.in.Complete {
		l.reportIncomplete()
	}
	b.Missing = append(b.Missing, l.missing...)
	b.Conflicts = append(b.Conflicts, l.conflicts...)
	if l.in.Complete {
		b.Capacity = append(b.Capacity, l.capacity()...)
	}
}

func (l *ledger) reportIncomplete() {
	for _, d := range l.without() {
		l.missing = append(l.missing, Missing{Key: d.Key, Pool: d.Pool, Range: d.Range, Reason: Incomplete})
	}
}

// capacity counts the addresses of every range.
func (l *ledger) capacity() []Capacity {
	cooling := l.coolingSpans()
	out := make([]Capacity, 0, len(l.pool.Ranges))
	for _, r := range l.pool.Ranges {
		c := Capacity{Pool: l.pool.Key, Range: r.Name, Wanted: r.Wanted}
		usable := l.ranges[r.Name]
		others := l.heldByOthers(r.Name)
		c.Total = countWithout(usable, others)
		c.Shared = countWithout(intersect(usable, l.older), others)
		for _, d := range l.demands {
			if _, ok := l.held[d.Key]; ok && !d.External && d.Range == r.Name {
				c.Used++
			}
		}
		for _, s := range clip(cooling, usable) {
			c.Cooling = min(c.Cooling+countRange(s.IPRange), MaxCount)
			if until := freeAt(s.at, l.in.CoolDown); c.NextFree.IsZero() || until.Before(c.NextFree) {
				c.NextFree = until
			}
		}
		out = append(out, c)
	}
	return out
}

// heldByOthers returns, once each, the addresses that the demands of a range
// cannot get because other claims or other demands hold them.
func (l *ledger) heldByOthers(rangeName string) []netip.Addr {
	out := slices.Collect(maps.Keys(l.foreign))
	for a, d := range l.owner {
		_, theirs := l.foreign[a]
		if !theirs && (d.External || d.Range != rangeName) {
			out = append(out, a)
		}
	}
	return out
}

// countWithout counts a set less some addresses; a set too large to count stays
// at MaxCount.
func countWithout(set *netipx.IPSet, addresses []netip.Addr) int64 {
	n := Count(set)
	if n == MaxCount {
		return n
	}
	for _, a := range addresses {
		if set.Contains(a) {
			n--
		}
	}
	return n
}

// coolingSpans returns what is cooling down and not held by anybody.
func (l *ledger) coolingSpans() []span {
	var spans []span
	for _, s := range l.history() {
		if l.cooling(s.at) {
			spans = append(spans, s)
		}
	}
	return without(without(spans, maps.Keys(l.foreign)), maps.Keys(l.owner))
}

// record returns what the next run has to know about the pool.
func (l *ledger) record() PoolRecord {
	if !l.in.Complete && !l.adopted {
		return l.given
	}
	out := PoolRecord{Held: make(map[string]netip.Prefix, len(l.held))}
	for key, x := range l.held {
		out.Held[key] = x.address
		if x.pending {
			out.Pending = append(out.Pending, key)
		}
	}
	slices.Sort(out.Pending)
	released := overlay(slices.Concat(l.released, l.freed))
	out.Released = releases(without(released, l.heldAddresses), l.in.Now, l.in.CoolDown)
	var used netipx.IPSetBuilder
	for _, r := range l.given.Used {
		used.AddRange(r)
	}
	for _, a := range l.chosen {
		used.Add(a)
	}
	out.Used = bounded(built(&used))
	return out
}

func (l *ledger) heldAddresses(yield func(netip.Addr) bool) {
	for _, x := range l.held {
		if !yield(x.address.Addr()) {
			return
		}
	}
}
