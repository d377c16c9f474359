package model

import (
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// rollout is one step of a MachineDeployment's controller:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/core/reconcilers/machinedeployment/machinedeployment_rollout_rollingupdate.go.
type rollout struct {
	w      *World
	o      *composed
	wanted int
	now    *machineSet   // the set that is wanted
	old    []*machineSet // all others, oldest first
}

func (w *World) tickDeployment(o *composed) {
	cluster, pool := text(o.body, "spec", "clusterName"), text(o.body, "metadata", "labels", poolLabel)
	sets := w.setsOf(cluster, pool)
	if !o.deleted.IsZero() {
		w.dissolve(o, sets)
		return
	}
	r := rollout{w: w, o: o, wanted: w.replicas(o)}
	for _, ms := range sets {
		if ms.madeFor(o) && r.now == nil {
			r.now = ms
			continue
		}
		r.old = append(r.old, ms)
	}
	if r.now == nil {
		r.now = w.newSet(o, cluster, pool)
	}
	r.now.labels = object(o.body, "spec", "template", "metadata", "labels")
	o.observed = o.generation
	r.scaleUp()
	r.scaleDown()
	r.finish()
}

// replicas that a deployment wants: an autoscaled one starts with one.
func (w *World) replicas(o *composed) int {
	if at(o.body, "spec", "replicas") != nil {
		return number(o.body, "spec", "replicas")
	}
	if _, set := o.spec["replicas"]; !set {
		w.setSpec(o, "replicas", 1)
	}
	n, _ := o.spec["replicas"].(int)
	return n
}

func (w *World) newSet(o *composed, cluster, pool string) *machineSet {
	ms := &machineSet{
		name: o.name + "-" + w.suffix(), cluster: cluster, pool: pool, owner: o.owner, created: w.now,
		infra:   text(o.body, "spec", "template", "spec", "infrastructureRef", "name"),
		config:  text(o.body, "spec", "template", "spec", "bootstrap", "configRef", "name"),
		version: text(o.body, "spec", "template", "spec", "version"),
	}
	w.sets = append(w.sets, ms)
	w.changed()
	return ms
}

// dissolve the sets of a deployment that is being deleted.
func (w *World) dissolve(o *composed, sets []*machineSet) {
	for _, ms := range sets {
		ms.replicas = 0
		machines := w.ofSet(ms)
		for _, m := range machines {
			w.deleteMachine(m)
		}
		if len(machines) == 0 {
			w.dropSet(ms)
		}
	}
	if len(sets) == 0 {
		w.forget(o)
	}
}

func (w *World) dropSet(ms *machineSet) {
	w.note("machine set dropped")
	w.sets = slices.DeleteFunc(w.sets, func(other *machineSet) bool { return other == ms })
	w.changed()
}

func (r *rollout) rolling(name string, otherwise int) int {
	if at(r.o.body, "spec", "rollout", "strategy", "rollingUpdate", name) == nil {
		return otherwise
	}
	return number(r.o.body, "spec", "rollout", "strategy", "rollingUpdate", name)
}

func (r *rollout) all() []*machineSet { return append(slices.Clone(r.old), r.now) }

func (r *rollout) total() int {
	n := 0
	for _, ms := range r.all() {
		n += ms.replicas
	}
	return n
}

func (r *rollout) scale(ms *machineSet, replicas int) {
	if ms.replicas != replicas {
		ms.replicas = replicas
		r.w.changed()
	}
}

func (r *rollout) scaleUp() {
	if r.now.replicas >= r.wanted {
		r.scale(r.now, r.wanted)
		return
	}
	room := r.wanted + r.rolling("maxSurge", 1) - r.total()
	if room > 0 {
		r.scale(r.now, min(r.wanted, r.now.replicas+room))
	}
}

func (r *rollout) scaleDown() {
	minimum := max(r.wanted-r.rolling("maxUnavailable", 0), 0)
	available, pending := 0, 0
	for _, ms := range r.all() {
		machines := r.w.ofSet(ms)
		available += ready(machines)
		pending += max(len(machines)-ms.replicas, 0)
	}
	down := r.total() - pending - minimum - max(r.now.replicas-ready(r.w.ofSet(r.now)), 0)
	for _, ms := range r.old {
		n := min(down, ms.replicas)
		if set := ready(r.w.ofSet(ms)); set > 0 {
			n = min(n, max(available-minimum, 0))
		}
		if n > 0 {
			r.scale(ms, ms.replicas-n)
			down, available = down-n, available-n
		}
	}
}

// finish writes the status, and drops old sets when the rollout is complete.
func (r *rollout) finish() {
	replicas, upToDate, up := 0, 0, 0
	for _, ms := range r.all() {
		machines := r.w.ofSet(ms)
		replicas, upToDate, up = replicas+len(machines), upToDate+min(ms.upToDate, len(machines)), up+ready(machines)
	}
	counts := machineCounts(r.o.observed, replicas, upToDate, up)
	counts["conditions"] = []fields{condition("Available", up >= r.wanted-r.rolling("maxUnavailable", 0), "")}
	r.w.setStatus(r.o, counts)
	if replicas != r.wanted || upToDate != r.wanted || up != r.wanted {
		return
	}
	for _, ms := range r.old {
		if ms.replicas == 0 && len(r.w.ofSet(ms)) == 0 {
			r.w.dropSet(ms)
		}
	}
}

// needed says why a template must stay, by what really exists, or "".
func (w *World) needed(template *structpb.Struct, namespace string) string {
	kind, name := text(template, "kind"), text(template, "metadata", "name")
	for _, ms := range w.sets {
		if ms.owner.namespace != namespace || ms.replicas == 0 && len(w.ofSet(ms)) == 0 {
			continue
		}
		if kind == "PacketMachineTemplate" && ms.infra == name || kind == "KubeadmConfigTemplate" && ms.config == name {
			return "machine set " + ms.name + " still reads it"
		}
	}
	return ""
}
