package report_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/report"
	"github.com/l2cluster/function-l2cluster/fn/rollout"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

const storage = "p/da/1000/10.60.10.0/24"

// allocated is the condition AddressesAllocated of a report.
func allocated(in report.Input) xr.Condition {
	for _, c := range report.Report(in).Conditions {
		if c.Type == xr.ConditionAddressesAllocated {
			return c
		}
	}
	return xr.Condition{}
}

// warning about the address of a machine.
func warning(machine string, concern ipam.Concern) ipam.Warning {
	return ipam.Warning{Key: machine + "/vlan1000.ipv4", Pool: storage, Address: netip.MustParsePrefix("10.60.10.3/24"), Concern: concern}
}

func TestAddressesThatStay(t *testing.T) {
	outside := warning("w", ipam.OutOfRange)
	const text = "machine w keeps 10.60.10.3 on network storage until it is replaced: the address is outside of the assignment ranges, or excluded"
	router := warning("w", ipam.RouterHasIt)
	theirs := router
	theirs.Claim = "team-b/other"
	cases := map[string]struct {
		reason   string
		warnings []ipam.Warning
		change   func(*report.Input)
		want     xr.Condition
	}{
		"OutOfRange": {
			reason: "the machine works, and its user should know", warnings: []ipam.Warning{outside},
			want: xr.Condition{Status: xr.True, Reason: "AllocatedWithWarnings", Message: text},
		},
		"BoundAnew": {
			reason: "what a pool does later does not reach the machine", warnings: []ipam.Warning{warning("w", ipam.FixedDiffers)},
			want: xr.Condition{Status: xr.True, Reason: "AllocatedWithWarnings", Message: "machine w keeps 10.60.10.3 on network storage until it is replaced: its pool has bound another one since"},
		},
		"OutOfAShortRange": {
			reason: "one warning hides no other", warnings: []ipam.Warning{outside},
			change: func(in *report.Input) { in.Addresses.Book.Capacity[0].Total = 3 },
			want: xr.Condition{Status: xr.True, Reason: "NoSpareForRollout", Message: "network storage (10.60.10.0/24): needs 4 addresses (machines and the surge of a rollout), has 3; " +
				"extend its assignment range, or set maxSurge: 0; " + text},
		},
		"ShortAndShared": {
			reason: "who shares a range may find less of it", change: func(in *report.Input) {
				in.Addresses.Book.Capacity[0].Total, in.Addresses.Book.Capacity[0].Shared = 3, 2
			},
			want: xr.Condition{Status: xr.True, Reason: "NoSpareForRollout", Message: "network storage (10.60.10.0/24): needs 4 addresses (machines and the surge of a rollout), has 3, " +
				"of which an older cluster on the VLAN may take 2; extend its assignment range, or set maxSurge: 0"},
		},
		"OutOfRangeAndHeld": {
			reason: "nor does a trouble", warnings: []ipam.Warning{outside},
			change: func(in *report.Input) {
				in.Holds = []rollout.Hold{{Pool: "a", Reason: rollout.NoRoom, Why: "keeps its machines as they are"}}
			},
			want: xr.Condition{Status: xr.False, Reason: "RolloutHeld", Message: "pool a keeps its machines as they are; " + text},
		},
		"Router": {
			reason: "a machine with the router's address breaks the network, and only a person can help", warnings: []ipam.Warning{router},
			want: xr.Condition{Status: xr.False, Reason: "Conflict", Message: "machine w has address 10.60.10.3 on network storage, which is the gateway or the next hop of a route; " +
				"replace the machine, or give the router another address"},
		},
		"RouterOfAnotherCluster": {
			reason: "the cluster that states the router is named", warnings: []ipam.Warning{theirs},
			want: xr.Condition{Status: xr.False, Reason: "Conflict", Message: "machine w has address 10.60.10.3 on network storage, which is the gateway or the next hop of a route of cluster team-b/other; " +
				"replace the machine, or give the router another address"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := healthy(t)
			in.Addresses.Book.Warnings = tc.warnings
			if tc.change != nil {
				tc.change(&in)
			}
			tc.want.Type = xr.ConditionAddressesAllocated
			if diff := cmp.Diff(tc.want, allocated(in)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestManyAddressesThatStay: a message names a few machines and counts the rest.
func TestManyAddressesThatStay(t *testing.T) {
	for _, concern := range []ipam.Concern{ipam.OutOfRange, ipam.RouterHasIt} {
		in := healthy(t)
		for i := range 1000 {
			in.Addresses.Book.Warnings = append(in.Addresses.Book.Warnings, warning(fmt.Sprintf("w-%03d", i), concern))
		}
		got := allocated(in).Message
		if !strings.HasSuffix(got, "; and 995 more") || strings.Count(got, "machine w-") != 5 {
			t.Errorf("%s: five machines of a thousand are named: got %s", concern, got)
		}
	}
}

// TestBoundToNoMachine: what a pool bound and no machine can have is named, with
// the pool and the subnet.
func TestBoundToNoMachine(t *testing.T) {
	const begin, end = "machine w has no address on network storage: pool p1 bound 10.60.10.9, which ", "; mend the pool, and delete IPAddressClaim w-vlan1000, so that it binds another one"
	cases := map[string]struct {
		reason  string
		missing ipam.Missing
		want    string
	}{
		"Outside": {"the pool is of another subnet", ipam.Missing{Reason: ipam.BoundOutside}, "does not lie in the subnet 10.60.10.0/24"},
		"NoHost":  {"the pool has too much of the subnet", ipam.Missing{Reason: ipam.BoundNoHost}, "no machine may have in the subnet 10.60.10.0/24"},
		"Router":  {"the pool does not know the router", ipam.Missing{Reason: ipam.BoundRouter}, "is the gateway or the next hop of a route"},
		"RouterOfAnotherCluster": {
			"nor that of a neighbour", ipam.Missing{Reason: ipam.BoundRouter, Claim: "team-b/other"},
			"is the gateway or the next hop of a route of cluster team-b/other",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := healthy(t)
			in.Cluster.Spec.Networks[0].PoolRef = &spec.PoolRef{Name: "p1"}
			tc.missing.Key, tc.missing.Pool, tc.missing.Refused = "w/vlan1000.ipv4", storage, netip.MustParseAddr("10.60.10.9")
			in.Addresses.Book.Missing = []ipam.Missing{tc.missing}
			want := xr.Condition{Type: xr.ConditionAddressesAllocated, Status: xr.False, Reason: "Missing", Message: begin + tc.want + end}
			if diff := cmp.Diff(want, allocated(in)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestHeldTwice: what is said of an address that is held twice, and whether
// anybody has to do something.
func TestHeldTwice(t *testing.T) {
	const begin, theirs = "address 10.60.10.3 on network storage is held by machine w and by machine x", " of cluster team-b/other"
	cases := map[string]struct {
		reason   string
		conflict ipam.Conflict
		want     xr.Condition
	}{
		"Kept": {
			"two machines use it, and one has to go", ipam.Conflict{Claim: "team-b/other", Outcome: ipam.Kept},
			xr.Condition{Status: xr.False, Reason: "Conflict", Message: begin + theirs + "; both may use it, so replace one of the two machines"},
		},
		"Yielding": {
			"our machine has it and the other does not, so nobody has to do anything", ipam.Conflict{Claim: "team-b/other", Outcome: ipam.Yielding},
			xr.Condition{Status: xr.True, Reason: "AllocatedWithWarnings", Message: begin + theirs + "; ours keeps it, and the other, which was not sent it yet, gets another one by itself"},
		},
		"Replaced": {
			"the machine waits for another one", ipam.Conflict{Claim: "team-b/other", Outcome: ipam.Replaced},
			xr.Condition{Status: xr.False, Reason: "Conflict", Message: begin + theirs + "; ours gets another one"},
		},
		"Waiting": {
			"the machine waits for this one", ipam.Conflict{Claim: "team-b/other", Outcome: ipam.Waiting},
			xr.Condition{Status: xr.False, Reason: "Conflict", Message: begin + theirs + "; ours is delivered as soon as the other has given it up"},
		},
		"BoundTwice": {
			"the pool has to bind another one", ipam.Conflict{Outcome: ipam.Blocked},
			xr.Condition{Status: xr.False, Reason: "Conflict", Message: begin + "; machine w is not sent it: pool p1 bound what another one has; mend the pool, and delete IPAddressClaim w-vlan1000, so that it binds another one"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := healthy(t)
			in.Cluster.Spec.Networks[0].PoolRef = &spec.PoolRef{Name: "p1"}
			tc.conflict.Key, tc.conflict.OtherKey, tc.conflict.Pool = "w/vlan1000.ipv4", "x/vlan1000.ipv4", storage
			tc.conflict.Address = netip.MustParseAddr("10.60.10.3")
			in.Addresses.Book.Conflicts = []ipam.Conflict{tc.conflict}
			tc.want.Type = xr.ConditionAddressesAllocated
			if diff := cmp.Diff(tc.want, allocated(in)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
