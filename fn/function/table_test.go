package function_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/change"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

var update = flag.Bool("update", false, "write the table of docs/changes.md instead of comparing with it")

// Effects of an edit, in the words of docs/changes.md.
const (
	nothing      = "nothing"
	scales       = "scales"
	rollsPool    = "rolls the pool"
	rollsControl = "rolls the control plane"
	rollsAll     = "rolls all on it"
	another      = "another pool"
	refused      = "refused"
	newClaim     = "new claim"
)

// row says what an edit of one field does to a running cluster.
type row struct {
	field  string
	effect string
	// words for people.
	words string
	// value that the field gets, if it is no more than that.
	value any
	// given makes a cluster that has the field; edit changes it.
	given, edit func(*living)
	// variants are several edits in its place, by name.
	variants map[string]variant
}

// variant of an edit.
type variant struct {
	// given makes a cluster that has the field; edit changes it.
	given, edit func(*living)
}

// edits of the row by name: the only one has none.
func (r row) edits() map[string]variant {
	v := variant{given: r.given, edit: r.edit}
	if v.edit == nil && r.value != nil {
		v.edit = func(l *living) { l.assign(r.field, r.value) }
	}
	switch {
	case r.variants != nil:
		return r.variants
	case v.edit == nil:
		// The only value that there is cannot be edited.
		return nil
	default:
		return map[string]variant{"": v}
	}
}

// running is the story's cluster as is given, with machines that were made for it.
func running(t *testing.T, given ...func(*living)) *living {
	t.Helper()
	l := settled(t)
	for _, step := range given {
		if step == nil {
			continue
		}
		step(l)
		if len(l.machines) > 0 {
			l.settle()
		}
	}
	return l
}

// set fields that a cluster must have for an edit to mean anything.
func given(text string) func(*living) {
	return func(l *living) { l.merge(text) }
}

// merge a part of a claim or of the input, under spec or input.
func (l *living) merge(text string) {
	l.t.Helper()
	for name, v := range parse(l.t, text) {
		if name == "input" {
			mergeInto(l.input, v.(object))
			continue
		}
		mergeInto(l.spec(), object{name: v})
	}
}

// mergeInto an object: maps item by item, lists place by place.
func mergeInto(o, more object) {
	for name, v := range more {
		o[name] = merged(o[name], v)
	}
}

func merged(was, v any) any {
	switch v := v.(type) {
	case object:
		m, ok := was.(object)
		if !ok {
			m = object{}
		}
		mergeInto(m, v)
		return m
	case []any:
		list, _ := was.([]any)
		list = slices.Clone(list)
		for i, item := range v {
			if i < len(list) {
				list[i] = merged(list[i], item)
				continue
			}
			list = append(list, item)
		}
		return list
	default:
		return v
	}
}

// assign a value at a path such as spec.workers[].os: the first item of a list.
func (l *living) assign(path string, v any) {
	l.t.Helper()
	root, rest, _ := strings.Cut(path, ".")
	var at any = l.spec()
	if root == "input" {
		at = l.input
	}
	steps := strings.Split(rest, ".")
	for i, step := range steps {
		name, isList := strings.CutSuffix(step, "[]")
		o := at.(object)
		if i == len(steps)-1 {
			o[name] = v
			return
		}
		if isList {
			at = o[name].([]any)[0]
			continue
		}
		next, ok := o[name].(object)
		if !ok {
			next = object{}
			o[name] = next
		}
		at = next
	}
}

// goes on until nothing moves, everything replaced that was to be.
func (l *living) settle() {
	l.t.Helper()
	for range 2 {
		l.reconcile()
		l.carriedOut()
		l.remade(plan.ControlPlanePool, 3)
		l.reconcile()
		l.replaced()
		l.carriedOut()
	}
}

// effect of an edit on a running cluster, in the table's words, as far as an edit
// of the field can have it. From the edit to the moment in which the control plane
// is another one, no port of a server that goes on running changes.
func (l *living) effect(edit func()) string {
	l.t.Helper()
	edit()
	pools := map[string]change.Effect{}
	for _, moment := range []struct {
		when string
		then func()
	}{
		{"edited", l.carriedOut},
		{"applied", func() {
			if pools[plan.ControlPlanePool] == change.Rolls {
				l.outdated()
			}
		}},
		{"taken in", func() { l.remade(plan.ControlPlanePool, 3) }},
		{"with another control plane", func() {}},
	} {
		out := l.run()
		if message := fatal(out.Response); message != "" {
			if strings.Contains(message, "make a new claim") {
				return newClaim
			}
			return refused
		}
		changes := change.Onto(l.observed, desired(l.t, out))
		for pool, e := range change.Pools(changes) {
			pools[pool] = max(pools[pool], e)
		}
		for _, c := range changes {
			remade := moment.when == "with another control plane" && strings.Contains(c.Machine, "control-plane")
			if c.Kind == "Port" && c.Effect == change.Reconfigures && !remade {
				l.t.Errorf("%s: %s of port %s of a running server: %v", moment.when, c.Action, c.Name, c.Fields)
			}
		}
		l.reconcile()
		if len(l.machines) > 0 {
			moment.then()
		}
	}
	return l.inWords(pools)
}

// inWords is the worst that happened to each pool, in the table's words.
func (l *living) inWords(pools map[string]change.Effect) string {
	cp, workers := pools[plan.ControlPlanePool], pools["general"]
	switch {
	case cp == change.Rolls && workers == change.Rolls:
		return rollsAll
	case cp == change.Rolls:
		return rollsControl
	case workers == change.Removes || l.observed[general] == nil:
		return another
	case workers == change.Rolls:
		return rollsPool
	case cp == change.Scales || workers == change.Scales:
		return scales
	default:
		return nothing
	}
}

// fieldsOf a type: the path of every field that is not made of others.
func fieldsOf(t reflect.Type, path string) []string {
	switch t.Kind() {
	case reflect.Pointer:
		return fieldsOf(t.Elem(), path)
	case reflect.Slice:
		if below := fieldsOf(t.Elem(), path+"[]"); len(below) > 1 || below[0] != path+"[]" {
			return below
		}
		return []string{path}
	case reflect.Struct:
		if t.PkgPath() != reflect.TypeFor[spec.Spec]().PkgPath() && t.PkgPath() != reflect.TypeFor[v1beta1.Input]().PkgPath() {
			return []string{path}
		}
	default:
		return []string{path}
	}
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "metadata" || f.Name == "TypeMeta":
		case name == "":
			out = append(out, fieldsOf(f.Type, path)...)
		default:
			out = append(out, fieldsOf(f.Type, path+"."+name)...)
		}
	}
	return out
}

// TestEveryFieldHasARow: a new field of claim or input needs a row that says what
// an edit of it does.
func TestEveryFieldHasARow(t *testing.T) {
	want := slices.Concat(fieldsOf(reflect.TypeFor[spec.Spec](), "spec"), fieldsOf(reflect.TypeFor[v1beta1.Input](), "input"))
	got := make([]string, 0, len(rows()))
	for _, r := range rows() {
		got = append(got, r.field)
	}
	slices.Sort(want)
	slices.Sort(got)
	// Where the effect depends on the values, a field has several rows.
	got = slices.Compact(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields of the claim and the input, and rows of the table: -fields, +rows:\n%s", diff)
	}
}

// TestEffects makes every edit of the table on a running cluster.
func TestEffects(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	for _, r := range rows() {
		for name, v := range r.edits() {
			t.Run(strings.NewReplacer("[]", "", ".", "/").Replace(r.field)+name, func(t *testing.T) {
				l := running(t, v.given)
				if got := l.effect(func() { v.edit(l) }); got != r.effect {
					t.Errorf("an edit of %s: the table says %q, and what happens is %q", r.field, r.effect, got)
				}
			})
		}
	}
}

// TestEffectsFromNoPorts makes the edits of ports on a pool that is on no network:
// its servers know of none, so every one of them is replaced, and its ports are as
// they come until then.
func TestEffectsFromNoPorts(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	tried := 0
	for _, r := range rows() {
		pool, _, ofPorts := strings.Cut(r.field, ".ports[]")
		if !ofPorts {
			continue
		}
		// The edit that takes the network away has nothing to take.
		edit := r.edit
		if strings.HasSuffix(r.field, ".networks[].name") {
			edit = onPorts(pool, onBond)
		}
		tried++
		t.Run(strings.NewReplacer("[]", "", ".", "/").Replace(r.field), func(t *testing.T) {
			l := running(t, r.given, onPorts(pool, "[]"))
			want := rollsPool
			if pool == "spec.controlPlane" {
				want = rollsControl
			}
			if r.effect == refused {
				want = refused
			}
			if got := l.effect(func() { edit(l) }); got != want {
				t.Errorf("want %q, got %q", want, got)
			}
		})
	}
	if want := 16; tried != want {
		t.Errorf("want %d edits, got %d", want, tried)
	}
}

// TestAddressesStay: whoever has an address keeps it when addresses come in another
// way, also when the outside pool has bound one for the machine.
func TestAddressesStay(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	for name, v := range assignments("cluster-api", "ipam", "dhcp", "none") {
		t.Run(name, func(t *testing.T) {
			l := running(t, v.given)
			l.bound()
			l.reconcile()
			before := l.addresses()
			if len(before) != 5 {
				t.Fatalf("five machines have an address each: got %v", before)
			}
			v.edit(l)
			for range 3 {
				l.reconcile()
				l.bound()
				if diff := cmp.Diff(before, l.addresses()); diff != "" {
					t.Errorf("-before, +after:\n%s", diff)
				}
			}
		})
	}
}

// addresses that are sent to each machine.
func (l *living) addresses() map[string]any {
	out := map[string]any{}
	for key, o := range l.observed {
		if o["kind"] == "Request" {
			out[key] = at(o, "spec", "forProvider", "payload", "body")
		}
	}
	return out
}

// bound lets the outside pool bind an address for every claim.
func (l *living) bound() {
	for i, key := range ofKind(l.observed, "IPAddressClaim") {
		o := l.observed[key]
		if at(o, "status", "addressRef") != nil {
			continue
		}
		put(o, object{"name": nameOf(o)}, "status", "addressRef")
		l.machines = append(l.machines, object{
			"apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddress",
			"metadata": object{"name": nameOf(o), "namespace": "team-a"},
			"spec": object{
				"address": fmt.Sprintf("10.60.10.%d", 101+i), "prefix": 24.0,
				"claimRef": object{"name": nameOf(o)},
				"poolRef":  at(o, "spec", "poolRef"),
			},
		})
	}
}

const (
	guide = "../../docs/changes.md"
	begin = "<!-- The table is written by go test ./fn/function -run TestChangesGuide -update. -->\n"
	end   = "<!-- End of the table. -->\n"
)

// TestChangesGuide keeps the table in the guide as it is tested here.
func TestChangesGuide(t *testing.T) {
	b, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, both := strings.Cut(rest, end)
	if !ok || !both {
		t.Fatalf("%s has no place for the table, between %q and %q", guide, begin, end)
	}
	want := before + begin + "\n" + table() + "\n" + end + after
	if *update {
		if err := os.WriteFile(guide, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("%s: -want, +got (go test ./fn/function -run TestChangesGuide -update writes it):\n%s", guide, diff)
	}
	for effect := range maps.Keys(effects()) {
		if !strings.Contains(before, "**"+effect+"**") {
			t.Errorf("the guide does not say what %q means", effect)
		}
	}
}

// effects that there are.
func effects() map[string]bool {
	out := map[string]bool{}
	for _, r := range rows() {
		out[r.effect] = true
	}
	return out
}

func table() string {
	var b strings.Builder
	b.WriteString("| Field | An edit | More |\n| --- | --- | --- |\n")
	for _, r := range rows() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.field, r.effect, r.words)
	}
	return b.String()
}

// TestEditsThatRollNothing makes several edits in a row that roll nothing, as
// operators do, takes them back one by one, and makes them once more. Nothing that
// machines are made from may change by any of them.
func TestEditsThatRollNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	l := settled(t)
	before := madeFrom(t, l.observed)
	var done []wish
	n := 0
	try := func(what string, edit func()) {
		was := l.wish()
		edit()
		if cmp.Equal(was, l.wish(), cmp.AllowUnexported(wish{})) {
			t.Errorf("%s changes nothing", what)
		}
		got := l.reconcile()
		l.unchanged(got)
		if diff := cmp.Diff(before, madeFrom(t, got)); diff != "" {
			t.Fatalf("%s rolls machines: -before, +after:\n%s", what, diff)
		}
		n++
	}
	for range 2 {
		for _, r := range rows() {
			for _, v := range r.edits() {
				if r.effect != nothing || v.given != nil {
					continue
				}
				done = append(done, l.wish())
				try("an edit of "+r.field, func() { v.edit(l) })
			}
		}
		for ; len(done) > 0; done = done[:len(done)-1] {
			try("an edit that is taken back", func() { l.wishFor(done[len(done)-1]) })
		}
	}
	const enough = 50
	if n < enough {
		t.Errorf("only %d edits, want at least %d", n, enough)
	}
}

// wish of the user and of the platform team.
type wish struct{ spec, input object }

// wish as it is now, a copy.
func (l *living) wish() wish { return wish{plain(l.spec()).(object), plain(l.input).(object)} }

// wishFor what was wished for once.
func (l *living) wishFor(w wish) {
	l.composite["spec"] = plain(w.spec)
	l.input = plain(w.input).(object)
}

// bare composes a cluster of which nothing exists yet.
func (l *living) bare() { l.t.Helper(); l.reconcile() }
