package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/function"
	"github.com/l2cluster/function-l2cluster/fn/render"
	"github.com/l2cluster/function-l2cluster/test/userdata"
)

// UserData is what a server of the claim's pool gets: the function's objects,
// through Cluster API's bootstrap provider and the infrastructure provider's
// template engine.
func UserData(ctx context.Context, claim, input, pool string) ([]byte, error) {
	var composite, in map[string]any
	if err := yaml.Unmarshal([]byte(claim), &composite); err != nil {
		return nil, fmt.Errorf("cannot read the claim: %w", err)
	}
	if err := yaml.Unmarshal([]byte(input), &in); err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	now := func() time.Time { return time.Unix(1_700_000_000, 0) }
	out, err := render.Run(ctx, function.New(logging.NewNopLogger(), now), render.Input{
		Composite:   composite,
		Composition: map[string]any{"spec": map[string]any{"pipeline": []any{map[string]any{"step": "cluster", "input": in}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot run the function: %w", err)
	}
	if out.Fatal() {
		return nil, fmt.Errorf("the function refuses the claim: %v", out.Response.GetResults())
	}
	c := userdata.Cluster{Endpoint: "192.0.2.10", APIKey: "not-a-secret"}
	resources := out.Response.GetDesired().GetResources()
	for _, key := range slices.Sorted(maps.Keys(resources)) {
		c.Objects = append(c.Objects, resources[key].GetResource().AsMap())
	}
	return c.Worker(pool)
}
