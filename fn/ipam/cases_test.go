package ipam

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
)

const (
	poolKey  = "project/da/1000/10.60.10.0/24"
	coolDown = 10 * time.Minute
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story is one claim with one pool of one range, run after run: each run reads
// the record that the one before wrote.
type story struct {
	t  *testing.T
	in Input
	// delivered is what the machines were seen to have.
	delivered map[string]netip.Prefix
}

func newStory(t *testing.T, ranges ...string) *story {
	t.Helper()
	return &story{t: t, delivered: map[string]netip.Prefix{}, in: Input{
		Pools: []Pool{{
			Key: poolKey, Subnet: netip.MustParsePrefix("10.60.10.0/24"),
			Ranges: []AssignmentRange{{Usable: usable(t, ranges...)}},
		}},
		Complete: true, CoolDown: coolDown, Now: start,
	}}
}

// usable is what ranges of 10.60.10.0/24 with the gateway .1 offer.
func usable(t *testing.T, ranges ...string) *netipx.IPSet {
	t.Helper()
	s := Subnet{Prefix: netip.MustParsePrefix("10.60.10.0/24"), Gateways: []netip.Addr{netip.MustParseAddr("10.60.10.1")}}
	set, err := s.Usable(mustRanges(t, ranges...))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// run assigns to the keys, all of them ready, and puts the record where the
// next run reads it, by way of its wire form.
func (s *story) run(keys ...string) Book {
	s.t.Helper()
	s.in.Demands = nil
	for _, k := range keys {
		s.in.Demands = append(s.in.Demands, Demand{Key: k, Pool: poolKey, Ready: true, Delivered: s.delivered[k]})
	}
	book, err := Assign(s.in)
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := book.Record.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.in.Record, err = Decode(data)
	if err != nil {
		s.t.Fatal(err)
	}
	for k, a := range book.Assigned {
		if a.Deliver {
			s.delivered[k] = a.Address
		}
	}
	maps.DeleteFunc(s.delivered, func(k string, _ netip.Prefix) bool { return s.in.Complete && !slices.Contains(keys, k) })
	return book
}

// addresses is the book's assignment as text.
func addresses(b Book) map[string]string {
	out := map[string]string{}
	for k, a := range b.Assigned {
		out[k] = a.Address.String()
	}
	return out
}

// delivered is the part of the assignment that machines may have.
func delivered(b Book) map[string]string {
	out := addresses(b)
	maps.DeleteFunc(out, func(k, _ string) bool { return !b.Assigned[k].Deliver })
	return out
}

func check(t *testing.T, reason string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Errorf("\n%s\n-want, +got:\n%s", reason, diff)
	}
}

// Every machine has an address of its own, for as long as it exists.
func TestOneAddressEach(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.40")
	six := []string{"cp-0", "cp-1", "cp-2", "w-0", "w-1", "w-2"}
	five := six[:5]
	want := map[string]string{
		"cp-0": "10.60.10.2/24", "cp-1": "10.60.10.3/24", "cp-2": "10.60.10.4/24", "w-0": "10.60.10.5/24", "w-1": "10.60.10.6/24",
	}
	first := s.run(five...)
	check(t, "Five machines, five addresses, in the order of their keys.", want, addresses(first))
	check(t, "Nothing is delivered before the record has been read back.", map[string]string{}, delivered(first))
	again := s.run(five...)
	check(t, "The same machines have the same addresses.", want, addresses(again))
	check(t, "The record was read back, so all may be delivered.", want, delivered(again))
	settled := s.run(five...)
	check(t, "When nothing happens, nothing is written.", again.Record, settled.Record)

	grown := s.run(six...)
	want["w-2"] = "10.60.10.7/24"
	check(t, "One more machine gets the next address.", want, addresses(grown))
	shrunk := s.run(five...)
	delete(want, "w-2")
	check(t, "The others keep theirs.", want, addresses(shrunk))

	replaced := s.run("cp-0", "cp-1", "cp-2", "w-1", "a-new-name")
	delete(want, "w-0")
	want["a-new-name"] = "10.60.10.8/24"
	check(t, "A replaced machine disturbs nobody, although its name comes first.", want, addresses(replaced))
}

// Ranges that name unusable addresses, and ranges too large to list.
func TestFirstAndLastAddress(t *testing.T) {
	cases := map[string]struct {
		reason string
		subnet Subnet
		ranges []string
		want   string
		total  int64
	}{
		"WholeSubnet": {
			"Network and gateway are skipped.",
			Subnet{Prefix: netip.MustParsePrefix("192.168.0.0/16"), Gateways: []netip.Addr{netip.MustParseAddr("192.168.0.1")}},
			[]string{"192.168.0.0/16"}, "192.168.0.2/16", 65533,
		},
		"OneAddress": {
			".3 is all that is left.",
			Subnet{
				Prefix: netip.MustParsePrefix("10.60.10.0/24"), Gateways: []netip.Addr{netip.MustParseAddr("10.60.10.1")},
				Exclude: mustRanges(t, "10.60.10.2"),
			},
			[]string{"10.60.10.0-10.60.10.3"}, "10.60.10.3/24", 1,
		},
		"V6": {
			"The router anycast address is skipped, and nothing is listed.",
			Subnet{Prefix: netip.MustParsePrefix("2001:db8:0:1::/64")},
			[]string{"2001:db8:0:1::/64"}, "2001:db8:0:1::1/64", MaxCount,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set, err := tc.subnet.Usable(mustRanges(t, tc.ranges...))
			if err != nil {
				t.Fatal(err)
			}
			book, err := Assign(Input{
				Pools:    []Pool{{Key: "p", Subnet: tc.subnet.Prefix, Ranges: []AssignmentRange{{Usable: set, Wanted: 1}}}},
				Demands:  []Demand{{Key: "m", Pool: "p"}},
				Complete: true, CoolDown: coolDown, Now: start,
			})
			if err != nil {
				t.Fatal(err)
			}
			check(t, tc.reason, map[string]string{"m": tc.want}, addresses(book))
			check(t, tc.reason, []Capacity{{Pool: "p", Used: 1, Total: tc.total, Wanted: 1}}, book.Capacity)
		})
	}
}

// A removed machine's address is left alone as long as possible.
func TestCoolDown(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.6")
	s.run("m1", "m2", "m3")
	// m2 is being deleted: it still exists, so it is still demanded.
	book := s.run("m1", "m2", "m3", "m4")
	check(t, "A machine that is being deleted holds its address.", map[string]string{
		"m1": "10.60.10.2/24", "m2": "10.60.10.3/24", "m3": "10.60.10.4/24", "m4": "10.60.10.5/24",
	}, addresses(book))

	s.in.Now = start.Add(time.Minute)
	book = s.run("m1", "m3", "m4", "m5")
	check(t, "While an address was never used, it is taken before a released one.", map[string]string{
		"m1": "10.60.10.2/24", "m3": "10.60.10.4/24", "m4": "10.60.10.5/24", "m5": "10.60.10.6/24",
	}, addresses(book))
	check(t, "What exists is held, what is gone is cooling down, what was used is one range.", Record{poolKey: {
		Held: map[string]netip.Prefix{
			"m1": netip.MustParsePrefix("10.60.10.2/24"), "m3": netip.MustParsePrefix("10.60.10.4/24"),
			"m4": netip.MustParsePrefix("10.60.10.5/24"), "m5": netip.MustParsePrefix("10.60.10.6/24"),
		},
		Pending:  []string{"m5"},
		Used:     mustRanges(t, "10.60.10.2-10.60.10.6"),
		Released: []Release{{At: start.Add(time.Minute), Addresses: mustRanges(t, "10.60.10.3")}},
	}}, book.Record)

	s.in.Complete = false
	frozen := s.run()
	check(t, "A list that could not be read changes nothing.", book.Record, frozen.Record)
	frozen = s.run("m3", "m6")
	check(t, "Nor does half a list: no release and no choice.", book.Record, frozen.Record)
	check(t, "Who is known keeps his address.", map[string]string{"m3": "10.60.10.4/24"}, delivered(frozen))
	check(t, "A new machine waits for a complete list.", []Missing{{Key: "m6", Pool: poolKey, Reason: Incomplete}}, frozen.Missing)
	check(t, "Nobody knows how much is used.", []Capacity(nil), frozen.Capacity)
	s.in.Complete = true

	s.in.Now = start.Add(5 * time.Minute)
	book = s.run("m1", "m3", "m4", "m5", "m6")
	check(t, "Only .3 is left, and it is free 10 minutes after minute 1.", []Missing{
		{Key: "m6", Pool: poolKey, Reason: Cooling, Until: start.Add(11 * time.Minute)},
	}, book.Missing)
	check(t, "That is when to look again.", start.Add(11*time.Minute), book.Next)
	check(t, "The figures say so.", []Capacity{
		{Pool: poolKey, Used: 4, Total: 5, Cooling: 1, NextFree: start.Add(11 * time.Minute)},
	}, book.Capacity)

	s.in.Now = start.Add(11*time.Minute - time.Nanosecond)
	book = s.run("m1", "m3", "m4", "m5", "m6")
	check(t, "Not a moment too early.", 1, len(book.Missing))
	s.in.Now = start.Add(11 * time.Minute)
	book = s.run("m1", "m3", "m4", "m5", "m6")
	check(t, "It is used again when nothing else is left.", "10.60.10.3/24", addresses(book)["m6"])
	check(t, "Nobody waits any more.", time.Time{}, book.Next)
	check(t, "It is no longer remembered as released.", []Release(nil), book.Record[poolKey].Released)
}

// Of several released addresses, the one released longest ago goes first.
func TestReleasedLongestAgo(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.4")
	s.run("m1", "m2", "m3")
	s.in.Now = start.Add(1 * time.Minute)
	s.run("m1", "m3") // .3
	s.in.Now = start.Add(2*time.Minute + time.Millisecond)
	s.run("m3") // .2, written down as released at 2m01s
	s.in.Now = start.Add(20 * time.Minute)
	s.run() // .4, which is cooling
	book := s.run("a", "b", "c")
	check(t, "First .3, then .2; .4 is not free yet.", map[string]string{"a": "10.60.10.3/24", "b": "10.60.10.2/24"}, addresses(book))
	check(t, "The third waits.", []Missing{{Key: "c", Pool: poolKey, Reason: Cooling, Until: start.Add(30 * time.Minute)}}, book.Missing)

	s.in.Now = start.Add(25 * time.Minute)
	book = s.run("b", "c", "d", "e")
	check(t, "Each one that waits is told about another address; the last about none.", []Missing{
		{Key: "c", Pool: poolKey, Reason: Cooling, Until: start.Add(30 * time.Minute)},
		{Key: "d", Pool: poolKey, Reason: Cooling, Until: start.Add(35 * time.Minute)},
		{Key: "e", Pool: poolKey, Reason: Exhausted},
	}, book.Missing)
}

// A release is never dated back, or its cool-down would be too short.
func TestReleaseIsRoundedUp(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.3")
	s.run("m1")
	s.in.Now = start.Add(time.Millisecond)
	book := s.run()
	check(t, "0.001 s becomes 1 s.", []Release{{At: start.Add(time.Second), Addresses: mustRanges(t, "10.60.10.2")}}, book.Record[poolKey].Released)
}

// A range too small for a rolling update says so, and nothing running changes.
func TestCapacityWithSurge(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.6")
	s.in.Pools[0].Ranges[0].Wanted = 7 // 3 + 1 control planes, 2 + 1 workers
	five := []string{"a-0", "a-1", "cp-0", "cp-1", "cp-2"}
	book := s.run(five...)
	held := addresses(book)
	check(t, "All five have one, and nobody misses any.", 5, len(held))
	check(t, "But 7 are needed and 5 exist.", []Capacity{{Pool: poolKey, Used: 5, Total: 5, Wanted: 7}}, book.Capacity)

	rolling := append(slices.Clone(five), "cp-3")
	book = s.run(rolling...)
	check(t, "The surge machine has to wait until the range is extended.", []Missing{{Key: "cp-3", Pool: poolKey, Reason: Exhausted}}, book.Missing)
	check(t, "Nobody else is touched.", held, addresses(book))

	s.in.Pools[0].Ranges[0].Usable = usable(t, "10.60.10.2-10.60.10.8")
	book = s.run(rolling...)
	held["cp-3"] = "10.60.10.7/24"
	check(t, "The extended range heals it.", held, addresses(book))
	check(t, "Nobody misses any.", []Missing(nil), book.Missing)
	check(t, "7 needed, 7 there, 6 in use.", []Capacity{{Pool: poolKey, Used: 6, Total: 7, Wanted: 7}}, book.Capacity)

	s.in.Pools[0].Ranges[0] = AssignmentRange{Usable: usable(t, "10.60.10.2-10.60.10.6"), Wanted: 5}
	book = s.run(five...)
	check(t, "Without surge 5 are enough.", []Capacity{{Pool: poolKey, Used: 5, Total: 5, Wanted: 5}}, book.Capacity)
}

// pair is two claims that choose from one range and read each other's record.
type pair struct{ older, younger *story }

func newPair(t *testing.T) pair {
	t.Helper()
	p := pair{newStory(t, "10.60.10.2-10.60.10.10"), newStory(t, "10.60.10.2-10.60.10.10")}
	p.look()
	return p
}

// look lets both read the other's record.
func (p pair) look() {
	p.older.in.Pools[0].Foreign = []Foreign{{Claim: "team-b/demo", Ranges: p.younger.in.Pools[0].Ranges[0].Usable, Record: p.younger.in.Record[poolKey]}}
	p.younger.in.Pools[0].Foreign = []Foreign{{Claim: "team-a/demo", Older: true, Ranges: p.older.in.Pools[0].Ranges[0].Usable, Record: p.older.in.Record[poolKey]}}
}

// Two claims that chose one address at the same moment part before it is used.
func TestTwoClaimsAtOnce(t *testing.T) {
	p := newPair(t)
	for _, s := range []*story{p.older, p.younger} {
		book := s.run("m1")
		check(t, "Neither knows of the other's choice.", map[string]string{"m1": "10.60.10.2/24"}, addresses(book))
		check(t, "And nobody uses his.", map[string]string{}, delivered(book))
	}
	p.look()
	a, b := p.older.run("m1"), p.younger.run("m1")
	check(t, "The older keeps .2.", map[string]string{"m1": "10.60.10.2/24"}, addresses(a))
	check(t, "The younger takes the next free one.", map[string]string{"m1": "10.60.10.3/24"}, addresses(b))
	check(t, "The older waits until the younger has given it up.", []Conflict{{
		Key: "m1", Pool: poolKey, Address: netip.MustParseAddr("10.60.10.2"), Claim: "team-b/demo", OtherKey: "m1", Outcome: Waiting,
	}}, a.Conflicts)
	check(t, "The younger gave it up.", []Conflict{{
		Key: "m1", Pool: poolKey, Address: netip.MustParseAddr("10.60.10.2"), Claim: "team-a/demo", OtherKey: "m1", Outcome: Replaced,
	}}, b.Conflicts)
	check(t, "Nothing is delivered yet.", map[string]string{}, delivered(a))
	p.look()
	a, b = p.older.run("m1"), p.younger.run("m1")
	check(t, "Now both use theirs.", map[string]string{"m1": "10.60.10.2/24"}, delivered(a))
	check(t, "Now both use theirs.", map[string]string{"m1": "10.60.10.3/24"}, delivered(b))
	check(t, "The conflict is over.", 0, len(a.Conflicts)+len(b.Conflicts))
	check(t, "9 addresses less the other's one, all of which the older may take.", []Capacity{{Pool: poolKey, Used: 1, Total: 8, Shared: 8}}, b.Capacity)
	check(t, "Nothing is shared from the older's point of view.", []Capacity{{Pool: poolKey, Used: 1, Total: 8}}, a.Capacity)
}

// If the younger's machine has the address, the older one, whose machine does
// not, moves.
func TestYoungerHasItAlready(t *testing.T) {
	p := newPair(t)
	p.older.run("m1")
	p.younger.run("m1")
	p.younger.run("m1") // did not look: its machine gets .2
	p.look()
	a, b := p.older.run("m1"), p.younger.run("m1")
	check(t, "The older one moves, for its machine does not exist yet.", map[string]string{"m1": "10.60.10.3/24"}, addresses(a))
	check(t, "The older one says so.", Replaced, a.Conflicts[0].Outcome)
	check(t, "The younger one keeps it: no silent renumbering.", map[string]string{"m1": "10.60.10.2/24"}, delivered(b))
	check(t, "The younger one knows that the older one moves.", Yielding, b.Conflicts[0].Outcome)
}

// If both machines have it, nobody is renumbered and both say so.
func TestBothHaveItAlready(t *testing.T) {
	p := newPair(t)
	for range 2 {
		p.older.run("m1")
		p.younger.run("m1")
	}
	p.look()
	for _, s := range []*story{p.older, p.younger} {
		book := s.run("m1")
		check(t, "Both keep theirs.", map[string]string{"m1": "10.60.10.2/24"}, delivered(book))
		check(t, "Both name the address.", netip.MustParseAddr("10.60.10.2"), book.Conflicts[0].Address)
		check(t, "Both are kept.", Kept, book.Conflicts[0].Outcome)
	}
}

// Claims whose ranges differ never meet.
func TestYoungerKeepsClearOfTheOldersRanges(t *testing.T) {
	p := newPair(t)
	p.younger.in.Pools[0].Ranges[0].Usable = usable(t, "10.60.10.2-10.60.10.12")
	book := p.younger.run("m1", "m2", "m3")
	check(t, ".11 and .12 are its own; then it shares, from the lowest.", map[string]string{
		"m1": "10.60.10.11/24", "m2": "10.60.10.12/24", "m3": "10.60.10.2/24",
	}, addresses(book))
	check(t, "9 of its 11 addresses are shared.", []Capacity{{Pool: poolKey, Used: 3, Total: 11, Shared: 9}}, book.Capacity)
	p.look()
	book = p.older.run("m1")
	check(t, "The older one leaves alone what the other holds.", map[string]string{"m1": "10.60.10.3/24"}, addresses(book))
}

// What another claim has released too recently is not taken either.
func TestForeignCoolDown(t *testing.T) {
	p := newPair(t)
	p.older.run("m1", "m2")
	p.older.in.Now = start.Add(time.Minute)
	p.older.run("m2")
	p.look()
	p.younger.in.Pools[0].Ranges[0].Usable = usable(t, "10.60.10.2-10.60.10.3")
	p.younger.in.Now = start.Add(2 * time.Minute)
	book := p.younger.run("n1")
	check(t, ".3 is held, .2 cools down until minute 11.", []Missing{
		{Key: "n1", Pool: poolKey, Reason: Cooling, Until: start.Add(11 * time.Minute)},
	}, book.Missing)
	check(t, "It is counted.", []Capacity{{Pool: poolKey, Total: 1, Shared: 1, Cooling: 1, NextFree: start.Add(11 * time.Minute)}}, book.Capacity)
	p.younger.in.Now = start.Add(11 * time.Minute)
	check(t, "Then it is free.", map[string]string{"n1": "10.60.10.2/24"}, addresses(p.younger.run("n1")))
}

// A lost record comes back from what the machines have.
func TestLostRecord(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.9")
	s.run("m1", "m2", "m3", "m4")
	s.run("m1", "m2", "m3", "m4")
	s.in.Now = start.Add(time.Minute)
	before := s.run("m1", "m3", "m4")
	s.in.Record = nil
	s.in.Now = start.Add(2 * time.Minute)
	book := s.run("m1", "m3", "m4", "m5")
	check(t, "Nobody is renumbered.", delivered(before), delivered(book))
	check(t, "Nobody remembers that .3 is cooling down, so all free ones are.", []Missing{
		{Key: "m5", Pool: poolKey, Reason: Cooling, Until: start.Add(12 * time.Minute)},
	}, book.Missing)
	check(t, "The record says what is known.", PoolRecord{
		Held: map[string]netip.Prefix{
			"m1": netip.MustParsePrefix("10.60.10.2/24"), "m3": netip.MustParsePrefix("10.60.10.4/24"), "m4": netip.MustParsePrefix("10.60.10.5/24"),
		},
		Used:     mustRanges(t, "10.60.10.2", "10.60.10.4-10.60.10.5"),
		Released: []Release{{At: start.Add(2 * time.Minute), Addresses: mustRanges(t, "10.60.10.3", "10.60.10.6-10.60.10.9")}},
	}, book.Record[poolKey])
	s.in.Now = start.Add(12 * time.Minute)
	check(t, "One cool-down later all is well.", "10.60.10.3/24", addresses(s.run("m1", "m3", "m4", "m5"))["m5"])
}

// The same while the list of machines cannot be read: facts are kept.
func TestLostRecordAndIncomplete(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.9")
	s.run("m1", "m2")
	s.run("m1", "m2")
	s.in.Record, s.in.Complete = nil, false
	book := s.run("m2")
	check(t, "What is known is kept.", map[string]string{"m2": "10.60.10.3/24"}, delivered(book))
	s.in.Complete = true
	check(t, "And m1 is, when it is seen again.", map[string]string{"m1": "10.60.10.2/24", "m2": "10.60.10.3/24"}, delivered(s.run("m1", "m2")))
}

// A record from an old backup is corrected by what the machines have.
func TestStaleRecord(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.9")
	s.run("m1")
	s.run("m1")
	s.delivered["m1"] = netip.MustParsePrefix("10.60.10.7/24")
	s.delivered["m2"] = netip.MustParsePrefix("10.60.10.2/24")
	book := s.run("m1", "m2")
	check(t, "The machines know better.", map[string]string{"m1": "10.60.10.7/24", "m2": "10.60.10.2/24"}, delivered(book))
	check(t, "There is no conflict in that.", []Conflict(nil), book.Conflicts)
}

// Whatever a claim's status says is the whole truth about its addresses.
func TestRecordIsTheWholeMemory(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.9")
	s.run("cp-0", "cp-1")
	s.run("cp-0", "cp-1")
	book := s.run("cp-0", "cp-1", "unrelated")
	check(t, "The whole map is written each time.", 3, len(book.Record[poolKey].Held))
	book = s.run("cp-0")
	check(t, "Who is gone is not in it.", map[string]netip.Prefix{"cp-0": netip.MustParsePrefix("10.60.10.2/24")}, book.Record[poolKey].Held)

	other := newStory(t, "10.60.10.2-10.60.10.9")
	check(t, "A claim that is gone leaves nothing behind: another one starts at .2.", "10.60.10.2/24", addresses(other.run("cp-0"))["cp-0"])
}

// A pool that leaves the claim is remembered until its addresses have cooled
// down.
func TestPoolLeaves(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.9")
	s.run("m1", "m2")
	pools := s.in.Pools
	s.in.Pools = nil
	book := s.run()
	check(t, "What was held is cooling down.", Record{poolKey: {
		Used:     mustRanges(t, "10.60.10.2-10.60.10.3"),
		Released: []Release{{At: start, Addresses: mustRanges(t, "10.60.10.2-10.60.10.3")}},
	}}, book.Record)
	s.in.Complete = false
	s.in.Now = start.Add(coolDown)
	check(t, "An incomplete reading forgets nothing.", book.Record, s.run().Record)
	s.in.Complete = true
	s.in.Now = start.Add(coolDown - time.Second)
	check(t, "Not yet.", book.Record, s.run().Record)
	s.in.Now = start.Add(coolDown)
	check(t, "Then it is forgotten.", Record{}, s.run().Record)
	s.in.Pools = pools
	check(t, "And starts anew when it comes back.", "10.60.10.2/24", addresses(s.run("m1"))["m1"])
}

// An address that a machine was thought to have, or that was bound for it, may
// still be answered for.
func TestCorrectedAddressCoolsDown(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.9")
	s.in.Record = Record{poolKey: {Held: hold("m1", "10.60.10.20/24", "x", "10.60.10.30/24"), Pending: []string{"x"}}}
	s.in.Demands = []Demand{
		{Key: "m1", Pool: poolKey, Delivered: prefix("10.60.10.7/24")},
		{Key: "x", Pool: poolKey, External: true, Fixed: prefix("10.60.10.31/24")},
	}
	book, err := Assign(s.in)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "Both got the other address.", map[string]string{"m1": "10.60.10.7/24", "x": "10.60.10.31/24"}, addresses(book))
	check(t, "The range because the record is out of date, .20 and .30 because they were held.", []Release{
		{At: start, Addresses: mustRanges(t, "10.60.10.2-10.60.10.6", "10.60.10.8-10.60.10.9", "10.60.10.20", "10.60.10.30")},
	}, book.Record[poolKey].Released)
}

// A record that nobody may change is not even tidied up.
func TestIncompleteLeavesTheRecordAlone(t *testing.T) {
	s := newStory(t, "10.60.10.2-10.60.10.9")
	untidy := Record{poolKey: {
		Held: hold("m1", "10.60.10.2/24"),
		Used: mustRanges(t, "10.60.10.4-10.60.10.9", "10.60.10.2-10.60.10.5"),
		Released: []Release{
			{At: start.Add(-time.Hour), Addresses: mustRanges(t, "10.60.10.9", "10.60.10.2-10.60.10.4")},
			{At: start.Add(-2 * time.Hour), Addresses: mustRanges(t, "10.60.10.8")},
		},
	}}
	s.in.Record, s.in.Complete = untidy, false
	check(t, "It stays as it is.", untidy, s.run("m1", "m2").Record)
	s.in.Complete = true
	check(t, "Otherwise it is tidied up: in order, without overlaps, without what is held.", PoolRecord{
		Held: hold("m1", "10.60.10.2/24"),
		Used: mustRanges(t, "10.60.10.2-10.60.10.9"),
		Released: []Release{
			{At: start.Add(-2 * time.Hour), Addresses: mustRanges(t, "10.60.10.8")},
			{At: start.Add(-time.Hour), Addresses: mustRanges(t, "10.60.10.3-10.60.10.4", "10.60.10.9")},
		},
	}, s.run("m1").Record[poolKey])
}
