package ipam

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strings"

	"go4.org/netipx"
)

// MaxCount is where counts of addresses saturate: the largest integer that a
// JSON number, and so the status of a Kubernetes object, holds exactly. A /64
// counts as MaxCount.
const MaxCount int64 = 1<<53 - 1

// ParseRange reads "a-b" (both ends included), a single address, or a CIDR,
// of either address family. It refuses reversed ranges, mixed families, zones,
// ranges that begin or end among IPv4 addresses written as IPv6, and CIDRs with
// host bits set, since the author may have meant the one address or the whole
// network.
func ParseRange(s string) (netipx.IPRange, error) {
	r, err := parseRange(s)
	if err == nil && (r.From().Is4In6() || r.To().Is4In6()) {
		err = fmt.Errorf("it reaches into ::ffff:0:0/96, where IPv4 addresses are written as IPv6: %s", r)
	}
	if err != nil {
		return netipx.IPRange{}, fmt.Errorf("cannot parse address range %q: %w", s, err)
	}
	return r, nil
}

func parseRange(s string) (netipx.IPRange, error) {
	if strings.Contains(s, "%") {
		return netipx.IPRange{}, errors.New("an address with a zone means something on one host only")
	}
	if from, to, ok := strings.Cut(s, "-"); ok {
		return parseFromTo(from, to)
	}
	if strings.Contains(s, "/") {
		return parseCIDR(s)
	}
	a, err := parseAddr(s)
	return netipx.IPRangeFrom(a, a), err
}

func parseFromTo(first, last string) (netipx.IPRange, error) {
	from, err := parseAddr(first)
	if err != nil {
		return netipx.IPRange{}, err
	}
	to, err := parseAddr(last)
	if err != nil {
		return netipx.IPRange{}, err
	}
	if from.BitLen() != to.BitLen() {
		return netipx.IPRange{}, errors.New("one end is IPv4, the other IPv6")
	}
	if to.Less(from) {
		return netipx.IPRange{}, fmt.Errorf("it runs backwards, write %s-%s", to, from)
	}
	return netipx.IPRangeFrom(from, to), nil
}

func parseCIDR(s string) (netipx.IPRange, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netipx.IPRange{}, errors.New("want a CIDR such as 10.60.10.0/24 or 2001:db8::/64")
	}
	if p.Addr().Is4In6() {
		return netipx.IPRange{}, errors.New("write an IPv4 address without ::ffff: in front")
	}
	if p != p.Masked() {
		return netipx.IPRange{}, fmt.Errorf("host bits are set, write %s for the network or %s for the address", p.Masked(), p.Addr())
	}
	return netipx.RangeOfPrefix(p), nil
}

func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", s)
	}
	if a.Is4In6() {
		return netip.Addr{}, errors.New("write an IPv4 address without ::ffff: in front")
	}
	return a, nil
}

// Ranges is a list of address ranges whose JSON form is a list of strings, each
// "a-b" or a single address.
type Ranges []netipx.IPRange

// MarshalJSON writes each range in the form that ParseRange reads. It fails on
// a range that is not valid.
func (r Ranges) MarshalJSON() ([]byte, error) {
	out := make([]string, len(r))
	for i, x := range r {
		if !x.IsValid() {
			return nil, fmt.Errorf("cannot encode address range %q: it is not valid", x.String())
		}
		out[i] = formatRange(x)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads a list of strings that ParseRange accepts.
func (r *Ranges) UnmarshalJSON(data []byte) error {
	var in []string
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("cannot decode address ranges: %w", err)
	}
	out := make(Ranges, len(in))
	for i, s := range in {
		x, err := ParseRange(s)
		if err != nil {
			return err
		}
		out[i] = x
	}
	*r = out
	return nil
}

func formatRange(r netipx.IPRange) string {
	if r.From() == r.To() {
		return r.From().String()
	}
	return r.String()
}

// Count returns the number of addresses in a set, at most MaxCount. A nil set
// has none.
func Count(set *netipx.IPSet) int64 {
	var n int64
	for _, r := range rangesOf(set) {
		n = min(n+countRange(r), MaxCount)
	}
	return n
}

// countRange returns the number of addresses of one range, at most MaxCount.
func countRange(r netipx.IPRange) int64 {
	from, to := r.From().As16(), r.To().As16()
	low, borrow := bits.Sub64(binary.BigEndian.Uint64(to[8:]), binary.BigEndian.Uint64(from[8:]), 0)
	high, _ := bits.Sub64(binary.BigEndian.Uint64(to[:8]), binary.BigEndian.Uint64(from[:8]), borrow)
	if high > 0 || low >= uint64(MaxCount) {
		return MaxCount
	}
	return int64(low) + 1
}

// rangesOf returns the ranges of a set, sorted; a nil set is empty.
func rangesOf(set *netipx.IPSet) []netipx.IPRange {
	if set == nil {
		return nil
	}
	return set.Ranges()
}

// setOf builds a set; ranges that are not valid count as empty.
func setOf(ranges ...netipx.IPRange) *netipx.IPSet {
	var b netipx.IPSetBuilder
	for _, r := range ranges {
		b.AddRange(r)
	}
	return built(&b)
}

// built finishes a set. The builder reports what it was given that is not
// valid and leaves it out, which is what every caller here wants.
func built(b *netipx.IPSetBuilder) *netipx.IPSet {
	set, _ := b.IPSet()
	return set
}

func minus(a, b *netipx.IPSet) *netipx.IPSet {
	var x netipx.IPSetBuilder
	x.AddSet(a)
	x.RemoveSet(b)
	return built(&x)
}

func intersect(a, b *netipx.IPSet) *netipx.IPSet {
	if b == nil {
		return &netipx.IPSet{}
	}
	var x netipx.IPSetBuilder
	x.AddSet(a)
	x.Intersect(b)
	return built(&x)
}
