package assign_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
)

// TestBrokenRecordOfAnother: only a record that may say something of our VLANs
// stops addresses, and the message says what is broken in it.
func TestBrokenRecordOfAnother(t *testing.T) {
	const broken = `b: status.allocations["p/da/1000/10.60.10.0/24"].held["m"]: "garbage" is not an address with its prefix length, such as 10.60.10.2/24`
	const nowhere = `b: status.allocations["elsewhere"].held["m"]: "garbage" is not an address with its prefix length, such as 10.60.10.2/24`
	cases := map[string]struct {
		reason         string
		spec, recorded string
		want           []string
	}{
		"OurVLAN": {
			reason: "what it holds on our VLAN is not known", want: []string{broken},
			spec: "networks: [{vxlan: 1000}]", recorded: `{"p/da/1000/10.60.10.0/24": {held: {m: garbage}}}`,
		},
		"OurVLANBefore": {
			reason: "machines use an address until they are replaced, also when the network is gone", want: []string{broken},
			spec: "networks: [{vxlan: 9}]", recorded: `{"p/da/1000/10.60.10.0/24": {held: {m: garbage}}}`,
		},
		"AnotherVLAN": {
			reason: "another VLAN is another network",
			spec:   "networks: [{vxlan: 9}]", recorded: `{"p/da/9/10.60.10.0/24": {held: {m: garbage}}}`,
		},
		"AnotherPoolOfANeighbour": {
			reason: "what it says of our VLAN can be read",
			spec:   "networks: [{vxlan: 9}, {vxlan: 1000}]", recorded: `{"p/da/9/10.60.10.0/24": {held: {m: garbage}}, "p/da/1000/10.60.10.0/24": {held: {m: 10.60.10.9/24}}}`,
		},
		"KeyOfNoVLANAndOurs": {
			reason: "the spec says that it is on our VLAN", want: []string{nowhere},
			spec: "networks: [{vxlan: 1000}]", recorded: `{elsewhere: {held: {m: garbage}}}`,
		},
		"KeyOfNoVLANAndAnother": {
			reason: "the spec says that it is not",
			spec:   "networks: [{vxlan: 9}]", recorded: `{elsewhere: {held: {m: garbage}}}`,
		},
		"NoObjectAndOurs": {
			reason: "a record that is none says nothing", want: []string{"b: status.allocations is not an object"},
			spec: "networks: [{vxlan: 1000}]", recorded: `[x]`,
		},
		"NoObjectAndAnother": {
			reason: "and need not on another VLAN",
			spec:   "networks: [{vxlan: 9}]", recorded: `x`,
		},
		"NothingCanBeRead": {
			reason: "without record and networks it may be anywhere", want: []string{"b: status.allocations is not an object"},
			spec: "networks: nonsense", recorded: `x`,
		},
		"NetworkWithoutVLAN": {
			reason: "a network that cannot be read may be on our VLAN", want: []string{"b: status.allocations is not an object"},
			spec: "networks: [{vxlan: 9}, {vxlan: ten}]", recorded: `x`,
		},
		"NetworkThatIsNone": {
			reason: "so may what is no network", want: []string{"b: status.allocations is not an object"},
			spec: "networks: [{vxlan: 9}, 10]", recorded: `x`,
		},
		"NoNetworks": {
			reason: "a cluster without networks has no addresses",
			spec:   "kubernetesVersion: v1.34.1", recorded: `x`,
		},
		"AnotherMetro": {
			reason: "the same VLAN id in another metro is another VLAN",
			spec:   "metro: sv, networks: [{vxlan: 1000}]", recorded: `x`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, "10.60.10.2-10.60.10.40", machine("m", "a"))
			metro := "metro: da, "
			if strings.Contains(tc.spec, "metro") {
				metro = ""
			}
			in.Others.Items = []object.View{view(t, "{metadata: {name: b, uid: b}, spec: {projectID: p, "+metro+tc.spec+"}, status: {allocations: "+tc.recorded+"}}")}
			r := addresses(t, in)
			if diff := cmp.Diff(tc.want, r.Unreadable); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if got, want := len(r.Addresses) == 1, tc.want == nil; got != want {
				t.Errorf("%s: the machine gets an address: want %v, got %v", tc.reason, want, got)
			}
		})
	}
}

// TestOwnRecordBroken: going on without the record could give an address twice,
// so a person has to take it away; machines then keep what they were sent.
func TestOwnRecordBroken(t *testing.T) {
	const remedy = "; nobody is meant to edit it: remove status.allocations, and it is rebuilt from what the machines were sent"
	cases := map[string]struct{ recorded, want string }{
		"Address": {
			recorded: `{"p/da/1000/10.60.10.0/24": {held: {cp-0/vlan1000.ipv4: garbage}}}`,
			want: `cannot read the composite's record of addresses: status.allocations["p/da/1000/10.60.10.0/24"].held["cp-0/vlan1000.ipv4"]: ` +
				`"garbage" is not an address with its prefix length, such as 10.60.10.2/24` + remedy,
		},
		"List": {
			recorded: "[x]", want: "cannot read the composite's record of addresses: status.allocations is not an object" + remedy,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, "10.60.10.2-10.60.10.40", five...)
			in.Facts.Delivered = infra.Delivery{"cp-0": {"vlan1000.ipv4": "10.60.10.33/24"}, "w-1": {"vlan1000.ipv4": "10.60.10.4/24"}}
			in.Status = view(t, "allocations: "+tc.recorded)
			if _, err := assign.Addresses(in); err == nil || err.Error() != tc.want {
				t.Errorf("want %s\ngot  %v", tc.want, err)
			}
			in.Status = view(t, "{}")
			r := addresses(t, in)
			if diff := cmp.Diff(infra.Delivery(in.Facts.Delivered), r.Delivery); diff != "" {
				t.Errorf("without the record everybody keeps what he was sent: -want, +got:\n%s", diff)
			}
			if len(r.Addresses) != 2 || len(r.Book.Missing) != 3 || !r.Book.Missing[0].Until.Equal(now.Add(in.CoolDown)) {
				t.Errorf("and nobody gets a new one within the cool-down, since what was released is not known: got %v, missing %v", r.Addresses, r.Book.Missing)
			}
		})
	}
}
