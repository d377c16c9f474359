package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// runner is the function.
type runner interface {
	RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)
}

// size of a cluster.
type size struct {
	controlPlane, workers, networks int
}

func (s size) String() string {
	return fmt.Sprintf("%d+%d machines, %d networks", s.controlPlane, s.workers, s.networks)
}

// call is one recorded call of the function.
type call struct {
	request  *fnv1.RunFunctionRequest
	response *fnv1.RunFunctionResponse
}

// rounds that a cluster may take to settle.
const rounds = 16

// settle calls the function again and again, as Crossplane does, in a world
// where everything that it composes exists and works and every machine has
// joined, until nothing changes any more. It returns the last call: the one that
// a running cluster repeats.
func settle(ctx context.Context, fn runner, s size) (call, error) {
	w := newWorld(s)
	var last *fnv1.RunFunctionRequest
	for range rounds {
		req, err := w.request()
		if err != nil {
			return call{}, err
		}
		rsp, err := fn.RunFunction(ctx, proto.CloneOf(req))
		if err != nil {
			return call{}, fmt.Errorf("cannot run the function: %w", err)
		}
		for _, r := range rsp.GetResults() {
			if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
				return call{}, fmt.Errorf("cannot settle a cluster of %s: %s", s, r.GetMessage())
			}
		}
		if last != nil && proto.Equal(last, req) {
			return call{request: req, response: rsp}, nil
		}
		last = req
		w.apply(rsp)
	}
	return call{}, errors.New("cannot settle a cluster of " + s.String() + ": something changes in every round")
}

// world is what Crossplane would read from its API server.
type world struct {
	composite map[string]any
	machines  []machine
	observed  map[string]map[string]any
	required  map[string]*fnv1.ResourceSelector
	clusters  string
}

func newWorld(s size) *world {
	return &world{composite: composite(s), machines: machines(s), observed: map[string]map[string]any{}}
}

// request that Crossplane makes next.
func (w *world) request() (*fnv1.RunFunctionRequest, error) {
	xr, err := structpb.NewStruct(w.composite)
	if err != nil {
		return nil, fmt.Errorf("cannot write the composite: %w", err)
	}
	input, err := structpb.NewStruct(map[string]any{"apiVersion": "l2cluster.fn.crossplane.io/v1beta1", "kind": "Input"})
	if err != nil {
		return nil, fmt.Errorf("cannot write the input: %w", err)
	}
	req := &fnv1.RunFunctionRequest{
		Meta:     &fnv1.RequestMeta{Tag: "bench"},
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: xr}, Resources: map[string]*fnv1.Resource{}},
		Input:    input,
	}
	for key, obj := range w.observed {
		if req.Observed.Resources[key], err = resource(obj); err != nil {
			return nil, fmt.Errorf("cannot write observed object %q: %w", key, err)
		}
	}
	if w.required == nil {
		return req, nil
	}
	req.RequiredResources = map[string]*fnv1.Resources{}
	for name, selector := range w.required {
		list := &fnv1.Resources{}
		for _, obj := range w.find(selector.GetKind()) {
			r, err := resource(obj)
			if err != nil {
				return nil, fmt.Errorf("cannot write required object of %q: %w", name, err)
			}
			list.Items = append(list.Items, r)
		}
		req.RequiredResources[name] = list
	}
	return req, nil
}

func resource(obj map[string]any) (*fnv1.Resource, error) {
	s, err := structpb.NewStruct(obj)
	return &fnv1.Resource{Resource: s}, err
}

// template of the machines that a pool's deployment or control plane makes, or nil
// before there is one.
func (w *world) template(pool string) map[string]any {
	for _, o := range w.observed {
		labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
		spec, _ := o["spec"].(map[string]any)
		if labels["l2cluster.io/pool"] != pool {
			continue
		}
		for kind, field := range map[string]string{"MachineDeployment": "template", "KubeadmControlPlane": "machineTemplate"} {
			if o["kind"] == kind {
				template, _ := spec[field].(map[string]any)
				return template
			}
		}
	}
	return nil
}

// madeFrom is the name of the template that a machine was made from.
func (w *world) madeFrom(m machine) string {
	spec, _ := w.template(m.pool)["spec"].(map[string]any)
	ref, _ := spec["infrastructureRef"].(map[string]any)
	name, _ := ref["name"].(string)
	return name
}

// find what the function asks for.
func (w *world) find(kind string) []map[string]any {
	var out []map[string]any
	switch kind {
	case "Machine":
		for _, m := range w.machines {
			out = append(out, m.clusterAPI(w.clusters))
		}
	case "PacketMachine":
		for _, m := range w.machines {
			out = append(out, m.packet(w.clusters, w.madeFrom(m)))
		}
	case "MachineSet":
		out = append(out, machineSet(w.clusters, len(w.machines), w.template("general")))
	case "XL2Cluster":
		out = append(out, w.composite)
	case "Secret":
		out = append(out, kubeconfig(w.clusters))
	}
	return out
}

// apply what the function wants: it exists at once, and works.
func (w *world) apply(rsp *fnv1.RunFunctionResponse) {
	w.required = rsp.GetRequirements().GetResources()
	status := rsp.GetDesired().GetComposite().GetResource().AsMap()["status"]
	if m, ok := status.(map[string]any); ok {
		// Ports are remembered, so that no call goes out to the Metal API.
		if m["ports"] == nil && len(w.machines) > 0 {
			m["ports"] = ports(w.machines)
		}
		w.composite["status"] = m
		w.clusters, _ = m["clusterName"].(string)
	}
	w.observed = map[string]map[string]any{}
	var refs []any
	for _, key := range slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())) {
		obj := rsp.GetDesired().GetResources()[key].GetResource().AsMap()
		refs = append(refs, reference(obj))
		w.observed[key] = exists(key, obj)
	}
	w.composite["spec"].(map[string]any)["resourceRefs"] = refs
	meta := w.composite["metadata"].(map[string]any)
	delete(meta, "managedFields")
	meta["managedFields"] = managed(w.composite)
}

func reference(obj map[string]any) map[string]any {
	meta := obj["metadata"].(map[string]any)
	out := map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"]}
	if ns := meta["namespace"]; ns != nil {
		out["namespace"] = ns
	}
	return out
}
