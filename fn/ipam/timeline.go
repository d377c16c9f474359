package ipam

import (
	"cmp"
	"iter"
	"math"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// beginning is the beginning of time.
const beginning = math.MinInt64

// span is a run of addresses that share one moment of release.
type span struct {
	netipx.IPRange
	// at is in Unix seconds.
	at int64
	// hole marks addresses that overlay cuts out of the others.
	hole bool
}

func spanOf(a netip.Addr, at int64) span {
	return span{IPRange: netipx.IPRangeFrom(a, a), at: at}
}

// spansOf returns a set as spans released at the beginning of time.
func spansOf(set *netipx.IPSet) []span {
	ranges := rangesOf(set)
	out := make([]span, 0, len(ranges))
	for _, r := range ranges {
		out = append(out, span{IPRange: r, at: beginning})
	}
	return out
}

// overlay makes spans disjoint and sorts them by address: where they overlap,
// the latest release counts and a hole beats them all. Neighbours with the same
// time become one. It sorts its argument.
//
// Spans that overlap are rare. For them it walks the points at which some span
// begins or has just ended; between two of them nothing changes.
func overlay(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.From().Compare(b.From()) })
	if disjoint(spans) {
		out := make([]span, 0, len(spans))
		for _, s := range spans {
			out = appendMerged(out, s)
		}
		return out
	}
	cuts := cutPoints(spans)
	var out, over []span
	next := 0
	for i, from := range cuts {
		for next < len(spans) && spans[next].From().Compare(from) <= 0 {
			over = append(over, spans[next])
			next++
		}
		over = slices.DeleteFunc(over, func(s span) bool { return s.To().Less(from) })
		if len(over) == 0 {
			continue
		}
		top := slices.MaxFunc(over, compareRank)
		top.IPRange = netipx.IPRangeFrom(from, segmentEnd(top.To(), cuts[i+1:]))
		out = appendMerged(out, top)
	}
	return out
}

// disjoint reports whether sorted spans do not overlap.
func disjoint(spans []span) bool {
	for i := 1; i < len(spans); i++ {
		if !spans[i-1].To().Less(spans[i].From()) {
			return false
		}
	}
	return true
}

// without cuts addresses out of disjoint, sorted spans.
func without(spans []span, addresses iter.Seq[netip.Addr]) []span {
	var holes []span
	for a := range addresses {
		if _, ok := covers(spans, a); ok {
			holes = append(holes, span{IPRange: netipx.IPRangeFrom(a, a), hole: true})
		}
	}
	if len(holes) == 0 {
		return spans
	}
	return overlay(slices.Concat(spans, holes))
}

// cutPoints returns, sorted and once each, where spans begin and the addresses
// right behind them.
func cutPoints(spans []span) []netip.Addr {
	cuts := make([]netip.Addr, 0, 2*len(spans))
	for _, s := range spans {
		cuts = append(cuts, s.From())
		if after := s.To().Next(); after.IsValid() {
			cuts = append(cuts, after)
		}
	}
	slices.SortFunc(cuts, netip.Addr.Compare)
	return slices.Compact(cuts)
}

// segmentEnd returns the last address before the next cut, or the span's own
// end where the next cut belongs to the other family or there is none.
func segmentEnd(end netip.Addr, cuts []netip.Addr) netip.Addr {
	if len(cuts) == 0 {
		return end
	}
	before := cuts[0].Prev()
	if before.BitLen() == end.BitLen() && before.Less(end) {
		return before
	}
	return end
}

func compareRank(a, b span) int {
	if a.hole != b.hole {
		if a.hole {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.at, b.at)
}

// appendMerged appends a span, or lengthens the last one; it leaves out holes.
func appendMerged(spans []span, s span) []span {
	if s.hole {
		return spans
	}
	if n := len(spans); n > 0 && spans[n-1].at == s.at && spans[n-1].To().Next() == s.From() {
		spans[n-1].IPRange = netipx.IPRangeFrom(spans[n-1].From(), s.To())
		return spans
	}
	return append(spans, s)
}

// clip returns the parts of disjoint, sorted spans that lie in set.
func clip(spans []span, set *netipx.IPSet) []span {
	var out []span
	ranges := rangesOf(set)
	for len(spans) > 0 && len(ranges) > 0 {
		s, r := spans[0], ranges[0]
		from, to := s.From(), s.To()
		if from.Less(r.From()) {
			from = r.From()
		}
		if r.To().Less(to) {
			to = r.To()
		}
		if x := netipx.IPRangeFrom(from, to); x.IsValid() {
			out = append(out, span{IPRange: x, at: s.at})
		}
		if s.To().Less(r.To()) {
			spans = spans[1:]
			continue
		}
		ranges = ranges[1:]
	}
	return out
}

// covers reports whether an address lies in disjoint, sorted spans, and since
// when.
func covers(spans []span, a netip.Addr) (int64, bool) {
	i, found := slices.BinarySearchFunc(spans, a, func(s span, a netip.Addr) int { return s.From().Compare(a) })
	if !found {
		i--
	}
	if i < 0 || !spans[i].Contains(a) {
		return beginning, false
	}
	return spans[i].at, true
}

func setOfSpans(spans []span) *netipx.IPSet {
	var b netipx.IPSetBuilder
	for _, s := range spans {
		b.AddRange(s.IPRange)
	}
	return built(&b)
}

// byRelease sorts spans by the time of release, then by address.
func byRelease(a, b span) int {
	return cmp.Or(cmp.Compare(a.at, b.at), a.From().Compare(b.From()))
}

// queue hands out the addresses of its spans one by one, in the order of the
// spans. It never lists them.
type queue struct {
	spans []span
	// next is the first address of spans[0] not handed out yet; the zero
	// address stands for its start.
	next netip.Addr
}

// pop returns the next address that skip does not refuse, with its release.
func (q *queue) pop(skip func(netip.Addr) bool) (netip.Addr, int64, bool) {
	for len(q.spans) > 0 {
		s := q.spans[0]
		a := q.next
		if !a.IsValid() {
			a = s.From()
		}
		q.next = a.Next()
		if a == s.To() {
			q.spans, q.next = q.spans[1:], netip.Addr{}
		}
		if !skip(a) {
			return a, s.at, true
		}
	}
	return netip.Addr{}, beginning, false
}
