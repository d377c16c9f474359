package function_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/change"
)

// stays checks the templates of a pool that are desired.
func (l *living) templates(pool, reason string, want ...string) map[string]object {
	l.t.Helper()
	got := l.reconcile()
	l.unchanged(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, templatesOf(got, pool)); diff != "" {
		l.t.Errorf("%s: templates of pool %s: -want, +got:\n%s", reason, pool, diff)
	}
	return got
}

// TestTemplatesTakeTurns edits a pool again and again while it rolls.
func TestTemplatesTakeTurns(t *testing.T) {
	l := settled(t)
	old := l.ofKind("MachineSet")[0]
	first := templatesOf(l.observed, "general")
	config := refersTo(l.observed[general])

	l.worker()["machineType"] = "m3.large.x86"
	second := refersTo(l.desired()[general])
	all := slices.Concat(first, second)
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	if len(first) != 2 || len(all) != 3 {
		t.Fatalf("another machine type is another machine template and the same bootstrap: %v, then %v", first, second)
	}
	got := l.templates("general", "both while the deployment goes from one to the other", all...)
	if diff := cmp.Diff(second, refersTo(got[general])); diff != "" {
		t.Errorf("the deployment names the new template: -want, +got:\n%s", diff)
	}

	l.set("second", 1)
	l.progress(general, 3, 1)
	l.templates("general", "both while it rolls", all...)

	l.worker()["machineType"] = "s3.xlarge.x86"
	third := refersTo(l.desired()[general])
	all = slices.Compact(slices.Sorted(slices.Values(slices.Concat(all, third))))
	l.templates("general", "edited again on the way: every template that a set may read", all...)
	l.set("third", 1)
	l.progress(general, 3, 1)
	l.observed[general]["spec"].(object)["paused"] = true
	l.templates("general", "paused, or stuck: nothing goes", all...)

	l.worker()["machineType"] = "c3.small.x86"
	got = l.templates("general", "taken back: the first one again, under its name, and the others while they roll", all...)
	if diff := cmp.Diff(config, refersTo(got[general])); diff != "" {
		t.Errorf("taken back to the template that is still there: -want, +got:\n%s", diff)
	}
	l.set("second", 0)
	l.set("third", 0)
	l.set(nameOf(old), 2)
	l.progress(general, 2, 1)
	l.templates("general", "sets at zero are where a rollout goes back to while it is not over", all...)
	l.progress(general, 2, 2)
	l.templates("general", "over: only what is named", first...)
}

// TestTemplatesOfNoMachines: a pool without machines changes its template too.
func TestTemplatesOfNoMachines(t *testing.T) {
	l := settled(t)
	l.worker()["replicas"] = 0
	l.reconcile()
	l.set(nameOf(l.ofKind("MachineSet")[0]), 0)
	l.progress(general, 0, 0)
	first := templatesOf(l.observed, "general")
	l.templates("general", "scaled to zero: the deployment still names them", first...)
	l.worker()["machineType"] = "m3.large.x86"
	second := refersTo(l.desired()[general])
	both := slices.Compact(slices.Sorted(slices.Values(slices.Concat(first, second))))
	l.templates("general", "edited at zero: both until the deployment has taken it in", both...)
	l.progress(general, 0, 0)
	l.templates("general", "taken in: nobody makes machines from the old one", second...)
}

// TestTemplateOfControlPlane does the same with what the control plane's
// machines are made from.
func TestTemplateOfControlPlane(t *testing.T) {
	l := settled(t)
	first := templatesOf(l.observed, "control-plane")
	cp := l.spec()["controlPlane"].(object)
	cp["machineType"] = "m3.large.x86"
	second := refersTo(l.desired()["control-plane"])
	both := slices.Concat(first, second)
	l.templates("control-plane", "both while the control plane goes from one to the other", both...)
	l.progress("control-plane", 4, 1)
	l.templates("control-plane", "both while it rolls", both...)
	cp["machineType"] = "s3.xlarge.x86"
	third := refersTo(l.desired()["control-plane"])
	l.templates("control-plane", "edited again on the way", slices.Concat(both, third)...)
	l.progress("control-plane", 4, 2)
	cp["machineType"] = "c3.small.x86"
	got := l.templates("control-plane", "taken back on the way", slices.Concat(both, third)...)
	if diff := cmp.Diff(first, refersTo(got["control-plane"])); diff != "" {
		t.Errorf("taken back to the template that is still there: -want, +got:\n%s", diff)
	}
	l.progress("control-plane", 3, 3)
	l.templates("control-plane", "over", first...)
}

// TestNetworkComesAndGoes: a VLAN is there before a port carries it, and goes
// only after the last port has let go of it.
func TestNetworkComesAndGoes(t *testing.T) {
	l := settled(t)
	worker := l.workers()[0]
	storage := vlansOf(l.observed, worker, "bond0")
	l.addNetwork("{name: data, vxlan: 1001, ipAddresses: [10.60.20.0/24]}")
	got := l.reconcile()
	if _, made := got["vlan-1001"]; !made {
		t.Error("the VLAN is made at once")
	}
	if diff := cmp.Diff(storage, vlansOf(got, worker, "bond0")); diff != "" {
		t.Errorf("no port waits for a VLAN with what it has: -want, +got:\n%s", diff)
	}
	l.carriedOut()
	if diff := cmp.Diff(storage, vlansOf(l.reconcile(), worker, "bond0")); diff != "" {
		t.Errorf("a server that knows nothing of the network is replaced, not changed: -want, +got:\n%s", diff)
	}
	l.replaced()
	l.reconcile()
	if got := vlansOf(l.observed, worker, "bond0"); len(got) != 2 {
		t.Errorf("the new server has both VLANs: got %v", got)
	}
	l.carriedOut()
	l.reconcile()

	l.removeNetwork("data")
	got = l.reconcile()
	if diff := cmp.Diff(storage, vlansOf(got, worker, "bond0")); diff != "" {
		t.Errorf("what the claim has no network for is detached at once: -want, +got:\n%s", diff)
	}
	if _, stays := got["vlan-1001"]; !stays {
		t.Error("the VLAN stays while the port still carries it")
	}
	l.carriedOut()
	if _, stays := l.reconcile()["vlan-1001"]; stays {
		t.Error("nothing carries the VLAN any more")
	}
}

// TestNetworkMovesToAnotherPort: servers that were set up for the bond stay on
// the bond, and those that come in their place are set up for the other port. No
// server is off its network for a moment.
func TestNetworkMovesToAnotherPort(t *testing.T) {
	l := settled(t)
	old := l.workers()[0]
	storage := vlansOf(l.observed, old, "bond0")
	l.worker()["ports"] = parse(t, "{ports: [{name: eth1, bonded: false, networks: [{name: storage}]}]}")["ports"]
	got := l.reconcile()
	before := refersTo(got[general])
	check := func(when string) {
		t.Helper()
		for _, name := range l.workers() {
			if _, ours := got["machine-"+name+"-port-bond0"]; ours {
				if diff := cmp.Diff(storage, vlansOf(got, name, "bond0")); diff != "" {
					t.Errorf("%s: the bond of %s: -want, +got:\n%s", when, name, diff)
				}
			}
		}
		if _, made := got["machine-"+old+"-port-eth1"]; made {
			t.Errorf("%s: nothing happens to another port of a server that was not set up for it", when)
		}
	}
	check("just edited")
	l.carriedOut()
	got = l.reconcile()
	check("while it rolls")
	if diff := cmp.Diff(before, refersTo(got[general])); diff != "" {
		t.Errorf("the rollout is to the same templates: -want, +got:\n%s", diff)
	}

	// A new machine comes, and an old one goes.
	l.set("second", 1)
	l.progress(general, 3, 1)
	l.join("second-x", "second")
	got = l.reconcile()
	got = l.reconcile()
	check("with the first new server")
	if diff := cmp.Diff(storage, vlansOf(got, "second-x", "eth1")); diff != "" {
		t.Errorf("the new server has the network on eth1: -want, +got:\n%s", diff)
	}
	if _, made := got["machine-second-x-port-bond0"]; made {
		t.Error("the new server's bond is as it comes")
	}
	l.leave(old)
	got = l.reconcile()
	if _, stays := got["machine-"+old+"-port-bond0"]; stays {
		t.Error("the port of a machine that is gone is given up")
	}
	if _, stays := got["vlan-1000"]; !stays {
		t.Error("the VLAN is the cluster's all the time")
	}
}

// join a new worker of a machine set that has reported its network.
func (l *living) join(name, set string) {
	labels := object{"cluster.x-k8s.io/cluster-name": "story-96c288", "l2cluster.io/pool": "general", "cluster.x-k8s.io/set-name": set}
	const device = "00000000-0000-4000-8000-00000000beef"
	for kind, version := range map[string]string{"Machine": "cluster.x-k8s.io/v1beta2", "PacketMachine": "infrastructure.cluster.x-k8s.io/v1beta1"} {
		m := object{"apiVersion": version, "kind": kind, "metadata": object{"name": name, "namespace": "team-a", "labels": labels}}
		put(m, "equinixmetal://"+device, "spec", "providerID")
		if kind == "Machine" {
			put(m, name, "status", "nodeRef", "name")
		} else {
			l.madeAnew(m)
		}
		l.machines = append(l.machines, m)
	}
	ports := l.composite["status"].(object)["ports"].(object)
	ports[name] = object{"bond0": device[:35] + "0", "eth0": device[:35] + "1", "eth1": device[:35] + "2"}
}

// leave takes a machine away.
func (l *living) leave(name string) {
	l.machines = slices.DeleteFunc(l.machines, func(o object) bool { return nameOf(o) == name })
}

// TestUnbondedPortShrinks: two VLANs on a port outside the bond are tagged, and
// one alone is not. A server that was set up for two keeps both until it is
// replaced, or it would lose the other one as well.
func TestUnbondedPortShrinks(t *testing.T) {
	l := settled(t)
	l.worker()["ports"] = parse(t, "{ports: [{name: eth1, bonded: false, networks: [{name: storage}]}]}")["ports"]
	l.addNetwork("{name: data, vxlan: 1001, ipAddresses: [10.60.20.0/24]}")
	for range 6 {
		l.reconcile()
		l.carriedOut()
		l.replaced()
	}
	worker := l.workers()[0]
	both := vlansOf(l.observed, worker, "eth1")
	if len(both) != 2 {
		t.Fatalf("both VLANs are on eth1: got %v", both)
	}
	l.removeNetwork("data")
	got := l.reconcile()
	if diff := cmp.Diff(both, vlansOf(got, worker, "eth1")); diff != "" {
		t.Errorf("the server still tags both: -want, +got:\n%s", diff)
	}
	if _, stays := got["vlan-1001"]; !stays {
		t.Error("the VLAN is still carried")
	}
	l.replaced()
	for range 3 {
		l.reconcile()
		l.carriedOut()
	}
	if got := vlansOf(l.observed, worker, "eth1"); len(got) != 1 || l.observed["vlan-1001"] != nil {
		t.Errorf("the servers that came after tag nothing, and the VLAN goes: got %v", got)
	}
}

// TestOtherVersionFinishesPorts: a server whose ports are not done is brought to
// where its own system expects them, although another one is asked for in its
// place with the same ports.
func TestOtherVersionFinishesPorts(t *testing.T) {
	l := settled(t)
	worker := l.workers()[0]
	key := "machine-" + worker + "-port-bond0"
	storage := vlansOf(l.observed, worker, "bond0")
	put(l.observed[key], []any{}, "spec", "forProvider", "vlanIds")
	l.worker()["machineType"] = "m3.large.x86"
	if diff := cmp.Diff(storage, vlansOf(l.reconcile(), worker, "bond0")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestRefusedOnRunningCluster(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(*living)
		want   []string
	}{
		"VLAN": {
			reason: "all servers would be off their network at once",
			edit:   func(l *living) { l.network(0)["vxlan"] = 1500 },
			want:   []string{"spec.networks[storage].vxlan: Invalid value: 1500", `cannot change the VLAN of network "storage" from 1000 to 1500`, "carries it", "add a network of another name, with VLAN 1500 and other addresses"},
		},
		"Subnet": {
			reason: "the servers go on using addresses of the old one",
			edit: func(l *living) {
				l.network(0)["ipAddresses"] = []any{"10.60.99.0/24"}
				delete(l.network(0), "assignmentRanges")
				delete(l.network(0), "gateway")
			},
			want: []string{"spec.networks[storage].ipAddresses", "10.60.99.0/24", `cannot change the subnet of network "storage"`, "10.60.10.0/24"},
		},
		"TwoMinorVersions": {
			reason: "one minor version at a time",
			edit:   func(l *living) { l.spec()["kubernetesVersion"] = "v1.36.0" },
			want:   []string{"spec.kubernetesVersion", `"v1.36.0"`, "runs v1.34.2", "go to v1.35 first"},
		},
		"OlderMinorVersion": {
			reason: "never down",
			edit:   func(l *living) { l.spec()["kubernetesVersion"] = "v1.33.5" },
			want:   []string{"spec.kubernetesVersion", `"v1.33.5"`, "runs v1.34.2 already", "put v1.34 back"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := settled(t)
			tc.edit(l)
			got := fatal(l.run().Response)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s: want %q in %q", tc.reason, want, got)
				}
			}
		})
	}
}

// TestNetworkWithAnotherName: the name is only a word.
func TestNetworkWithAnotherName(t *testing.T) {
	l := settled(t)
	l.network(0)["name"] = "disks"
	for _, pool := range []object{l.worker(), l.spec()["controlPlane"].(object)} {
		pool["ports"].([]any)[0].(object)["networks"] = []any{object{"name": "disks"}}
	}
	worker := l.workers()[0]
	if diff := cmp.Diff(vlansOf(l.observed, worker, "bond0"), vlansOf(l.desired(), worker, "bond0")); diff != "" {
		t.Errorf("the ports stay: -want, +got:\n%s", diff)
	}
}

// TestRoomBeforeRollout: where the range has no address for one machine more,
// nothing is changed and the claim says what is missing.
func TestRoomBeforeRollout(t *testing.T) {
	l := settled(t)
	l.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.6"}
	l.reconcile()
	before := maps.Clone(l.observed)
	l.network(0)["mtu"] = 9000
	out := l.run()
	if diff := cmp.Diff(map[string]change.Effect{}, change.Pools(change.Onto(before, desired(t, out)))); diff != "" {
		t.Errorf("nothing begins: -want, +got:\n%s", diff)
	}
	c := conditionOf(out.Response, "AddressesAllocated")
	for _, want := range []string{
		"pool control-plane keeps its machines as they are", "pool general keeps its machines as they are",
		"network storage (VLAN 1000, 10.60.10.0/24): needs 6 addresses (5 machines and a surge of 1), has 5",
		"extend the assignment range, or set rollout.maxSurge: 0",
	} {
		if c.GetReason() != "RolloutHeld" || !strings.Contains(c.GetMessage(), want) {
			t.Errorf("want %q in %s: %q", want, c.GetReason(), c.GetMessage())
		}
	}
	l.reconcile()

	l.worker()["rollout"] = object{"maxSurge": 0}
	want := map[string]change.Effect{"general": change.Rolls}
	if diff := cmp.Diff(want, change.Pools(change.Onto(l.observed, l.desired()))); diff != "" {
		t.Errorf("the user said so for one pool: -want, +got:\n%s", diff)
	}
	delete(l.worker(), "rollout")

	l.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.7"}
	want = map[string]change.Effect{"control-plane": change.Rolls}
	if diff := cmp.Diff(want, change.Pools(change.Onto(l.observed, l.desired()))); diff != "" {
		t.Errorf("one address more lets one pool begin: -want, +got:\n%s", diff)
	}
	l.rollsAlone()

	l.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.8"}
	want = map[string]change.Effect{"control-plane": change.Rolls, "general": change.Rolls}
	out = l.run()
	if diff := cmp.Diff(want, change.Pools(change.Onto(l.observed, desired(t, out)))); diff != "" {
		t.Errorf("two addresses more let both begin, without a hand: -want, +got:\n%s", diff)
	}
	if c := conditionOf(out.Response, "AddressesAllocated"); c.GetReason() == "RolloutHeld" {
		t.Errorf("nothing is held any more: %q", c.GetMessage())
	}
}

// rollsAlone lets the control plane begin to roll where one address is spare, and
// looks at the workers until its first new machine is there.
func (l *living) rollsAlone() {
	l.t.Helper()
	alone := *l
	alone.observed, alone.composite = maps.Clone(l.observed), maps.Clone(l.composite)
	before := refersTo(l.observed[general])
	for _, step := range []struct {
		when string
		then func()
	}{
		{"edited", func() {}},
		{"applied", func() {}},
		{"still not taken in", func() { alone.progress("control-plane", 3, 0) }},
		{"taken in", func() { alone.progress("control-plane", 4, 1) }},
		{"the first new machine is there", func() {}},
	} {
		alone.reconcile()
		if diff := cmp.Diff(before, refersTo(alone.observed[general])); diff != "" {
			l.t.Errorf("%s: the workers begin as well: -before, +after:\n%s", step.when, diff)
		}
		step.then()
	}
	if at(alone.observed["control-plane"], "metadata", "generation") == at(l.observed["control-plane"], "metadata", "generation") {
		l.t.Error("the control plane never began")
	}
}

// TestWorkersAfterControlPlane: another version goes to the control plane, and
// only when that is done to the workers.
func TestWorkersAfterControlPlane(t *testing.T) {
	l := settled(t)
	before := refersTo(l.observed[general])
	l.spec()["kubernetesVersion"] = "v1.35.1"
	versions := func() []any {
		return []any{at(l.observed["control-plane"], "spec", "version"), at(l.observed[general], "spec", "template", "spec", "version")}
	}
	check := func(when string, want ...any) {
		t.Helper()
		l.reconcile()
		if diff := cmp.Diff(want, versions()); diff != "" {
			t.Errorf("%s: versions of control plane and workers: -want, +got:\n%s", when, diff)
		}
	}
	check("edited", "v1.35.1", "v1.34.2")
	if diff := cmp.Diff(before, refersTo(l.observed[general])); diff != "" {
		t.Errorf("the workers' templates stay too: -want, +got:\n%s", diff)
	}
	check("not taken in", "v1.35.1", "v1.34.2")
	l.progress("control-plane", 4, 2)
	check("on the way", "v1.35.1", "v1.34.2")
	c := conditionOf(l.run().Response, "ClusterAvailable")
	if want := "pool general waits with Kubernetes v1.35.1 until the control plane is done with it: 2 of its 4 machines are up to date"; !strings.Contains(c.GetMessage(), want) {
		t.Errorf("want %q in %q", want, c.GetMessage())
	}
	l.worker()["replicas"] = 3
	check("scaled meanwhile", "v1.35.1", "v1.34.2")
	if got := at(l.observed[general], "spec", "replicas"); fmt.Sprint(got) != "3" {
		t.Errorf("a pool that waits with its version is scaled all the same: got %v", got)
	}
	l.progress("control-plane", 3, 3)
	check("done", "v1.35.1", "v1.35.1")
}

// TestOrderOfDeletionIsOnRecord: no function is called when a claim is being
// deleted, so what orders the deletion, and what stays, is there from the first
// answer.
func TestOrderOfDeletionIsOnRecord(t *testing.T) {
	claim := documents(t, "../../example/vrf/claim.yaml")[0]
	specOf(claim)["networks"] = append(specOf(claim)["networks"].([]any),
		parse(t, "{name: theirs, vxlan: 1009, vlanID: 11111111-2222-4333-8444-555555555555, ipAddresses: [10.70.0.0/24]}"))
	out := run(t, renderInput(claim))
	got := desired(t, out)
	var usages []string
	for _, key := range ofKind(got, "ClusterUsage") {
		o := got[key]
		usages = append(usages, fmt.Sprintf("%s before %s", at(o, "spec", "by", "kind"), at(o, "spec", "of", "kind")))
	}
	slices.Sort(usages)
	want := []string{
		"Gateway before ReservedIPBlock", "Gateway before ReservedIPBlock", "Gateway before Vlan", "Gateway before Vlan",
		"ReservedIPBlock before Vrf", "ReservedIPBlock before Vrf",
	}
	if diff := cmp.Diff(want, usages); diff != "" {
		t.Errorf("who goes before whom: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]any{"Observe"}, at(got["vlan-1009"], "spec", "managementPolicies")); diff != "" {
		t.Errorf("what was there before is only looked at: -want, +got:\n%s", diff)
	}
	left := fmt.Sprint(out.Response.GetDesired().GetComposite().GetResource().AsMap()["status"].(object)["leftBehind"])
	for _, want := range []string{"the elastic address of the control plane", "cluster-api-provider-packet:cluster-id:routed-", "VLAN 1009 (11111111-2222-4333-8444-555555555555) of network theirs"} {
		if !strings.Contains(left, want) {
			t.Errorf("want %q among what stays: %s", want, left)
		}
	}
}

// TestGatewayGoesFirst plays the removal of a routed network: the gateway, then
// what it stood on, and the VRF at last.
func TestGatewayGoesFirst(t *testing.T) {
	l := settled(t)
	l.spec()["vrfs"] = []any{parse(t, "{name: backbone, localASN: 65000, ipRanges: [10.60.0.0/16]}")}
	l.addNetwork("{name: routed, vxlan: 1001, ipAddresses: [10.60.20.0/24], metalGateway: {vrf: backbone}}")
	for range 3 {
		l.reconcile()
		l.carriedOut()
		l.replaced()
	}
	kinds := func() []string {
		var out []string
		for _, o := range l.observed {
			switch o["kind"] {
			case "Gateway", "ReservedIPBlock", "Vrf":
				out = append(out, o["kind"].(string))
			case "Vlan":
				out = append(out, nameOf(o)[len("story-96c288-"):])
			}
		}
		slices.Sort(out)
		return out
	}
	step := func(when string, want ...string) {
		t.Helper()
		l.reconcile()
		if diff := cmp.Diff(want, kinds()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", when, diff)
		}
		l.carriedOut()
	}
	step("at first", "Gateway", "ReservedIPBlock", "Vrf", "vlan-1000", "vlan-1001")
	l.removeNetwork("routed")
	delete(l.spec(), "vrfs")
	step("the gateway goes at once", "ReservedIPBlock", "Vrf", "vlan-1000", "vlan-1001")
	step("then what it stood on", "Vrf", "vlan-1000")
	step("and the VRF at last", "vlan-1000")
}
