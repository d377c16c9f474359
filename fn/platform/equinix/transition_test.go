package equinix

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func want(bonded, layer2 bool, vlans ...string) portState {
	return portState{bonded: bonded, layer2: layer2, vlans: vlans}
}

// settled is a port that is as it was asked to be.
func settled(s portState) observedPort { return observedPort{asked: s, is: &s, ready: true} }

func asked(s portState, is *portState) observedPort {
	return observedPort{asked: s, is: is, ready: true}
}

func now(port string, s portState) step { return step{port: port, state: &s} }

func TestSteps(t *testing.T) {
	hybridBonded := map[string]portState{"bond0": want(true, false, "V1")}
	hybrid := map[string]portState{"eth1": want(false, false, "V1")}
	layer2Bonded := map[string]portState{"bond0": want(true, true, "V1")}
	individual := map[string]portState{"bond0": want(false, true), "eth1": want(false, false, "V1")}
	layer3 := want(true, false)

	type args struct {
		want     map[string]portState
		have     map[string]observedPort
		verified bool
		unjoined bool
	}
	cases := map[string]struct {
		reason string
		args   args
		want   []step
	}{
		"HybridBondedAtOnce": {
			reason: "VLANs on a bond take nothing away, so nothing has to be verified before.",
			args:   args{want: hybridBonded},
			want:   []step{now("bond0", want(true, false, "V1"))},
		},
		"HybridWaitsForNetwork": {
			reason: "A member leaves its bond only when the machine's network came up.",
			args:   args{want: hybrid},
			want:   []step{{port: "eth1", why: "waits until the machine's network is verified"}},
		},
		"HybridVerified": {
			reason: "In hybrid mode only the member changes.",
			args:   args{want: hybrid, verified: true},
			want:   []step{now("eth1", want(false, false, "V1"))},
		},
		"HybridStaysWithoutReport": {
			reason: "A member that left its bond stays out, whatever is known of the network now.",
			args:   args{want: hybrid, have: map[string]observedPort{"eth1": settled(hybrid["eth1"])}},
			want:   []step{now("eth1", want(false, false, "V1"))},
		},
		"Layer2BondedWaitsForNetwork": {
			reason: "The bond keeps the platform's addresses until the network came up.",
			args:   args{want: layer2Bonded},
			want:   []step{{port: "bond0", why: "waits until the machine's network is verified"}},
		},
		"Layer2BondedWaitsForNode": {
			reason: "Packages and images still come through the platform's own network.",
			args:   args{want: layer2Bonded, verified: true, unjoined: true},
			want: []step{{
				port: "bond0", why: "waits until the machine has joined its cluster, for which it needs the platform's own network",
			}},
		},
		"HybridNeedsNoNode": {
			reason: "In hybrid mode the bond keeps the platform's own network.",
			args:   args{want: hybrid, verified: true, unjoined: true},
			want:   []step{now("eth1", want(false, false, "V1"))},
		},
		"IndividualAgainBeforeTheBondWasMended": {
			reason: "A bond that is dissolved and was asked to be whole again is not to be relied on: the provider may mend it at any moment, which the platform refuses while a member carries VLANs.",
			args: args{
				want: individual, verified: true,
				have: map[string]observedPort{"bond0": asked(want(true, false, "V2"), &portState{layer2: true})},
			},
			want: []step{
				{port: "bond0", state: &portState{bonded: true, layer2: true}, why: "waits until its VLANs are detached before it is converted"},
				{port: "eth1", why: "waits until bond0 is dissolved"},
			},
		},
		"Layer2Bonded": {
			reason: "The bond is converted and gets its VLANs in one step.",
			args:   args{want: layer2Bonded, verified: true},
			want:   []step{now("bond0", want(true, true, "V1"))},
		},
		"BondBeforeMembers": {
			reason: "Members wait until their bond is observed dissolved.",
			args:   args{want: individual, verified: true},
			want:   []step{now("bond0", want(false, true)), {port: "eth1", why: "waits until bond0 is dissolved"}},
		},
		"BondNotReady": {
			reason: "A bond that is asked to dissolve has not done it before it is ready.",
			args: args{want: individual, verified: true, have: map[string]observedPort{
				"bond0": {asked: want(false, true), is: &layer3},
			}},
			want: []step{now("bond0", want(false, true)), {port: "eth1", why: "waits until bond0 is dissolved"}},
		},
		"MembersAfterBond": {
			reason: "Once the bond is dissolved its members follow.",
			args: args{want: individual, verified: true, have: map[string]observedPort{
				"bond0": settled(want(false, true)),
			}},
			want: []step{now("bond0", want(false, true)), now("eth1", want(false, false, "V1"))},
		},
		"DetachBeforeDissolving": {
			reason: "A bond with VLANs cannot be dissolved.",
			args: args{want: individual, verified: true, have: map[string]observedPort{
				"bond0": settled(want(true, true, "V2")),
			}},
			want: []step{
				{port: "bond0", state: &portState{bonded: true, layer2: true}, why: "waits until its VLANs are detached before it is converted"},
				{port: "eth1", why: "waits until bond0 is dissolved"},
			},
		},
		"DetachBeforeLayer3": {
			reason: "A bond with VLANs cannot get the platform's addresses back.",
			args: args{want: hybridBonded, have: map[string]observedPort{
				"bond0": settled(want(true, true, "V1")),
			}},
			want: []step{{port: "bond0", state: &portState{bonded: true, layer2: true}, why: "waits until its VLANs are detached before it is converted"}},
		},
		"DetachAfterALateObservation": {
			reason: "A bond that was asked for too much at once takes a step back.",
			args: args{want: hybridBonded, have: map[string]observedPort{
				"bond0": asked(want(true, false, "V1"), &portState{bonded: true, layer2: true, vlans: []string{"V1"}}),
			}},
			want: []step{{port: "bond0", state: &portState{bonded: true, layer2: true}, why: "waits until its VLANs are detached before it is converted"}},
		},
		"ConversionUnderWay": {
			reason: "A bond that is about to be converted goes on.",
			args: args{want: hybridBonded, have: map[string]observedPort{
				"bond0": asked(want(true, false, "V1"), &portState{bonded: true, layer2: true}),
			}},
			want: []step{now("bond0", want(true, false, "V1"))},
		},
		"IndividualToBondedDetaches": {
			reason: "First the member loses its VLANs; the bond waits.",
			args: args{want: layer2Bonded, verified: true, have: map[string]observedPort{
				"bond0": settled(want(false, true)), "eth1": settled(want(false, false, "V1")),
			}},
			want: []step{
				{port: "bond0", why: "waits until eth1 is back in the bond"},
				{port: "eth1", state: &portState{}, why: "waits until its VLANs are detached before it goes back into the bond"},
			},
		},
		"IndividualToBondedStillAttached": {
			reason: "Asked is not done: the member still carries the VLAN.",
			args: args{want: layer2Bonded, verified: true, have: map[string]observedPort{
				"bond0": settled(want(false, true)),
				"eth1":  asked(want(false, false), &portState{vlans: []string{"V1"}}),
			}},
			want: []step{
				{port: "bond0", why: "waits until eth1 is back in the bond"},
				{port: "eth1", state: &portState{}, why: "waits until its VLANs are detached before it goes back into the bond"},
			},
		},
		"IndividualToBondedBonds": {
			reason: "Without VLANs the member goes back into the bond.",
			args: args{want: layer2Bonded, verified: true, have: map[string]observedPort{
				"bond0": settled(want(false, true)), "eth1": settled(want(false, false)),
			}},
			want: []step{
				{port: "bond0", why: "waits until eth1 is back in the bond"},
				{port: "eth1", state: &portState{bonded: true}, why: "waits until it is back in the bond"},
			},
		},
		"IndividualToBondedAttaches": {
			reason: "Once the member is seen in the bond, the bond gets the VLAN and the member's port is given up.",
			args: args{want: layer2Bonded, verified: true, have: map[string]observedPort{
				"bond0": settled(want(false, true)), "eth1": settled(want(true, false)),
			}},
			want: []step{now("bond0", want(true, true, "V1"))},
		},
		"VLANMovesAfterItIsFree": {
			reason: "A VLAN goes to another port when the first one has let go of it.",
			args: args{want: hybrid, verified: true, have: map[string]observedPort{
				"bond0": settled(want(true, false, "V1")),
			}},
			want: []step{{port: "eth1", why: "waits until VLAN V1 is detached from bond0"}},
		},
		"VLANsSwap": {
			reason: "Ports that exchange VLANs let go of theirs first.",
			args: args{
				want:     map[string]portState{"bond0": want(true, false, "V2"), "eth1": want(false, false, "V1")},
				verified: true,
				have: map[string]observedPort{
					"bond0": settled(want(true, false, "V1")), "eth1": settled(want(false, false, "V2")),
				},
			},
			want: []step{
				{port: "bond0", state: &portState{bonded: true}, why: "waits until VLAN V2 is detached from eth1"},
				{port: "eth1", state: &portState{}, why: "waits until VLAN V1 is detached from bond0"},
			},
		},
		"NetworkLeaves": {
			reason: "A VLAN that the claim no longer names is detached at once.",
			args: args{want: hybridBonded, have: map[string]observedPort{
				"bond0": settled(want(true, false, "V1", "V2")),
			}},
			want: []step{now("bond0", want(true, false, "V1"))},
		},
		"AllNetworksLeave": {
			reason: "A bond that differs in nothing any more is given up, which resets it.",
			args:   args{have: map[string]observedPort{"bond0": settled(want(true, false, "V1"))}},
		},
		"MemberUnseen": {
			reason: "A member of which nothing is observed keeps what it was asked.",
			args: args{want: hybridBonded, have: map[string]observedPort{
				"eth1": asked(want(false, false, "V2"), nil),
			}},
			want: []step{
				{port: "bond0", why: "waits until eth1 is back in the bond"},
				{port: "eth1", why: "waits until it is observed"},
			},
		},
		"MembersComeBackForTheBond": {
			reason: "To make a bond whole again all members have to be in it, also one that leaves it again.",
			args: args{want: hybrid, verified: true, have: map[string]observedPort{
				"bond0": settled(want(false, true)),
				"eth0":  settled(want(true, false)),
				"eth1":  settled(want(false, false, "V1")),
			}},
			want: []step{
				{port: "bond0", why: "waits until eth1 is back in the bond"},
				{port: "eth1", state: &portState{}, why: "waits until its VLANs are detached before it goes back into the bond"},
			},
		},
		"BondNotBackYet": {
			reason: "As long as the bond is still seen in layer 2, nothing leaves it.",
			args: args{
				want:     map[string]portState{"bond0": want(true, false, "V2"), "eth1": want(false, false, "V1")},
				verified: true,
				have:     map[string]observedPort{"bond0": asked(want(true, false, "V2"), &portState{bonded: true, layer2: true})},
			},
			want: []step{now("bond0", want(true, false, "V2")), {port: "eth1", why: "waits until bond0 is a bond again"}},
		},
		"MemberNamedInTheBond": {
			reason: "A member that the claim names inside its bond is composed only when it exists.",
			args:   args{want: map[string]portState{"eth1": layer3}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := transition{want: tc.args.want, have: tc.args.have, verified: tc.args.verified, joined: !tc.args.unjoined}.steps()
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(step{}, portState{})); diff != "" {
				t.Errorf("%s\nsteps(): -want, +got:\n%s", tc.reason, diff)
			}
			if !slices.IsSortedFunc(got, func(a, b step) int { return strings.Compare(a.port, b.port) }) {
				t.Errorf("%s\nsteps() are not sorted: %v", tc.reason, got)
			}
		})
	}
}
