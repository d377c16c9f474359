package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// Composite is a claim with its composite.
type Composite struct {
	name, namespace, uid string
	// given is the metadata of a composite that the model has not made up.
	given   *structpb.Struct
	created time.Time
	// history are the last versions, the newest at the end.
	history []*version
	// createdWrite is the write that made it.
	createdWrite int
	// deleted says that the composite is gone; deletedWrite says since when.
	deleted      bool
	deletedWrite int
	// lists are the required resources as they were read last.
	lists map[string]*fnv1.Resources
	// booting is what machines made of a bootstrap template are set up for, by the
	// template's name; the control plane's is under what they are made from.
	booting map[string]setup
	// last response that was not fatal, for those who watch.
	last *fnv1.RunFunctionResponse
}

// version of a composite, as it was written.
type version struct {
	write      int
	spec       *spec
	status     *structpb.Struct
	conditions map[string]*structpb.Struct
	refs       map[string]ref
	view       *structpb.Struct
}

// versions that are remembered. What is older is read as the oldest of them:
// nobody's view is older than that.
const versions = 8

// Create a claim.
func (w *World) create(name string, s *spec) *Composite {
	w.serial++
	c := &Composite{
		name: name, namespace: "team-a", uid: w.uuid(), created: w.now,
		lists: map[string]*fnv1.Resources{}, booting: map[string]setup{},
	}
	w.composites = append(w.composites, c)
	w.write(c, version{spec: s})
	c.createdWrite = w.writes
	w.logf("new %s: %s", c, s)
	return c
}

// write a new version of a composite.
func (w *World) write(c *Composite, v version) {
	w.writes++
	w.changed()
	v.write, v.view = w.writes, nil
	c.history = append(c.history, &v)
	if len(c.history) > versions {
		c.history = c.history[1:]
	}
}

// now is the newest version.
func (c *Composite) now() *version { return c.history[len(c.history)-1] }

// asOf is the version that a reader at some write sees, or nil.
func (c *Composite) asOf(write int) *version {
	if c.createdWrite > write || c.deleted && c.deletedWrite <= write {
		return nil
	}
	for _, v := range slices.Backward(c.history) {
		if v.write <= write {
			return v
		}
	}
	return c.history[0]
}

func (c *Composite) xrName() string {
	if c.given != nil {
		return text(c.given, "name")
	}
	return c.name + "-" + c.uid[:5]
}

// metadata of the composite.
func (c *Composite) metadata() *structpb.Struct {
	if c.given != nil {
		return c.given
	}
	return structOf(fields{
		"name": c.xrName(), "uid": c.uid, "creationTimestamp": stamp(c.created),
		"labels": fields{
			"crossplane.io/claim-name": c.name, "crossplane.io/claim-namespace": c.namespace, labelOwner: c.xrName(),
		},
	})
}

// edit the spec of a claim.
func (w *World) edit(c *Composite, s *spec) {
	v := *c.now()
	v.spec = s
	w.logf("edit of %s: %s", c, s)
	w.write(c, v)
}

// loseStatus takes the composite's status away, or only a part of it.
func (w *World) loseStatus(c *Composite, part string) {
	v := *c.now()
	if part == "" {
		v.status = nil
	}
	if part != "" && v.status != nil {
		kept := maps.Clone(v.status.GetFields())
		delete(kept, part)
		v.status = &structpb.Struct{Fields: kept}
	}
	w.cloud.forgetReleased(c)
	w.note("status lost")
	w.logf("%s loses its status (%s)", c, part)
	w.write(c, v)
}

// delete a claim. Its composite goes at once, and the garbage collector after
// what it composed.
func (w *World) delete(c *Composite) {
	w.writes++
	c.deleted, c.deletedWrite = true, w.writes
	w.logf("%s is deleted", c)
	for _, o := range slices.Clone(w.objects) {
		if o.owner == c {
			w.remove(o)
		}
	}
	w.changed()
}

// alive are the claims that exist.
func (w *World) alive() []*Composite {
	var out []*Composite
	for _, c := range w.composites {
		if !c.deleted {
			out = append(out, c)
		}
	}
	return out
}

// read is the composite in a version as the API serves it.
func (c *Composite) read(v *version) *structpb.Struct {
	if v.view != nil {
		return v.view
	}
	v.view = structOf(fields{
		"apiVersion": compositeAPI, "kind": compositeKind,
		"metadata": c.metadata(),
		"spec":     v.spec.fields(c),
	})
	status := v.status
	if len(v.conditions) > 0 {
		conditions := make([]any, 0, len(v.conditions))
		for _, kind := range slices.Sorted(maps.Keys(v.conditions)) {
			conditions = append(conditions, v.conditions[kind])
		}
		status = with(status, "conditions", conditions)
	}
	if status != nil {
		v.view = with(v.view, "status", status)
	}
	return v.view
}

// holds says whether a version's record gives an address to a machine.
func (v *version) holds(machine, key, address string) bool {
	return heldIn(v.status, machine+"/"+key) == address
}

// heldIn is the address of a key in the record of a status, or "".
func heldIn(status *structpb.Struct, key string) string {
	for _, p := range object(status, "allocations").GetFields() {
		if a := text(p.GetStructValue(), "held", key); a != "" {
			return a
		}
	}
	return ""
}

// noteTwice notes when two claims have chosen one address.
func (w *World) noteTwice() {
	chosen := map[string]bool{}
	for _, c := range w.alive() {
		for pool, p := range object(c.now().status, "allocations").GetFields() {
			for _, a := range object(p.GetStructValue(), "held").GetFields() {
				at := pool + " " + a.GetStringValue()
				if chosen[at] {
					w.note("address chosen twice")
				}
				chosen[at] = true
			}
		}
	}
}

// record of a status in short.
func record(status *structpb.Struct) string {
	var out []string
	for pool, p := range object(status, "allocations").GetFields() {
		for key, v := range object(p.GetStructValue(), "held").GetFields() {
			out = append(out, key+"="+v.GetStringValue())
		}
		for _, r := range at(p.GetStructValue(), "released").GetListValue().GetValues() {
			out = append(out, fmt.Sprintf("%s freed %v at %s", pool[len(pool)-14:], texts(r.GetStructValue(), "addresses"), text(r.GetStructValue(), "at")))
		}
		if pending := texts(p.GetStructValue(), "pending"); len(pending) > 0 {
			out = append(out, fmt.Sprint("pending ", pending))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (c *Composite) String() string { return fmt.Sprintf("claim %s", c.name) }
