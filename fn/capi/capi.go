// Package capi composes the Cluster API objects of a cluster. What its machines
// are made of is opaque here: references to infrastructure objects, and the
// files, commands and arguments that their servers need.
package capi

import (
	"errors"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// ClusterLabel selects a cluster for its add-ons. Its value is the name of the
// Cluster, and only the Cluster itself has it.
const ClusterLabel = "l2cluster.io/cluster"

// Cluster is what Cluster API objects are made from.
type Cluster struct {
	// Name and namespace of the Cluster.
	Name, Namespace string
	// Spec of the claim, with defaults, validated.
	Spec *spec.Spec
	// Input of the platform team, with defaults, validated.
	Input *v1beta1.Input
	// Plan of the cluster.
	Plan plan.Plan
	// Infrastructure stands for the cluster's infrastructure.
	Infrastructure object.Reference
	// Machines are the machine templates by pool.
	Machines map[string]object.Reference
	// Bootstrap is what the machines of each pool do before they are nodes, in
	// its final order, by pool.
	Bootstrap map[string]bootstrap.Bootstrap
}

// Composed are the Cluster API objects of a cluster. They depend on nothing that
// was observed; only whether they are ready does.
type Composed []composed

type composed struct {
	object object.Object
	ready  readiness
}

// Observe says of each object whether it is ready. The objects share their
// bodies, which must not be changed.
func (c Composed) Observe(observed map[string]object.View) []object.Object {
	out := make([]object.Object, 0, len(c))
	for _, item := range c {
		o := item.object
		o.Ready, o.Why = item.ready(observed[o.Key])
		out = append(out, o)
	}
	return out
}

// ErrIncomplete says that a pool of the plan is missing from the claim, from the
// machine templates or from the bootstraps.
var ErrIncomplete = errors.New("the pool is not in the claim, or has no machine template or no bootstrap")

// Compose the Cluster API objects of a cluster: first those of the cluster, then
// those of each pool in the plan's order, then add-ons. An error says what does
// not fit into Cluster API's own limits, or ErrIncomplete.
func Compose(c Cluster) (Composed, error) {
	composer := composer{Cluster: c, workers: make(map[string]spec.WorkerPool, len(c.Spec.Workers))}
	for _, w := range c.Spec.Workers {
		composer.workers[w.Name] = w
	}
	if err := composer.cluster(); err != nil {
		return nil, err
	}
	for _, p := range c.Plan.Pools {
		if err := composer.pool(p); err != nil {
			return nil, fmt.Errorf("cannot compose pool %q: %w", p.Name, err)
		}
	}
	for _, a := range c.Input.AddOns {
		if err := composer.addOn(a); err != nil {
			return nil, fmt.Errorf("cannot compose add-on %q: %w", a.Name, err)
		}
	}
	return composer.objects, nil
}

// composer collects the objects of one cluster.
type composer struct {
	Cluster

	workers map[string]spec.WorkerPool
	objects Composed
}

// add an API object under a key, with what says whether it is ready.
func (c *composer) add(key string, typed any, ready readiness) error {
	body, err := unstructured(typed)
	if err != nil {
		return err
	}
	c.objects = append(c.objects, composed{object.Object{Key: key, Body: body, Part: object.PartCluster}, ready})
	return nil
}

func (c *composer) pool(p plan.Pool) error {
	machines, known := c.Machines[p.Name]
	b, prepared := c.Bootstrap[p.Name]
	if !known || !prepared {
		return ErrIncomplete
	}
	if p.Role == plan.ControlPlane {
		return c.controlPlane(p, machines, b)
	}
	return c.workerPool(p, machines, b)
}

// labels of every object but the Cluster.
func (c *composer) labels() map[string]string {
	return map[string]string{clusterv1.ClusterNameLabel: c.Name}
}

// poolLabels are those of a pool's objects, and of its machines.
func (c *composer) poolLabels(pool string) map[string]string {
	labels := c.labels()
	labels[keep.PoolLabel] = pool
	return labels
}

func contractReference(r object.Reference) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: r.Group(), Kind: r.Kind, Name: r.Name}
}
