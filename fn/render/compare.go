package render

import (
	"context"
	"fmt"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/l2cluster/function-l2cluster/fn/change"
	"github.com/l2cluster/function-l2cluster/fn/diff"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// Comparison of a claim or composite before and after an edit.
type Comparison struct {
	// Report of what the edit does, or of why it is refused.
	Report diff.Report
	// Refused is the run that ended with a fatal result, or nil.
	Refused *Output
	// RefusedNew says that it is the edited claim that was refused.
	RefusedNew bool
}

// Edited is what an edit makes of a claim.
type Edited struct {
	// Composite is the claim or the composite after the edit.
	Composite map[string]any
	// Composition after the edit; nil where it is the same.
	Composition map[string]any
}

// Compare what the function answers to the claim or composite of the input with
// what it answers to an edited one, or under an edited Composition. Both see the same observed and required
// objects and the same status. Where the observed objects are nil, not only none,
// both see what the claim asks for before the edit, as if it existed. It returns an error for input that
// Run does not take, and for claims that are not one and the same.
func Compare(ctx context.Context, fn fnv1.FunctionRunnerServiceServer, in Input, edited Edited) (Comparison, error) {
	before, err := Composite(in.Composite)
	if err != nil {
		return Comparison{}, err
	}
	after, err := Composite(edited.Composite)
	if err != nil {
		return Comparison{}, err
	}
	if after, err = edit(before, after); err != nil {
		return Comparison{}, err
	}
	composition := edited.Composition
	if composition == nil {
		composition = in.Composition
	}
	return comparing{fn: fn, in: in, before: before, after: after, composition: composition}.run(ctx)
}

// edit is a composite with another one's wish: what Crossplane makes of an edit
// of its claim.
func edit(before, after map[string]any) (map[string]any, error) {
	if a, b := identity(before), identity(after); a != b {
		return nil, fmt.Errorf("cannot compare %s with %s: an object of another name is another cluster, not an edit", a, b)
	}
	out := maps.Clone(before)
	wish, _ := after["spec"].(map[string]any)
	wish = maps.Clone(wish)
	if wish == nil {
		wish = map[string]any{}
	}
	had, _ := before["spec"].(map[string]any)
	for _, own := range []string{"claimRef", "resourceRefs", "compositionRef", "compositionRevisionRef"} {
		delete(wish, own)
		if v, ok := had[own]; ok {
			wish[own] = v
		}
	}
	out["spec"] = wish
	return out, nil
}

// identity of the cluster that a composite is for.
func identity(composite map[string]any) string {
	if name := text(composite, "metadata", "labels", labelClaimName); name != "" {
		return fmt.Sprintf("claim %s/%s", text(composite, "metadata", "labels", labelClaimNamespace), name)
	}
	return "composite " + text(composite, "metadata", nameField)
}

// comparing runs the function over a composite before and after an edit.
type comparing struct {
	fn            fnv1.FunctionRunnerServiceServer
	in            Input
	before, after map[string]any
	// composition after the edit; that before it is the input's.
	composition map[string]any
}

func (c comparing) run(ctx context.Context) (Comparison, error) {
	var goal, now edition
	if err := c.anew().both(ctx, Input{}, &goal); err != nil || goal.refused != nil {
		return goal.refusal(), err
	}
	world := c.in
	assumed := world.Observed == nil
	if assumed {
		world.Observed = goal.before.composed()
	}
	if err := c.both(ctx, world, &now); err != nil || now.refused != nil {
		return now.refusal(), err
	}
	then, err := c.then(ctx, world, assumed)
	if err != nil {
		return Comparison{}, err
	}
	observed := change.Objects{}
	for key, r := range now.before.Request.GetObserved().GetResources() {
		observed[key] = xr.ToMap(r.GetResource())
	}
	status := xr.ToMap(now.after.Response.GetDesired().GetComposite().GetResource())
	return Comparison{Report: diff.Compare(diff.Input{
		Cluster: text(status, "status", "clusterName"), Observed: observed, Assumed: assumed,
		Now:  diff.Edit{Before: answer(now.before), After: answer(now.after)},
		Then: then,
		Goal: diff.Edit{Before: answer(goal.before), After: answer(goal.after)},
	})}, nil
}

// then is the edit when what is asked for now has come to be. Where nobody looked
// at the machines there is nothing that could follow.
func (c comparing) then(ctx context.Context, world Input, assumed bool) (diff.Edit, error) {
	if assumed {
		return diff.Edit{}, nil
	}
	world.Composite = c.before
	before, err := settle(ctx, c.fn, world)
	if err != nil {
		return diff.Edit{}, err
	}
	world.Composite = c.after
	world.Composition = c.composition
	after, err := settle(ctx, c.fn, world)
	return diff.Edit{Before: answer(before), After: answer(after)}, err
}

// anew is the same edit of a cluster of which nothing is known yet.
func (c comparing) anew() comparing {
	c.before, c.after = maps.Clone(c.before), maps.Clone(c.after)
	delete(c.before, "status")
	delete(c.after, "status")
	return c
}

// edition is a run before and one after the edit.
type edition struct {
	before, after Output
	// refused is the one that ended with a fatal result.
	refused *Output
}

func (e *edition) refusal() Comparison {
	if e.refused == nil {
		return Comparison{}
	}
	reasons := []string{}
	for _, r := range e.refused.Response.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			reasons = append(reasons, r.GetMessage())
		}
	}
	return Comparison{Refused: e.refused, RefusedNew: e.refused == &e.after, Report: diff.Refusal(reasons)}
}

// both composites in one world.
func (c comparing) both(ctx context.Context, world Input, e *edition) error {
	for _, run := range []struct {
		composite, composition map[string]any
		out                    *Output
	}{{c.before, c.in.Composition, &e.before}, {c.after, c.composition, &e.after}} {
		world.Composite, world.Composition = run.composite, run.composition
		out, err := Run(ctx, c.fn, world)
		if err != nil {
			return err
		}
		*run.out = out
		if out.Fatal() {
			e.refused = run.out
			return nil
		}
	}
	return nil
}

// answer of the function in unstructured values.
func answer(o Output) diff.Answer {
	out := diff.Answer{Objects: change.Objects{}}
	for key, r := range o.Response.GetDesired().GetResources() {
		out.Objects[key] = xr.ToMap(r.GetResource())
		// What is kept has the labels that Crossplane adds to everything.
		metadata, _ := out.Objects[key]["metadata"].(map[string]any)
		labels, _ := metadata["labels"].(map[string]any)
		for _, name := range []string{labelComposite, labelClaimName, labelClaimNamespace} {
			delete(labels, name)
		}
	}
	out.Status, _ = xr.ToMap(o.Response.GetDesired().GetComposite().GetResource())["status"].(map[string]any)
	for _, c := range o.Response.GetConditions() {
		out.Conditions = append(out.Conditions, diff.Condition{
			Type: c.GetType(), Status: statusOf(c), Reason: c.GetReason(), Message: c.GetMessage(),
		})
	}
	return out
}
