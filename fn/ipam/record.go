package ipam

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"
)

// KeptReleases is how many runs of released addresses a record remembers, for
// each pool, beyond those that are still cooling down. Older ones count as
// released at the beginning of time.
const KeptReleases = 256

// maxUsedRanges bounds PoolRecord.Used, which is one or two ranges unless
// addresses of others lie in between.
const maxUsedRanges = 256

// Record is what earlier runs decided, by the key of the pool. Its JSON form is
// meant for an object's status:
//
//	"<pool>": {
//	  "held": {"<key>": "10.60.10.2/24", "<other key>": "10.60.10.3/24"},
//	  "pending": ["<other key>"],
//	  "used": ["10.60.10.2-10.60.10.5"],
//	  "released": [{"at": "2026-01-01T00:00:00Z", "addresses": ["10.60.10.4-10.60.10.5"]}]
//	}
type Record map[string]PoolRecord

// PoolRecord is the record of one pool.
type PoolRecord struct {
	// Held is the address of each key, with the prefix length of its subnet.
	Held map[string]netip.Prefix `json:"held,omitempty"`
	// Pending names, sorted, the keys of Held whose address has not been let
	// go to its machine yet, so that it can still be given up.
	Pending []string `json:"pending,omitempty"`
	// Used holds what was ever chosen, sorted: one range from the lowest
	// address to the one handed out last, unless ranges changed or others
	// hold addresses in between.
	Used Ranges `json:"used,omitempty"`
	// Released tells when addresses became free, oldest first.
	Released []Release `json:"released,omitempty"`
}

// Release is one moment at which addresses became free.
type Release struct {
	// At is in whole seconds, UTC.
	At time.Time `json:"at"`
	// Addresses became free at At.
	Addresses Ranges `json:"addresses"`
}

// Encode writes a record as JSON, an object even if the record is nil; the same
// record gives the same bytes. It
// fails on values that Decode refuses: addresses or ranges that are not valid,
// times beyond the year 9999.
func (r Record) Encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("cannot encode the record of addresses: %w", err)
	}
	if r == nil {
		r = Record{}
	}
	out, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the record of addresses: %w", err)
	}
	return out, nil
}

// Decode reads what Encode wrote. Fields that it does not know are left out, so
// that a record of a later version can be read. Anything else that Encode
// cannot have written is an error, which begins with the path of the broken
// field inside of the record and names its value.
func Decode(data []byte) (Record, error) {
	var r Record
	err := json.Unmarshal(data, &r)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, locate(data, err)
	}
	return r, nil
}

func (r Record) check() error {
	for _, pool := range slices.Sorted(maps.Keys(r)) {
		if err := r[pool].check(); err != nil {
			return fmt.Errorf("pool %q: %w", pool, err)
		}
	}
	return nil
}

func (p PoolRecord) check() error {
	// Only a broken record pays for sorting: the error names the first key.
	for key, address := range p.Held {
		if checkAddress(address) != nil {
			key = firstBroken(p.Held, key)
			return fmt.Errorf("key %q: %w", key, checkAddress(p.Held[key]))
		}
	}
	for _, key := range p.Pending {
		if _, ok := p.Held[key]; !ok {
			return fmt.Errorf("pending key %q holds no address", key)
		}
	}
	for _, rel := range p.Released {
		if rel.At.IsZero() {
			return fmt.Errorf("a release of %d ranges has no time", len(rel.Addresses))
		}
	}
	return nil
}

func firstBroken(held map[string]netip.Prefix, key string) string {
	for k, address := range held {
		if checkAddress(address) != nil {
			key = min(key, k)
		}
	}
	return key
}

// checkAddress refuses what cannot be the address of a host with its prefix
// length.
func checkAddress(p netip.Prefix) error {
	if !p.IsValid() || p.Addr().Is4In6() {
		return fmt.Errorf("%q is not an address with a prefix length", p)
	}
	return nil
}

// spans returns the releases as disjoint spans, sorted by address.
func (p PoolRecord) spans() []span {
	var out []span
	for _, rel := range p.Released {
		for _, r := range rel.Addresses {
			if r.IsValid() {
				out = append(out, span{IPRange: r, at: seconds(rel.At)})
			}
		}
	}
	return overlay(out)
}

// releases groups disjoint spans by time. It keeps those that are cooling down
// at now and the newest KeptReleases of the others.
func releases(spans []span, now time.Time, coolDown time.Duration) []Release {
	slices.SortFunc(spans, func(a, b span) int { return byRelease(b, a) })
	cooled := 0
	spans = slices.DeleteFunc(spans, func(s span) bool {
		if freeAt(s.at, coolDown).After(now) {
			return false
		}
		cooled++
		return cooled > KeptReleases
	})
	slices.Reverse(spans)
	var out []Release
	for _, s := range spans {
		at := time.Unix(s.at, 0).UTC()
		if n := len(out); n > 0 && out[n-1].At.Equal(at) {
			out[n-1].Addresses = append(out[n-1].Addresses, s.IPRange)
			continue
		}
		out = append(out, Release{At: at, Addresses: Ranges{s.IPRange}})
	}
	return out
}

// bounded returns the ranges of a set, at most maxUsedRanges: the lowest ones
// melt into one, so the addresses between them count as used long ago.
func bounded(set *netipx.IPSet) Ranges {
	r := Ranges(rangesOf(set))
	if len(r) == 0 {
		return nil
	}
	for len(r) > maxUsedRanges {
		if x := netipx.IPRangeFrom(r[0].From(), r[1].To()); x.IsValid() {
			r[1] = x
		}
		r = r[1:]
	}
	return r
}

// seconds returns a time in Unix seconds, rounded up: a release that is written
// down too early would shorten its cool-down.
func seconds(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}

// freeAt returns when an address released at a time has cooled down.
func freeAt(at int64, coolDown time.Duration) time.Time {
	if at == beginning {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC().Add(coolDown)
}
