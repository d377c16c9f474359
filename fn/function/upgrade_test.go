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
	recordTop = `# What the machines of the examples are made from, by example and pool. Machines
# are replaced when it changes, also by an upgrade of the function: write into
# CHANGELOG.md which ones roll and why, with the digest that the test tells, and
# then run go test ./fn/function -run TestUpgradeRollsNothingUnsaid -update.
`
)

// TestUpgradeRollsNothingUnsaid compares what machines are made from with what is
// on record. A changed default of a template rolls every cluster that is there,
// so it must be meant, and the release notes must say so.
func TestUpgradeRollsNothingUnsaid(t *testing.T) {
	got := map[string]map[string]string{}
	for name, in := range upgrades(t) {
		got[name] = madeFrom(t, desired(t, run(t, in)))
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

// upgrades are the examples as claims, and the states of the story as they are.
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
