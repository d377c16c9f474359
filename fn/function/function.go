// Package function is the composition function: one straight line from a request
// to a response. Read RunFunction first; every step is a package of its own.
package function

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/capi"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/platform"
	"github.com/l2cluster/function-l2cluster/fn/report"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// Function expands L2Cluster composites.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
	now func() time.Time

	// What follows from a wish alone is worked out once: Crossplane calls twice
	// in every reconcile, and wishes change rarely.
	understood *memo[understood]
	composed   *memo[capi.Composed]
}

// New returns a function that logs to log and takes the time from now.
func New(log logging.Logger, now func() time.Time) *Function {
	return &Function{log: log, now: now, understood: newMemo[understood](), composed: newMemo[capi.Composed]()}
}

// RunFunction expands one composite: one straight line from what a claim asks
// for and the world has decided to the objects that come next.
func (f *Function) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := xr.Respond(req, settled)
	snapshot, err := xr.Read(req, f.now())
	if err != nil {
		return f.fail(rsp, err)
	}
	wish, err := f.understand(snapshot)
	if err != nil {
		return f.fail(rsp, err)
	}
	cluster, metal := wish.in(snapshot), wish.platform
	xr.Require(rsp, requirements(metal, cluster))
	facts, err := metal.Facts(ctx, sources(snapshot, cluster))
	if err != nil {
		return f.fail(rsp, err)
	}
	addresses, err := assign.Addresses(addressInput(snapshot, cluster, facts))
	if err != nil {
		return f.fail(rsp, err)
	}
	composed, err := f.compose(snapshot, cluster, metal)
	if err != nil {
		return f.fail(rsp, err)
	}
	machines := composed.Observe(snapshot.Observed)
	rollouts, err := begin(snapshot, cluster, facts, addresses, machines)
	if err != nil {
		return f.fail(rsp, err)
	}
	facts = rollouts.Mark(facts)
	infrastructure, err := metal.Compose(cluster, facts, addresses.Delivery)
	if err != nil {
		return f.fail(rsp, err)
	}
	claims, keptClaims := assign.Claims(cluster, facts, addresses.Delivery)
	objects := rollouts.Apply(slices.Concat(infrastructure.Objects, claims, machines))
	in := reportInput(snapshot, cluster, facts, addresses, slices.Concat(wish.warnings, infrastructure.Warnings), objects)
	in.Holds, in.LeftBehind = rollouts.Holds, infrastructure.LeftBehind
	outcome := report.Report(in)
	outcome.Kept = slices.Concat(kept(snapshot, objects), infrastructure.Kept, keptClaims)
	if err := xr.Write(rsp, snapshot, outcome); err != nil {
		return f.fail(rsp, err)
	}
	return rsp, nil
}

// understand what a wish means.
func (f *Function) understand(s xr.Snapshot) (understood, error) {
	return f.understood.do(s.Wish, func() (understood, error) { return understand(s) })
}

// compose the Cluster API objects. What they need of the infrastructure follows
// from the wish as well.
func (f *Function) compose(s xr.Snapshot, c infra.Cluster, p platform.Platform) (capi.Composed, error) {
	return f.composed.do(s.Wish, func() (capi.Composed, error) {
		foundation, err := p.Foundation(c)
		if err != nil {
			return nil, err
		}
		nodes, err := bootstraps(c, foundation)
		if err != nil {
			return nil, err
		}
		if err := s.ClaimError(nil, overBudget(c, nodes)); err != nil {
			return nil, err
		}
		return capi.Compose(capiCluster(c, foundation, customized(nodes, c.Input.Bootstrap)))
	})
}

// fail answers a request that cannot be served. The gRPC call itself succeeds:
// its error would hide the reason from the user.
func (f *Function) fail(rsp *fnv1.RunFunctionResponse, err error) (*fnv1.RunFunctionResponse, error) {
	f.log.Debug("Cannot expand the composite", "error", err)
	xr.Fail(rsp, err)
	return rsp, nil
}
