// Package infra is what a platform is asked and what it answers: the words that
// the platforms and their callers share.
package infra

import (
	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// Cluster is what a platform gets to know of a cluster.
type Cluster struct {
	// Name of the Cluster API Cluster, unique on the control plane and, as far
	// as names can make it so, in the platform's project.
	Name string
	// Namespace of the Cluster API objects.
	Namespace string
	// Spec of the claim, with defaults, validated.
	Spec *spec.Spec
	// Input of the platform team, with defaults, validated.
	Input *v1beta1.Input
	// Plan of the cluster.
	Plan plan.Plan
	// Observed composed objects by key.
	Observed map[string]object.View
}

// Infrastructure is what a platform makes of a cluster.
type Infrastructure struct {
	// Objects of the platform.
	Objects []object.Object
	// Cluster refers to the object that stands for the cluster's
	// infrastructure.
	Cluster object.Reference
	// Machines refers to the machine template of each pool, by pool name.
	Machines map[string]object.Reference
	// Bootstrap is what the platform's servers need of each pool's bootstrap,
	// by pool name.
	Bootstrap map[string]bootstrap.Bootstrap
	// Warnings for the user, each a sentence.
	Warnings []string
}
