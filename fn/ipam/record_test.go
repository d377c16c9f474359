package ipam

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go4.org/netipx"
)

func TestRecordWireForm(t *testing.T) {
	record := Record{
		poolKey: {
			Held:    hold("m1/storage/4", "10.60.10.2/24", "m2/storage/4", "10.60.10.3/24"),
			Pending: []string{"m2/storage/4"},
			Used:    mustRanges(t, "10.60.10.2-10.60.10.5"),
			Released: []Release{
				{At: start, Addresses: mustRanges(t, "10.60.10.5")},
				{At: start.Add(time.Second), Addresses: mustRanges(t, "10.60.10.4")},
			},
		},
		"v6": {Held: hold("m1/storage/6", "2001:db8::1/64")},
	}
	want := `{"project/da/1000/10.60.10.0/24":{` +
		`"held":{"m1/storage/4":"10.60.10.2/24","m2/storage/4":"10.60.10.3/24"},` +
		`"pending":["m2/storage/4"],` +
		`"used":["10.60.10.2-10.60.10.5"],` +
		`"released":[{"at":"2026-01-01T00:00:00Z","addresses":["10.60.10.5"]},{"at":"2026-01-01T00:00:01Z","addresses":["10.60.10.4"]}]},` +
		`"v6":{"held":{"m1/storage/6":"2001:db8::1/64"}}}`
	data, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	check(t, "The form is that of the documentation.", want, string(data))
	back, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "It is read back as it was.", record, back)
}

func TestDecode(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		// err is a part of the error; empty if there is to be none.
		err string
	}{
		"Null":            {"No record.", `null`, ""},
		"Empty":           {"No pools.", `{}`, ""},
		"UnknownField":    {"A later version may have more to say.", `{"p":{"held":{"a":"10.60.10.2/24"},"new":1}}`, ""},
		"Nothing":         {"Not JSON.", ``, "is not an object"},
		"List":            {"Not an object.", `[]`, ": [] is not an object"},
		"NoPrefixLength":  {"A held address has a prefix length.", `{"p":{"held":{"a":"10.60.10.2"}}}`, `["p"].held["a"]: "10.60.10.2" is not an address with its prefix length, such as 10.60.10.2/24`},
		"EmptyAddress":    {"It is not empty; the first such key is named.", `{"p":{"held":{"b":"","a":"","c":"10.60.10.2/24"}}}`, `["p"].held["a"]: "" is not an address`},
		"MappedAddress":   {"It has one form.", `{"p":{"held":{"a":"::ffff:10.60.10.2/120"}}}`, `["p"].held["a"]: "::ffff:10.60.10.2/120" is not an address`},
		"BadRange":        {"Ranges are such as ParseRange reads.", `{"o":{},"p":{"used":["10.60.10.9-10.60.10.2"]}}`, `["p"].used: ["10.60.10.9-10.60.10.2"]: cannot parse address range "10.60.10.9-10.60.10.2": it runs backwards`},
		"RangesNotAList":  {"Ranges are a list.", `{"p":{"used":"10.60.10.2"}}`, `["p"].used: "10.60.10.2": cannot decode address ranges`},
		"HeldNotAnObject": {"Held maps keys to addresses.", `{"p":{"held":["a"]}}`, `["p"].held: ["a"] is not an object`},
		"PoolNotAnObject": {"A pool is an object.", `{"p":"a"}`, `["p"]: "a" is not an object`},
		"LongValue":       {"A message is short.", `{"p":{"held":{"a":"` + strings.Repeat("x", 200) + `"}}}`, `["p"].held["a"]: "` + strings.Repeat("x", 99) + `... is not an address`},
		"PendingNotHeld":  {"Only a held address can be pending.", `{"p":{"pending":["a"]}}`, `["p"]: pending key "a"`},
		"ReleaseNoTime":   {"A release has a time.", `{"p":{"released":[{"addresses":["10.60.10.2"]}]}}`, "no time"},
		"ReleaseBadTime":  {"In RFC 3339.", `{"p":{"released":[{"at":"yesterday","addresses":["10.60.10.2"]}]}}`, "yesterday"},
		"ReleaseBadRange": {"And addresses.", `{"p":{"released":[{"at":"2026-01-01T00:00:00Z","addresses":["x"]}]}}`, `"x"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(tc.in))
			if tc.err == "" {
				if err != nil {
					t.Errorf("\n%s\nDecode: %v", tc.reason, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.err) || got != nil {
				t.Errorf("\n%s\nDecode: want an error with %q, got %v, %v", tc.reason, tc.err, got, err)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	cases := map[string]Record{
		"NoAddress":    {"p": {Held: map[string]netip.Prefix{"a": {}}}},
		"NoTime":       {"p": {Released: []Release{{Addresses: mustRanges(t, "10.60.10.2")}}}},
		"NoRange":      {"p": {Used: Ranges{netipx.IPRange{}}}},
		"Year10000":    {"p": {Released: []Release{{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}}}},
		"PendingAlone": {"p": {Pending: []string{"a"}}},
	}
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			if data, err := r.Encode(); err == nil {
				t.Errorf("want an error, got %s", data)
			}
		})
	}
}

// The record stays small however many machines have come and gone, and still
// forgets nothing that is cooling down.
func TestRecordIsBounded(t *testing.T) {
	const pool = "p"
	subnet := prefix("10.0.0.0/8")
	in := Input{
		Pools:    []Pool{{Key: pool, Subnet: subnet, Ranges: []AssignmentRange{{Usable: mustSet(t, "10.0.0.1-10.255.255.254")}}}},
		Complete: true, CoolDown: time.Hour, Now: start,
	}
	step := func(keys ...string) Book {
		in.Demands = nil
		for _, k := range keys {
			in.Demands = append(in.Demands, Demand{Key: k, Pool: pool})
		}
		book, err := Assign(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Record = book.Record
		return book
	}
	// One machine after the other, each released in a second of its own:
	// machine i has address 10.0.0.0 + i + 1.
	const machines = 400
	for i := range machines {
		in.Now = in.Now.Add(time.Second)
		step(fmt.Sprint("m", i))
	}
	in.Now = in.Now.Add(time.Second)
	book := step()
	check(t, "All 400 are cooling down, so all are remembered.", machines, len(book.Record[pool].Released))
	in.Now = in.Now.Add(time.Hour)
	book = step()
	check(t, "Of those that have cooled down the newest are kept.", KeptReleases, len(book.Record[pool].Released))
	check(t, "400 - 256 = 144 are older; the next is 10.0.0.0 + 145.", Ranges(mustRanges(t, "10.0.0.145")), book.Record[pool].Released[0].Addresses)
	check(t, "What was used is one range up to 10.0.0.0 + 400 = 10.0.1.144.", Ranges(mustRanges(t, "10.0.0.1-10.0.1.144")), book.Record[pool].Used)
}

// Used addresses that lie scattered melt together from the lowest, so that the
// newest end of the range stays exact.
func TestUsedIsBounded(t *testing.T) {
	var b netipx.IPSetBuilder
	a := netip.MustParseAddr("10.0.0.0")
	for range maxUsedRanges + 3 {
		b.Add(a)
		a = a.Next().Next()
	}
	got := bounded(built(&b))
	check(t, "256 ranges are left.", maxUsedRanges, len(got))
	check(t, "The lowest four, .0 .2 .4 .6, became one.", "10.0.0.0-10.0.0.6", formatRange(got[0]))
	check(t, "The next is as it was.", "10.0.0.8", formatRange(got[1]))

	b.Add(netip.MustParseAddr("2001:db8::1"))
	for range maxUsedRanges {
		b.Remove(a)
		a = a.Next()
	}
	mixed := bounded(setOf(append(Ranges{mustRanges(t, "9.0.0.0")[0]}, built(&b).Ranges()...)...))
	for _, r := range mixed {
		if !r.IsValid() {
			t.Errorf("%v is not valid", r)
		}
	}
}

// A thousand machines with four addresses each fit easily into a status.
func TestRecordIsCompact(t *testing.T) {
	in := crowd(1000, 4)
	book, err := Assign(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := book.Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	// 4,000 entries of a key of 31, an address of at most 13 and 6 of
	// punctuation; as long as nothing is delivered, the key with 3 once more.
	if limit := 4000 * (31 + 13 + 6 + 31 + 3); len(data) > limit {
		t.Errorf("the record has %d bytes, more than %d", len(data), limit)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"p":{"held":{"a":"10.60.10.2/24"},"pending":["a"],"used":["10.60.10.2"],"released":[{"at":"2026-01-01T00:00:00Z","addresses":["10.60.10.0/24","10.60.10.7"]},{"at":"2026-01-01T00:00:01.5+01:00","addresses":["10.60.10.3-10.60.10.9"]}]}}`))
	f.Add([]byte(`{"p":{"held":{"a":"2001:db8::1/64"},"released":[{"at":"2026-01-01T00:00:00Z","addresses":["::/0","0.0.0.0/0"]}]}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		record, err := Decode(data)
		if err != nil {
			return
		}
		if _, err := record.Encode(); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		in := Input{Record: record, Complete: true, CoolDown: coolDown, Now: start}
		for key := range record {
			in.Pools = append(in.Pools, Pool{
				Key: key, Subnet: prefix("10.60.10.0/28"), Ranges: []AssignmentRange{{Usable: mustSet(t, "10.60.10.1-10.60.10.14")}},
				Foreign: []Foreign{{Claim: "f", Older: true, Record: record[key]}},
			})
			in.Demands = append(in.Demands, Demand{Key: "new/" + key, Pool: key}, Demand{Key: "a" + key, Pool: key, Ready: true})
		}
		book, err := Assign(in)
		if err != nil {
			t.Fatalf("a record that can be read cannot be used: %v", err)
		}
		once, err := book.Record.Encode()
		if err != nil {
			t.Fatalf("what was decided cannot be written: %v", err)
		}
		if again, err := Decode(once); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		} else if twice, _ := again.Encode(); !bytes.Equal(once, twice) {
			t.Errorf("written %s, then %s", once, twice)
		}
	})
}
