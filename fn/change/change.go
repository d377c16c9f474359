// Package change says what becomes of a running cluster when its composed
// objects go from one desired state to another: which objects come, change and
// go, and above all whose servers are replaced. It knows values only, so that
// a preview, a test and a run ask the same question.
package change

import (
	"maps"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/keep"
)

// Objects are composed objects by key, in unstructured values.
type Objects = map[string]map[string]any

// Action is what happens to an object.
type Action string

// The actions.
const (
	// Create makes an object that was not there.
	Create Action = "Create"
	// Update changes an object in place.
	Update Action = "Update"
	// Delete removes an object.
	Delete Action = "Delete"
)

// Effect on the machines of a pool, from the mildest to the hardest.
type Effect int

// The effects.
const (
	// Nothing happens to machines.
	Nothing Effect = iota
	// Reconfigures changes ports, VLANs or addresses of machines that run.
	Reconfigures
	// Scales adds machines, or takes some away, and leaves the others alone.
	Scales
	// Rolls replaces every machine, a few at a time.
	Rolls
	// Removes every machine of the pool for good.
	Removes
)

// String is the effect in one word.
func (e Effect) String() string {
	return [...]string{"nothing", "reconfigures", "scales", "rolls", "removes"}[e]
}

// Change of one composed object.
type Change struct {
	// Key of the composed object.
	Key string
	// Kind of the object.
	Kind string
	// Namespace of the object; empty for a cluster-scoped one.
	Namespace string
	// Name of the object.
	Name string
	// Action that the object undergoes.
	Action Action
	// Effect on machines.
	Effect Effect
	// Pool whose machines are affected: plan.ControlPlanePool, a worker
	// pool's name, or "" where it is no single pool.
	Pool string
	// Machine that the object belongs to, or "".
	Machine string
	// Fields that differ, sorted by path. For a rollout also those inside the
	// templates that take turns.
	Fields []Field
	// Why is the effect in words, a clause without a full stop; "" without one.
	Why string
}

// ReplacesServers says whether machines are deleted that were to stay: by a
// rollout, or with their pool.
func (c Change) ReplacesServers() bool { return c.Effect == Rolls || c.Effect == Removes }

// Field that differs.
type Field struct {
	// Path of the field, for example spec.template.spec.machineType. Items of
	// a list are named by their name, path, key or destination where all have
	// one, and by their place otherwise.
	Path string
	// Before and After are the values in short; "" where there was or is none.
	Before, After string
}

// Between two desired states of the same composite: what changes, sorted by
// key. Templates come and go with a rollout, so they have no effect themselves.
func Between(before, after Objects) []Change {
	return differ{before: before, after: after, fields: equalDifference, rollout: equalDifference}.changes()
}

// Onto is what applying a desired state onto observed objects changes. A field
// that the desired state does not name belongs to somebody else and counts for
// nothing; so does what a field's default adds.
func Onto(observed, desired Objects) []Change {
	return differ{before: observed, after: desired, fields: appliedDifference, rollout: rolledDifference}.changes()
}

// Pools are the effects on each pool's machines, the hardest one where there
// are several. A pool on which nothing has an effect is not in it.
func Pools(changes []Change) map[string]Effect {
	out := map[string]Effect{}
	for _, c := range changes {
		if c.Pool != "" && c.Effect > out[c.Pool] {
			out[c.Pool] = c.Effect
		}
	}
	return out
}

// Replaced are the pools whose servers are replaced or removed, sorted.
func Replaced(changes []Change) []string {
	var out []string
	for pool, effect := range Pools(changes) {
		if effect == Rolls || effect == Removes {
			out = append(out, pool)
		}
	}
	slices.Sort(out)
	return out
}

// compare two objects and say where they differ.
type compare func(before, after map[string]any) []Field

type differ struct {
	before, after Objects
	// fields compares objects, and rollout what a rollout compares of them.
	fields, rollout compare
}

func (d differ) changes() []Change {
	keys := maps.Clone(d.before)
	if keys == nil {
		keys = Objects{}
	}
	maps.Copy(keys, d.after)
	var out []Change
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		was, existed := d.before[key]
		is, exists := d.after[key]
		c := about(key, keys[key])
		switch {
		case !existed:
			c.Action = Create
			d.created(&c)
		case !exists:
			c.Action = Delete
			d.deleted(&c)
		default:
			c.Action = Update
			d.updated(&c, was, is)
			if len(c.Fields) == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// about is what is the same for every action.
func about(key string, o map[string]any) Change {
	return Change{
		Key: key, Kind: text(o, "kind"),
		Namespace: text(o, "metadata", "namespace"), Name: text(o, "metadata", "name"),
		Pool: text(o, "metadata", "labels", keep.PoolLabel), Machine: text(o, "metadata", "labels", machineLabel),
	}
}

// machineLabel names the machine that an object belongs to.
const machineLabel = "l2cluster.io/machine"

// Kinds with an effect on machines.
const (
	controlPlane = "KubeadmControlPlane"
	deployment   = "MachineDeployment"
)

func (d differ) created(c *Change) {
	switch c.Kind {
	case controlPlane, deployment:
		c.Effect, c.Why = Scales, "its machines are made"
	case "Port":
		c.Effect, c.Why = Reconfigures, "VLANs are attached to its server"
	}
}

func (d differ) deleted(c *Change) {
	switch c.Kind {
	case controlPlane, deployment:
		c.Effect, c.Why = Removes, "all its machines and their servers are deleted"
	case "Port":
		c.Effect, c.Why = Reconfigures, "the port goes back to how a new server has it"
	case "Vlan":
		c.Why = "the VLAN is deleted, unless it was only observed"
	}
}

func (d differ) updated(c *Change, was, is map[string]any) {
	c.Fields = d.fields(was, is)
	switch c.Kind {
	case controlPlane, deployment:
		if rolled := d.rolled(c.Kind, was, is); len(rolled) > 0 {
			c.Effect, c.Fields = Rolls, merged(c.Fields, rolled)
			c.Why = "its servers are replaced, because " + inShort(rolled)
			return
		}
		if slices.ContainsFunc(c.Fields, func(f Field) bool { return f.Path == "spec.replicas" }) {
			c.Effect, c.Why = Scales, "machines are added or removed"
		}
	case "Port":
		reconfigured(c, "spec.forProvider.")
	case "Request":
		reconfigured(c, "spec.forProvider.payload.body")
	}
}

// reconfigured is a running server when a field of its own changes, and not one
// that says how it is reached.
func reconfigured(c *Change, fields string) {
	if slices.ContainsFunc(c.Fields, func(f Field) bool { return strings.HasPrefix(f.Path, fields) }) {
		c.Effect, c.Why = Reconfigures, "its server goes on running"
	}
}

// rolled are the fields by whose change an object that makes machines replaces
// them all; none when it does not.
func (d differ) rolled(kind string, was, is map[string]any) []Field {
	var out []Field
	for _, path := range keep.RolledFields(kind) {
		for _, f := range d.rollout(at(was, path...), at(is, path...)) {
			f.Path = strings.TrimSuffix(strings.Join(path, ".")+"."+f.Path, ".")
			out = append(out, f)
		}
	}
	return d.inTemplates(out, was, is)
}

// inTemplates adds what differs inside the templates that a reference goes
// from and to: their names alone tell nobody anything.
func (d differ) inTemplates(rolled []Field, was, is map[string]any) []Field {
	out := rolled
	for _, ref := range keep.TemplateReferences() {
		before, after := at(was, ref...), at(is, ref...)
		name := text(after, "name")
		if text(before, "name") == name {
			continue
		}
		from := find(d.before, text(before, "kind"), text(before, "name"))
		to := find(d.after, text(after, "kind"), name)
		if from == nil || to == nil {
			continue
		}
		inside := append(layouts(from, to), d.rollout(at(from, "spec", "template", "spec"), at(to, "spec", "template", "spec"))...)
		if len(inside) > 0 {
			out = slices.DeleteFunc(out, func(f Field) bool { return strings.HasPrefix(f.Path, strings.Join(ref, ".")) })
		}
		for _, f := range inside {
			f.Path = text(after, "kind") + "." + f.Path
			out = append(out, f)
		}
	}
	return out
}

// layoutAnnotation on a machine template says how the ports of its machines are
// laid out. It is as much a part of what the template's name stands for as its spec.
const layoutAnnotation = "l2cluster.io/layout"

// layouts are the field that says how ports are laid out, if two templates differ
// in it.
func layouts(from, to map[string]any) []Field {
	before, after := text(from, "metadata", "annotations", layoutAnnotation), text(to, "metadata", "annotations", layoutAnnotation)
	if before == after {
		return nil
	}
	return []Field{{Path: "metadata.annotations." + layoutAnnotation, Before: brief(before), After: brief(after)}}
}

func find(objects Objects, kind, name string) map[string]any {
	for _, o := range objects {
		if text(o, "kind") == kind && text(o, "metadata", "name") == name {
			return o
		}
	}
	return nil
}

func merged(all, more []Field) []Field {
	known := map[string]bool{}
	for _, f := range more {
		known[f.Path] = true
	}
	out := slices.Clone(more)
	for _, f := range all {
		if !known[f.Path] {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// most is how many fields a sentence spells out.
const most = 4

func inShort(fields []Field) string {
	var out []string
	for i, f := range fields {
		if i == most {
			out = append(out, "more")
			break
		}
		out = append(out, f.String())
	}
	return strings.Join(out, ", ")
}

// String is a field's change in short.
func (f Field) String() string {
	switch {
	case f.Before == "":
		return f.Path + " is added (" + f.After + ")"
	case f.After == "":
		return f.Path + " is removed"
	default:
		return f.Path + " changes from " + f.Before + " to " + f.After
	}
}
