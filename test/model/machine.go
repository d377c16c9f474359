package model

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// machine is a Machine of Cluster API with its PacketMachine.
type machine struct {
	name, cluster, pool string
	owner               *Composite
	set                 *machineSet // nil for one of the control plane
	from                string      // what a control plane's machine was made from
	version             string      // of Kubernetes
	upToDate            *bool       // as the control plane sees it
	labels              *structpb.Struct
	controlPlane        bool
	setup               setup
	template            string // of its PacketMachine

	created  time.Time
	visible  bool // the Machine exists; its PacketMachine is older
	packet   bool // the PacketMachine exists
	deleting bool
	drained  time.Time // when its PacketMachine may go, once it is deleting
	known    bool      // the Machine has the provider ID, too
	joined   bool
	server   *server

	views map[string]*structpb.Struct
}

func hashOf(s *structpb.Struct) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

func (w *World) newMachine(m machine) {
	m.created, m.packet, m.views = w.now, true, map[string]*structpb.Struct{}
	w.judgeSkew(&m)
	w.machines = append(w.machines, &m)
	w.note("machine made")
	w.logf("machine %s is made", m.name)
	w.changed()
}

// touched says that a machine has changed.
func (w *World) touched(m *machine) {
	clear(m.views)
	w.changed()
}

// deleteMachine asks for the deletion of a machine. How long it takes to drain
// its node is decided by its name: mostly no time, sometimes more than the
// cool-down.
func (w *World) deleteMachine(m *machine) {
	if m.deleting {
		return
	}
	m.deleting, m.drained = true, w.now
	if hashOf(structOf(fields{"name": m.name}))[0] < '3' {
		m.drained = w.now.Add(2 * CoolDown)
	}
	w.touched(m)
}

// tickMachine is one step of the controllers of a Machine and its PacketMachine.
func (w *World) tickMachine(m *machine) {
	switch {
	case m.deleting:
		w.endMachine(m)
		return
	case !m.visible:
		m.visible = true
	case m.server == nil:
		m.server = w.cloud.create(m)
	case !m.known:
		m.known = true
	case m.server.configured != nil && !m.server.failed && !m.joined:
		m.joined = true
		w.note("machine joined")
	default:
		return
	}
	w.touched(m)
}

// endMachine takes a machine away: the infrastructure provider asks the cloud to
// delete the server and forgets it at once.
func (w *World) endMachine(m *machine) {
	switch {
	case w.now.Before(m.drained):
	case m.packet:
		m.packet = false
		if m.server != nil {
			w.cloud.delete(m.server)
		}
		w.touched(m)
	default:
		w.note("machine gone")
		w.logf("machine %s is gone", m.name)
		w.machines = slices.DeleteFunc(w.machines, func(other *machine) bool { return other == m })
		if m.server != nil {
			m.server.machineGone = w.now
		}
		w.changed()
	}
}

// read is the Machine or PacketMachine as the API serves it.
func (m *machine) read(kind string) *structpb.Struct {
	if v := m.views[kind]; v != nil {
		return v
	}
	labels := with(m.labels, clusterLabel, m.cluster)
	if m.controlPlane {
		labels = with(labels, controlLabel, "")
	}
	if m.set != nil {
		labels = with(labels, setLabel, m.set.name)
	}
	metadata := fields{
		"name": m.name, "namespace": m.owner.namespace, "labels": labels, "creationTimestamp": stamp(m.created),
	}
	out := fields{"apiVersion": clusterAPI, "kind": kind, "metadata": metadata, "spec": m.spec(kind), "status": m.status(kind)}
	if m.deleting {
		metadata["deletionTimestamp"] = stamp(m.created)
	}
	if kind == "PacketMachine" {
		out["apiVersion"] = packetAPI
		metadata["annotations"] = fields{"cluster.x-k8s.io/cloned-from-name": m.template}
		if m.visible {
			metadata["ownerReferences"] = []fields{{"apiVersion": clusterAPI, "kind": "Machine", "name": m.name}}
		}
	}
	m.views[kind] = structOf(out)
	return m.views[kind]
}

func (m *machine) spec(kind string) fields {
	out := fields{}
	if kind == "Machine" {
		out["clusterName"], out["version"] = m.cluster, m.version
	}
	if m.server != nil && (kind == "PacketMachine" || m.known) {
		out["providerID"] = "equinixmetal://" + m.server.id
	}
	return out
}

func (m *machine) status(kind string) fields {
	out := fields{}
	if kind != "Machine" {
		return out
	}
	if m.joined {
		out["nodeRef"] = fields{"name": m.name}
	}
	if m.upToDate != nil {
		out["conditions"] = []fields{condition("UpToDate", *m.upToDate, "")}
	}
	return out
}
