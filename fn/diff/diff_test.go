package diff_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/change"
	"github.com/l2cluster/function-l2cluster/fn/diff"
)

// objects by key.
func objects(t *testing.T, text string) change.Objects {
	t.Helper()
	out := change.Objects{}
	for key, o := range object(t, text) {
		out[key], _ = o.(map[string]any)
	}
	return out
}

// Templates and a deployment of one pool.
const (
	firstTemplate  = `pool-a-machines-11111111: {kind: PacketMachineTemplate, metadata: {name: a-11111111, labels: {l2cluster.io/pool: a}}, spec: {template: {spec: {machineType: small}}}}`
	secondTemplate = `pool-a-machines-22222222: {kind: PacketMachineTemplate, metadata: {name: a-22222222, labels: {l2cluster.io/pool: a}}, spec: {template: {spec: {machineType: large}}}}`
	onFirst        = `pool-a: {kind: MachineDeployment, metadata: {name: a, labels: {l2cluster.io/pool: a}}, spec: {replicas: 2, template: {spec: {infrastructureRef: {kind: PacketMachineTemplate, name: a-11111111}}}}}`
	onSecond       = `pool-a: {kind: MachineDeployment, metadata: {name: a, labels: {l2cluster.io/pool: a}}, spec: {replicas: 2, template: {spec: {infrastructureRef: {kind: PacketMachineTemplate, name: a-22222222}}}}}`
	vlan           = `vlan-1000: {kind: Vlan, metadata: {name: vlan-1000}, spec: {managementPolicies: [Observe]}}`
)

func lines(text ...string) string { return strings.Join(text, "\n") }

// TestCompare is about one pool of two servers, on whose machine type or VLAN an
// edit decides. What is observed and what the function answers is given.
func TestCompare(t *testing.T) {
	// pool that the report is about, or nil.
	pool := func(effect diff.Effect, when diff.When) *diff.Pool {
		return &diff.Pool{Name: "a", Effect: effect, When: when, Servers: 2, Asked: 2, Wanted: 2}
	}
	first, second := lines(firstTemplate, onFirst), lines(secondTemplate, onSecond)
	cases := map[string]struct {
		reason                      string
		observed                    string
		before, after, goal, toGoal string
		pool                        *diff.Pool
		objects                     []string
		due                         []string
	}{
		"Nothing": {
			reason:   "the same answer twice",
			observed: first, before: first, after: first, goal: first, toGoal: first,
		},
		"Rolls": {
			reason:   "the deployment goes from one template to the next, and the first one stays for now",
			observed: first, before: first, after: lines(firstTemplate, second), goal: first, toGoal: second,
			pool:    pool(diff.Rolls, diff.Now),
			objects: []string{"now change MachineDeployment a", "now replace PacketMachineTemplate a-22222222 for a-11111111"},
		},
		"RollsLater": {
			reason:   "the pool waits for something, but will roll",
			observed: first, before: first, after: first, goal: first, toGoal: second,
			pool:    pool(diff.Rolls, diff.Later),
			objects: []string{"later change MachineDeployment a", "later replace PacketMachineTemplate a-22222222 for a-11111111"},
		},
		"TakenBack": {
			reason:   "the first template is still there from before",
			observed: lines(firstTemplate, second), before: lines(firstTemplate, second), after: lines(secondTemplate, first),
			goal: second, toGoal: first,
			pool:    pool(diff.Rolls, diff.Now),
			objects: []string{"now change MachineDeployment a", "now replace PacketMachineTemplate a-11111111 for a-22222222"},
		},
		"DueWithoutTheEdit": {
			reason:   "the observed pool is on another template already before the edit",
			observed: first, before: lines(firstTemplate, second), after: lines(firstTemplate, second), goal: second, toGoal: second,
			due: []string{"a"},
		},
		"HeldBack": {
			reason:   "an edit that stops a rollout before it begins replaces nothing",
			observed: first, before: lines(firstTemplate, second), after: first, goal: second, toGoal: second,
			due: []string{"a"},
			// What the claim asks for did not change, so nothing of it is the
			// edit's doing but that the deployment stays as it is.
			objects: nil,
		},
		"NetworkLeaves": {
			reason:   "the VLAN stays until no port carries it",
			observed: lines(first, vlan), before: lines(first, vlan), after: lines(first, vlan), goal: lines(first, vlan), toGoal: first,
			objects: []string{"later delete Vlan vlan-1000"},
		},
		"NetworkLeft": {
			reason:   "no port carries it",
			observed: lines(first, vlan), before: lines(first, vlan), after: first, goal: lines(first, vlan), toGoal: first,
			objects: []string{"now delete Vlan vlan-1000"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			answer := func(text string) diff.Answer { return diff.Answer{Objects: objects(t, text)} }
			observed := objects(t, tc.observed)
			if d := observed["pool-a"]; d != nil {
				d["status"] = map[string]any{"replicas": int64(2)}
			}
			got := diff.Compare(diff.Input{
				Observed: observed,
				Now:      diff.Edit{Before: answer(tc.before), After: answer(tc.after)},
				Goal:     diff.Edit{Before: answer(tc.goal), After: answer(tc.toGoal)},
			})
			want := []diff.Pool{}
			if tc.pool != nil {
				want = append(want, *tc.pool)
			}
			for i := range got.Pools {
				got.Pools[i].Why = ""
			}
			if d := cmp.Diff(want, got.Pools); d != "" {
				t.Errorf("%s: pools: -want, +got:\n%s", tc.reason, d)
			}
			if d := cmp.Diff(tc.objects, said(got.Objects)); d != "" {
				t.Errorf("%s: objects: -want, +got:\n%s", tc.reason, d)
			}
			if d := cmp.Diff(append([]string{}, tc.due...), got.Due); d != "" {
				t.Errorf("%s: due: -want, +got:\n%s", tc.reason, d)
			}
			if want := tc.pool != nil; got.Replaces != want {
				t.Errorf("%s: servers are replaced: want %v, got %v", tc.reason, want, got.Replaces)
			}
		})
	}
}

// TestWhatFollows is about the ports of one machine, which follow from what was
// observed: they change when something else has come to be.
func TestWhatFollows(t *testing.T) {
	port := func(name string, vlans string) string {
		return name + `: {kind: Port, metadata: {name: ` + name + `, labels: {l2cluster.io/machine: m}}, spec: {forProvider: {vlanIds: [` + vlans + `]}}}`
	}
	cases := map[string]struct {
		reason                      string
		before, after, then, toThen string
		want                        []string
	}{
		"Nothing": {
			reason: "what comes without the edit as well is not its doing",
			before: port("bond0", ""), after: port("bond0", ""), then: port("bond0", "a"), toThen: port("bond0", "a"),
		},
		"Shrinks": {
			reason: "a VLAN leaves at once",
			before: port("bond0", "a, b"), after: port("bond0", "a"), then: port("bond0", "a, b"), toThen: port("bond0", "a"),
			want: []string{"now change Port bond0"},
		},
		"Grows": {
			reason: "a VLAN comes when it exists",
			before: port("bond0", "a"), after: port("bond0", "a"), then: port("bond0", "a"), toThen: port("bond0", "a, b"),
			want: []string{"later change Port bond0"},
		},
		"ShrinksAndGrows": {
			reason: "one VLAN leaves at once, another comes later",
			before: port("bond0", "a"), after: port("bond0", ""), then: port("bond0", "a"), toThen: port("bond0", "b"),
			want: []string{"now change Port bond0", "later change Port bond0"},
		},
		"Moves": {
			reason: "a VLAN leaves one port before it comes to another, whose port is made then",
			before: port("bond0", "a"), after: port("bond0", ""), then: port("bond0", "a"), toThen: port("eth1", "a"),
			want: []string{"now change Port bond0", "later delete Port bond0", "later create Port eth1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			answer := func(text string) diff.Answer { return diff.Answer{Objects: objects(t, text)} }
			got := diff.Compare(diff.Input{
				Observed: objects(t, tc.before),
				Now:      diff.Edit{Before: answer(tc.before), After: answer(tc.after)},
				Then:     diff.Edit{Before: answer(tc.then), After: answer(tc.toThen)},
			})
			if d := cmp.Diff(tc.want, said(got.Objects)); d != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, d)
			}
		})
	}
}

// TestDetached is about the ports of three servers in two pools: what an edit takes
// from them, now or later, is told in a sentence for each VLAN and pool.
func TestDetached(t *testing.T) {
	port := func(machine, vlans string) string {
		return "machine-" + machine + "-port-bond0: {kind: Port, metadata: {name: " + machine + "-bond0, labels: {l2cluster.io/machine: " + machine +
			"}}, spec: {forProvider: {vlanIds: [" + vlans + "]}}}"
	}
	ports := func(a1, a2, cp string) string { return lines(port("a1", a1), port("a2", a2), port("cp", cp)) }
	const (
		vlans  = "\nvlan-7: {kind: Vlan, spec: {forProvider: {vxlan: 7}}, status: {atProvider: {id: seven}}}"
		status = `
machines: [{name: a1, pool: a}, {name: a2, pool: a}, {name: cp, pool: control-plane}]
networks: [{name: storage, vxlan: 8, vlanID: eight}]`
	)
	both := ports("seven, eight", "eight, seven", "eight")
	cases := map[string]struct {
		reason                                string
		observed, before, after, then, toThen string
		want                                  []string
	}{
		"Nothing": {"all stays", both, both, both, both, both, []string{}},
		"Now": {
			"two servers of one pool lose a VLAN at once", both, both, ports("eight", "eight", "eight"), both, ports("eight", "eight", "eight"),
			[]string{`VLAN 7 is detached from ports of 2 servers of pool "a" while they run`},
		},
		"Later": {
			"one server loses what it has now when something else is done", both, both, both, both, ports("seven", "eight, seven", "eight"),
			[]string{`VLAN 8 (network "storage") is detached later from ports of 1 server of pool "a" while they run`},
		},
		"PortGone": {
			"a port that is given up has no VLAN any more", both, both, lines(port("a1", "seven, eight"), port("a2", "eight, seven")), both, both,
			[]string{`VLAN 8 (network "storage") is detached from ports of 1 server of the control plane while they run`},
		},
		"Several": {
			"each VLAN and each pool has a sentence of its own", both, both, ports("", "eight", ""), "", "",
			[]string{
				`VLAN 7 is detached from ports of 2 servers of pool "a" while they run`,
				`VLAN 8 (network "storage") is detached from ports of 1 server of pool "a" while they run`,
				`VLAN 8 (network "storage") is detached from ports of 1 server of the control plane while they run`,
			},
		},
		"Anyway":   {"what goes without the edit as well is not its doing", both, ports("", "", ""), ports("", "", ""), ports("", "", ""), ports("", "", ""), []string{}},
		"NeverHad": {"what the port does not carry yet cannot be taken", ports("eight", "eight", "eight"), both, ports("eight", "eight", "eight"), both, ports("eight", "eight", "eight"), []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			answer := func(text string) diff.Answer {
				return diff.Answer{Objects: objects(t, text), Status: object(t, status)}
			}
			got := diff.Compare(diff.Input{
				Observed: objects(t, tc.observed+vlans),
				Now:      diff.Edit{Before: answer(tc.before), After: answer(tc.after)},
				Then:     diff.Edit{Before: answer(tc.then), After: answer(tc.toThen)},
			})
			if d := cmp.Diff(tc.want, got.Warnings); d != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, d)
			}
		})
	}
}

// TestEmptied: what the machines of a pool without machines would be made from does
// not matter, so no server is replaced, whenever the pool would roll.
func TestEmptied(t *testing.T) {
	empty := strings.Replace(onSecond, "replicas: 2", "replicas: 0", 1)
	first, second := lines(firstTemplate, onFirst), lines(firstTemplate, secondTemplate, empty)
	held := lines(firstTemplate, strings.Replace(onFirst, "replicas: 2", "replicas: 0", 1))
	cases := map[string]struct{ before, after, goal string }{
		"AtOnce": {first, second, first},
		"Held":   {first, held, first},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			answer := func(text string) diff.Answer { return diff.Answer{Objects: objects(t, text)} }
			observed := objects(t, tc.before)
			observed["pool-a"]["status"] = map[string]any{"replicas": int64(2)}
			got := diff.Compare(diff.Input{
				Observed: observed,
				Now:      diff.Edit{Before: answer(tc.before), After: answer(tc.after)},
				Goal:     diff.Edit{Before: answer(tc.goal), After: answer(lines(secondTemplate, empty))},
			})
			want := []diff.Pool{{Name: "a", Effect: diff.Scaled, When: diff.Now, Servers: 2, Asked: 2}}
			for i := range got.Pools {
				got.Pools[i].Why = ""
			}
			if d := cmp.Diff(want, got.Pools); d != "" {
				t.Errorf("-want, +got:\n%s", d)
			}
			warnings := []string{`pool "a" shrinks from 2 to 0: 2 servers are deleted, and nothing takes their place`}
			if d := cmp.Diff(warnings, got.Warnings); d != "" || got.Replaces || !got.Removes {
				t.Errorf("replaces: %v, removes: %v; -want, +got:\n%s", got.Replaces, got.Removes, d)
			}
		})
	}
}

// said is what happens to each object.
func said(list []diff.Object) []string {
	var out []string
	for _, o := range list {
		text := string(o.When) + " " + string(o.Action) + " " + o.Kind + " " + o.Name
		if o.Replaces != nil {
			text += " for " + o.Replaces.Name
		}
		out = append(out, text)
	}
	return out
}

// TestPartners: what goes and what comes are a pair only within one pool.
func TestPartners(t *testing.T) {
	template := func(pool, hash string) string {
		return `pool-` + pool + `-machines-` + hash + `: {kind: PacketMachineTemplate, metadata: {name: ` + pool + `-` + hash + `, labels: {l2cluster.io/pool: ` + pool + `}}}`
	}
	before := objects(t, lines(template("a", "11111111"), template("b", "11111111"), template("c", "11111111")))
	after := objects(t, lines(template("b", "22222222"), template("a", "22222222"), template("d", "11111111")))
	edit := diff.Edit{Before: diff.Answer{Objects: before}, After: diff.Answer{Objects: after}}
	got := diff.Compare(diff.Input{Observed: before, Now: edit, Goal: edit})
	want := []string{
		"now replace PacketMachineTemplate a-22222222 for a-11111111",
		"now replace PacketMachineTemplate b-22222222 for b-11111111",
		"now delete PacketMachineTemplate c-11111111",
		"now create PacketMachineTemplate d-11111111",
	}
	if d := cmp.Diff(want, said(got.Objects)); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
}

// full is an input of which every part of a report follows.
func full(t *testing.T) diff.Input {
	t.Helper()
	status := func(total int64) map[string]any {
		return map[string]any{
			"networks": []any{map[string]any{"name": "storage", "capacity": map[string]any{"total": total, "needed": int64(7)}}},
			"machines": []any{map[string]any{"name": "m1", "pool": "a"}, map[string]any{"name": "m2", "pool": "a"}, map[string]any{"name": "m3", "pool": "a"}},
		}
	}
	return diff.Input{
		Cluster:  "edge",
		Observed: objects(t, lines(firstTemplate, onFirst, vlan)),
		Now: diff.Edit{
			Before: diff.Answer{Objects: objects(t, lines(firstTemplate, onFirst, vlan)), Status: status(40)},
			After: diff.Answer{
				Objects: objects(t, lines(firstTemplate, secondTemplate, onSecond, vlan)), Status: status(5),
				Conditions: []diff.Condition{{Type: "AddressesAllocated", Status: "False", Reason: "Exhausted", Message: "too few"}},
			},
		},
		Goal: diff.Edit{
			Before: diff.Answer{Objects: objects(t, lines(firstTemplate, onFirst, vlan))},
			After:  diff.Answer{Objects: objects(t, lines(secondTemplate, onSecond))},
		},
	}
}

// TestJSON reads back what was written, without a field that a program would not
// know.
func TestJSON(t *testing.T) {
	want := diff.Compare(full(t))
	var first, second bytes.Buffer
	if err := want.JSON(&first); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(first.Bytes()))
	d.DisallowUnknownFields()
	var got diff.Report
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
	if err := got.JSON(&second); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first.String(), second.String()); d != "" {
		t.Errorf("-first, +second:\n%s", d)
	}
	var asYAML bytes.Buffer
	if err := want.YAML(&asYAML); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(object(t, first.String()), object(t, asYAML.String())); d != "" {
		t.Errorf("-JSON, +YAML:\n%s", d)
	}
}

func TestText(t *testing.T) {
	const want = `Cluster edge: 3 objects: 1 changed, 1 replaced, 1 later.

WARNING: pool "a" rolls (3 servers): its servers are replaced, because PacketMachineTemplate.machineType changes from small to large
WARNING: network "storage" has too few addresses: 5, and 7 are needed
The control plane does not roll.

Now:
~ MachineDeployment a is changed
    spec.template.spec.infrastructureRef.name: a-11111111 -> a-22222222
-/+ PacketMachineTemplate a-11111111 is replaced by a-22222222
    spec.template.spec.machineType: small -> large
    (the old one stays until nothing needs it any more)

Later:
- Vlan vlan-1000 is deleted
    (when no port carries it any more; it was only observed, so what it stands for stays)

Addresses:
  network storage: 40 (7 needed) -> 5 (7 needed)

The claim will say:
  AddressesAllocated: False (Exhausted): too few
`
	var got bytes.Buffer
	if err := diff.Compare(full(t)).Text(&got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
}
