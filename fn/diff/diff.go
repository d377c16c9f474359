// Package diff says what an edit of a claim does to its cluster: which objects
// are created, changed, replaced and deleted, field by field, what of it happens
// only later, and above all whether servers are replaced. It compares what the
// function answers to the claim before and after the edit, and knows neither
// where the answers come from nor where the report goes.
package diff

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/change"
)

// Condition that the claim has.
type Condition struct {
	// Type, status, reason and message as on the claim.
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Answer of the function to one claim in one world.
type Answer struct {
	// Objects that are desired, by key.
	Objects change.Objects
	// Status of the composite.
	Status map[string]any
	// Conditions of composite and claim.
	Conditions []Condition
}

// Edit is the answer before and after the claim was edited, in the same world.
type Edit struct{ Before, After Answer }

// Input of a comparison.
type Input struct {
	// Cluster is the name of the cluster.
	Cluster string
	// Observed composed objects, by key.
	Observed change.Objects
	// Assumed says that nobody looked: the observed objects are those that the
	// claim asked for before the edit, and no machine is known.
	Assumed bool
	// Now is the edit in the world as observed.
	Now Edit
	// Then is the edit when what is asked for now has come to be, and what follows
	// from that, while no machine comes or goes: the objects of machines are asked
	// for as they shall be in the end. Empty when Assumed.
	Then Edit
	// Goal is the edit where nothing was observed, so that nothing old is kept
	// and nothing has to wait for it.
	Goal Edit
}

// Action is what happens to an object.
type Action string

// The actions.
const (
	// Create makes an object that was not there.
	Create Action = "create"
	// Change changes an object in place.
	Change Action = "change"
	// Replace makes an object that takes the place of another of the same
	// kind: its content may not be changed in place.
	Replace Action = "replace"
	// Delete removes an object.
	Delete Action = "delete"
)

// When something happens.
type When string

// The times.
const (
	// Now is as soon as the claim is applied.
	Now When = "now"
	// Later is when what it waits for is done.
	Later When = "later"
)

// Identity of an object.
type Identity struct {
	// Key of the composed object.
	Key string `json:"key"`
	// Name of the object.
	Name string `json:"name"`
}

// Object that the edit touches.
type Object struct {
	Identity

	// Action that the object undergoes, and when.
	Action Action `json:"action"`
	When   When   `json:"when"`
	// APIVersion, kind and namespace of the object; no namespace for a
	// cluster-scoped one.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	// Replaces is the object whose place this one takes.
	Replaces *Identity `json:"replaces,omitempty"`
	// Fields that differ; of a replaced object, from the one that goes.
	Fields []Field `json:"fields,omitempty"`
	// Why says what the object, or the one that it replaces, waits for.
	Why string `json:"why,omitempty"`
}

// Report of what an edit does.
type Report struct {
	// Cluster is the name of the cluster.
	Cluster string `json:"cluster"`
	// Refused says why the edit is refused; then it does nothing, and the rest is
	// empty.
	Refused []string `json:"refused"`
	// Replaces says that servers are replaced, Removes that some are deleted and
	// nothing takes their place.
	Replaces bool `json:"replacesServers"`
	Removes  bool `json:"removesServers"`
	// ControlPlaneRolls says that the control plane's servers are among those
	// that are replaced.
	ControlPlaneRolls bool `json:"controlPlaneRolls"`
	// Warnings are sentences about servers that are replaced or deleted, one for
	// each pool, about VLANs that are taken from ports of servers that run, one for
	// each VLAN and pool, and about networks that become too small.
	Warnings []string `json:"warnings"`
	// Pools whose machines are affected, the control plane first.
	Pools []Pool `json:"pools"`
	// Objects that the edit touches, first those that it touches now.
	Objects []Object `json:"objects"`
	// Networks whose number of addresses, or of addresses that are needed,
	// differs.
	Networks []Network `json:"networks"`
	// Conditions that the claim has after the edit, and had otherwise before.
	Conditions []Condition `json:"conditions"`
	// Due are the pools whose servers are replaced or deleted without the edit as
	// well: the observed objects are not those of the claim before it.
	Due []string `json:"due"`
	// Assumed says that no observed state was given.
	Assumed bool `json:"assumed"`
}

// Refusal is the report of an edit that is refused for these reasons.
func Refusal(reasons []string) Report {
	return Report{
		Refused: reasons, Warnings: []string{}, Pools: []Pool{}, Objects: []Object{},
		Networks: []Network{}, Conditions: []Condition{}, Due: []string{},
	}
}

// Compare the answers to a claim before and after an edit.
func Compare(in Input) Report {
	out := Refusal([]string{})
	out.Cluster, out.Assumed, out.Pools, out.Networks = in.Cluster, in.Assumed, pools(in), networks(in.Now)
	for _, p := range out.Pools {
		out.Replaces = out.Replaces || p.replaces()
		out.Removes = out.Removes || p.removes()
		out.ControlPlaneRolls = out.ControlPlaneRolls || p.ControlPlane && p.replaces()
	}
	out.Warnings, out.Objects = out.warnings(detachments(in)), objects(in)
	out.Conditions, out.Due = conditions(in), due(in)
	return out
}

// inputValid is the condition that says what is wrong with the claim itself.
const inputValid = "InputValid"

// conditions that differ after the edit. Where nobody looked everything waits,
// with and without the edit, so only what is said of the claim itself counts.
func conditions(in Input) []Condition {
	out := []Condition{}
	for _, c := range in.Now.After.Conditions {
		if !slices.Contains(in.Now.Before.Conditions, c) && (!in.Assumed || c.Type == inputValid) {
			out = append(out, c)
		}
	}
	return out
}

// objects that the edit touches.
func objects(in Input) []Object {
	keys := map[string]bool{}
	for _, e := range []Edit{in.Now, in.Then, in.Goal} {
		for _, a := range []Answer{e.Before, e.After} {
			for key := range a.Objects {
				keys[key] = true
			}
		}
	}
	out := []Object{}
	var come, gone []Object
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		k := keyed{in: in, key: key}
		switch {
		case k.comes() != "":
			come = append(come, k.object(Create, k.comes()))
		case k.goes() != "" || k.unborn():
			gone = append(gone, k.object(Delete, k.goes()))
			out = append(out, k.changed()...)
		default:
			out = append(out, k.changed()...)
			out = append(out, k.changing()...)
		}
	}
	out = append(out, pairs(in, come, gone)...)
	slices.SortFunc(out, func(a, b Object) int {
		return cmp.Or(-cmp.Compare(a.When, b.When), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// keyed is one key in all answers.
type keyed struct {
	in  Input
	key string
}

// body of the object, as new as there is one.
func (k keyed) body() map[string]any {
	for _, a := range []Answer{k.in.Now.After, k.in.Goal.After, k.in.Then.After, k.in.Now.Before, k.in.Goal.Before} {
		if k.has(a) {
			return a.Objects[k.key]
		}
	}
	return nil
}

func (k keyed) object(action Action, when When) Object {
	body := k.body()
	return Object{
		Identity: Identity{Key: k.key, Name: text(body, "metadata", "name")}, Action: action, When: when,
		APIVersion: text(body, "apiVersion"), Kind: text(body, "kind"), Namespace: text(body, "metadata", "namespace"),
	}
}

// has says whether an answer has the key.
func (k keyed) has(a Answer) bool { return a.Objects[k.key] != nil }

// follows says that the object belongs to a machine, so that it follows from what
// was observed and not from the claim alone.
func (k keyed) follows() bool { return !k.has(k.in.Goal.Before) && !k.has(k.in.Goal.After) }

// exists says whether the object was observed.
func (k keyed) exists() bool { return k.in.Observed[k.key] != nil }

// comes says when the object comes; "" when it does not. One that the claim asks
// for anew and that is still there from an earlier edit counts as well.
func (k keyed) comes() When {
	isNew := k.has(k.in.Goal.After) && !k.has(k.in.Goal.Before)
	switch {
	case k.has(k.in.Now.After) && !k.exists() && !k.has(k.in.Now.Before), k.has(k.in.Now.After) && isNew:
		return Now
	case isNew && !k.exists():
		return Later
	case k.follows() && k.has(k.in.Then.After) && !k.has(k.in.Then.Before) && !k.has(k.in.Now.After) && !k.exists():
		return Later
	default:
		return ""
	}
}

// goes says when the object goes; "" when it does not.
func (k keyed) goes() When {
	switch {
	case k.has(k.in.Now.Before) && !k.has(k.in.Now.After) && k.exists():
		return Now
	case k.has(k.in.Goal.Before) && !k.has(k.in.Goal.After) && k.has(k.in.Now.After):
		return Later
	case k.follows() && k.has(k.in.Then.Before) && !k.has(k.in.Then.After) && k.has(k.in.Now.After):
		return Later
	default:
		return ""
	}
}

// unborn says that the object would have come without the edit, and now never
// does.
func (k keyed) unborn() bool {
	return k.has(k.in.Goal.Before) && !k.has(k.in.Goal.After) && !k.has(k.in.Now.After) && !k.exists()
}

// changed is the object as it changes now, if it does.
func (k keyed) changed() []Object {
	before, after := k.in.Now.Before.Objects[k.key], k.in.Now.After.Objects[k.key]
	if before == nil || after == nil {
		return nil
	}
	// What is kept as it was observed does not change, however it was composed.
	if kept := reflect.DeepEqual(after["spec"], k.in.Observed[k.key]["spec"]); kept && !k.in.Assumed {
		return nil
	}
	return k.with(Now, Fields(before, after), "")
}

// changing is the object as it changes later, if it does.
func (k keyed) changing() []Object {
	after := k.in.Now.After.Objects[k.key]
	if after == nil {
		return nil
	}
	fields, why := k.pending(after), waits
	if slices.ContainsFunc(fields, func(f Field) bool { return f.Path == versionField }) {
		why = waitsForControlPlane
	}
	return k.with(Later, fields, why)
}

// with is the object with fields that change, or nothing without any.
func (k keyed) with(when When, fields []Field, why string) []Object {
	if len(fields) == 0 {
		return nil
	}
	o := k.object(Change, when)
	o.Fields, o.Why = fields, why
	return []Object{o}
}

// pending fields are those that the edit changes and that are not changed now.
func (k keyed) pending(now map[string]any) []Field {
	if k.follows() {
		return k.following(now)
	}
	before, goal := k.in.Goal.Before.Objects[k.key], k.in.Goal.After.Objects[k.key]
	if before == nil || goal == nil {
		return nil
	}
	edited := map[string]bool{}
	for _, f := range Fields(before, goal) {
		edited[f.Path] = true
	}
	return slices.DeleteFunc(Fields(now, goal), func(f Field) bool { return !edited[f.Path] })
}

// following fields are those of a machine's object that change once something
// else has come to be, and that would not without the edit.
func (k keyed) following(now map[string]any) []Field {
	then := k.in.Then.After.Objects[k.key]
	if then == nil {
		return nil
	}
	anyway := Fields(k.in.Now.Before.Objects[k.key], k.in.Then.Before.Objects[k.key])
	return slices.DeleteFunc(Fields(now, then), func(f Field) bool {
		return slices.ContainsFunc(anyway, func(other Field) bool { return reflect.DeepEqual(f, other) })
	})
}

// versionField of a MachineDeployment is Kubernetes' version on its machines.
const versionField = "spec.template.spec.version"

// text at a path, or "".
func text(o map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		o, _ = o[name].(map[string]any)
	}
	s, _ := o[path[len(path)-1]].(string)
	return s
}

// number at a path of unstructured values.
func number(o map[string]any, path ...string) (int64, bool) {
	for _, name := range path[:len(path)-1] {
		o, _ = o[name].(map[string]any)
	}
	switch n := o[path[len(path)-1]].(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	default:
		return 0, false
	}
}

// title of an object for a person.
func (o Object) title(name string) string {
	return o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+name, "/")
}
