package equinix

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
)

// metalAPI is the version of the managed resources:
// https://github.com/crossplane-contrib/provider-jet-equinix.
const metalAPI = "metal.equinix.jet.crossplane.io/v1alpha1"

const externalName = "crossplane.io/external-name"

// managed is a managed resource of the Equinix provider.
type managed struct {
	// key of the composed resource.
	key string
	// kind of the resource.
	kind string
	// part of the cluster that the resource belongs to.
	part object.Part
	// name of the object, which other objects refer to.
	name string
	// parameters of the outside resource.
	parameters map[string]any
	// adopts is the UUID of an outside resource that exists and is only
	// observed; empty for one that is ours.
	adopts string
	// exists is the UUID of an outside resource that exists and is ours to
	// change; empty for one that is created.
	exists string
	// labels of the object, or nil.
	labels map[string]any
}

// body of an object.
func body(apiVersion, kind string, metadata, spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec}
}

// named is the metadata of an object with a name, and how others refer to it.
func named(name string) map[string]any { return map[string]any{"name": name} }

// compose the resource. What is ours leaves LateInitialize out: the provider
// would fill in fields that conflict with ours and then fail.
func (m managed) compose(c infra.Cluster) object.Object {
	policies := []any{"Observe", "Create", "Update", "Delete"}
	if m.adopts != "" {
		policies = []any{"Observe"}
	}
	metadata := named(m.name)
	metadata["annotations"] = map[string]any{externalName: m.externalName(c)}
	if m.labels != nil {
		metadata["labels"] = m.labels
	}
	o := object.Object{Key: m.key, Part: m.part, Body: body(metalAPI, m.kind, metadata, map[string]any{
		"managementPolicies": policies,
		"providerConfigRef":  named(c.Input.Equinix.ProviderConfig),
		"forProvider":        m.parameters,
	})}
	seen, exists := c.Observed[m.key]
	o.Ready, o.Why = managedReadiness(m.kind, m.name, seen, exists)
	return o
}

// externalName is the UUID of the outside resource. The provider looks a
// resource up before it creates it and fails on an empty UUID, so a new object
// is born with a well-formed UUID of nothing; the provider replaces it by the
// real one, which is sent from then on. A run that read the object before that
// may send the first one once more after it; the status still has the real one.
func (m managed) externalName(c infra.Cluster) string {
	if m.adopts != "" {
		return m.adopts
	}
	if seen, exists := c.Observed[m.key]; exists {
		name := seen.String("metadata", "annotations", externalName)
		if id := seen.String("status", "atProvider", "id"); id != "" && (name == "" || name == m.seed(c)) {
			return id
		}
		if name != "" {
			return name
		}
	}
	if m.exists != "" {
		return m.exists
	}
	return m.seed(c)
}

func (m managed) seed(c infra.Cluster) string {
	return uuidOf(m.kind, c.Spec.ProjectID, c.Spec.Metro, c.Namespace, c.Name, m.key)
}

// uuidOf derives a UUID from an identity. It has the form of version 5, which
// the Metal API never gives out: its own are random ones of version 4.
func uuidOf(identity ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(identity, "/")))
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// managedReadiness follows the condition Ready. Where a resource is not ready,
// the error of its last change says more than the condition itself.
func managedReadiness(kind, name string, seen object.View, exists bool) (object.Ready, string) {
	if !exists {
		return object.NotReady, fmt.Sprintf("%s %q is not created yet", kind, name)
	}
	if seen.Has("metadata", "deletionTimestamp") {
		return object.NotReady, fmt.Sprintf("%s %q is being deleted", kind, name)
	}
	if conditionOf(seen, "Ready").status == "True" {
		return object.IsReady, ""
	}
	return object.NotReady, fmt.Sprintf("%s %q is not ready%s", kind, name, because(trouble(seen)))
}

// condition of an object.
type condition struct{ kind, status, reason, message string }

func conditionsOf(v object.View) []condition {
	views := v.Views("status", "conditions")
	out := make([]condition, 0, len(views))
	for _, c := range views {
		out = append(out, condition{
			kind: c.String("type"), status: c.String("status"),
			reason: c.String("reason"), message: c.String("message"),
		})
	}
	return out
}

func conditionOf(v object.View, kind string) condition {
	for _, c := range conditionsOf(v) {
		if c.kind == kind {
			return c
		}
	}
	return condition{}
}

// trouble is what keeps a managed resource from being ready: the most telling
// of its conditions first.
func trouble(v object.View) condition {
	for _, kind := range []string{"LastAsyncOperation", "Synced", "Ready"} {
		if c := conditionOf(v, kind); c.status == "False" {
			return c
		}
	}
	return condition{}
}

// firstFalse is the first condition that is not true.
func firstFalse(v object.View) condition {
	for _, c := range conditionsOf(v) {
		if c.status == "False" {
			return c
		}
	}
	return condition{}
}

// messageLimit is how much of another program's message is repeated, in bytes.
const messageLimit = 400

// because is a condition's cause as the end of a sentence: its message on one
// line, or its reason, or nothing.
func because(c condition) string {
	text := oneLine(c.message)
	if text == "" {
		text = c.reason
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

func oneLine(message string) string {
	text := strings.Join(strings.Fields(message), " ")
	if len(text) > messageLimit {
		text = strings.ToValidUTF8(text[:messageLimit], "") + "…"
	}
	return text
}
