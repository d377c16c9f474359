package ipam

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go4.org/netipx"
)

func prefix(s string) netip.Prefix {
	if s == "" {
		return netip.Prefix{}
	}
	return netip.MustParsePrefix(s)
}

// hold makes the Held of a record from pairs of key and address.
func hold(pairs ...string) map[string]netip.Prefix {
	out := map[string]netip.Prefix{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = prefix(pairs[i+1])
	}
	return out
}

func TestAssign(t *testing.T) {
	type args struct {
		ranges  map[string]string
		routers []Router
		foreign []Foreign
		demands []Demand
		record  PoolRecord
	}
	type want struct {
		assigned  map[string]string
		delivered map[string]string
		missing   []Missing
		warnings  []Warning
		conflicts []Conflict
	}
	net := map[string]string{"": "10.60.10.2-10.60.10.9"}
	addr := netip.MustParseAddr
	cases := map[string]struct {
		reason string
		args   args
		want   want
	}{
		"OutOfRange": {
			reason: "A held address stays, whatever happens to the range.",
			args: args{
				ranges: net, demands: []Demand{{Key: "m1"}, {Key: "m2"}},
				record: PoolRecord{Held: hold("m1", "10.60.10.77/24")},
			},
			want: want{
				assigned:  map[string]string{"m1": "10.60.10.77/24", "m2": "10.60.10.2/24"},
				delivered: map[string]string{"m1": "10.60.10.77/24"},
				warnings:  []Warning{{Key: "m1", Address: prefix("10.60.10.77/24"), Concern: OutOfRange}},
			},
		},
		"Router": {
			reason: "A machine that has a router's address keeps it and is told of; a pending one, which nobody was sent, is given up.",
			args: args{
				ranges: net, demands: []Demand{{Key: "m1", Ready: true}, {Key: "m2", Ready: true}, {Key: "m3", Ready: true}},
				routers: []Router{
					{Address: addr("10.60.10.10")}, {Address: addr("10.60.10.11")},
					{Address: addr("10.60.10.12"), Claim: "other"}, {Address: addr("10.60.10.10"), Claim: "other"},
				},
				record: PoolRecord{Held: hold("m1", "10.60.10.10/24", "m2", "10.60.10.11/24", "m3", "10.60.10.12/24"), Pending: []string{"m2"}},
			},
			want: want{
				assigned:  map[string]string{"m1": "10.60.10.10/24", "m2": "10.60.10.2/24", "m3": "10.60.10.12/24"},
				delivered: map[string]string{"m1": "10.60.10.10/24", "m3": "10.60.10.12/24"},
				warnings: []Warning{
					{Key: "m1", Address: prefix("10.60.10.10/24"), Concern: RouterHasIt},
					{Key: "m3", Address: prefix("10.60.10.12/24"), Concern: RouterHasIt, Claim: "other"},
				},
			},
		},
		"NotReady": {
			reason: "An address stays pending until its machine can take it.",
			args: args{
				ranges: net, demands: []Demand{{Key: "m1"}, {Key: "m2", Ready: true}, {Key: "m3", Ready: true}},
				record: PoolRecord{Held: hold("m1", "10.60.10.2/24", "m2", "10.60.10.3/24"), Pending: []string{"m1", "m2"}},
			},
			want: want{
				assigned:  map[string]string{"m1": "10.60.10.2/24", "m2": "10.60.10.3/24", "m3": "10.60.10.4/24"},
				delivered: map[string]string{"m2": "10.60.10.3/24"},
			},
		},
		"HighWaterMark": {
			reason: "What was used and is not remembered as released comes after .5, which was never used.",
			args: args{
				ranges: map[string]string{"": "10.60.10.2-10.60.10.5"}, demands: []Demand{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "d"}},
				record: PoolRecord{
					Used:     mustRanges(t, "10.60.10.2-10.60.10.4"),
					Released: []Release{{At: start.Add(-time.Hour), Addresses: mustRanges(t, "10.60.10.2")}},
				},
			},
			want: want{assigned: map[string]string{"a": "10.60.10.5/24", "b": "10.60.10.3/24", "c": "10.60.10.4/24", "d": "10.60.10.2/24"}},
		},
		"TwoRanges": {
			reason: "Each demand draws from its own range.",
			args: args{
				ranges:  map[string]string{"": "10.60.10.2-10.60.10.9", "workers": "10.60.10.50-10.60.10.51"},
				demands: []Demand{{Key: "a", Range: "workers"}, {Key: "b"}, {Key: "c", Range: "workers"}, {Key: "d", Range: "workers"}},
			},
			want: want{
				assigned: map[string]string{"a": "10.60.10.50/24", "b": "10.60.10.2/24", "c": "10.60.10.51/24"},
				missing:  []Missing{{Key: "d", Range: "workers", Reason: Exhausted}},
			},
		},
		"NarrowFirst": {
			reason: "z can only have .2, so a, who has a choice, does not take it from him.",
			args: args{
				ranges:  map[string]string{"": "10.60.10.2-10.60.10.3", "one": "10.60.10.2"},
				demands: []Demand{{Key: "a"}, {Key: "z", Range: "one"}},
			},
			want: want{assigned: map[string]string{"a": "10.60.10.3/24", "z": "10.60.10.2/24"}},
		},
		"NoRange": {
			reason: "A range may be empty.",
			args:   args{ranges: map[string]string{"": ""}, demands: []Demand{{Key: "a"}}},
			want:   want{missing: []Missing{{Key: "a", Reason: Exhausted}}},
		},
		"Bound": {
			reason: "An address from outside is taken as it is, and delivered once it is on record.",
			args: args{
				ranges: net,
				demands: []Demand{
					{Key: "a", External: true, Ready: true, Fixed: prefix("10.60.10.2/25")},
					{Key: "b", External: true, Ready: true, Fixed: prefix("10.60.10.200/24")},
					{Key: "c", External: true, Ready: true},
					{Key: "d"},
				},
				record: PoolRecord{Held: hold("b", "10.60.10.200/24"), Pending: []string{"b"}},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.2/25", "b": "10.60.10.200/24", "d": "10.60.10.3/24"},
				delivered: map[string]string{"b": "10.60.10.200/24"},
				missing:   []Missing{{Key: "c", Reason: Unbound}},
			},
		},
		"BoundToNoMachine": {
			reason: "What no machine can have is refused, also if it is on record, until the machine was sent it.",
			args: args{
				ranges: net, routers: []Router{{Address: addr("10.60.10.20")}, {Address: addr("10.60.10.21"), Claim: "other"}},
				demands: []Demand{
					{Key: "a", External: true, Ready: true, Fixed: prefix("10.60.11.2/24")},
					{Key: "b", External: true, Ready: true, Fixed: prefix("2001:db8::2/24")},
					{Key: "c", External: true, Ready: true, Fixed: prefix("10.60.10.0/24")},
					{Key: "d", External: true, Ready: true, Fixed: prefix("10.60.10.255/24")},
					{Key: "e", External: true, Ready: true, Fixed: prefix("10.60.10.20/24")},
					{Key: "f", External: true, Ready: true, Fixed: prefix("10.60.10.21/24")},
					{Key: "g", External: true, Ready: true, Fixed: prefix("10.60.10.20/24")},
					{Key: "h", External: true, Ready: true, Fixed: prefix("10.60.10.1/24")},
				},
				record: PoolRecord{Held: hold("e", "10.60.10.20/24", "g", "10.60.10.20/24"), Pending: []string{"e"}},
			},
			want: want{
				assigned:  map[string]string{"g": "10.60.10.20/24", "h": "10.60.10.1/24"},
				delivered: map[string]string{"g": "10.60.10.20/24"},
				missing: []Missing{
					{Key: "a", Reason: BoundOutside, Refused: addr("10.60.11.2")}, {Key: "b", Reason: BoundOutside, Refused: addr("2001:db8::2")},
					{Key: "c", Reason: BoundNoHost, Refused: addr("10.60.10.0")}, {Key: "d", Reason: BoundNoHost, Refused: addr("10.60.10.255")},
					{Key: "e", Reason: BoundRouter, Refused: addr("10.60.10.20")}, {Key: "f", Reason: BoundRouter, Refused: addr("10.60.10.21"), Claim: "other"},
				},
				warnings: []Warning{{Key: "g", Address: prefix("10.60.10.20/24"), Concern: RouterHasIt}},
			},
		},
		"BoundAnew": {
			reason: "A pending address follows the outside; one that the machine has stays, with a warning.",
			args: args{
				ranges: net,
				demands: []Demand{
					{Key: "a", External: true, Fixed: prefix("10.60.10.20/24")},
					{Key: "b", External: true, Fixed: prefix("10.60.10.21/24")},
					{Key: "c", External: true},
				},
				record: PoolRecord{Held: hold("a", "10.60.10.30/24", "b", "10.60.10.31/24", "c", "10.60.10.32/24"), Pending: []string{"a", "c"}},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.20/24", "b": "10.60.10.31/24", "c": "10.60.10.32/24"},
				delivered: map[string]string{"b": "10.60.10.31/24"},
				warnings:  []Warning{{Key: "b", Address: prefix("10.60.10.31/24"), Concern: FixedDiffers}},
			},
		},
		"BoundToAnAddressInUse": {
			reason: "A machine has it, so it is not delivered to another; a pending one of ours gives way.",
			args: args{
				ranges: net,
				demands: []Demand{
					{Key: "a", Ready: true}, {Key: "b", Ready: true},
					{Key: "x", External: true, Ready: true, Fixed: prefix("10.60.10.2/24")},
					{Key: "y", External: true, Ready: true, Fixed: prefix("10.60.10.3/24")},
				},
				record: PoolRecord{
					Held:    hold("a", "10.60.10.2/24", "b", "10.60.10.3/24", "x", "10.60.10.2/24", "y", "10.60.10.3/24"),
					Pending: []string{"b", "x", "y"},
				},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.4/24", "x": "10.60.10.2/24", "y": "10.60.10.3/24"},
				delivered: map[string]string{"a": "10.60.10.2/24", "y": "10.60.10.3/24"},
				conflicts: []Conflict{
					{Key: "b", Address: addr("10.60.10.3"), OtherKey: "y", Outcome: Replaced},
					{Key: "x", Address: addr("10.60.10.2"), OtherKey: "a", Outcome: Blocked},
				},
			},
		},
		"BoundTwice": {
			reason: "A machine that has it keeps it, although another key comes first; of two that do not have it the first gets it.",
			args: args{
				ranges: net,
				demands: []Demand{
					{Key: "a", External: true, Ready: true, Fixed: prefix("10.60.10.2/24")},
					{Key: "b", External: true, Ready: true, Fixed: prefix("10.60.10.2/24")},
					{Key: "x", External: true, Ready: true, Fixed: prefix("10.60.10.3/24")},
					{Key: "y", External: true, Ready: true, Fixed: prefix("10.60.10.3/24")},
				},
				record: PoolRecord{
					Held:    hold("a", "10.60.10.2/24", "b", "10.60.10.2/24", "x", "10.60.10.3/24", "y", "10.60.10.3/24"),
					Pending: []string{"a", "x", "y"},
				},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.2/24", "x": "10.60.10.3/24", "y": "10.60.10.3/24"},
				delivered: map[string]string{"b": "10.60.10.2/24", "x": "10.60.10.3/24"},
				conflicts: []Conflict{
					{Key: "a", Address: addr("10.60.10.2"), OtherKey: "b", Outcome: Blocked},
					{Key: "y", Address: addr("10.60.10.3"), OtherKey: "x", Outcome: Blocked},
				},
			},
		},
		"OthersArePending": {
			reason: "What our machine has is ours, and a claim whose machine does not have it gives way, older or younger.",
			args: args{
				ranges: net,
				foreign: []Foreign{
					{Claim: "old", Older: true, Record: PoolRecord{Held: hold("o", "10.60.10.2/24"), Pending: []string{"o"}}},
					{Claim: "young", Record: PoolRecord{Held: hold("y1", "10.60.10.3/24", "y2", "10.60.10.4/24"), Pending: []string{"y1"}}},
				},
				demands: []Demand{{Key: "a", Ready: true}, {Key: "b", Ready: true}, {Key: "c", Ready: true}},
				record:  PoolRecord{Held: hold("a", "10.60.10.2/24", "b", "10.60.10.3/24", "c", "10.60.10.4/24")},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.3/24", "c": "10.60.10.4/24"},
				delivered: map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.3/24", "c": "10.60.10.4/24"},
				conflicts: []Conflict{
					{Key: "a", Address: addr("10.60.10.2"), Claim: "old", OtherKey: "o", Outcome: Yielding},
					{Key: "b", Address: addr("10.60.10.3"), Claim: "young", OtherKey: "y1", Outcome: Yielding},
					{Key: "c", Address: addr("10.60.10.4"), Claim: "young", OtherKey: "y2", Outcome: Kept},
				},
			},
		},
		"BoundToWhatOthersHold": {
			reason: "A bound address is not delivered while another claim holds it; only a younger one whose machine does not have it gives way.",
			args: args{
				ranges: net,
				foreign: []Foreign{
					{Claim: "old", Older: true, Record: PoolRecord{Held: hold("o", "10.60.10.2/24"), Pending: []string{"o"}}},
					{Claim: "young", Record: PoolRecord{Held: hold("y1", "10.60.10.3/24", "y2", "10.60.10.4/24"), Pending: []string{"y1"}}},
				},
				demands: []Demand{
					{Key: "a", External: true, Ready: true, Fixed: prefix("10.60.10.2/24")}, {Key: "b", External: true, Ready: true, Fixed: prefix("10.60.10.3/24")},
					{Key: "c", External: true, Ready: true, Fixed: prefix("10.60.10.4/24")},
				},
				record: PoolRecord{Held: hold("a", "10.60.10.2/24", "b", "10.60.10.3/24", "c", "10.60.10.4/24"), Pending: []string{"a", "b", "c"}},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.3/24", "c": "10.60.10.4/24"},
				delivered: map[string]string{},
				conflicts: []Conflict{
					{Key: "a", Address: addr("10.60.10.2"), Claim: "old", OtherKey: "o", Outcome: Blocked},
					{Key: "b", Address: addr("10.60.10.3"), Claim: "young", OtherKey: "y1", Outcome: Waiting},
					{Key: "c", Address: addr("10.60.10.4"), Claim: "young", OtherKey: "y2", Outcome: Blocked},
				},
			},
		},
		"TwoMachinesHaveIt": {
			reason: "Nobody is renumbered without being told.",
			args: args{
				ranges:  net,
				demands: []Demand{{Key: "a", Delivered: prefix("10.60.10.2/24")}, {Key: "b", Delivered: prefix("10.60.10.2/24")}},
				record:  PoolRecord{Held: hold("a", "10.60.10.2/24", "b", "10.60.10.2/24")},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.2/24"},
				delivered: map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.2/24"},
				conflicts: []Conflict{{Key: "b", Address: addr("10.60.10.2"), OtherKey: "a", Outcome: Kept}},
			},
		},
		"TwoPendingKeysHoldIt": {
			reason: "The first key keeps it.",
			args: args{
				ranges:  net,
				demands: []Demand{{Key: "a", Ready: true}, {Key: "b", Ready: true}},
				record:  PoolRecord{Held: hold("a", "10.60.10.2/24", "b", "10.60.10.2/24"), Pending: []string{"a", "b"}},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.3/24"},
				delivered: map[string]string{"a": "10.60.10.2/24"},
				conflicts: []Conflict{{Key: "b", Address: addr("10.60.10.2"), OtherKey: "a", Outcome: Replaced}},
			},
		},
		"OneOfTwoLeaves": {
			reason: "An address that a key still holds is not released with another one.",
			args: args{
				ranges: map[string]string{"": "10.60.10.2-10.60.10.2"}, demands: []Demand{{Key: "b"}, {Key: "c"}},
				record: PoolRecord{Held: hold("a", "10.60.10.2/24", "b", "10.60.10.2/24")},
			},
			want: want{
				assigned:  map[string]string{"b": "10.60.10.2/24"},
				delivered: map[string]string{"b": "10.60.10.2/24"},
				missing:   []Missing{{Key: "c", Reason: Exhausted}},
			},
		},
		"ThreeClaims": {
			reason: "The one that cannot give way counts: the oldest, else who has it delivered. Of the two younger ones only .4 matters, which is delivered.",
			args: args{
				ranges: net,
				foreign: []Foreign{
					{Claim: "old", Older: true, Record: PoolRecord{Held: hold("o", "10.60.10.2/24"), Pending: []string{"o"}}},
					{Claim: "young", Record: PoolRecord{Held: hold("y1", "10.60.10.2/24", "y2", "10.60.10.3/24", "y3", "10.60.10.4/24"), Pending: []string{"y1", "y2"}}},
					{Claim: "younger", Record: PoolRecord{Held: hold("z", "10.60.10.4/24"), Pending: []string{"z"}}},
				},
				demands: []Demand{{Key: "a", Ready: true}, {Key: "b", Ready: true}, {Key: "c", Ready: true}},
				record:  PoolRecord{Held: hold("a", "10.60.10.2/24", "b", "10.60.10.3/24", "c", "10.60.10.4/24"), Pending: []string{"a", "b", "c"}},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.5/24", "b": "10.60.10.3/24", "c": "10.60.10.6/24"},
				delivered: map[string]string{},
				conflicts: []Conflict{
					{Key: "a", Address: addr("10.60.10.2"), Claim: "old", OtherKey: "o", Outcome: Replaced},
					{Key: "b", Address: addr("10.60.10.3"), Claim: "young", OtherKey: "y2", Outcome: Waiting},
					{Key: "c", Address: addr("10.60.10.4"), Claim: "young", OtherKey: "y3", Outcome: Replaced},
				},
			},
		},
		"PendingAndReleasedElsewhere": {
			reason: "Another claim's machine had it until a minute ago: a pending address is replaced, one in use is not.",
			args: args{
				ranges: net,
				foreign: []Foreign{{Claim: "other", Record: PoolRecord{
					Released: []Release{{At: start.Add(-time.Minute), Addresses: mustRanges(t, "10.60.10.2-10.60.10.3")}},
				}}},
				demands: []Demand{{Key: "a", Ready: true}, {Key: "b", Ready: true}},
				record:  PoolRecord{Held: hold("a", "10.60.10.2/24", "b", "10.60.10.3/24"), Pending: []string{"a"}},
			},
			want: want{
				assigned:  map[string]string{"a": "10.60.10.4/24", "b": "10.60.10.3/24"},
				delivered: map[string]string{"b": "10.60.10.3/24"},
			},
		},
		"ReleasedByBoth": {
			reason: "The later release counts: .2 is free at minute 9, not at minute 5.",
			args: args{
				ranges: map[string]string{"": "10.60.10.2"},
				foreign: []Foreign{{Claim: "other", Record: PoolRecord{
					Released: []Release{{At: start.Add(-time.Minute), Addresses: mustRanges(t, "10.60.10.0/24")}},
				}}},
				demands: []Demand{{Key: "a"}},
				record:  PoolRecord{Released: []Release{{At: start.Add(-5 * time.Minute), Addresses: mustRanges(t, "10.60.10.2")}}},
			},
			want: want{missing: []Missing{{Key: "a", Reason: Cooling, Until: start.Add(9 * time.Minute)}}},
		},
		"YoungerRanges": {
			reason: "What a younger claim may use does not bind us; what it holds does.",
			args: args{
				ranges:  net,
				foreign: []Foreign{{Claim: "young", Ranges: mustSet(t, "10.60.10.0/24"), Record: PoolRecord{Held: hold("y", "10.60.10.2/24")}}},
				demands: []Demand{{Key: "a"}},
			},
			want: want{assigned: map[string]string{"a": "10.60.10.3/24"}},
		},
		"PrefixOfAnotherLength": {
			reason: "The machine knows best which prefix length it has.",
			args: args{
				ranges: net, demands: []Demand{{Key: "a", Delivered: prefix("10.60.10.2/25")}},
				record: PoolRecord{Held: hold("a", "10.60.10.2/24")},
			},
			want: want{assigned: map[string]string{"a": "10.60.10.2/25"}, delivered: map[string]string{"a": "10.60.10.2/25"}},
		},
		"BrokenRecord": {
			reason: "Nonsense in a record counts as absent.",
			args: args{
				ranges: map[string]string{"": "10.60.10.2-10.60.10.3"}, demands: []Demand{{Key: "a"}, {Key: "b"}},
				record: PoolRecord{
					Held: map[string]netip.Prefix{"a": {}}, Pending: []string{"nobody"}, Used: Ranges{netipx.IPRange{}},
					Released: []Release{{At: start, Addresses: Ranges{netipx.IPRange{}, mustRanges(t, "2001:db8::/32")[0]}}},
				},
			},
			want: want{assigned: map[string]string{"a": "10.60.10.2/24", "b": "10.60.10.3/24"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool := Pool{Key: poolKey, Subnet: prefix("10.60.10.0/24"), Routers: tc.args.routers, Foreign: tc.args.foreign}
			for n, r := range tc.args.ranges {
				x := AssignmentRange{Name: n}
				if r != "" {
					x.Usable = mustSet(t, r)
				}
				pool.Ranges = append(pool.Ranges, x)
			}
			for i := range tc.args.demands {
				tc.args.demands[i].Pool = poolKey
			}
			got, err := Assign(Input{
				Pools: []Pool{pool}, Demands: tc.args.demands, Complete: true,
				Record: Record{poolKey: tc.args.record}, CoolDown: coolDown, Now: start,
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range tc.want.missing {
				tc.want.missing[i].Pool = poolKey
			}
			for i := range tc.want.warnings {
				tc.want.warnings[i].Pool = poolKey
			}
			for i := range tc.want.conflicts {
				tc.want.conflicts[i].Pool = poolKey
			}
			check(t, tc.reason+" (assigned)", tc.want.assigned, addresses(got))
			check(t, tc.reason+" (delivered)", tc.want.delivered, delivered(got))
			check(t, tc.reason+" (missing)", tc.want.missing, got.Missing)
			check(t, tc.reason+" (warnings)", tc.want.warnings, got.Warnings)
			check(t, tc.reason+" (conflicts)", tc.want.conflicts, got.Conflicts)
			if _, err := got.Record.Encode(); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

func TestAssignRefuses(t *testing.T) {
	subnet := prefix("10.60.10.0/24")
	good := func() Input {
		return Input{
			Pools:   []Pool{{Key: "p", Subnet: subnet, Ranges: []AssignmentRange{{Usable: mustSet(t, "10.60.10.2-10.60.10.9")}}}},
			Demands: []Demand{{Key: "a", Pool: "p"}}, Complete: true, Now: start,
		}
	}
	cases := map[string]struct {
		reason string
		change func(*Input)
		want   string
	}{
		"TwoPools":        {"A pool's key is unique.", func(in *Input) { in.Pools = append(in.Pools, in.Pools[0]) }, `pool "p" is given twice`},
		"TwoRanges":       {"So is a range's name.", func(in *Input) { in.Pools[0].Ranges = append(in.Pools[0].Ranges, AssignmentRange{}) }, `assignment range "" is given twice`},
		"TwoDemands":      {"So is a demand's key.", func(in *Input) { in.Demands = append(in.Demands, Demand{Key: "a", Pool: "p"}) }, `demand "a" is given twice`},
		"NoPool":          {"A demand names a pool.", func(in *Input) { in.Demands[0].Pool = "q" }, `no pool "q"`},
		"NoRange":         {"A demand names a range.", func(in *Input) { in.Demands[0].Range = "r" }, `no assignment range "r"`},
		"NoSubnet":        {"A pool has a subnet.", func(in *Input) { in.Pools[0].Subnet = netip.Prefix{} }, "not a valid prefix"},
		"HostBits":        {"A subnet has no host bits.", func(in *Input) { in.Pools[0].Subnet = prefix("10.60.10.1/24") }, "write 10.60.10.0/24"},
		"UsableOutside":   {"Usable addresses lie in the subnet.", func(in *Input) { in.Pools[0].Subnet = prefix("10.60.11.0/24") }, "does not lie in 10.60.11.0/24"},
		"UsableRouter":    {"No range offers the address of a router.", func(in *Input) { in.Pools[0].Routers = []Router{{Address: netip.MustParseAddr("10.60.10.9")}} }, "offers 10.60.10.9, which a router has"},
		"FixedIPv4In6":    {"Addresses have one form.", func(in *Input) { in.Demands[0].Fixed = prefix("::ffff:10.60.10.2/120") }, "::ffff:10.60.10.2/120"},
		"DeliveredHalf":   {"An address without a length is none.", func(in *Input) { in.Demands[0].Delivered = netip.PrefixFrom(netip.MustParseAddr("10.60.10.2"), -1) }, "not an address with a prefix length"},
		"NegativeCooling": {"Time does not run backwards.", func(in *Input) { in.CoolDown = -time.Second }, "negative"},
	}
	if _, err := Assign(good()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := good()
			tc.change(&in)
			_, err := Assign(in)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// External demands need no assignment range.
func TestExternalNeedsNoRange(t *testing.T) {
	book, err := Assign(Input{
		Pools:   []Pool{{Key: "p", Subnet: prefix("10.60.10.0/24")}},
		Demands: []Demand{{Key: "a", Pool: "p", External: true, Fixed: prefix("10.60.10.2/24")}}, Complete: true, Now: start,
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "It is taken as it is.", map[string]string{"a": "10.60.10.2/24"}, addresses(book))
}

// The last address of a family has no next one.
func TestEndOfTheAddressSpace(t *testing.T) {
	for _, subnet := range []string{"255.255.255.254/31", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"} {
		in := Input{Complete: true, CoolDown: coolDown, Now: start, Record: Record{}}
		all, err := Subnet{Prefix: prefix(subnet)}.Usable()
		if err != nil {
			t.Fatal(err)
		}
		in.Pools = []Pool{{Key: "p", Subnet: prefix(subnet), Ranges: []AssignmentRange{{Usable: all}}}}
		for round := range 3 {
			in.Now = start.Add(time.Duration(round) * coolDown)
			in.Demands = nil
			for i := range 2 {
				in.Demands = append(in.Demands, Demand{Key: fmt.Sprintf("m%d-%d", round, i), Pool: "p"})
			}
			book, err := Assign(in)
			if err != nil {
				t.Fatal(err)
			}
			wantMissing := 0
			if round == 1 {
				wantMissing = 2 // both addresses of round 0 are cooling down
			}
			check(t, fmt.Sprintf("%s, round %d", subnet, round), wantMissing, len(book.Missing))
			in.Record = book.Record
		}
	}
}
