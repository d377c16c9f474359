package main

import (
	"context"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/logging"

	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// Function expands L2Cluster composites.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
	now func() time.Time
}

// NewFunction returns a function that logs to log.
func NewFunction(log logging.Logger) *Function {
	return &Function{log: log, now: time.Now}
}

// RunFunction expands one composite.
func (f *Function) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := xr.Respond(req, time.Minute)
	return rsp, nil
}
