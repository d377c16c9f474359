package function_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/l2cluster/function-l2cluster/fn/change"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/render"
)

// living is a cluster that runs, played forward step by step: the story's state
// in which all is ready, with what Cluster API tells of its machines beside.
type living struct {
	t         *testing.T
	composite object
	input     object
	observed  map[string]object
	machines  []object // Machines, PacketMachines and MachineSets
}

const (
	annotationKey = "crossplane.io/composition-resource-name"
	clonedFrom    = "cluster.x-k8s.io/cloned-from-name"
	general       = "pool-general"
)

// documents of a YAML file.
func documents(t *testing.T, path string) []object {
	t.Helper()
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), len(b))
	var out []object
	for {
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			out = append(out, o)
		}
	}
}

// settled is the story's cluster when nothing is left to do.
func settled(t *testing.T) *living {
	t.Helper()
	const story = "../../example/story/"
	l := &living{t: t, composite: documents(t, story+"xr-all-ready.yaml")[0], observed: map[string]object{}}
	step := documents(t, "../../example/composition.yaml")[0]["spec"].(object)["pipeline"].([]any)[0].(object)
	l.input = step["input"].(object)
	for _, o := range documents(t, story+"observed-all-ready.yaml") {
		l.observed[at(o, "metadata", "annotations", annotationKey).(string)] = o
	}
	l.machines = documents(t, story+"required-all-ready.yaml")
	for _, m := range l.machines {
		l.tell(m)
	}
	return l
}

// tell of a machine what Cluster API does: its set, its version, and that it is
// up to date.
func (l *living) tell(m object) {
	if m["kind"] != "Machine" {
		return
	}
	put(m, at(l.observed["control-plane"], "spec", "version"), "spec", "version")
	put(m, []any{object{"type": "UpToDate", "status": "True"}}, "status", "conditions")
	name := nameOf(m)
	for _, set := range l.ofKind("MachineSet") {
		if strings.HasPrefix(name, nameOf(set)+"-") {
			put(m, nameOf(set), "metadata", "labels", "cluster.x-k8s.io/set-name")
		}
	}
}

func nameOf(o object) string { name, _ := at(o, "metadata", "name").(string); return name }

// put a value at a path.
func put(o object, v any, path ...string) {
	for _, name := range path[:len(path)-1] {
		next, _ := o[name].(object)
		if next == nil {
			next = object{}
			o[name] = next
		}
		o = next
	}
	o[path[len(path)-1]] = v
}

// ofKind are the required objects of a kind.
func (l *living) ofKind(kind string) []object {
	return slices.DeleteFunc(slices.Clone(l.machines), func(o object) bool { return o["kind"] != kind })
}

// workersOf the pool general, by name.
func (l *living) workers() []string {
	var out []string
	for _, m := range l.ofKind("Machine") {
		if at(m, "metadata", "labels", "l2cluster.io/pool") == "general" {
			out = append(out, nameOf(m))
		}
	}
	return out
}

func (l *living) spec() object { return specOf(l.composite) }

func (l *living) worker() object { return l.spec()["workers"].([]any)[0].(object) }

func (l *living) network(i int) object { return l.spec()["networks"].([]any)[i].(object) }

// addNetwork to the claim and to the ports of all pools.
func (l *living) addNetwork(text string) {
	n := parse(l.t, text)
	l.spec()["networks"] = append(l.spec()["networks"].([]any), n)
	for _, pool := range []object{l.worker(), l.spec()["controlPlane"].(object)} {
		port := pool["ports"].([]any)[0].(object)
		port["networks"] = append(port["networks"].([]any), object{"name": n["name"]})
	}
}

// removeNetwork from the claim and from the ports of all pools.
func (l *living) removeNetwork(name string) {
	without := func(list any) []any {
		return slices.DeleteFunc(slices.Clone(list.([]any)), func(n any) bool { return n.(object)["name"] == name })
	}
	l.spec()["networks"] = without(l.spec()["networks"])
	for _, pool := range []object{l.worker(), l.spec()["controlPlane"].(object)} {
		for _, port := range pool["ports"].([]any) {
			port.(object)["networks"] = without(port.(object)["networks"])
		}
	}
}

// run the function over what is seen now.
func (l *living) run() render.Output {
	l.t.Helper()
	in := render.Input{Composite: l.composite, Composition: composition(l.input), Required: l.machines}
	for _, key := range slices.Sorted(maps.Keys(l.observed)) {
		in.Observed = append(in.Observed, l.observed[key])
	}
	return run(l.t, in)
}

// desired objects over what is seen now; fatal results fail the test.
func (l *living) desired() map[string]object { l.t.Helper(); return desired(l.t, l.run()) }

// reconcile as Crossplane does: delete what is not desired any more, apply the
// rest, and keep the status.
func (l *living) reconcile() map[string]object {
	l.t.Helper()
	out := l.run()
	want := desired(l.t, out)
	for key, o := range want {
		l.observed[key] = applied(l.observed[key], o, key)
	}
	maps.DeleteFunc(l.observed, func(key string, _ object) bool { _, stays := want[key]; return !stays })
	if status := out.Response.GetDesired().GetComposite().GetResource().AsMap()["status"]; status != nil {
		l.composite["status"] = status
	}
	return want
}

// applied is an object after another one was applied onto it.
func applied(seen, o object, key string) object {
	out := maps.Clone(o)
	metadata := maps.Clone(o["metadata"].(object))
	annotations, _ := metadata["annotations"].(object)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = object{}
	}
	annotations[annotationKey] = key
	metadata["annotations"] = annotations
	generation, _ := at(seen, "metadata", "generation").(float64)
	spec, _ := o["spec"].(object)
	if endpoint := at(seen, "spec", "controlPlaneEndpoint"); endpoint != nil {
		spec = maps.Clone(spec)
		spec["controlPlaneEndpoint"] = endpoint
	}
	if !cmp.Equal(plain(seen["spec"]), plain(spec)) {
		generation++
	}
	metadata["generation"], out["metadata"], out["spec"] = generation, metadata, spec
	if status, known := seen["status"]; known {
		out["status"] = status
	}
	return out
}

// plain is a value with all its numbers of one kind.
func plain(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, item := range v {
			out[name] = plain(item)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, plain(item))
		}
		return out
	case int64:
		return float64(v)
	case int:
		return float64(v)
	default:
		return v
	}
}

// progress of what makes machines: it has taken in its spec, and has so many.
func (l *living) progress(key string, replicas, upToDate int) {
	o := l.observed[key]
	status := maps.Clone(o["status"].(object))
	status["observedGeneration"] = at(o, "metadata", "generation")
	status["replicas"], status["upToDateReplicas"], status["readyReplicas"] = float64(replicas), float64(upToDate), float64(replicas)
	if version := at(o, "spec", "version"); version != nil && replicas == upToDate {
		status["version"] = version
	}
	o["status"] = status
}

// set of the deployment as it is now, with so many machines.
func (l *living) set(name string, replicas int) {
	for _, o := range l.ofKind("MachineSet") {
		if nameOf(o) == name {
			put(o, float64(replicas), "spec", "replicas")
			put(o, float64(replicas), "status", "replicas")
			return
		}
	}
	l.machines = append(l.machines, object{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
		"metadata": object{"name": name, "namespace": "team-a", "labels": object{"cluster.x-k8s.io/cluster-name": "story-96c288"}},
		"spec": object{
			"replicas": float64(replicas),
			"template": plain(object{"spec": at(l.observed[general], "spec", "template", "spec")}),
		},
	})
}

// replaced lets all machines be made anew from what is asked for now: only their
// names stay.
func (l *living) replaced() {
	l.remade("general", 2)
	l.remade(plan.ControlPlanePool, 3)
}

// remade lets the machines of a pool be made anew.
func (l *living) remade(pool string, replicas int) {
	for _, o := range l.machines {
		inPool := at(o, "metadata", "labels", "l2cluster.io/pool") == pool
		switch kind := o["kind"]; {
		case kind == "MachineSet" && pool != plan.ControlPlanePool:
			put(o, plain(at(l.observed[general], "spec", "template", "spec")), "spec", "template", "spec")
		case kind == "PacketMachine" && inPool:
			l.madeAnew(o)
		case kind == "Machine" && inPool:
			put(o, []any{object{"type": "UpToDate", "status": "True"}}, "status", "conditions")
		}
	}
	l.progress(makerOf(pool), replicas, replicas)
}

// madeAnew says of a server that it was made from what is asked for now.
func (l *living) madeAnew(server object) {
	pool, _ := at(server, "metadata", "labels", "l2cluster.io/pool").(string)
	template := "template"
	if pool == plan.ControlPlanePool {
		template = "machineTemplate"
	}
	put(server, at(l.observed[makerOf(pool)], "spec", template, "spec", "infrastructureRef", "name"), "metadata", "annotations", clonedFrom)
}

// makerOf the machines of a pool, by key.
func makerOf(pool string) string {
	if pool == plan.ControlPlanePool {
		return pool
	}
	return "pool-" + pool
}

// outdated lets the control plane take in a spec for which it replaces its machines,
// of which none has been replaced yet.
func (l *living) outdated() {
	for _, o := range l.ofKind("Machine") {
		if at(o, "metadata", "labels", "l2cluster.io/pool") == plan.ControlPlanePool {
			put(o, []any{object{"type": "UpToDate", "status": "False"}}, "status", "conditions")
		}
	}
	l.progress("control-plane", 3, 0)
}

// carried out: every port is as it is asked for, and every VLAN exists.
func (l *living) carriedOut() {
	for key, o := range l.observed {
		forProvider, _ := at(o, "spec", "forProvider").(object)
		ready := []any{object{"type": "Ready", "status": "True"}}
		switch o["kind"] {
		case "Port":
			o["status"] = object{"conditions": ready, "atProvider": maps.Clone(forProvider)}
		case "Vlan":
			id, known := at(o, "status", "atProvider", "id").(string)
			switch policies := at(o, "spec", "managementPolicies"); {
			case known:
			case cmp.Equal(policies, []any{"Observe"}):
				id = at(o, "metadata", "annotations", "crossplane.io/external-name").(string)
			default:
				id = fmt.Sprintf("00000000-0000-4000-8000-%012v", forProvider["vxlan"])
			}
			put(o, id, "metadata", "annotations", "crossplane.io/external-name")
			o["status"] = object{"conditions": ready, "atProvider": object{"id": id, "vxlan": forProvider["vxlan"]}}
		case "Gateway", "ReservedIPBlock", "Vrf", "ClusterUsage":
			o["status"] = object{"conditions": ready, "atProvider": object{"id": "00000000-0000-4000-8000-" + fmt.Sprintf("%012x", len(key))}}
		}
	}
}

// templates that are observed or desired, by name, of a pool.
func templatesOf(objects map[string]object, pool string) []string {
	var out []string
	for _, o := range objects {
		if strings.HasSuffix(o["kind"].(string), "Template") && at(o, "metadata", "labels", "l2cluster.io/pool") == pool {
			out = append(out, nameOf(o))
		}
	}
	slices.Sort(out)
	return out
}

// refersTo are the templates that what makes a pool's machines names, sorted.
func refersTo(o object) []string {
	var out []string
	for _, path := range [][]string{
		{"spec", "template", "spec", "infrastructureRef", "name"},
		{"spec", "template", "spec", "bootstrap", "configRef", "name"},
		{"spec", "machineTemplate", "spec", "infrastructureRef", "name"},
	} {
		if name, ok := at(o, path...).(string); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// unchanged checks that no template that exists is changed in place.
func (l *living) unchanged(want map[string]object) {
	l.t.Helper()
	for key, o := range want {
		if seen, exists := l.observed[key]; exists && strings.HasSuffix(o["kind"].(string), "Template") &&
			(!reflect.DeepEqual(plain(seen["spec"]), plain(o["spec"])) || nameOf(seen) != nameOf(o)) {
			l.t.Errorf("template %s changes in place", key)
		}
	}
}

// vlansOf a machine's port as it is asked for.
func vlansOf(objects map[string]object, machine, port string) []string {
	list, _ := at(objects["machine-"+machine+"-port-"+port], "spec", "forProvider", "vlanIds").([]any)
	out := []string{}
	for _, id := range list {
		out = append(out, id.(string))
	}
	slices.Sort(out)
	return out
}

func TestSettledClusterStays(t *testing.T) {
	l := settled(t)
	before := maps.Clone(l.observed)
	if got := change.Onto(before, l.desired()); len(got) != 0 {
		t.Errorf("nothing is left to do: got %v", got)
	}
}

// renderInput of a claim for which nothing exists yet.
func renderInput(claim object) render.Input { return render.Input{Composite: claim} }
