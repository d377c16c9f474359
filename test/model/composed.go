package model

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

// Names that Crossplane puts into metadata.
const (
	externalName  = "crossplane.io/external-name"
	resourceName  = "crossplane.io/composition-resource-name"
	labelOwner    = "crossplane.io/composite"
	clusterLabel  = "cluster.x-k8s.io/cluster-name"
	controlLabel  = "cluster.x-k8s.io/control-plane"
	setLabel      = "cluster.x-k8s.io/set-name"
	machineLabel  = "l2cluster.io/machine"
	portLabel     = "l2cluster.io/port"
	poolLabel     = "l2cluster.io/pool"
	clusterAPI    = "cluster.x-k8s.io/v1beta2"
	packetAPI     = "infrastructure.cluster.x-k8s.io/v1beta1"
	ipamAPI       = "ipam.cluster.x-k8s.io/v1beta2"
	compositeAPI  = "l2cluster.io/v1alpha1"
	compositeKind = "XL2Cluster"
)

// ref names an object; the model's kinds are told apart without their groups.
type ref struct{ kind, namespace, name string }

// composed is an object that Crossplane composed.
type composed struct {
	ref

	key     string
	owner   *Composite
	uid     string
	created time.Time
	// deleted is when somebody asked for its deletion.
	deleted    time.Time
	generation int
	observed   int // generation that its controller has seen
	// body is what the function wants, as it was applied last.
	body *structpb.Struct
	// external is the external name, whoever wrote it last.
	external string
	// spec holds fields of the spec that others own.
	spec fields
	// status that its controller wrote.
	status *structpb.Struct
	// outside is what its controller has done and not written down yet.
	outside string
	// orphan says that its composite has lost it.
	orphan bool

	view *structpb.Struct // as the API serves it; nil when out of date
	seen *structpb.Struct // as a run of the function saw it last
}

func refOf(body *structpb.Struct) ref {
	return ref{kind: text(body, "kind"), namespace: text(body, "metadata", "namespace"), name: text(body, "metadata", "name")}
}

func (w *World) object(r ref) *composed { return w.byRef[r] }

// apply a body to the object of that name, by server-side apply: what it says
// overrules others, what it no longer says goes.
func (w *World) apply(c *Composite, key string, body *structpb.Struct) *composed {
	r := refOf(body)
	o := w.byRef[r]
	if o == nil {
		o = &composed{ref: r, uid: w.uuid(), created: w.now, generation: 1, spec: fields{}}
		w.byRef[r] = o
		w.objects = append(w.objects, o)
		o.owner, o.key = c, key
	}
	if o.owner != c {
		w.violationf("%s %s belongs to composite %s, and %s wants it too", r.kind, r.name, o.owner.name, c.name)
		return o
	}
	if o.body != nil && o.key == key && !o.orphan && same(o.body, body) && o.external == externalOf(body) {
		return o
	}
	if o.body != nil && !same(object(o.body, "spec"), object(body, "spec")) {
		o.generation++
	}
	o.body, o.key, o.orphan, o.view = body, key, false, nil
	if name := externalOf(body); name != "" {
		o.external = name
	}
	w.changed()
	return o
}

func externalOf(body *structpb.Struct) string {
	return text(body, "metadata", "annotations", externalName)
}

// remove asks for the deletion of an object. What no controller has to clean up
// after goes at once.
func (w *World) remove(o *composed) {
	if !o.deleted.IsZero() {
		return
	}
	w.changed()
	if strings.HasSuffix(o.kind, "Template") {
		w.forget(o)
		return
	}
	o.deleted, o.view = w.now, nil
}

// forget an object: it is gone.
func (w *World) forget(o *composed) {
	delete(w.byRef, o.ref)
	for i := range w.objects {
		if w.objects[i] == o {
			w.objects = append(w.objects[:i], w.objects[i+1:]...)
			break
		}
	}
	w.changed()
}

// setStatus of an object.
func (w *World) setStatus(o *composed, status fields) {
	s := structOf(status)
	if same(o.status, s) {
		return
	}
	o.status, o.view = s, nil
	w.changed()
}

// setSpec sets a field that the function does not own.
func (w *World) setSpec(o *composed, name string, v any) {
	if old, ok := o.spec[name]; ok && sameValue(valueOf(old), valueOf(v)) {
		return
	}
	o.spec[name], o.view = v, nil
	w.changed()
}

// read is the object as the API serves it.
func (o *composed) read() *structpb.Struct {
	if o.view != nil {
		return o.view
	}
	spec := object(o.body, "spec")
	for name, v := range o.spec {
		if spec.GetFields()[name] == nil {
			spec = with(spec, name, v)
		}
	}
	out := with(o.body, "spec", spec)
	out = with(out, "metadata", o.metadata())
	if o.status != nil {
		out = with(out, "status", o.status)
	}
	o.view = out
	return out
}

func (o *composed) metadata() *structpb.Struct {
	annotations := with(object(o.body, "metadata", "annotations"), resourceName, o.key)
	if o.external != "" {
		annotations = with(annotations, externalName, o.external)
	}
	out := with(object(o.body, "metadata"), "annotations", annotations)
	out = with(out, "labels", with(object(o.body, "metadata", "labels"), labelOwner, o.owner.xrName()))
	out = with(out, "uid", o.uid)
	out = with(out, "generation", o.generation)
	out = with(out, "creationTimestamp", stamp(o.created))
	if !o.deleted.IsZero() {
		out = with(out, "deletionTimestamp", stamp(o.deleted))
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// tickObject lets the controller of an object take a step.
func (w *World) tickObject(o *composed) {
	switch o.kind {
	case "Vlan":
		w.tickVLAN(o)
	case "Port":
		w.tickPort(o)
	case "Request":
		w.tickRequest(o)
	case "IPAddressClaim":
		w.tickAddressClaim(o)
	case "KubeadmControlPlane":
		w.tickControlPlane(o)
	case "MachineDeployment":
		w.tickDeployment(o)
	case "Cluster":
		w.tickCluster(o)
	case "PacketCluster":
		w.tickPacketCluster(o)
	default:
		if !o.deleted.IsZero() {
			w.forget(o)
		}
	}
}
