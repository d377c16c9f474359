package function_test

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/function"
	"github.com/l2cluster/function-l2cluster/fn/render"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// base is a claim with one network on the bond of three control plane servers
// and two workers.
const base = `
apiVersion: l2cluster.io/v1alpha1
kind: L2Cluster
metadata: {name: demo, namespace: team-a}
spec:
  projectID: 00000000-0000-4000-8000-00000000000a
  metro: da
  kubernetesVersion: v1.30.2
  networks:
  - {name: storage, vxlan: 1000, ipAddresses: [10.60.10.0/24], gateway: 10.60.10.1, assignmentRanges: [10.60.10.2-10.60.10.40]}
  controlPlane:
    {replicas: 3, machineType: c3.small.x86, os: ubuntu_22_04, ports: [{name: bond0, networks: [{name: storage}]}]}
  workers:
  - {name: a, replicas: 2, machineType: c3.small.x86, os: ubuntu_22_04, ports: [{name: bond0, networks: [{name: storage}]}]}
`

type object = map[string]any

// failer is a test, or a property that is being tested.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func parse(t failer, text string) object {
	t.Helper()
	var o object
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// specOf a claim, for edits.
func specOf(o object) object { return o["spec"].(object) }

func newFunction() *function.Function {
	return function.New(logging.NewNopLogger(), func() time.Time { return now })
}

// composition with the function's input.
func composition(input object) object {
	return object{"spec": object{"pipeline": []any{
		object{"functionRef": object{"name": "function-l2cluster"}, "input": input},
	}}}
}

func run(t failer, in render.Input) render.Output {
	t.Helper()
	out, err := render.Run(context.Background(), newFunction(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// expand a claim for which nothing exists yet, and fail on a fatal result.
func expand(t failer, claim object) map[string]object {
	t.Helper()
	return desired(t, run(t, render.Input{Composite: claim}))
}

// desired objects by key.
func desired(t failer, out render.Output) map[string]object {
	t.Helper()
	if out.Fatal() {
		t.Fatalf("fatal: %s", out.Response.GetResults()[0].GetMessage())
	}
	objects := map[string]object{}
	for key, r := range out.Response.GetDesired().GetResources() {
		objects[key] = xr.ToMap(r.GetResource())
	}
	return objects
}

// observe what is desired, as objects that exist and have no status yet.
func observe(objects map[string]object) []object {
	var out []object
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		o := maps.Clone(objects[key])
		metadata := maps.Clone(o["metadata"].(object))
		annotations, _ := metadata["annotations"].(object)
		annotations = maps.Clone(annotations)
		if annotations == nil {
			annotations = object{}
		}
		annotations["crossplane.io/composition-resource-name"] = key
		metadata["annotations"] = annotations
		o["metadata"] = metadata
		out = append(out, o)
	}
	return out
}

// at a path of an object.
func at(o any, path ...string) any {
	for _, name := range path {
		m, _ := o.(object)
		o = m[name]
	}
	return o
}

// ofKind are the keys of the objects of a kind, sorted.
func ofKind(objects map[string]object, kind string) []string {
	var out []string
	for key, o := range objects {
		if o["kind"] == kind {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func fatal(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}
	return ""
}

func conditionOf(rsp *fnv1.RunFunctionResponse, kind string) *fnv1.Condition {
	for _, c := range rsp.GetConditions() {
		if c.GetType() == kind {
			return c
		}
	}
	return &fnv1.Condition{}
}
