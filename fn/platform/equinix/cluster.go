package equinix

import (
	"fmt"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// infrastructureAPI is the version that the infrastructure provider serves and
// stores: https://github.com/kubernetes-sigs/cluster-api-provider-packet.
const infrastructureAPI = "infrastructure.cluster.x-k8s.io/v1beta1"

const packetClusterKey = "packet-cluster"

func packetClusterReference(c infra.Cluster) object.Reference {
	return object.Reference{APIVersion: infrastructureAPI, Kind: "PacketCluster", Name: c.Name}
}

// packetCluster leaves out the control plane's endpoint: the provider reserves
// an address and writes it there.
func packetCluster(c infra.Cluster) object.Object {
	ref := packetClusterReference(c)
	o := object.Object{Key: packetClusterKey, Body: body(ref.APIVersion, ref.Kind, namespaced(c, ref.Name), map[string]any{
		"projectID":  c.Spec.ProjectID,
		"metro":      c.Spec.Metro,
		"vipManager": string(c.Spec.VIPManager),
	})}
	o.Ready, o.Why = clusterReadiness(c)
	return o
}

func namespaced(c infra.Cluster, name string) map[string]any {
	out := named(name)
	out["namespace"] = c.Namespace
	return out
}

func clusterReadiness(c infra.Cluster) (object.Ready, string) {
	seen, exists := c.Observed[packetClusterKey]
	switch {
	case !exists:
		return object.NotReady, fmt.Sprintf("PacketCluster %q is not created yet", c.Name)
	case !seen.Bool("status", "ready"):
		return object.NotReady, fmt.Sprintf("PacketCluster %q has no control plane address yet%s",
			c.Name, because(firstFalse(seen)))
	default:
		return object.IsReady, ""
	}
}

// template is the machine template of one pool.
type template struct {
	pool      string
	object    object.Object
	reference object.Reference
}

func machineTemplates(c infra.Cluster) ([]template, error) {
	machines := map[string]spec.Machines{plan.ControlPlanePool: c.Spec.ControlPlane.Machines}
	for _, w := range c.Spec.Workers {
		machines[w.Name] = w.Machines
	}
	out := make([]template, 0, len(c.Plan.Pools))
	for _, pool := range c.Plan.Pools {
		t, err := machineTemplate(c, pool, machines[pool.Name])
		if err != nil {
			return nil, fmt.Errorf("cannot name the machine template of pool %q: %w", pool.Name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

const templateKind = "PacketMachineTemplate"

// machineTemplate is never changed once it exists, so key and name end in a
// hash of its content: other content is another template. What the ports of its
// machines are laid out for is a part of it, so that a machine's template, which
// the machine names, says so for as long as it lives.
func machineTemplate(c infra.Cluster, planned plan.Pool, m spec.Machines) (template, error) {
	content, pool := machineSpec(c, m), planned.Name
	laidOut, err := layoutOf(planned, c.Spec.Networks).text()
	if err != nil {
		return template{}, err
	}
	hash, err := object.ContentHash(map[string]any{"spec": content, "layout": laidOut})
	if err != nil {
		return template{}, err
	}
	ref := object.Reference{
		APIVersion: infrastructureAPI,
		Kind:       templateKind,
		Name:       hashed(hash, c.Name, pool),
	}
	metadata := namespaced(c, ref.Name)
	metadata["labels"] = map[string]any{keep.PoolLabel: pool}
	metadata["annotations"] = map[string]any{layoutAnnotation: laidOut}
	o := object.Object{Key: templateKey(pool, hash), Body: body(ref.APIVersion, ref.Kind, metadata,
		map[string]any{"template": map[string]any{"spec": content}})}
	// A template has no status: it does its work as soon as it exists.
	o.Why = fmt.Sprintf("%s %q is not created yet", ref.Kind, ref.Name)
	if _, exists := c.Observed[o.Key]; exists {
		o.Ready, o.Why = object.IsReady, ""
	}
	return template{pool: pool, object: o, reference: ref}, nil
}

func hashed(hash string, parts ...string) string {
	return object.Name(object.LabelLimit-len(hash)-1, parts...) + "-" + hash
}

func templateKey(pool, hash string) string {
	if pool == plan.ControlPlanePool {
		return hashed(hash, pool, "machines")
	}
	return hashed(hash, "pool", pool, "machines")
}

// machineSpec passes a hardware reservation on only where the installed
// provider is said to honour it.
func machineSpec(c infra.Cluster, m spec.Machines) map[string]any {
	out := map[string]any{
		"os":           m.OS,
		"machineType":  m.MachineType,
		"billingCycle": m.BillingCycle,
	}
	if len(c.Spec.SSHKeys) > 0 {
		out["sshKeys"] = set(c.Spec.SSHKeys)
	}
	if len(m.Tags) > 0 {
		out["tags"] = set(m.Tags)
	}
	if m.HardwareReservationID != "" && c.Input.Equinix.HardwareReservations {
		out["hardwareReservationID"] = m.HardwareReservationID
	}
	return out
}

// set is a list that means a set: sorted, without duplicates.
func set(values []string) []any {
	sorted := slices.Compact(slices.Sorted(slices.Values(values)))
	out := make([]any, 0, len(sorted))
	for _, v := range sorted {
		out = append(out, v)
	}
	return out
}
