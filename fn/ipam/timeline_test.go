package ipam

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"go4.org/netipx"
	"pgregory.net/rapid"
)

// at returns address number i of a window that lies across the end of IPv4 and
// the beginning of IPv6.
func at(i int) netip.Addr {
	if i < 16 {
		return netip.AddrFrom4([4]byte{255, 255, 255, byte(240 + i)})
	}
	return netip.AddrFrom16([16]byte{15: byte(i - 16)})
}

const window = 32

// drawSpans draws spans of the window, which may overlap in any way.
func drawSpans(t *rapid.T) []span {
	n := rapid.IntRange(0, 12).Draw(t, "spans")
	out := make([]span, 0, n)
	for range n {
		from := rapid.IntRange(0, window-1).Draw(t, "from")
		last := window - 1
		if from < 16 {
			last = 15
		}
		to := rapid.IntRange(from, last).Draw(t, "to")
		out = append(out, span{
			IPRange: netipx.IPRangeFrom(at(from), at(to)),
			at:      int64(rapid.IntRange(0, 3).Draw(t, "at")), hole: rapid.IntRange(0, 4).Draw(t, "hole") == 0,
		})
	}
	return out
}

// naive lists the addresses of spans with their release.
func naive(spans []span) map[netip.Addr]int64 {
	out := map[netip.Addr]int64{}
	for i := range window {
		var over []span
		for _, s := range spans {
			if s.Contains(at(i)) {
				over = append(over, s)
			}
		}
		if len(over) > 0 && !slices.ContainsFunc(over, func(s span) bool { return s.hole }) {
			out[at(i)] = slices.MaxFunc(over, func(a, b span) int { return int(a.at - b.at) }).at
		}
	}
	return out
}

func TestOverlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := drawSpans(t)
		want := naive(spans)
		got := overlay(slices.Clone(spans))
		for i := range window {
			since, ok := covers(got, at(i))
			if wanted, has := want[at(i)]; ok != has || ok && since != wanted {
				t.Fatalf("%s: want %d, %t, got %d, %t", at(i), wanted, has, since, ok)
			}
		}
		for i := 1; i < len(got); i++ {
			if !got[i-1].To().Less(got[i].From()) || got[i].hole {
				t.Fatalf("not disjoint: %v", got)
			}
			if got[i-1].at == got[i].at && got[i-1].To().Next() == got[i].From() {
				t.Fatalf("neighbours were not merged: %v", got)
			}
		}
		again := overlay(slices.Clone(got))
		if fmt.Sprint(again) != fmt.Sprint(got) {
			t.Fatalf("a second time changes %v to %v", got, again)
		}
	})
}

func TestClipAndWithout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := overlay(drawSpans(t))
		var b netipx.IPSetBuilder
		for _, s := range drawSpans(t) {
			b.AddRange(s.IPRange)
		}
		set := built(&b)
		clipped := clip(spans, set)
		var inSet []netip.Addr
		for i := range window {
			if set.Contains(at(i)) {
				inSet = append(inSet, at(i))
			}
		}
		rest := without(spans, slices.Values(inSet))
		for i := range window {
			since, ok := covers(spans, at(i))
			a, inside := covers(clipped, at(i))
			b, outside := covers(rest, at(i))
			if inside != (ok && set.Contains(at(i))) || inside && a != since {
				t.Fatalf("clip: %s is %d, %t", at(i), a, inside)
			}
			if outside != (ok && !set.Contains(at(i))) || outside && b != since {
				t.Fatalf("without: %s is %d, %t", at(i), b, outside)
			}
		}
	})
}

func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := overlay(drawSpans(t))
		refused := map[netip.Addr]bool{}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, window-1)).Draw(t, "refused") {
			refused[at(i)] = true
		}
		var want, got []string
		for i := range window {
			if since, ok := covers(spans, at(i)); ok && !refused[at(i)] {
				want = append(want, fmt.Sprint(at(i), since))
			}
		}
		q := queue{spans: spans}
		for {
			a, since, ok := q.pop(func(a netip.Addr) bool { return refused[a] })
			if !ok {
				break
			}
			got = append(got, fmt.Sprint(a, since))
		}
		if !slices.Equal(want, got) {
			t.Fatalf("want %v, got %v", want, got)
		}
	})
}
