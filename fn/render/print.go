package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// Print the composite and every object that it composes, in the form of the
// crossplane CLI's render command: https://docs.crossplane.io/latest/cli/.
// After a fatal result there is nothing to print.
func (o Output) Print(w io.Writer) error {
	if o.Fatal() {
		return nil
	}
	for _, d := range append([]map[string]any{o.composite()}, o.composed()...) {
		b, err := yaml.Marshal(d)
		if err != nil {
			return fmt.Errorf("cannot print an object: %w", err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", b); err != nil {
			return fmt.Errorf("cannot print an object: %w", err)
		}
	}
	return nil
}

// Report results and conditions for a person.
func (o Output) Report(w io.Writer) error {
	severities := map[fnv1.Severity]string{
		fnv1.Severity_SEVERITY_FATAL: "fatal", fnv1.Severity_SEVERITY_WARNING: "warning", fnv1.Severity_SEVERITY_NORMAL: "normal",
	}
	var b strings.Builder
	for _, r := range o.Response.GetResults() {
		fmt.Fprintf(&b, "%s: %s\n", severities[r.GetSeverity()], r.GetMessage())
	}
	for _, c := range o.Response.GetConditions() {
		fmt.Fprintf(&b, "%s: %s (%s)", c.GetType(), statusOf(c), c.GetReason())
		if c.GetMessage() != "" {
			fmt.Fprintf(&b, ": %s", c.GetMessage())
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot report results and conditions: %w", err)
	}
	return nil
}

func statusOf(c *fnv1.Condition) string {
	switch c.GetStatus() {
	case fnv1.Status_STATUS_CONDITION_TRUE:
		return xr.True
	case fnv1.Status_STATUS_CONDITION_FALSE:
		return xr.False
	default:
		return xr.Unknown
	}
}

func (o Output) composed() []map[string]any {
	desired := o.Response.GetDesired().GetResources()
	out := make([]map[string]any, 0, len(desired))
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		out = append(out, o.composedObject(key, xr.ToMap(desired[key].GetResource())))
	}
	return out
}

// composedObject is a desired object with what Crossplane adds before it
// applies it.
func (o Output) composedObject(key string, body map[string]any) map[string]any {
	metadata := child(body, "metadata")
	child(metadata, "annotations")[annotationKey] = key
	labels := child(metadata, "labels")
	composite := child(o.Composite, "metadata")
	for _, name := range o.inherited() {
		labels[name] = text(composite, "labels", name)
	}
	metadata["ownerReferences"] = []any{map[string]any{
		"apiVersion": o.Composite["apiVersion"], kindField: o.Composite[kindField],
		nameField: composite[nameField], "uid": composite["uid"],
		"controller": true, "blockOwnerDeletion": true,
	}}
	if observed, ok := o.Request.GetObserved().GetResources()[key]; ok {
		from := observed.GetResource().GetFields()["metadata"].GetStructValue().GetFields()
		for _, name := range []string{nameField, "namespace"} {
			if v := from[name].GetStringValue(); v != "" {
				metadata[name] = v
			}
		}
	}
	return body
}

// inherited are the labels that Crossplane copies from a composite to what it
// composes.
func (o Output) inherited() []string {
	out := []string{labelComposite}
	name, namespace := text(o.Composite, "metadata", "labels", labelClaimName), text(o.Composite, "metadata", "labels", labelClaimNamespace)
	if name != "" && namespace != "" {
		out = append(out, labelClaimName, labelClaimNamespace)
	}
	return out
}

// child object of an object, made when it is missing.
func child(o map[string]any, name string) map[string]any {
	c, ok := o[name].(map[string]any)
	if !ok {
		c = map[string]any{}
		o[name] = c
	}
	return c
}

func (o Output) composite() map[string]any {
	status := child(xr.ToMap(o.Response.GetDesired().GetComposite().GetResource()), "status")
	status["claimConditionTypes"] = o.claimConditionTypes()
	status["conditions"] = o.conditions()
	return map[string]any{
		"apiVersion": o.Composite["apiVersion"], kindField: o.Composite[kindField],
		"metadata": map[string]any{nameField: text(o.Composite, "metadata", nameField)},
		"spec":     map[string]any{"resourceRefs": o.resourceRefs()},
		"status":   status,
	}
}

func (o Output) claimConditionTypes() []any {
	out := []any{}
	for _, c := range o.Response.GetConditions() {
		if c.GetTarget() == fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
			out = append(out, c.GetType())
		}
	}
	return out
}

func (o Output) resourceRefs() []any {
	refs := []any{}
	for _, d := range o.composed() {
		ref := map[string]any{"apiVersion": d["apiVersion"], kindField: d[kindField], nameField: text(d, "metadata", nameField)}
		if namespace := text(d, "metadata", "namespace"); namespace != "" {
			ref["namespace"] = namespace
		}
		refs = append(refs, ref)
	}
	sortKey := func(ref any) string {
		r, _ := ref.(map[string]any)
		return text(r, "apiVersion") + text(r, kindField) + text(r, nameField) + text(r, "namespace")
	}
	slices.SortStableFunc(refs, func(a, b any) int { return strings.Compare(sortKey(a), sortKey(b)) })
	return refs
}

// transition is when every condition of a preview came to be: previews are the
// same every time.
const transition = "2024-01-01T00:00:00Z"

// conditions of the composite: those that it had, brought up to date in place,
// and those that are new, in the order in which Crossplane adds them.
func (o Output) conditions() []any {
	set := conditionSet{}
	observed := xr.ToMap(o.Request.GetObserved().GetComposite().GetResource())
	had, _ := child(observed, "status")["conditions"].([]any)
	for _, c := range had {
		if c, ok := c.(map[string]any); ok {
			set.put(c)
		}
	}
	set.put(condition("Responsive", xr.True, "WatchCircuitClosed", ""))
	for _, c := range o.Response.GetConditions() {
		set.put(condition(c.GetType(), statusOf(c), c.GetReason(), c.GetMessage()))
	}
	set.put(condition("Synced", xr.True, "ReconcileSuccess", ""))
	if o.Response.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE {
		set.put(condition("Ready", xr.True, "Available", ""))
	} else {
		set.put(condition("Ready", xr.False, "Creating", ""))
	}
	return set.list
}

func condition(kind, status, reason, message string) map[string]any {
	out := map[string]any{"type": kind, "status": status, "reason": reason}
	if message != "" {
		out["message"] = message
	}
	return out
}

type conditionSet struct{ list []any }

func (s *conditionSet) put(c map[string]any) {
	c["lastTransitionTime"] = transition
	for i, was := range s.list {
		if was, ok := was.(map[string]any); ok && was["type"] == c["type"] {
			s.list[i] = c
			return
		}
	}
	s.list = append(s.list, c)
}
