package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/e2e/world"
)

// shown are the claims of the example folder that can be tried, by folder. Those
// with first numbers get other VLANs than in the example: all of them may be
// there at the same time, and a number names one VLAN. Lent ones are made
// before.
var shown = []struct {
	folder  string
	first   int64
	applied bool
	lent    bool
}{
	{folder: "", applied: true},
	{folder: "layer2", applied: true},
	{folder: "hybrid", first: 1010},
	{folder: "vrf", first: 1020},
	{folder: "byo-vlan", lent: true},
}

// examples writes the claims of the example folder into dir, made for this stack,
// and applies some.
func examples(ctx context.Context, w *world.World, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make %q: %w", dir, err)
	}
	for _, e := range shown {
		objects, err := stack.Read(filepath.Join(w.Tools.Root, "example", e.folder, "claim.yaml"))
		if err != nil {
			return err
		}
		if err := fit(objects[0], e.first); err != nil {
			return err
		}
		if e.lent {
			pool, err := lend(ctx, w, objects[0])
			if err != nil {
				return err
			}
			objects = append(objects, pool)
		}
		file := filepath.Join(dir, objects[0].GetName()+".yaml")
		if err := save(file, objects); err != nil {
			return err
		}
		if !e.applied {
			continue
		}
		for _, o := range objects {
			if err := w.Client.Apply(ctx, o); err != nil {
				return err
			}
		}
		say("applied %s", file)
	}
	return nil
}

// fit a claim to this stack: its Composition, and its VLANs from a number on.
func fit(claim *stack.Object, first int64) error {
	if err := unstructured.SetNestedField(claim.Object, stack.Composition, "spec", "compositionRef", "name"); err != nil {
		return fmt.Errorf("cannot change claim %q: %w", claim.GetName(), err)
	}
	for i, n := range networks(claim) {
		if first > 0 {
			n["vxlan"] = first + int64(i)
		}
	}
	return nil
}

// networks of a claim, which may be changed.
func networks(claim *stack.Object) []map[string]any {
	raw, _, _ := unstructured.NestedFieldNoCopy(claim.Object, "spec", "networks")
	list, _ := raw.([]any)
	var out []map[string]any
	for _, e := range list {
		if n, ok := e.(map[string]any); ok {
			out = append(out, n)
		}
	}
	return out
}

// lend makes the VLANs that a claim brings along, and returns the pool that its
// addresses come from.
func lend(ctx context.Context, w *world.World, claim *stack.Object) (*stack.Object, error) {
	metro, _, _ := unstructured.NestedString(claim.Object, "spec", "metro")
	var pool *stack.Object
	for _, n := range networks(claim) {
		number, _ := n["vxlan"].(int64)
		vxlan := int32(number)
		call := w.Cloud.Client().VLANsApi.CreateVirtualNetwork(ctx, stack.Project)
		made, _, err := call.VirtualNetworkCreateInput(metalv1.VirtualNetworkCreateInput{Metro: &metro, Vxlan: &vxlan}).Execute()
		if err != nil {
			return nil, fmt.Errorf("cannot make VLAN %d: %w", number, err)
		}
		n["vlanID"] = made.GetId()
		if name, found, _ := unstructured.NestedString(n, "poolRef", "name"); found {
			pool = &stack.Object{Object: map[string]any{
				"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool",
				"metadata": map[string]any{"name": name, "namespace": claim.GetNamespace()},
				"spec":     map[string]any{"addresses": []any{"10.80.0.10-10.80.0.40"}, "prefix": int64(24), "gateway": "10.80.0.1"},
			}}
		}
	}
	if pool == nil {
		return nil, fmt.Errorf("claim %q names no pool", claim.GetName())
	}
	return pool, nil
}

func save(file string, objects []*stack.Object) error {
	var out bytes.Buffer
	for _, o := range objects {
		raw, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("cannot write %q: %w", file, err)
		}
		out.WriteString("---\n")
		out.Write(raw)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot write %q: %w", file, err)
	}
	return nil
}
