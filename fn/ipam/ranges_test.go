package ipam

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go4.org/netipx"
	"pgregory.net/rapid"
)

// values compares the types that hold nothing but a value.
var values = cmp.Options{
	cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}, netipx.IPRange{}),
	cmpopts.EquateEmpty(),
}

func mustRanges(tb testing.TB, in ...string) []netipx.IPRange {
	tb.Helper()
	out := make([]netipx.IPRange, 0, len(in))
	for _, s := range in {
		r, err := ParseRange(s)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func mustSet(tb testing.TB, in ...string) *netipx.IPSet {
	tb.Helper()
	return setOf(mustRanges(tb, in...)...)
}

func texts(ranges []netipx.IPRange) []string {
	out := make([]string, 0, len(ranges))
	for _, r := range ranges {
		out = append(out, formatRange(r))
	}
	return out
}

func TestParseRange(t *testing.T) {
	type want struct {
		from, to string
		// err is a part of the error that tells the author what to do.
		err string
	}
	cases := map[string]struct {
		reason string
		in     string
		want   want
	}{
		"Dash":           {"Both ends are included.", "10.60.10.2-10.60.10.40", want{from: "10.60.10.2", to: "10.60.10.40"}},
		"DashOne":        {"A range may hold one address.", "10.60.10.2-10.60.10.2", want{from: "10.60.10.2", to: "10.60.10.2"}},
		"Single":         {"An address is a range of one.", "10.60.10.20", want{from: "10.60.10.20", to: "10.60.10.20"}},
		"CIDR":           {"A CIDR is all its addresses.", "10.60.10.0/24", want{from: "10.60.10.0", to: "10.60.10.255"}},
		"CIDRHost":       {"A /32 has no host bits.", "10.60.10.5/32", want{from: "10.60.10.5", to: "10.60.10.5"}},
		"CIDRAll":        {"The largest IPv4 range does not overflow.", "0.0.0.0/0", want{from: "0.0.0.0", to: "255.255.255.255"}},
		"V6Dash":         {"IPv6 is read alike.", "2001:db8::2-2001:db8::ff", want{from: "2001:db8::2", to: "2001:db8::ff"}},
		"V6CIDR":         {"A /64 is not listed out.", "2001:db8:0:1::/64", want{from: "2001:db8:0:1::", to: "2001:db8:0:1:ffff:ffff:ffff:ffff"}},
		"V6All":          {"The largest IPv6 range does not overflow.", "::/0", want{from: "::", to: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
		"Reversed":       {"The remedy is the range the right way round.", "10.60.10.40-10.60.10.2", want{err: "10.60.10.2-10.60.10.40"}},
		"Mixed":          {"A range is of one family.", "10.60.10.2-2001:db8::1", want{err: "one end is IPv4, the other IPv6"}},
		"MixedReversed":  {"Mixed is said before reversed.", "2001:db8::1-10.60.10.2", want{err: "one end is IPv4, the other IPv6"}},
		"Mapped":         {"An IPv4 address in IPv6 clothes would be of the wrong family.", "::ffff:10.60.10.2", want{err: "::ffff:"}},
		"EndsMapped":     {"::/80 ends at ::ffff:255.255.255.255, which could not be read back.", "::/80", want{err: "::ffff:"}},
		"MappedCIDR":     {"The same for a CIDR.", "::ffff:10.60.10.0/120", want{err: "::ffff:"}},
		"Zone":           {"A zone is local to one host.", "fe80::1%eth0", want{err: "zone"}},
		"ZoneDash":       {"A zone may contain a dash.", "fe80::1%a-b", want{err: "zone"}},
		"HostBits":       {"The error names the masked form.", "10.60.10.5/24", want{err: "10.60.10.0/24"}},
		"HostBitsV6":     {"The same for IPv6.", "2001:db8::5/64", want{err: "2001:db8::/64"}},
		"TooLong":        {"There is no /33.", "10.60.10.0/33", want{err: "CIDR"}},
		"LeadingZero":    {"Some read 010 as octal.", "10.60.010.2", want{err: `"10.60.010.2" is not an IP address`}},
		"Spaces":         {"Nothing is trimmed.", "10.60.10.2 - 10.60.10.4", want{err: `"10.60.10.2 " is not an IP address`}},
		"Empty":          {"Nothing is not an address.", "", want{err: `"" is not an IP address`}},
		"HalfOpen":       {"An end is missing.", "10.60.10.2-", want{err: `"" is not an IP address`}},
		"ThreeEnds":      {"A range has two ends.", "10.60.10.2-10.60.10.3-10.60.10.4", want{err: `"10.60.10.3-10.60.10.4" is not`}},
		"CIDRDash":       {"Ends are addresses.", "10.60.10.0/24-10.60.11.0/24", want{err: `"10.60.10.0/24" is not`}},
		"Name":           {"Names are not looked up.", "gateway.example.org", want{err: "is not an IP address"}},
		"ShortLastOctet": {"An abbreviated end is ambiguous.", "10.60.10.2-40", want{err: `"40" is not an IP address`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseRange(tc.in)
			if tc.want.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want.err) || !strings.Contains(err.Error(), "cannot parse address range") {
					t.Fatalf("\n%s\nParseRange(%q): want an error with %q, got %v, %v", tc.reason, tc.in, tc.want.err, got, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("\n%s\nParseRange(%q): %v", tc.reason, tc.in, err)
			}
			if diff := cmp.Diff(tc.want, want{from: got.From().String(), to: got.To().String()}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nParseRange(%q): -want, +got:\n%s", tc.reason, tc.in, diff)
			}
		})
	}
}

func TestCount(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     []string
		want   int64
	}{
		"None":      {"The empty set.", nil, 0},
		"One":       {"A single address.", []string{"10.60.10.2"}, 1},
		"All4":      {"2^32.", []string{"0.0.0.0/0"}, 4294967296},
		"Overlap":   {"Addresses count once: .2-.9 is 8.", []string{"10.60.10.2-10.60.10.5", "10.60.10.4-10.60.10.9"}, 8},
		"Families":  {"1 + 65536.", []string{"10.60.10.2", "2001:db8::/112"}, 65537},
		"Borrow":    {"The low half wraps: ffff…fffe, ffff…ffff, 0, 1.", []string{"2001:db8::ffff:ffff:ffff:fffe-2001:db8:0:1::1"}, 4},
		"Largest":   {"2^53-1 is the largest that is exact.", []string{"2001:db8::1-2001:db8::1f:ffff:ffff:ffff"}, MaxCount},
		"BelowMax":  {"2^53-2.", []string{"2001:db8::2-2001:db8::1f:ffff:ffff:ffff"}, MaxCount - 1},
		"Saturates": {"2^64.", []string{"2001:db8::/64"}, MaxCount},
		"Sum":       {"A sum saturates as well.", []string{"2001:db8::/76", "2001:db8:1::/76", "2001:db8:2::/76"}, MaxCount},
		"All6":      {"2^128.", []string{"::/0"}, MaxCount},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Count(mustSet(t, tc.in...)); got != tc.want {
				t.Errorf("\n%s\nCount(%v): want %d, got %d", tc.reason, tc.in, tc.want, got)
			}
		})
	}
	if got := Count(nil); got != 0 {
		t.Errorf("Count(nil): want 0, got %d", got)
	}
}

func TestRangesJSON(t *testing.T) {
	in := Ranges(mustRanges(t, "10.60.10.2-10.60.10.9", "10.60.10.20", "2001:db8::/64"))
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `["10.60.10.2-10.60.10.9","10.60.10.20","2001:db8::-2001:db8::ffff:ffff:ffff:ffff"]`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("Marshal: -want, +got:\n%s", diff)
	}
	var out Ranges
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out, values); diff != "" {
		t.Errorf("Unmarshal: -want, +got:\n%s", diff)
	}
	if _, err := json.Marshal(Ranges{netipx.IPRange{}}); err == nil {
		t.Error("Marshal: want an error for a range that is not valid")
	}
}

// Whatever text form a range has, it is read back as the same range.
func TestParseRangeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v6 := rapid.Bool().Draw(t, "v6")
		a, b := drawAddr(t, v6), drawAddr(t, v6)
		if b.Less(a) {
			a, b = b, a
		}
		want := netipx.IPRangeFrom(a, b)
		got, err := ParseRange(formatRange(want))
		if err != nil || got != want {
			t.Fatalf("ParseRange(%q): got %v, %v", formatRange(want), got, err)
		}
	})
}

func drawAddr(t *rapid.T, v6 bool) netip.Addr {
	if !v6 {
		return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4")))
	}
	a := netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6")))
	if a.Is4In6() {
		t.Skip("an IPv4 address in IPv6 clothes")
	}
	return a
}

func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"10.60.10.2-10.60.10.40", "10.60.10.0/24", "2001:db8::/64", "::-::", "fe80::1%a-b", "1.2.3.4/", "-", "/", "::ffff:1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRange(s)
		if err != nil {
			if r != (netipx.IPRange{}) {
				t.Errorf("ParseRange(%q) failed and returned %v", s, r)
			}
			return
		}
		if !r.IsValid() || r.From().Zone() != "" || r.From().Is4In6() || r.From().BitLen() != r.To().BitLen() {
			t.Errorf("ParseRange(%q): %v is not a range", s, r)
		}
		if n := countRange(r); n < 1 || n > MaxCount {
			t.Errorf("ParseRange(%q): %v counts %d", s, r, n)
		}
		again, err := ParseRange(formatRange(r))
		if err != nil || again != r {
			t.Errorf("ParseRange(%q) reads %v, written as %q it reads %v, %v", s, r, formatRange(r), again, err)
		}
	})
}
