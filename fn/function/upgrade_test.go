package function_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/change"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	fnobject "github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/render"
)

const (
	record    = "testdata/machines.yaml"
	changelog = "../../CHANGELOG.md"
	recordTop = `# What the machines of the examples, and of edits of them, are made from, by pool.
# Machines are replaced when it changes, also by an upgrade of the function: write
# into CHANGELOG.md which ones roll and why, with the digest that the test tells, and
# then run go test ./fn/function -run TestUpgradeRollsNothingUnsaid -update.
`
)

// TestUpgradeRollsNothingUnsaid compares what machines are made from with what is
// on record. A changed default of a template rolls every cluster that is there,
// so it must be meant, and the release notes must say so.
func TestUpgradeRollsNothingUnsaid(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	got := map[string]map[string]string{}
	for name, in := range upgrades(t) {
		got[name] = madeFrom(t, desired(t, run(t, in)))
	}
	for name, o := range others() {
		if isDefault := strings.HasPrefix(name, "ifupdown, "); !isDefault && cmp.Equal(got[name], got[o.example]) {
			t.Errorf("%s is nothing but the example %s", name, o.example)
		}
	}
	b, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	digest, text := fnobject.Hash(string(b)), recordTop+string(b)
	if *update {
		if err := os.WriteFile(record, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("machines of clusters that run would be replaced by an upgrade; if that is meant, say it in CHANGELOG.md with the digest %s, and write the record with -update: -on record, +now:\n%s", digest, diff)
	}
	notes, err := os.ReadFile(changelog)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(notes), digest) {
		t.Errorf("CHANGELOG.md does not say what replaces machines in this release: it needs the digest %s of what they are made from now", digest)
	}
}

// more networks than the smallest example has.
const more = "{networks: [{}, {name: backup, vxlan: 1001, ipAddresses: [10.60.20.0/24]}, {name: media, vxlan: 1002, ipAddresses: [10.60.30.0/24]}]}"

// others are what no example has: by name, the claim that it is an edit of, and what
// is edited, the claim's fields beside the function's input.
func others() map[string]struct{ example, edit string } {
	type other = struct{ example, edit string }
	out := map[string]other{
		"EMLB":             {"example", "{vipManager: EMLB}"},
		"kube-vip":         {"example", "{vipManager: KUBE_VIP}"},
		"AddOn":            {"example", "{input: {equinix: {cloudController: {delivery: AddOn}}}}"},
		"kube-vip, AddOn":  {"example", "{vipManager: KUBE_VIP, input: {equinix: {cloudController: {delivery: AddOn}}}}"},
		"no controller":    {"example", noCloudController},
		"packages present": {"example", "{input: {bootstrap: {nodePackages: Image}}}"},
		"IPv6":             {"layer2", `{networks: [{ipAddresses: ["fd00:60::/64"], assignmentRanges: ["fd00:60::10-fd00:60::99"], gateway: "fd00:60::1"}]}`},
		"dual stack": {"layer2", `{networks: [{ipAddresses: [192.0.2.0/24, "fd00:60::/64"],
			assignmentRanges: [192.0.2.10-192.0.2.99, "fd00:60::10-fd00:60::99"], gatewayIPv6: "fd00:60::1"}]}`},
		"node address": {"example", `{vipManager: KUBE_VIP, input: {equinix: {cloudController: {kind: None}}},
			controlPlane: {ports: [{networks: [{nodeIP: true}]}]}, workers: [{ports: [{networks: [{nodeIP: true}]}]}]}`},
		"four ports in two bonds": {"example", more + "\n---\n{workers: [{ports: [{}, {name: bond1, networks: [{name: backup}]}]}]}"},
		"second bond in layer 2":  {"example", more + "\n---\n{workers: [{ports: [{}, {name: bond1, layer2: true, networks: [{name: backup}]}]}]}"},
		"four ports": {"example", more + `
---
{workers: [{ports: [{}, {name: eth1, bonded: false, networks: [{name: backup}]}, {name: eth3, bonded: false, networks: [{name: media}]}]}]}`},
		"native": {"example", more + `
---
{controlPlane: {ports: [{}, {name: eth1, bonded: false, nativeNetwork: backup, networks: [{name: backup}, {name: media}]}]}}`},
		"source routing": {"example", "{networks: [{sourceRouting: true, mtu: 9000, interfaceName: disks}]}"},
	}
	for _, backend := range []string{"ifupdown", "netplan", "networkd", "networkmanager"} {
		for _, example := range []string{"byo-vlan", "example", "hybrid", "layer2", "vrf"} {
			out[backend+", "+example] = other{example, "{input: {network: {backends: [{osPrefix: ubuntu, name: " + backend + "}]}}}"}
		}
		for _, name := range []string{"dual stack", "four ports", "four ports in two bonds", "IPv6", "native", "node address", "second bond in layer 2", "source routing"} {
			o := out[name]
			out[backend+", "+name] = other{o.example, o.edit + "\n---\n{input: {network: {backends: [{osPrefix: ubuntu, name: " + backend + "}]}}}"}
		}
	}
	return out
}

// upgrades are the examples as claims, edits of them, and the states of the story as
// they are.
func upgrades(t *testing.T) map[string]render.Input {
	t.Helper()
	composition := documents(t, "../../example/composition.yaml")[0]
	out := map[string]render.Input{}
	claims, err := filepath.Glob("../../example/*/claim.yaml")
	if err != nil || len(claims) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, path := range append(claims, "../../example/claim.yaml") {
		out[filepath.Base(filepath.Dir(path))] = render.Input{Composite: documents(t, path)[0], Composition: composition}
	}
	for name, o := range others() {
		claim, edited := out[o.example].Composite, documents(t, "../../example/composition.yaml")[0]
		l := &living{t: t, composite: plain(claim).(object)}
		l.input = at(edited, "spec", "pipeline").([]any)[0].(object)["input"].(object)
		for part := range strings.SplitSeq(o.edit, "\n---\n") {
			l.merge(part)
		}
		out[name] = render.Input{Composite: l.composite, Composition: edited}
	}
	states, err := filepath.Glob("../../example/story/observed-*.yaml")
	if err != nil || len(states) == 0 {
		t.Fatalf("no states: %v", err)
	}
	for _, path := range states {
		state := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "observed-"), ".yaml")
		out["story "+state] = render.Input{
			Composite:   documents(t, "../../example/story/xr-"+state+".yaml")[0],
			Composition: composition, Observed: documents(t, path),
			Required: documents(t, "../../example/story/required-"+state+".yaml"),
		}
	}
	return out
}

// madeFrom is a short word for what each pool's machines are made from: all that
// a rollout compares.
func madeFrom(t *testing.T, objects map[string]object) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range objects {
		kind, _ := o["kind"].(string)
		var compared []any
		for _, path := range keep.RolledFields(kind) {
			compared = append(compared, at(o, path...))
		}
		if len(compared) == 0 {
			continue
		}
		b, err := json.Marshal(compared)
		if err != nil {
			t.Fatal(err)
		}
		out[at(o, "metadata", "labels", keep.PoolLabel).(string)] = fnobject.Hash(string(b))
	}
	return out
}

// TestStoredStatesRollNothing: the answer to each stored state leaves alone what
// machines are made from that the state does not already replace.
func TestStoredStatesRollNothing(t *testing.T) {
	for name, in := range upgrades(t) {
		if len(in.Observed) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			observed := map[string]object{}
			for _, o := range in.Observed {
				observed[at(o, "metadata", "annotations", annotationKey).(string)] = o
			}
			if got := change.Replaced(change.Onto(observed, desired(t, run(t, in)))); !slices.Equal(got, nil) {
				t.Errorf("pools %v would be replaced", got)
			}
		})
	}
}
