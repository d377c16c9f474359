package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Composition is the name of the Composition that claims of tests name.
const Composition = "e2e"

// Platform does what a platform team does: it applies the example's credentials
// and ProviderConfigs with its own token, and derives a Composition from the
// package's own that knows the address of the cloud, lets addresses cool down for as
// long as given, and gives servers that time for their network.
func (s *Stack) Platform(ctx context.Context, coolDown, timeout time.Duration) error {
	providers, err := s.providers()
	if err != nil {
		return err
	}
	if err := s.apply(ctx, append(providers, namespace("team-a"), namespace("team-b"))...); err != nil {
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
		{timeout.String(), []string{"input", "network", "timeout"}},
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

// providers of the example with the fake cloud's token, and its address in the
// credentials of the Equinix provider.
func (s *Stack) providers() ([]*Object, error) {
	raw, err := os.ReadFile(filepath.Join(s.Tools.Root, "example", "providers.yaml"))
	if err != nil {
		return nil, fmt.Errorf("cannot read the example's providers: %w", err)
	}
	objects, err := Decode(bytes.ReplaceAll(raw, []byte("YOUR-TOKEN"), []byte(Token)))
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		text, found, _ := unstructured.NestedString(o.Object, "stringData", "credentials")
		if !found {
			continue
		}
		var credentials map[string]string
		if err := json.Unmarshal([]byte(text), &credentials); err != nil {
			return nil, fmt.Errorf("cannot read the example's credentials: %w", err)
		}
		credentials["endpoint"] = s.Cloud.URL()
		changed, err := json.Marshal(credentials)
		if err != nil {
			return nil, fmt.Errorf("cannot write credentials: %w", err)
		}
		if err := unstructured.SetNestedField(o.Object, string(changed), "stringData", "credentials"); err != nil {
			return nil, fmt.Errorf("cannot change the example's credentials: %w", err)
		}
	}
	return objects, nil
}
