package function_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/fn/render"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// seeds are the base claim and every example's.
func seeds(t failer) []string {
	t.Helper()
	paths, err := filepath.Glob("../../example/*/claim.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	out := []string{base}
	for _, p := range append(paths, "../../example/claim.yaml") {
		b, err := os.ReadFile(filepath.Clean(p))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// input that sets everything once.
const fullInput = `
allowed: {metros: [], machineTypes: [], operatingSystems: []}
namespace: team-x
equinix: {providerConfig: other, blocks: [10.200.0.0/25], hardwareReservations: true, cloudController: {kind: CPEM, delivery: AddOn}}
bootstrap: {nodePackages: Image, files: [{path: /opt/a, content: "x"}], preKubeadmCommands: ["echo a"], postKubeadmCommands: ["echo b"]}
network: {backends: [{osPrefix: ubuntu, name: ifupdown}], timeout: 8m, coolDown: 10m}
addOns: [{name: cni, resources: [{kind: ConfigMap, name: cni}]}]
`

// values that code trips over.
var values = []any{
	nil, "", "a", "{{ .apiKey }}", "x\ny", "10.60.10.0/24", "10.60.10.9-10.60.10.2", "::/0", "2001:db8::1", "00000000-0000-4000-8000-00000000000b",
	0.0, 1.0, -1.0, 2.5, 3999.0, 1e6, 1e308, true, false, []any{}, []any{nil}, []any{"a", "a"}, object{}, object{"name": "a"},
}

// edit replaces or removes a random part of an object.
func edit(t *rapid.T, o any) any {
	switch o := o.(type) {
	case object:
		keys := slices.Sorted(maps.Keys(o))
		if len(keys) == 0 || rapid.IntRange(0, 9).Draw(t, "stop") == 0 {
			return rapid.SampledFrom(values).Draw(t, "value")
		}
		key := rapid.SampledFrom(keys).Draw(t, "field")
		out := maps.Clone(o)
		if rapid.IntRange(0, 9).Draw(t, "remove") == 0 {
			delete(out, key)
			return out
		}
		out[key] = edit(t, o[key])
		return out
	case []any:
		if len(o) == 0 || rapid.IntRange(0, 9).Draw(t, "stop") == 0 {
			return rapid.SampledFrom(values).Draw(t, "value")
		}
		i := rapid.IntRange(0, len(o)-1).Draw(t, "index")
		out := slices.Clone(o)
		if rapid.IntRange(0, 4).Draw(t, "repeat") == 0 {
			return append(out, o[i])
		}
		out[i] = edit(t, o[i])
		return out
	default:
		return rapid.SampledFrom(values).Draw(t, "value")
	}
}

func edited(t *rapid.T, o object, most int) object {
	out := o
	for range rapid.IntRange(0, most).Draw(t, "edits") {
		next, ok := edit(t, out).(object)
		if !ok {
			return out
		}
		out = next
	}
	return out
}

// machine objects of a cluster with two workers on their way.
const machines = `
- {apiVersion: metal.equinix.jet.crossplane.io/v1alpha1, kind: Port, metadata: {name: p, labels: {l2cluster.io/machine: m, l2cluster.io/port: bond0}, annotations: {crossplane.io/composition-resource-name: machine-m-port-bond0}}, spec: {forProvider: {portId: 00000000-0000-4000-8000-00000000000c, bonded: true, vlanIds: [v]}}}
- {apiVersion: http.crossplane.io/v1alpha2, kind: Request, metadata: {name: r, labels: {l2cluster.io/machine: m}, annotations: {crossplane.io/composition-resource-name: machine-m-custom-data}}, spec: {forProvider: {payload: {body: "{}"}}}}
`

// property: whatever claim, input and observed state say, the function does not
// panic, and an answer that is not fatal leaves out no observed object but those
// that the claim gave up.
func property(claims []string, observed map[string][]object) func(*rapid.T) {
	return func(t *rapid.T) {
		seed := rapid.SampledFrom(claims).Draw(t, "claim")
		claim := edited(t, parse(t, seed), 6)
		input := edited(t, parse(t, fullInput), 3)
		in := render.Input{Composite: claim, Composition: composition(input), Observed: observed[seed]}
		if rapid.Bool().Draw(t, "odd observed") {
			in.Observed = nil
			for _, o := range observed[seed] {
				in.Observed = append(in.Observed, keepKey(o, edited(t, o, 1)))
			}
		}
		claim["kind"] = "L2Cluster"
		if _, ok := claim["metadata"].(object); !ok {
			claim["metadata"] = object{"name": "demo", "namespace": "team-a"}
		}
		composite, err := render.Composite(claim)
		if err != nil {
			t.Fatal(err)
		}
		req := request(t, composite, in)
		rsp, err := newFunction().RunFunction(context.Background(), req)
		if err != nil {
			t.Fatalf("a bad request is answered with a result and not with an error: %v", err)
		}
		if fatal(rsp) != "" {
			return
		}
		for key, r := range req.GetObserved().GetResources() {
			if _, ok := rsp.GetDesired().GetResources()[key]; !ok && !givenUp(composite, input, key, xr.ToMap(r.GetResource())) {
				t.Fatalf("%s is left out, which deletes it", key)
			}
		}
	}
}

// keepKey lets an object be edited in everything but what it is: its kind and
// its key.
func keepKey(was, o object) object {
	out := maps.Clone(o)
	out["apiVersion"], out["kind"] = was["apiVersion"], was["kind"]
	metadata, _ := out["metadata"].(object)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = object{}
	}
	metadata["annotations"] = at(was, "metadata", "annotations")
	out["metadata"] = metadata
	return out
}

func request(t *rapid.T, composite object, in render.Input) *fnv1.RunFunctionRequest {
	s, err := structpb.NewStruct(composite)
	if err != nil {
		t.Fatal(err)
	}
	req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{
		Composite: &fnv1.Resource{Resource: s}, Resources: map[string]*fnv1.Resource{},
	}}
	for _, o := range in.Observed {
		body, err := structpb.NewStruct(o)
		if err != nil {
			t.Fatal(err)
		}
		req.Observed.Resources[at(o, "metadata", "annotations", "crossplane.io/composition-resource-name").(string)] = &fnv1.Resource{Resource: body}
	}
	input, _ := at(in.Composition, "spec").(object)["pipeline"].([]any)[0].(object)["input"].(object)
	if req.Input, err = structpb.NewStruct(input); err != nil {
		t.Fatal(err)
	}
	return req
}

// givenUp is what a claim gives up by not naming it any more. It knows nothing
// of how the function decides.
func givenUp(composite, input object, key string, o object) bool {
	named := func(list any, field string, value any) bool {
		items, _ := list.([]any)
		return slices.ContainsFunc(items, func(item any) bool { return fmt.Sprint(at(item, field)) == fmt.Sprint(value) })
	}
	spec := specOf(composite)
	switch o["kind"] {
	case "MachineHealthCheck":
		return true
	case "MachineDeployment":
		return !named(spec["workers"], "name", at(o, "metadata", "labels", "l2cluster.io/pool"))
	case "ClusterResourceSet":
		return !named(input["addOns"], "name", strings.TrimPrefix(strings.TrimPrefix(key, "reconciled-"), "add-on-"))
	case "Vlan":
		return !named(spec["networks"], "vxlan", at(o, "spec", "forProvider", "vxlan"))
	case "Vrf", "ReservedIPBlock", "Gateway", "ClusterUsage":
		// Their part of the claim was edited, or a network of it was.
		return true
	default:
		return false
	}
}

func claimsAndWorlds(t failer) ([]string, map[string][]object) {
	claims := seeds(t)
	observed := map[string][]object{}
	for _, c := range claims {
		observed[c] = observe(expand(t, parse(t, c)))
		for _, m := range parse(t, "list:\n"+machines)["list"].([]any) {
			observed[c] = append(observed[c], m.(object))
		}
	}
	return claims, observed
}

func TestArbitraryClaims(t *testing.T) {
	claims, observed := claimsAndWorlds(t)
	rapid.Check(t, property(claims, observed))
}

func FuzzRunFunction(f *testing.F) {
	claims, observed := claimsAndWorlds(f)
	f.Fuzz(rapid.MakeFuzz(property(claims, observed)))
}
