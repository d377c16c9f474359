package render

import (
	"context"
	"fmt"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/l2cluster/function-l2cluster/fn/change"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// maxSteps is how often the world follows what the function asks for. A port
// that is converted takes the most: its VLANs go, it leaves its bond, and its
// VLANs come.
const maxSteps = 8

// settle runs the function until nothing moves any more in a world that does
// what it is asked for: managed resources become as they are desired, and the
// composite's status is read back. Cluster API stands still, so no machine comes
// or goes, and what it says of a spec that has changed is known to be of an older
// one. The last run that was not refused counts.
func settle(ctx context.Context, fn fnv1.FunctionRunnerServiceServer, in Input) (Output, error) {
	var last Output
	for range maxSteps {
		out, err := Run(ctx, fn, in)
		if err != nil {
			return Output{}, err
		}
		if out.Fatal() || last.Response != nil && proto.Equal(last.Response.GetDesired(), out.Response.GetDesired()) {
			break
		}
		last = out
		in.Observed = out.followed(in.Observed)
		in.Composite = maps.Clone(in.Composite)
		in.Composite["status"] = child(xr.ToMap(out.Response.GetDesired().GetComposite().GetResource()), "status")
	}
	return last, nil
}

// followed are the observed objects when they have become what is desired.
func (o Output) followed(observed []map[string]any) []map[string]any {
	before := map[string]map[string]any{}
	for _, was := range observed {
		before[text(was, "metadata", "annotations", annotationKey)] = was
	}
	out := o.composed()
	for _, is := range out {
		was := before[text(is, "metadata", "annotations", annotationKey)]
		if status, ok := was["status"]; ok {
			is["status"] = status
		}
		if n, known := generation(was, is); known {
			child(is, "metadata")["generation"] = n
		}
		if _, managed := child(is, "spec")["forProvider"].(map[string]any); managed {
			manage(is, was)
		}
	}
	return out
}

// generation of an object when another spec was applied onto it: one more when
// that changed anything.
func generation(was, is map[string]any) (n float64, known bool) {
	metadata, _ := was["metadata"].(map[string]any)
	switch v := metadata["generation"].(type) {
	case float64:
		n = v
	case int64:
		n = float64(v)
	default:
		return 0, false
	}
	only := func(o map[string]any) change.Objects {
		return change.Objects{"": {kindField: o[kindField], "spec": o["spec"]}}
	}
	if len(change.Onto(only(was), only(is))) > 0 {
		n++
	}
	return n, true
}

// manage does what a provider of managed resources does. A resource that is new
// has no ID that could be known; words stand for it.
func manage(is, was map[string]any) {
	id := text(was, "status", "atProvider", "id")
	if id == "" {
		id = fmt.Sprintf("<ID of %s %s>", text(is, kindField), text(is, "metadata", nameField))
	}
	outside := maps.Clone(child(child(is, "spec"), "forProvider"))
	outside["id"] = id
	status, _ := was["status"].(map[string]any)
	status = maps.Clone(status)
	if status == nil {
		status = map[string]any{}
	}
	status["atProvider"] = outside
	status["conditions"] = []any{
		map[string]any{"type": "Synced", "status": xr.True},
		map[string]any{"type": "Ready", "status": xr.True},
	}
	is["status"] = status
}
