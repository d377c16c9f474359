package stack

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Composition is the name of the Composition that claims of tests name.
const Composition = "e2e"

// Platform does what a platform team does: it puts the token where the
// Composition expects it, and derives a Composition from the package's own that
// knows the address of the cloud and lets addresses cool down for as long as
// given.
func (s *Stack) Platform(ctx context.Context, coolDown time.Duration) error {
	token := &Object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": crossplaneSystem, "name": "equinix-metal"},
		"stringData": map[string]any{"auth_token": Token},
	}}
	if err := s.apply(ctx, namespace("team-a"), namespace("team-b"), token); err != nil {
		return err
	}
	packaged, err := s.Client.Get(ctx, Ref{
		APIVersion: "apiextensions.crossplane.io/v1", Kind: "Composition", Name: "l2clusters.equinix.l2cluster.io",
	})
	if err != nil || packaged == nil {
		return fmt.Errorf("cannot find the package's Composition: %v", err)
	}
	spec, _, err := unstructured.NestedMap(packaged.Object, "spec")
	if err != nil {
		return fmt.Errorf("cannot read the package's Composition: %w", err)
	}
	pipeline, _, _ := unstructured.NestedSlice(spec, "pipeline")
	if len(pipeline) == 0 {
		return fmt.Errorf("the package's Composition has no pipeline")
	}
	step, _ := pipeline[0].(map[string]any)
	for _, field := range []struct {
		value string
		path  []string
	}{
		{s.Cloud.URL(), []string{"input", "equinix", "apiURL"}},
		{coolDown.String(), []string{"input", "network", "coolDown"}},
	} {
		if err := unstructured.SetNestedField(step, field.value, field.path...); err != nil {
			return fmt.Errorf("cannot change the Composition: %w", err)
		}
	}
	spec["pipeline"] = pipeline
	return s.apply(ctx, &Object{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
		"metadata": map[string]any{"name": Composition}, "spec": spec,
	}})
}
