package model

import (
	"fmt"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// maxAutoscaled is the most machines that an autoscaled pool may have.
const maxAutoscaled = 3

// machineSet is a MachineSet of Cluster API.
type machineSet struct {
	name, cluster, pool string
	owner               *Composite
	labels              *structpb.Struct
	infra, config       string // names of the templates
	version             string
	replicas            int
	// upToDate is what its status says: it lags behind.
	upToDate int
	created  time.Time
}

// endpoint of every cluster's control plane.
var endpoint = fields{"host": "198.51.100.10", "port": 6443}

func (w *World) tickPacketCluster(o *composed) {
	if !o.deleted.IsZero() {
		if len(w.machinesOf(o.name, "")) == 0 {
			w.forget(o)
		}
		return
	}
	w.setSpec(o, "controlPlaneEndpoint", endpoint)
	w.setStatus(o, fields{"ready": true})
}

func (w *World) tickCluster(o *composed) {
	if !o.deleted.IsZero() {
		if len(w.machinesOf(o.name, "")) == 0 {
			w.forget(o)
		}
		return
	}
	if w.object(ref{"PacketCluster", o.namespace, o.name}) != nil {
		w.setSpec(o, "controlPlaneEndpoint", endpoint)
	}
	joined := slices.ContainsFunc(w.machinesOf(o.name, controlPlanePool), func(m *machine) bool { return m.joined })
	o.observed = o.generation
	w.setStatus(o, fields{
		"observedGeneration": o.observed,
		"conditions":         []fields{condition("Available", joined, "the control plane")},
	})
}

func (w *World) kubeconfig(s *fnv1.ResourceSelector) []*structpb.Struct {
	for _, o := range w.objects {
		if o.kind == "Cluster" && o.name+"-kubeconfig" == s.GetMatchName() && o.status != nil {
			return []*structpb.Struct{kubeconfig(o)}
		}
	}
	return nil
}

// kubeconfig is the Secret that Cluster API makes for a cluster.
func kubeconfig(cluster *composed) *structpb.Struct {
	return structOf(fields{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": fields{
			"name": cluster.name + "-kubeconfig", "namespace": cluster.namespace, "labels": fields{clusterLabel: cluster.name},
		},
		"data": fields{"value": "YXBpVmVyc2lvbjogdjEK"},
	})
}

// machinesOf a cluster, of one pool or of all, oldest first.
func (w *World) machinesOf(cluster, pool string) []*machine {
	var out []*machine
	for _, m := range w.machines {
		if m.cluster == cluster && (pool == "" || m.pool == pool) {
			out = append(out, m)
		}
	}
	return out
}

// generation of a control plane's machines: what they were made from.
func madeFrom(body *structpb.Struct) string {
	return fmt.Sprint(
		text(body, "spec", "machineTemplate", "spec", "infrastructureRef", "name"), " ", text(body, "spec", "version"), " ",
		hashOf(object(body, "spec", "kubeadmConfigSpec")))
}

// tickControlPlane is one step of the KubeadmControlPlane's controller: it
// makes or deletes one machine at a time, and only while all are well.
func (w *World) tickControlPlane(o *composed) {
	cluster := text(o.body, "metadata", "labels", clusterLabel)
	machines := w.machinesOf(cluster, controlPlanePool)
	if !o.deleted.IsZero() {
		for _, m := range machines {
			w.deleteMachine(m)
		}
		if len(machines) == 0 {
			w.forget(o)
		}
		return
	}
	o.observed = o.generation
	from := madeFrom(o.body)
	w.stepControlPlane(o, cluster, from, machines)
	machines = w.machinesOf(cluster, controlPlanePool)
	upToDate := 0
	for _, m := range machines {
		is := m.from == from
		if is {
			upToDate++
		}
		if m.upToDate == nil || *m.upToDate != is {
			m.upToDate = &is
			w.touched(m)
		}
	}
	counts := machineCounts(o.observed, len(machines), upToDate, ready(machines))
	if len(machines) > 0 {
		counts["version"] = lowest(machines)
	}
	w.setStatus(o, counts)
}

func (w *World) stepControlPlane(o *composed, cluster, from string, machines []*machine) {
	wanted := number(o.body, "spec", "replicas")
	if ready(machines) < len(machines) && len(machines) > 0 {
		return
	}
	surge := number(o.body, "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
	var outdated []*machine
	for _, m := range machines {
		if m.from != from {
			outdated = append(outdated, m)
		}
	}
	switch {
	case len(machines) > wanted && len(outdated) > 0, len(outdated) > 0 && surge == 0 && len(machines) == wanted:
		w.deleteMachine(outdated[0])
	case len(machines) > wanted:
		w.deleteMachine(machines[0])
	case len(machines) < wanted, len(outdated) > 0 && len(machines) < wanted+surge:
		infra := text(o.body, "spec", "machineTemplate", "spec", "infrastructureRef", "name")
		if !w.exists("PacketMachineTemplate", o.namespace, infra) {
			return
		}
		w.newMachine(machine{
			name: o.name + "-" + w.suffix(), cluster: cluster, pool: controlPlanePool, owner: o.owner, from: from, version: text(o.body, "spec", "version"),
			labels: object(o.body, "spec", "machineTemplate", "metadata", "labels"), controlPlane: true,
			setup: o.owner.booting[from], template: infra,
		})
	}
}

func machineCounts(observed, replicas, upToDate, ready int) fields {
	return fields{
		"observedGeneration": observed, "replicas": replicas, "upToDateReplicas": upToDate,
		"readyReplicas": ready, "availableReplicas": ready,
		"conditions": []fields{condition("Available", ready > 0 || replicas == 0, "")},
	}
}

// lowest version that machines run; all of the model's have one digit a part, or
// two.
func lowest(machines []*machine) string {
	out := machines[0].version
	for _, m := range machines {
		out = min(out, m.version)
	}
	return out
}

func ready(machines []*machine) int {
	n := 0
	for _, m := range machines {
		if m.joined && !m.deleting {
			n++
		}
	}
	return n
}

func (w *World) exists(kind, namespace, name string) bool {
	return w.object(ref{kind, namespace, name}) != nil
}

// setsOf a deployment, oldest first.
func (w *World) setsOf(cluster, pool string) []*machineSet {
	var out []*machineSet
	for _, ms := range w.sets {
		if ms.cluster == cluster && ms.pool == pool {
			out = append(out, ms)
		}
	}
	return out
}

// ofSet are the machines of a machine set, oldest first.
func (w *World) ofSet(ms *machineSet) []*machine {
	var out []*machine
	for _, m := range w.machines {
		if m.set == ms {
			out = append(out, m)
		}
	}
	return out
}

// read is the machine set as the API serves it.
func (ms *machineSet) read(w *World) *structpb.Struct {
	machines := w.ofSet(ms)
	return structOf(fields{
		"apiVersion": clusterAPI, "kind": "MachineSet",
		"metadata": fields{
			"name": ms.name, "namespace": ms.owner.namespace, "labels": ms.labels, "creationTimestamp": stamp(ms.created),
		},
		"spec": fields{
			"clusterName": ms.cluster, "replicas": ms.replicas,
			"template": fields{"spec": fields{
				"clusterName": ms.cluster, "version": ms.version,
				"infrastructureRef": fields{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "PacketMachineTemplate", "name": ms.infra},
				"bootstrap": fields{"configRef": fields{
					"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": ms.config,
				}},
			}},
		},
		"status": fields{"replicas": len(machines), "readyReplicas": ready(machines), "availableReplicas": ready(machines)},
	})
}

// tickSet is one step of a MachineSet's controller: one machine more or less.
func (w *World) tickSet(ms *machineSet) {
	machines := w.ofSet(ms)
	alive := slices.DeleteFunc(slices.Clone(machines), func(m *machine) bool { return m.deleting })
	switch {
	case len(alive) < ms.replicas:
		ns := ms.owner.namespace
		if !w.exists("PacketMachineTemplate", ns, ms.infra) || !w.exists("KubeadmConfigTemplate", ns, ms.config) {
			return
		}
		w.newMachine(machine{
			name: ms.name + "-" + w.suffix(), cluster: ms.cluster, pool: ms.pool, owner: ms.owner, set: ms, version: ms.version,
			labels: ms.labels, setup: ms.owner.booting[ms.config], template: ms.infra,
		})
	case len(alive) > ms.replicas:
		victim := alive[0]
		for _, m := range alive {
			if !m.joined {
				victim = m
				break
			}
		}
		w.deleteMachine(victim)
	}
	ms.upToDate = 0
	if o := w.deployment(ms); o != nil && ms.madeFor(o) {
		ms.upToDate = len(w.ofSet(ms))
	}
}

func (w *World) deployment(ms *machineSet) *composed {
	for _, o := range w.objects {
		if o.kind == "MachineDeployment" && o.owner == ms.owner && text(o.body, "metadata", "labels", poolLabel) == ms.pool {
			return o
		}
	}
	return nil
}

// madeFor says whether a machine set is what a deployment wants now.
func (ms *machineSet) madeFor(o *composed) bool {
	return ms.infra == text(o.body, "spec", "template", "spec", "infrastructureRef", "name") &&
		ms.config == text(o.body, "spec", "template", "spec", "bootstrap", "configRef", "name") &&
		ms.version == text(o.body, "spec", "template", "spec", "version")
}
