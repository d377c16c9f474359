// Package report says what a cluster is: the status, the conditions and the
// readiness that its users see.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/rollout"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// Input is what a report is made from.
type Input struct {
	// Cluster that the report is about.
	Cluster infra.Cluster
	// Facts about its machines.
	Facts infra.Facts
	// Addresses that were decided.
	Addresses assign.Result
	// Objects that are desired, with their readiness.
	Objects []object.Object
	// Status of the composite as an earlier run wrote it.
	Status object.View
	// Kubeconfig is the Secret with the cluster's admin kubeconfig.
	Kubeconfig object.Required
	// Holds are the pools whose machines must stay as they are for now.
	Holds []rollout.Hold
	// LeftBehind is what stays on the platform when the cluster is deleted.
	LeftBehind []string
	// Warnings about the claim, each a sentence.
	Warnings []string
	// Now is when the run began.
	Now time.Time
}

// How long a response is good for.
const (
	// moving is while machines are on their way: nothing tells Crossplane that
	// an object which was only read has changed.
	moving = 15 * time.Second
	// settled is when all is ready.
	settled = time.Minute
)

// Report fills in everything of an outcome that users see.
func Report(in Input) xr.Outcome {
	r := reporter{Input: in, pools: map[string]plan.Pool{}, objects: map[string]object.Object{}}
	for _, p := range in.Cluster.Plan.Pools {
		r.pools[p.Name] = p
	}
	for _, o := range in.Objects {
		r.objects[o.Key] = o
	}
	conditions := []xr.Condition{
		xr.InputValid(in.Warnings), r.networksReady(), r.addressesAllocated(),
		r.portsAttached(), r.nodesVerified(), r.clusterAvailable(),
	}
	return xr.Outcome{
		Objects:    in.Objects,
		Status:     r.status(conditions),
		Conditions: conditions,
		Warnings:   in.Warnings,
		Connection: r.connection(),
		TTL:        r.ttl(conditions),
	}
}

type reporter struct {
	Input

	pools   map[string]plan.Pool
	objects map[string]object.Object
}

func (r reporter) ttl(conditions []xr.Condition) time.Duration {
	ttl := settled
	for _, c := range conditions {
		if c.Status != xr.True {
			ttl = moving
		}
	}
	if next := r.Addresses.Book.Next; !next.IsZero() {
		ttl = min(ttl, max(next.Sub(r.Now), time.Second))
	}
	return ttl
}

// connection details come from the kubeconfig that Cluster API writes.
func (r reporter) connection() map[string][]byte {
	for _, secret := range r.Kubeconfig.Items {
		if value := secret.Bytes("data", "value"); len(value) > 0 {
			return map[string][]byte{"kubeconfig": value}
		}
	}
	return nil
}

// wanted is how many machines a pool shall have now.
func (r reporter) wanted(p plan.Pool) int { return rollout.Wanted(r.Cluster, p) }

// machines that are not on their way out.
func (r reporter) machines() []infra.Machine {
	return slices.DeleteFunc(slices.Clone(r.Facts.Machines), func(m infra.Machine) bool { return m.Deleting })
}

func (r reporter) allWanted() int {
	n := 0
	for _, p := range r.Cluster.Plan.Pools {
		n += r.wanted(p)
	}
	return n
}

// waiting names the objects of a part that are not ready, with what they wait
// for.
func (r reporter) waiting(part object.Part) []string {
	var out []string
	for _, o := range r.Objects {
		if o.Part != part || o.Ready == object.IsReady {
			continue
		}
		out = append(out, cmp.Or(o.Why, o.Key+" is not there yet"))
	}
	slices.Sort(out)
	return out
}

// most is how many items a message spells out.
const most = 5

// list items for a message, and count what does not fit.
func list(items []string) string {
	if len(items) > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(items[:most], "; "), len(items)-most)
	}
	return strings.Join(items, "; ")
}
