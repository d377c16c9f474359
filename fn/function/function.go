// Package function is the composition function: one straight line from a request
// to a response. Read RunFunction first; every step is a package of its own.
package function

import (
	"context"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/capi"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/platform"
	"github.com/l2cluster/function-l2cluster/fn/report"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// Function expands L2Cluster composites.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
	now func() time.Time
}

// New returns a function that logs to log and takes the time from now.
func New(log logging.Logger, now func() time.Time) *Function {
	return &Function{log: log, now: now}
}

// RunFunction expands one composite: one straight line from what a claim asks
// for and the world has decided to the objects that come next.
func (f *Function) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := xr.Respond(req, settled)
	snapshot, err := xr.Read(req, f.now())
	if err != nil {
		return f.fail(rsp, err)
	}
	warnings, err := validate(snapshot)
	if err != nil {
		return f.fail(rsp, err)
	}
	cluster, err := identify(snapshot)
	if err != nil {
		return f.fail(rsp, err)
	}
	if cluster.Plan, err = plan.Build(snapshot.Spec); err != nil {
		return f.fail(rsp, err)
	}
	metal, err := platform.New(snapshot.Input.Platform)
	if err != nil {
		return f.fail(rsp, err)
	}
	xr.Require(rsp, requirements(metal, cluster))
	facts, err := metal.Facts(ctx, sources(snapshot, cluster))
	if err != nil {
		return f.fail(rsp, err)
	}
	addresses, err := assign.Addresses(addressInput(snapshot, cluster, facts))
	if err != nil {
		return f.fail(rsp, err)
	}
	infrastructure, err := metal.Compose(cluster, facts, addresses.Delivery)
	if err != nil {
		return f.fail(rsp, err)
	}
	nodes, err := bootstraps(cluster, infrastructure)
	if err != nil {
		return f.fail(rsp, err)
	}
	objects, err := capi.Compose(capiCluster(cluster, infrastructure, nodes))
	if err != nil {
		return f.fail(rsp, err)
	}
	outcome := report.Report(reportInput(snapshot, cluster, facts, addresses, warnings, append(infrastructure.Objects, objects...)))
	outcome.Kept = kept(snapshot, outcome.Objects, infrastructure)
	if err := xr.Write(rsp, snapshot, outcome); err != nil {
		return f.fail(rsp, err)
	}
	return rsp, nil
}

// fail answers a request that cannot be served. The gRPC call itself succeeds:
// its error would hide the reason from the user.
func (f *Function) fail(rsp *fnv1.RunFunctionResponse, err error) (*fnv1.RunFunctionResponse, error) {
	f.log.Debug("Cannot expand the composite", "error", err)
	xr.Fail(rsp, err)
	return rsp, nil
}
