package equinix

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

const (
	device1  = "11111111-1111-4111-8111-111111111111"
	vlanUUID = "aaaaaaaa-0000-4000-8000-000000001000"
	dataUUID = "aaaaaaaa-0000-4000-8000-000000001001"
)

// conditions of an object, all with one status but for those that are named
// with an exclamation mark before them.
func conditions(kinds ...string) []any {
	out := make([]any, 0, len(kinds))
	for _, kind := range kinds {
		status := "True"
		if name, no := strings.CutPrefix(kind, "!"); no {
			kind, status = name, "False"
		}
		out = append(out, map[string]any{"type": kind, "status": status, "reason": "Because", "message": "the API\n says so"})
	}
	return out
}

// seen is an object as it would be observed.
func seen(o object.Object, status map[string]any) view {
	v := view(maps.Clone(o.Body))
	v["status"] = status
	return v
}

// whole is all that the platform makes of a cluster.
type whole struct {
	infra.Infrastructure
	infra.Foundation
}

func compose(t tb, c infra.Cluster, f infra.Facts, d infra.Delivery) whole {
	t.Helper()
	got, err := Platform{}.Compose(c, f, d)
	if err != nil {
		t.Fatal(err)
	}
	foundation, err := Platform{}.Foundation(c)
	if err != nil {
		t.Fatal(err)
	}
	return whole{got, foundation}
}

func byKey(i whole) map[string]object.Object {
	out := map[string]object.Object{}
	for _, o := range i.Objects {
		out[o.Key] = o
	}
	return out
}

func parameters(t tb, i whole, key string) view {
	t.Helper()
	o, composed := byKey(i)[key]
	if !composed {
		return nil
	}
	p, _ := view(o.Body).At("spec", "forProvider").(view)
	return p
}

// twoVLANs is the base claim with a second network on the same bond.
var twoVLANs = strings.ReplaceAll(strings.Replace(baseClaim, "controlPlane:",
	"- {name: data, vxlan: 1001, ipAddresses: [10.60.20.0/24]}\ncontrolPlane:", 1),
	"networks: [{name: storage}]", "networks: [{name: data}, {name: storage}]")

func worker(name string) infra.Machine {
	return infra.Machine{
		Name: name, Pool: "general", Device: device1,
		Ports: map[string]string{"bond0": "P0", "eth0": "P1", "eth1": "P2"},
	}
}

func facts(machines ...infra.Machine) infra.Facts {
	return infra.Facts{
		MachinesKnown: true, Machines: machines,
		VLANs: map[string]string{"storage": vlanUUID, "data": dataUUID},
	}
}

func TestTwoVLANsOnOneBond(t *testing.T) {
	got := compose(t, clusterOf(t, twoVLANs, ""), facts(worker("m1")), nil)
	want := view{
		"portId": "P0", "bonded": true, "layer2": false, "resetOnDelete": true,
		"vlanIds": []any{vlanUUID, dataUUID},
	}
	if diff := cmp.Diff(want, parameters(t, got, "machine-m1-port-bond0")); diff != "" {
		t.Errorf("one port carries both VLANs: -want, +got:\n%s", diff)
	}
	for key, vxlan := range map[string]int64{"vlan-1000": 1000, "vlan-1001": 1001} {
		p := parameters(t, got, key)
		if p["vxlan"] != vxlan || p["metro"] != "da" || p["facility"] != nil {
			t.Errorf("%s: got %v, want VLAN id %d as a number, metro da and no facility", key, p, vxlan)
		}
	}
	swapped := strings.ReplaceAll(twoVLANs, "[{name: data}, {name: storage}]", "[{name: storage}, {name: data}]")
	if diff := cmp.Diff(got, compose(t, clusterOf(t, swapped, ""), facts(worker("m1")), nil)); diff != "" {
		t.Errorf("the order of networks changes the output: -want, +got:\n%s", diff)
	}
}

func TestPorts(t *testing.T) {
	attached := view{
		"apiVersion": metalAPI, "kind": "Port",
		"metadata": map[string]any{"name": "m1-bond0", "labels": map[string]any{machineLabel: "m1", portLabel: "bond0"}},
		"spec": map[string]any{"forProvider": map[string]any{
			"portId": "P0", "bonded": true, "layer2": false, "resetOnDelete": true, "vlanIds": []any{vlanUUID, dataUUID},
		}},
		"status": map[string]any{
			"conditions": conditions("Ready"),
			"atProvider": map[string]any{"bonded": true, "layer2": false, "vlanIds": []any{dataUUID, vlanUUID}},
		},
	}
	both := view{"portId": "P0", "bonded": true, "layer2": false, "resetOnDelete": true, "vlanIds": []any{vlanUUID, dataUUID}}
	one := view{"portId": "P0", "bonded": true, "layer2": false, "resetOnDelete": true, "vlanIds": []any{vlanUUID}}
	unknownPorts, noDevice, leaving, lost := worker("m1"), worker("m1"), worker("m1"), worker("m1")
	unknownPorts.Ports, noDevice.Device, leaving.Deleting, lost.Pool = nil, "", true, "gone"

	type want struct {
		port  view
		kept  []string
		ready object.Ready
		why   string
	}
	cases := map[string]struct {
		reason   string
		claim    string
		facts    infra.Facts
		observed map[string]object.View
		want     want
	}{
		"PortsUnknown": {
			reason: "Without the port's UUID nothing is composed.", claim: twoVLANs, facts: facts(unknownPorts),
		},
		"PortsKnown": {
			reason: "With the UUID the port is composed.", claim: twoVLANs, facts: facts(worker("m1")),
			want: want{port: both, why: `Port "m1-bond0" is not created yet`},
		},
		"PortsForgotten": {
			reason: "The composed port tells its UUID when nothing else does.", claim: twoVLANs, facts: facts(unknownPorts),
			observed: map[string]object.View{"machine-m1-port-bond0": attached},
			want:     want{port: both, ready: object.IsReady},
		},
		"NoServerYet": {
			reason: "A machine without a server has no ports.", claim: twoVLANs, facts: facts(noDevice),
		},
		"ServerForgotten": {
			reason: "A gap in what is known of the server changes nothing.", claim: twoVLANs, facts: facts(noDevice),
			observed: map[string]object.View{"machine-m1-port-bond0": attached},
			want:     want{kept: []string{"machine-m1-port-bond0"}},
		},
		"VLANMissing": {
			reason: "Nothing is attached as long as one VLAN is unknown.", claim: twoVLANs,
			facts: infra.Facts{MachinesKnown: true, Machines: []infra.Machine{worker("m1")}, VLANs: map[string]string{"storage": vlanUUID}},
		},
		"VLANForgotten": {
			reason: "A VLAN that is not observed for once is not detached.", claim: twoVLANs,
			facts:    infra.Facts{MachinesKnown: true, Machines: []infra.Machine{worker("m1")}, VLANs: map[string]string{"storage": vlanUUID}},
			observed: map[string]object.View{"machine-m1-port-bond0": attached},
			want:     want{port: both, why: `port bond0 of machine "m1" waits until the VLAN of network "data" exists`},
		},
		"NetworkLeaves": {
			reason: "The network that left the claim is detached first.", claim: baseClaim, facts: facts(worker("m1")),
			observed: map[string]object.View{"machine-m1-port-bond0": attached},
			want:     want{port: one, why: `port bond0 of machine "m1" is not as asked for yet`},
		},
		"MachineLeaves": {
			reason: "A machine on its way out keeps its ports as they are.", claim: twoVLANs, facts: facts(leaving),
			observed: map[string]object.View{"machine-m1-port-bond0": attached},
			want:     want{kept: []string{"machine-m1-port-bond0"}},
		},
		"PoolGone": {
			reason: "So does one whose pool is not in the claim any more.", claim: twoVLANs, facts: facts(lost),
			observed: map[string]object.View{"machine-m1-port-bond0": attached},
			want:     want{kept: []string{"machine-m1-port-bond0"}},
		},
		"MachinesUnknown": {
			reason: "A list of machines that was not fetched gives up nothing.", claim: twoVLANs, facts: infra.Facts{},
			observed: map[string]object.View{"machine-m1-port-bond0": attached},
			want:     want{kept: []string{"machine-m1-port-bond0"}},
		},
		"MachineGone": {
			reason: "The ports of a machine that is gone are given up.", claim: twoVLANs, facts: facts(),
			observed: map[string]object.View{"machine-m1-port-bond0": attached},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, tc.claim, "")
			maps.Copy(c.Observed, tc.observed)
			i := compose(t, c, tc.facts, nil)
			o := byKey(i)["machine-m1-port-bond0"]
			got := want{port: parameters(t, i, "machine-m1-port-bond0"), kept: i.Kept, ready: o.Ready, why: o.Why}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPortThatDoesNotExist(t *testing.T) {
	claim := strings.ReplaceAll(baseClaim, "name: bond0, networks", "name: bond1, networks")
	_, err := Platform{}.Compose(clusterOf(t, claim, ""), facts(worker("m1")), nil)
	if err == nil {
		t.Fatal("a port that the server does not have: got no error")
	}
	for _, part := range []string{"m1", `"bond1"`, "bond0, eth0, eth1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error %q does not name %s", err, part)
		}
	}
}

// TestPortThatWasNeverThere: a claim that is corrected is not held up by the machines
// that were made before.
func TestPortThatWasNeverThere(t *testing.T) {
	wrong := strings.ReplaceAll(baseClaim, "name: bond0, networks", "name: bond1, networks")
	half := strings.ReplaceAll(twoVLANs, "networks: [{name: data}, {name: storage}]}", "networks: [{name: storage}]}, {name: bond1, networks: [{name: data}]}")
	outdated, unknownPorts := worker("m1"), worker("m1")
	outdated.Outdated, unknownPorts.Ports = true, nil
	cases := map[string]struct {
		reason  string
		made    string
		claim   string
		machine infra.Machine
		// want are the VLANs of the machine's ports by key.
		want map[string][]string
		err  string
	}{
		"Wrong":        {"The claim asks for the port now.", wrong, wrong, worker("m1"), nil, `no port "bond1"`},
		"Corrected":    {"Its old machine has nothing that it was made for.", wrong, baseClaim, worker("m1"), nil, ""},
		"Half":         {"What its server has is as it was made for.", half, twoVLANs, worker("m1"), map[string][]string{"machine-m1-port-bond0": {vlanUUID}}, ""},
		"OtherServer":  {"Servers of another type may have the port.", wrong, strings.ReplaceAll(wrong, "c3.small", "m3.large"), outdated, nil, ""},
		"PortsUnknown": {"Nobody knows yet that the server lacks it.", wrong, wrong, unknownPorts, nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, tc.claim, "")
			before := compose(t, clusterOf(t, tc.made, ""), infra.Facts{}, nil)
			for key, o := range byKey(before) {
				if view(o.Body).String("kind") == templateKind {
					c.Observed[key] = seen(o, nil)
				}
			}
			tc.machine.Template = before.Machines["general"].Name
			got, err := Platform{}.Compose(c, facts(tc.machine), nil)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
			}
			ports := map[string][]string{}
			for _, o := range got.Objects {
				if v := view(o.Body); v.String("kind") == portKind {
					ports[o.Key] = v.Strings("spec", "forProvider", "vlanIds")
				}
			}
			if diff := cmp.Diff(tc.want, ports, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A VLAN goes only when no port is seen to carry it, and only then.
func TestVLANOutlivesItsPorts(t *testing.T) {
	vlan := byKey(compose(t, clusterOf(t, twoVLANs, ""), infra.Facts{}, nil))["vlan-1001"]
	observedVLAN := seen(vlan, map[string]any{"atProvider": map[string]any{"id": dataUUID}})
	observedVLAN["metadata"] = map[string]any{"name": view(vlan.Body).String("metadata", "name"), "annotations": map[string]any{externalName: dataUUID}}
	port := func(asked, is []any) view {
		return view{
			"apiVersion": metalAPI, "kind": "Port",
			"metadata": map[string]any{"labels": map[string]any{machineLabel: "m1", portLabel: "bond0"}},
			"spec":     map[string]any{"forProvider": map[string]any{"portId": "P0", "bonded": true, "vlanIds": asked}},
			"status":   map[string]any{"atProvider": map[string]any{"bonded": true, "vlanIds": is}},
		}
	}
	cases := map[string]struct {
		reason string
		port   view
		want   []string
	}{
		"StillWanted":   {reason: "The port is still asked to carry it.", port: port([]any{vlanUUID, dataUUID}, []any{vlanUUID, dataUUID}), want: []string{"vlan-1001"}},
		"StillAttached": {reason: "The port still carries it.", port: port([]any{vlanUUID}, []any{vlanUUID, dataUUID}), want: []string{"vlan-1001"}},
		"Detached":      {reason: "Nothing carries it.", port: port([]any{vlanUUID}, []any{vlanUUID})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, baseClaim, "")
			c.Observed["vlan-1001"] = observedVLAN
			c.Observed["machine-m1-port-bond0"] = tc.port
			got := compose(t, c, facts(worker("m1")), nil)
			if diff := cmp.Diff(tc.want, got.Kept, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nkept: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// When a gateway leaves the claim, what it uses follows one step after another.
func TestGatewayGoesBeforeWhatItUses(t *testing.T) {
	all := clusterOf(t, vrfClaim, "")
	claim := strings.Replace(vrfClaim, "- {name: own, vxlan: 1003, assignment: none, metalGateway: {privateSubnetSize: 16}}\n", "", 1)
	claim = strings.ReplaceAll(claim, ", metalGateway: {vrf: core}", "")
	claim = strings.Replace(claim, "- {name: core, description: Routes between the VLANs, localASN: 4200000000, ipRanges: [10.60.20.0/22, 10.60.10.0/24]}\n", "", 1)
	rest := clusterOf(t, claim, "")
	for key, o := range byKey(compose(t, all, infra.Facts{}, nil)) {
		rest.Observed[key] = seen(o, nil)
	}
	gone := func(prefix string) {
		maps.DeleteFunc(rest.Observed, func(key string, _ object.View) bool { return strings.HasPrefix(key, prefix) })
	}
	kinds := func() []string {
		kept := strings.Join(compose(t, rest, infra.Facts{}, nil).Kept, " ")
		return strings.Fields(regexp.MustCompile(`-[0-9a-f]{8}\b`).ReplaceAllString(kept, ""))
	}
	want := []string{
		"reservation-1000", "reservation-1001",
		"usage-reservation-1000-by-gateway-1000", "usage-reservation-1001-by-gateway-1001",
		"usage-vlan-1000-by-gateway-1000", "usage-vlan-1001-by-gateway-1001", "usage-vlan-1003-by-gateway-1003",
		"usage-vrf-core-by-reservation-1000", "usage-vrf-core-by-reservation-1001",
		"vlan-1003", "vrf-core",
	}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Errorf("gateways are given up, what they use stays: -want, +got:\n%s", diff)
	}
	gone("gateway-")
	want = []string{"usage-vrf-core-by-reservation-1000", "usage-vrf-core-by-reservation-1001", "vrf-core"}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Errorf("without gateways their reservations go, and the VRF stays: -want, +got:\n%s", diff)
	}
	gone("reservation-")
	if got := kinds(); len(got) > 0 {
		t.Errorf("without reservations nothing stays: got %v", got)
	}
}

func TestRequests(t *testing.T) {
	delivery := infra.Delivery{"m1": {"vlan1000.ipv4": "10.60.10.2/24", "vlan1000.ipv6": "2001:db8::2/64"}}
	observed := view{
		"apiVersion": httpAPI, "kind": "Request", "metadata": map[string]any{"labels": map[string]any{machineLabel: "m1"}},
		"status": map[string]any{"conditions": conditions("Ready", "Synced")},
	}
	noDevice := worker("m1")
	noDevice.Device = ""
	type want struct {
		composed bool
		ready    object.Ready
		kept     []string
	}
	cases := map[string]struct {
		reason   string
		facts    infra.Facts
		delivery infra.Delivery
		observed map[string]object.View
		want     want
	}{
		"NoServer":    {reason: "Without a server there is nowhere to write.", facts: facts(noDevice), delivery: delivery},
		"NoAddress":   {reason: "Without an address on record there is nothing to write.", facts: facts(worker("m1"))},
		"Delivers":    {reason: "A server with addresses gets them.", facts: facts(worker("m1")), delivery: delivery, want: want{composed: true}},
		"Delivered":   {reason: "The request is ready when its condition is.", facts: facts(worker("m1")), delivery: delivery, observed: map[string]object.View{"machine-m1-custom-data": observed}, want: want{composed: true, ready: object.IsReady}},
		"Gap":         {reason: "What was delivered stays while nothing is known of it.", facts: facts(worker("m1")), observed: map[string]object.View{"machine-m1-custom-data": observed}, want: want{kept: []string{"machine-m1-custom-data"}}},
		"NotFetched":  {reason: "A list that was not fetched gives up nothing.", facts: infra.Facts{}, observed: map[string]object.View{"machine-m1-custom-data": observed}, want: want{kept: []string{"machine-m1-custom-data"}}},
		"MachineGone": {reason: "A machine that is gone needs no request.", facts: facts(), observed: map[string]object.View{"machine-m1-custom-data": observed}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, baseClaim, "")
			maps.Copy(c.Observed, tc.observed)
			i := compose(t, c, tc.facts, tc.delivery)
			o, composed := byKey(i)["machine-m1-custom-data"]
			got := want{composed: composed, ready: o.Ready, kept: i.Kept}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// What a request delivers is what the facts read back.
func TestDeliveryReadsBack(t *testing.T) {
	delivery := infra.Delivery{"m1": {"vlan1000.ipv4": "10.60.10.2/24", "vlan1000.ipv6": "2001:db8::2/64"}}
	c := clusterOf(t, baseClaim, "")
	for key, o := range byKey(compose(t, c, facts(worker("m1")), delivery)) {
		c.Observed[key] = view(o.Body)
	}
	got, err := Platform{}.Facts(t.Context(), infra.Sources{Cluster: c, Status: view{}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]map[string]string(delivery), got.Delivered); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestReadiness(t *testing.T) {
	cases := map[string]struct {
		reason string
		key    string
		status map[string]any
		ready  object.Ready
		why    string
	}{
		"Template":     {reason: "A template does its work as soon as it exists.", key: "pool-general-machines-94d21f41", ready: object.IsReady},
		"ClusterNew":   {reason: "The cluster waits for its address.", key: "packet-cluster", why: `PacketCluster "edge-1a2b3c" has no control plane address yet`},
		"ClusterReady": {reason: "The provider says when it is ready.", key: "packet-cluster", status: map[string]any{"ready": true}, ready: object.IsReady},
		"VLANNew":      {reason: "A managed resource without conditions is not ready.", key: "vlan-1000", why: `Vlan "edge-1a2b3c-vlan-1000" is not ready`},
		"VLANReady":    {reason: "The condition Ready decides.", key: "vlan-1000", status: map[string]any{"conditions": conditions("Ready", "Synced")}, ready: object.IsReady},
		"VLANBehind":   {reason: "The condition Ready decides alone.", key: "vlan-1000", status: map[string]any{"conditions": conditions("Ready", "!Synced")}, ready: object.IsReady},
		"VLANFailed": {
			reason: "The error of the last operation says most.", key: "vlan-1000",
			status: map[string]any{"conditions": append(conditions("!Ready", "Synced"), map[string]any{
				"type": "LastAsyncOperation", "status": "False", "message": "apply failed:\n  422 vxlan is taken",
			})},
			why: `Vlan "edge-1a2b3c-vlan-1000" is not ready: apply failed: 422 vxlan is taken`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, baseClaim, "")
			c.Observed[tc.key] = seen(byKey(compose(t, c, infra.Facts{}, nil))[tc.key], tc.status)
			o := byKey(compose(t, c, infra.Facts{}, nil))[tc.key]
			if o.Ready != tc.ready || o.Why != tc.why {
				t.Errorf("%s\ngot %v, %q; want %v, %q", tc.reason, o.Ready, o.Why, tc.ready, tc.why)
			}
		})
	}
}

func TestExternalName(t *testing.T) {
	seed := view(byKey(compose(t, clusterOf(t, baseClaim, ""), infra.Facts{}, nil))["vlan-1000"].Body).
		String("metadata", "annotations", externalName)
	if !uuidPattern.MatchString(seed) {
		t.Fatalf("the first external name %q is no UUID", seed)
	}
	cases := map[string]struct {
		reason   string
		observed view
		want     string
	}{
		"New":    {reason: "A new object has a UUID of nothing.", want: seed},
		"Seeded": {reason: "It keeps it until the provider knows better.", observed: view{"metadata": map[string]any{"annotations": map[string]any{externalName: seed}}}, want: seed},
		"Overwritten": {
			reason: "A run that read too early has put the seed back; the status knows better, or the VLAN would be made twice.",
			observed: view{
				"metadata": map[string]any{"annotations": map[string]any{externalName: seed}},
				"status":   map[string]any{"atProvider": map[string]any{"id": vlanUUID}},
			},
			want: vlanUUID,
		},
		"Created": {reason: "Then the provider's own is sent.", observed: view{"metadata": map[string]any{"annotations": map[string]any{externalName: vlanUUID}}}, want: vlanUUID},
		"Lost":    {reason: "An annotation that got lost is found in the status.", observed: view{"status": map[string]any{"atProvider": map[string]any{"id": vlanUUID}}}, want: vlanUUID},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, baseClaim, "")
			if tc.observed != nil {
				c.Observed["vlan-1000"] = tc.observed
			}
			got := view(byKey(compose(t, c, infra.Facts{}, nil))["vlan-1000"].Body).String("metadata", "annotations", externalName)
			if got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAdoptedStaysAdopted(t *testing.T) {
	observed := seen(byKey(compose(t, clusterOf(t, adoptedClaim, ""), infra.Facts{}, nil))["vlan-1001"], nil)
	c := clusterOf(t, strings.Replace(adoptedClaim, "vlanID: 8f0b6c1e-0000-4000-8000-000000000001, ", "", 1), "")
	c.Observed["vlan-1001"] = observed
	_, err := Platform{}.Compose(c, infra.Facts{}, nil)
	if err == nil || !strings.Contains(err.Error(), "8f0b6c1e-0000-4000-8000-000000000001") || !strings.Contains(err.Error(), `"backup"`) {
		t.Errorf("taking over an adopted VLAN: got error %v, want one that names the network and the ID", err)
	}
}

func TestTemplateNamesFollowContent(t *testing.T) {
	names := func(claim string) map[string]string {
		out := map[string]string{}
		for pool, ref := range compose(t, clusterOf(t, claim, ""), infra.Facts{}, nil).Machines {
			out[pool] = ref.Name
		}
		return out
	}
	before := names(baseClaim)
	cases := map[string]struct {
		reason string
		edit   func(string) string
		want   []string
	}{
		"MachineType": {reason: "Another machine type is another template, for its pool.", edit: func(s string) string {
			i := strings.LastIndex(s, "c3.small.x86")
			return s[:i] + "m3.large.x86" + s[i+len("c3.small.x86"):]
		}, want: []string{"general"}},
		"Replicas": {reason: "Numbers of machines are not in a template.", edit: func(s string) string { return strings.Replace(s, "replicas: 2", "replicas: 3", 1) }},
		"Labels":   {reason: "Labels of nodes are not in a machine template.", edit: func(s string) string { return s + "  labels: {a: b}\n" }},
		"MTU":      {reason: "The network is not in a machine template.", edit: func(s string) string { return strings.Replace(s, "vxlan: 1000,", "vxlan: 1000, mtu: 9000,", 1) }},
		"TagOrder": {reason: "Tags are a set.", edit: func(s string) string {
			return strings.Replace(s, "[team-blue, rack-2, team-blue]", "[rack-2, team-blue]", 1)
		}},
		"KeyOrder": {reason: "Keys are a set.", edit: func(s string) string {
			return strings.Replace(s, `"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHb ops", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHa dev"`, `"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHa dev", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHb ops"`, 1)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := tc.edit(baseClaim)
			if claim == baseClaim {
				t.Fatal("the edit changes nothing")
			}
			var changed []string
			for pool, after := range names(claim) {
				if after != before[pool] {
					changed = append(changed, pool)
				}
			}
			if diff := cmp.Diff(tc.want, changed, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nchanged names: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHardwareReservationIsPassedOnlyWhereHonoured(t *testing.T) {
	claim := strings.Replace(baseClaim, "  replicas: 2\n", "  replicas: 2\n  hardwareReservationID: next-available\n", 1)
	for input, want := range map[string]string{"": "", "equinix: {hardwareReservations: true}": "next-available"} {
		i := compose(t, clusterOf(t, claim, input), infra.Facts{}, nil)
		for _, o := range i.Objects {
			if view(o.Body).String("metadata", "name") != i.Machines["general"].Name {
				continue
			}
			if got := view(o.Body).String("spec", "template", "spec", "hardwareReservationID"); got != want {
				t.Errorf("input %q: got hardwareReservationID %q, want %q", input, got, want)
			}
		}
	}
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// Keys and names are DNS labels of at most 63 characters and differ, however
// long and alike the names are that they are made from.
func TestKeysAndNames(t *testing.T) {
	label := rapid.StringMatching(`[a-z]([a-z0-9-]{0,38}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		c := clusterOf(t, vrfClaim, "")
		c.Name = rapid.StringMatching(`[a-z]([a-z0-9-]{0,39}[a-z0-9])?`).Draw(t, "cluster")
		vrf := label.Draw(t, "vrf")
		c.Spec.VRFs[0].Name = vrf
		for i := range c.Spec.Networks {
			if g := c.Spec.Networks[i].MetalGateway; g != nil && g.VRF == "core" {
				g.VRF = vrf
			}
		}
		pool := label.Filter(func(s string) bool { return s != "control-plane" }).Draw(t, "pool")
		c.Spec.Workers = []spec.WorkerPool{{Name: pool, Machines: c.Spec.ControlPlane.Machines}}
		cp := c.Plan.Pools[0]
		cp.Name = pool
		c.Plan.Pools = append(slices.Clone(c.Plan.Pools), cp)
		long := strings.Repeat("m", 60)
		machines := []infra.Machine{
			{Name: long + "-1", Pool: pool, Device: device1, Ports: map[string]string{"bond0": "P0"}},
			{Name: long + "-2", Pool: pool, Device: device1, Ports: map[string]string{"bond0": "P1"}},
		}
		f := infra.Facts{MachinesKnown: true, Machines: machines, VLANs: map[string]string{"front": vlanUUID, "back": dataUUID}}
		d := infra.Delivery{machines[0].Name: {"k": "v"}, machines[1].Name: {"k": "v"}}
		keys, names := map[string]bool{}, map[string]bool{}
		for _, o := range compose(t, c, f, d).Objects {
			name := view(o.Body).String("kind") + "/" + view(o.Body).String("metadata", "name")
			for _, text := range []string{o.Key, strings.SplitN(name, "/", 2)[1]} {
				if len(text) > 63 || !dnsLabel.MatchString(text) {
					t.Fatalf("%q is no DNS label of at most 63 characters", text)
				}
			}
			if keys[o.Key] || names[name] {
				t.Fatalf("key %q or name %q is used twice", o.Key, name)
			}
			keys[o.Key], names[name] = true, true
		}
	})
}

// Objects hold the generic kinds of values only: nothing else fits into a
// response.
func TestBodiesAreGeneric(t *testing.T) {
	var check func(path string, v any)
	check = func(path string, v any) {
		switch v := v.(type) {
		case string, bool, int64, float64:
		case map[string]any:
			for k, item := range v {
				check(path+"."+k, item)
			}
		case []any:
			for _, item := range v {
				check(path+"[]", item)
			}
		default:
			t.Errorf("%s is a %T", path, v)
		}
	}
	for _, claim := range []string{twoVLANs, vrfClaim, adoptedClaim} {
		i := compose(t, clusterOf(t, claim, ""), facts(worker("m1")), infra.Delivery{"m1": {"k": "v"}})
		for _, o := range i.Objects {
			check(o.Key, o.Body)
		}
	}
}
