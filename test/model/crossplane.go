package model

import (
	"context"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Crash is where a reconcile ends early.
type Crash int

// The places.
const (
	NoCrash Crash = iota
	// AfterDeletion ends it when what is missing was deleted.
	AfterDeletion
	// AmidApply ends it when half of the objects were applied.
	AmidApply
	// BeforeStatus ends it when all objects were applied.
	BeforeStatus
)

// Trouble is what goes wrong with one reconcile.
type Trouble struct {
	// OldComposite reads the composite as it was before its last change.
	OldComposite bool
	// OldOthers reads the other composites as of the moment when the composite
	// was last written, and not as they have become since. They are never older
	// than that: all come out of one cache, which is filled in order.
	OldOthers bool
	// OldLists are requirements that are answered as they were last time.
	OldLists map[string]bool
	// Unfetched are requirements that are not answered at all.
	Unfetched map[string]bool
	// OldObjects are keys of composed objects that are seen as last time.
	OldObjects map[string]bool
	// Hidden are keys of composed objects that are not seen.
	Hidden map[string]bool
	// Crash ends the reconcile early.
	Crash Crash
}

func (t Trouble) String() string {
	var out []string
	for what, is := range map[string]bool{"old composite": t.OldComposite, "old others": t.OldOthers, "crash": t.Crash != NoCrash} {
		if is {
			out = append(out, what)
		}
	}
	for what, names := range map[string]map[string]bool{
		"old lists": t.OldLists, "unfetched": t.Unfetched, "old objects": t.OldObjects, "hidden": t.Hidden,
	} {
		if len(names) > 0 {
			out = append(out, what+": "+strings.Join(slices.Sorted(maps.Keys(names)), " "))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// maxRounds is how often Crossplane calls a function at most.
const maxRounds = 6

// Reconcile a composite once. One that is being deleted is left alone.
func (w *World) Reconcile(c *Composite, t Trouble) {
	if c.deleted {
		return
	}
	w.note("reconcile")
	own := c.now()
	if t.OldComposite && len(c.history) > 1 {
		own = c.history[len(c.history)-2]
	}
	asOf := w.writes
	if t.OldOthers {
		asOf = own.write
	}
	run := &run{w: w, c: c, t: t, own: own, asOf: asOf, observed: w.observe(own, t)}
	if !run.call() {
		return
	}
	w.logf("reconcile of %s: %s", c, t)
	run.judge()
	if run.fatal() {
		w.logf("refused: %v", run.rsp.GetResults())
		w.note("refused")
		w.writeConditions(c, run.rsp)
		return
	}
	run.apply()
}

// run is one reconcile.
type run struct {
	w        *World
	c        *Composite
	t        Trouble
	own      *version
	asOf     int
	observed map[string]*composed
	req      *fnv1.RunFunctionRequest
	rsp      *fnv1.RunFunctionResponse
}

// observe the composed objects that a version of a composite refers to.
func (w *World) observe(v *version, t Trouble) map[string]*composed {
	out := map[string]*composed{}
	for key, r := range v.refs {
		if o := w.byRef[r]; o != nil && !t.Hidden[key] {
			out[key] = o
		}
	}
	return out
}

// call the function until its requirements are stable, and say whether they
// are.
func (r *run) call() bool {
	observed := &fnv1.State{
		Composite: &fnv1.Resource{Resource: r.c.read(r.own)},
		Resources: make(map[string]*fnv1.Resource, len(r.observed)),
	}
	for key, o := range r.observed {
		s := o.read()
		if r.t.OldObjects[key] && o.seen != nil {
			s = o.seen
		}
		o.seen = s
		observed.Resources[key] = &fnv1.Resource{Resource: s}
	}
	r.req = &fnv1.RunFunctionRequest{
		Meta: &fnv1.RequestMeta{Tag: "model"}, Observed: observed, Input: r.w.input, Credentials: credentials,
	}
	var asked *fnv1.Requirements
	for range maxRounds {
		r.req.Desired = &fnv1.State{}
		rsp, err := r.w.fn.RunFunction(context.Background(), r.req)
		if err != nil {
			r.w.violationf("%s: the function returned an error: %v", r.c, err)
			return false
		}
		r.rsp = rsp
		if r.fatal() || proto.Equal(asked, rsp.GetRequirements()) {
			return true
		}
		asked = rsp.GetRequirements()
		r.fetch(asked)
	}
	r.w.violationf("%s: requirements did not settle", r.c)
	return false
}

var credentials = map[string]*fnv1.Credentials{"equinix-metal": {Source: &fnv1.Credentials_CredentialData{
	CredentialData: &fnv1.CredentialData{Data: map[string][]byte{"auth_token": []byte("token")}},
}}}

func (r *run) fatal() bool { return isFatal(r.rsp) }

func isFatal(rsp *fnv1.RunFunctionResponse) bool {
	for _, result := range rsp.GetResults() {
		if result.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return true
		}
	}
	return false
}

// fetch what was asked for. Each requirement is read once in a reconcile.
func (r *run) fetch(asked *fnv1.Requirements) {
	r.req.RequiredResources = map[string]*fnv1.Resources{}
	for name, selector := range asked.GetResources() {
		if r.t.Unfetched[name] {
			continue
		}
		found, known := r.c.lists[name]
		if !known || !r.t.OldLists[name] {
			found = r.w.list(r, selector)
			r.c.lists[name] = found
		}
		r.req.RequiredResources[name] = found
	}
}

// list the objects that a selector selects.
func (w *World) list(r *run, s *fnv1.ResourceSelector) *fnv1.Resources {
	found := w.find(r, s)
	out := &fnv1.Resources{Items: make([]*fnv1.Resource, 0, len(found))}
	for _, o := range found {
		out.Items = append(out.GetItems(), &fnv1.Resource{Resource: o})
	}
	return out
}

func (w *World) find(r *run, s *fnv1.ResourceSelector) []*structpb.Struct {
	cluster := s.GetMatchLabels().GetLabels()[clusterLabel]
	switch s.GetKind() {
	case compositeKind:
		return w.compositesAsOf(r.asOf)
	case "Machine", "PacketMachine":
		return w.listMachines(cluster, s.GetKind())
	case "MachineSet":
		return w.listSets(cluster)
	case "IPAddress":
		return w.pools.bound()
	case "Secret":
		return w.kubeconfig(s)
	default:
		return nil
	}
}

func (w *World) compositesAsOf(write int) []*structpb.Struct {
	var out []*structpb.Struct
	for _, c := range w.composites {
		if v := c.asOf(write); v != nil {
			out = append(out, c.read(v))
		}
	}
	return out
}

func (w *World) listMachines(cluster, kind string) []*structpb.Struct {
	var out []*structpb.Struct
	for _, m := range w.machinesOf(cluster, "") {
		if kind == "Machine" && m.visible || kind == "PacketMachine" && m.packet {
			out = append(out, m.read(kind))
		}
	}
	return out
}

func (w *World) listSets(cluster string) []*structpb.Struct {
	var out []*structpb.Struct
	for _, ms := range w.sets {
		if ms.cluster == cluster {
			out = append(out, ms.read(w))
		}
	}
	return out
}

// apply the response, in Crossplane's order.
func (r *run) apply() {
	desired := r.rsp.GetDesired().GetResources()
	for _, key := range slices.Sorted(maps.Keys(r.observed)) {
		if _, stays := desired[key]; !stays {
			r.w.note("given up: " + r.observed[key].kind)
			r.w.logf("%s gives up %s", r.c, key)
			r.w.remove(r.observed[key])
		}
	}
	if r.t.Crash == AfterDeletion {
		return
	}
	v := *r.c.now()
	v.refs = make(map[string]ref, len(desired))
	bodies := make(map[string]*structpb.Struct, len(desired))
	for key, d := range desired {
		body := d.GetResource()
		if o, known := r.observed[key]; known && o.name != text(body, "metadata", "name") {
			body = with(body, "metadata", with(object(body, "metadata"), "name", o.name))
		}
		bodies[key], v.refs[key] = body, refOf(body)
	}
	r.w.orphan(r.c, v.refs)
	if !maps.Equal(v.refs, r.c.now().refs) {
		r.w.write(r.c, v)
	}
	keys := slices.Sorted(maps.Keys(desired))
	if r.t.Crash == AmidApply {
		keys = keys[:len(keys)/2]
	}
	for _, key := range keys {
		o := r.w.apply(r.c, key, bodies[key])
		r.remember(o)
	}
	if r.t.Crash == AmidApply || r.t.Crash == BeforeStatus {
		return
	}
	r.writeStatus()
}

// orphan marks what a composite no longer refers to and has not deleted.
func (w *World) orphan(c *Composite, refs map[string]ref) {
	for _, o := range w.objects {
		if o.owner == c && o.deleted.IsZero() && refs[o.key] != o.ref {
			o.orphan = true
		}
	}
}

// remember what machines that are made from an object will be set up for.
func (r *run) remember(o *composed) {
	name := text(o.body, "metadata", "labels", poolLabel)
	p := r.own.spec.pool(name)
	if p == nil {
		return
	}
	made := o.name
	switch o.kind {
	case "KubeadmConfigTemplate":
	case "KubeadmControlPlane":
		// One that is held stays what it was.
		made = madeFrom(o.body)
	default:
		return
	}
	if _, known := r.c.booting[made]; !known {
		r.c.booting[made] = r.own.spec.setup(p)
	}
}

// writeStatus writes the composite's new status and its conditions.
func (r *run) writeStatus() {
	r.c.last = r.rsp
	status := object(r.rsp.GetDesired().GetComposite().GetResource(), "status")
	r.w.logf("%s records %s", r.c, record(status))
	v := *r.c.now()
	if !same(v.status, status) {
		v.status = status
		r.w.write(r.c, v)
	}
	r.w.writeConditions(r.c, r.rsp)
}

func (w *World) writeConditions(c *Composite, rsp *fnv1.RunFunctionResponse) {
	v := *c.now()
	v.conditions = maps.Clone(v.conditions)
	if v.conditions == nil {
		v.conditions = map[string]*structpb.Struct{}
	}
	differs := false
	for _, cond := range rsp.GetConditions() {
		s := structOf(fields{
			"type": cond.GetType(), "status": conditionStatus[cond.GetStatus()],
			"reason": cond.GetReason(), "message": cond.GetMessage(),
			"lastTransitionTime": transition,
		})
		differs = differs || !same(v.conditions[cond.GetType()], s)
		v.conditions[cond.GetType()] = s
	}
	if differs {
		w.write(c, v)
	}
}

// transition is when conditions change: nothing here asks for the true time.
const transition = "2026-01-02T12:00:00Z"

var conditionStatus = map[fnv1.Status]string{
	fnv1.Status_STATUS_CONDITION_TRUE:    "True",
	fnv1.Status_STATUS_CONDITION_FALSE:   "False",
	fnv1.Status_STATUS_CONDITION_UNKNOWN: "Unknown",
}
