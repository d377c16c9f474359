package schema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/spec/strict"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// Every marker of the claim's types is a rule of Validate as well: the claim
// that has every field is broken in every way that the schema refuses, one at a
// time, and Validate must say so at the same field.
func TestEveryMarkerOfTheClaim(t *testing.T) {
	a := newAPI(t, derived(t, claimsXRD)[spec.ClaimKind])
	s := a.schema.Properties["spec"]
	for name := range s.Properties {
		if slices.Contains(crossplanes, name) {
			delete(s.Properties, name)
		}
	}
	claim := load(t, everything)
	breakAll(t, a, claim, target{
		schema: &s, at: []string{"spec"}, path: "spec",
		check: func(object map[string]any) field.ErrorList { return validate(object, permissive()) },
	})
}

// crossplanes are the fields that Crossplane adds to a claim's spec.
var crossplanes = []string{
	"compositeDeletePolicy", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector",
	"compositionSelector", "compositionUpdatePolicy", "resourceRef", "writeConnectionSecretToRef",
}

// The same for the input, whose schema nobody but Go applies.
func TestEveryMarkerOfTheInput(t *testing.T) {
	a := newAPI(t, inputDefinition(t))
	s := *a.schema
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(s.Properties, name)
	}
	breakAll(t, a, load(t, "testdata/input.yaml"), target{
		schema: &s, path: "input",
		check: func(object map[string]any) field.ErrorList {
			in := &v1beta1.Input{}
			errs := strict.Decode(object, in, field.NewPath("input"))
			v1beta1.Default(in)
			return append(errs, v1beta1.Validate(in)...)
		},
	})
}

// target is a place in an object and its schema.
type target struct {
	schema *apiextensions.JSONSchemaProps
	// at are the steps to the place.
	at []string
	// path is the place as errors have it, and rule the place in the schema,
	// without indices.
	path, rule string
	// check is Go's validation of a whole object.
	check func(map[string]any) field.ErrorList
}

func (g target) field(name string) target {
	s := g.schema.Properties[name]
	out := g
	out.schema, out.at, out.path, out.rule = &s, append(slices.Clone(g.at), name), g.path+"."+name, g.rule+"."+name
	return out
}

func (g target) item(i int) target {
	out := g
	out.schema, out.at = g.schema.Items.Schema, append(slices.Clone(g.at), strconv.Itoa(i))
	out.path, out.rule = fmt.Sprintf("%s[%d]", g.path, i), g.rule+"[]"
	return out
}

// fault is a value that breaks a rule; remove takes a field away instead.
type fault struct {
	what   string
	value  any
	remove string
}

// breakAll breaks each field of the object that has a rule.
func breakAll(t *testing.T, a api, object map[string]any, root target) {
	t.Helper()
	reached := map[string]bool{}
	var visit func(g target, value any)
	visit = func(g target, value any) {
		reached[g.rule] = true
		for _, f := range faults(g.schema, value) {
			t.Run(g.path+"/"+f.what, func(t *testing.T) { breakOne(t, a, object, g, f) })
		}
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				if _, known := g.schema.Properties[name]; known {
					visit(g.field(name), value[name])
				}
			}
		case []any:
			for i, item := range value {
				visit(g.item(i), item)
			}
		}
	}
	visit(root, valueAt(t, object, root.at))
	for _, rule := range places(root.schema, "") {
		if !reached[rule] {
			t.Errorf("the object that should have every field lacks %s", rule)
		}
	}
}

// places of a schema, without indices.
func places(s *apiextensions.JSONSchemaProps, rule string) []string {
	out := []string{rule}
	for name, p := range s.Properties {
		out = append(out, places(&p, rule+"."+name)...)
	}
	if s.Items != nil {
		out = append(out, places(s.Items.Schema, rule+"[]")...)
	}
	return out
}

func breakOne(t *testing.T, a api, object map[string]any, g target, f fault) {
	t.Helper()
	broken := runtime.DeepCopyJSON(object)
	where := g.path
	switch {
	case f.remove != "":
		delete(valueAt(t, broken, g.at).(map[string]any), f.remove)
		where += "." + f.remove
	case len(g.at) == 0:
		root, ok := f.value.(map[string]any)
		if !ok {
			t.Skip("the root is an object in any case")
		}
		broken = root
	default:
		put(t, broken, g.at, f.value)
	}
	if _, errs := a.admit(t, broken, nil); len(errs) == 0 {
		t.Errorf("the schema accepts %v", f.value)
	}
	errs := g.check(broken)
	for _, err := range errs {
		if err.Field == where || strings.HasPrefix(err.Field, where+".") || strings.HasPrefix(err.Field, where+"[") {
			return
		}
	}
	t.Errorf("no error of Validate is at %s; it says %v", where, errs)
}

// faults are values that break the rules of a schema, made from a good one.
func faults(s *apiextensions.JSONSchemaProps, good any) []fault {
	var out []fault
	for _, name := range s.Required {
		out = append(out, fault{what: "Without " + name, remove: name})
	}
	switch good := good.(type) {
	case string:
		out = append(out, textFaults(s, good)...)
	case int64:
		out = append(out, numberFaults(s)...)
	case bool:
		out = append(out, fault{what: "Text", value: "true"})
	case []any:
		out = append(out, listFaults(s, good)...)
	case map[string]any:
		out = append(out, objectFaults(s, good)...)
	}
	return out
}

func textFaults(s *apiextensions.JSONSchemaProps, good string) []fault {
	out := []fault{{what: "Number", value: int64(1)}}
	if s.MaxLength != nil {
		out = append(out, fault{what: "TooLong", value: strings.Repeat("a", int(*s.MaxLength)+1)})
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		out = append(out, fault{what: "Empty", value: ""})
	}
	if len(s.Enum) > 0 {
		out = append(out, fault{what: "NoSuchValue", value: good + "x"})
	}
	if s.Pattern == "" {
		return out
	}
	pattern := regexp.MustCompile(s.Pattern)
	for _, bad := range []string{"{{ .apiKey }}", good + "\n", good + " ", " " + good, good + "é", "$(id)", good + "'", "-"} {
		if !pattern.MatchString(bad) {
			out = append(out, fault{what: strconv.Quote(bad), value: bad})
		}
	}
	return out
}

func numberFaults(s *apiextensions.JSONSchemaProps) []fault {
	out := []fault{{what: "Text", value: "1"}, {what: "Half", value: 1.5}}
	if s.Minimum != nil {
		out = append(out, fault{what: "BelowMinimum", value: int64(*s.Minimum) - 1})
	}
	if s.Maximum != nil {
		out = append(out, fault{what: "AboveMaximum", value: int64(*s.Maximum) + 1})
	}
	if len(s.Enum) > 0 {
		out = append(out, fault{what: "NoSuchValue", value: int64(1000)}, fault{what: "Zero", value: int64(0)})
	}
	return out
}

func listFaults(s *apiextensions.JSONSchemaProps, good []any) []fault {
	out := []fault{{what: "Object", value: map[string]any{}}}
	if s.MaxItems != nil {
		many := make([]any, 0, *s.MaxItems+1)
		for range *s.MaxItems + 1 {
			many = append(many, good[0])
		}
		out = append(out, fault{what: "TooMany", value: many})
	}
	if s.MinItems != nil && *s.MinItems > 0 {
		out = append(out, fault{what: "NoItems", value: []any{}})
	}
	if s.XListType != nil && *s.XListType != "atomic" {
		out = append(out, fault{what: "Twice", value: append(slices.Clone(good), good[0])})
	}
	return append(out, fault{what: "NullItem", value: append(slices.Clone(good), nil)})
}

func objectFaults(s *apiextensions.JSONSchemaProps, good map[string]any) []fault {
	if s.MaxProperties != nil {
		many := map[string]any{}
		for i := range *s.MaxProperties + 1 {
			many[fmt.Sprintf("label%d", i)] = "v"
		}
		return []fault{{what: "TooMany", value: many}}
	}
	if s.AdditionalProperties != nil {
		return nil
	}
	unknown := maps.Clone(good)
	unknown["noSuchField"] = "v"
	return []fault{{what: "UnknownField", value: unknown}, {what: "List", value: []any{}}}
}

func valueAt(t *testing.T, object map[string]any, at []string) any {
	t.Helper()
	var v any = object
	for _, step := range at {
		v = child(t, v, step)
	}
	return v
}

func put(t *testing.T, object map[string]any, at []string, value any) {
	t.Helper()
	last := at[len(at)-1]
	switch parent := valueAt(t, object, at[:len(at)-1]).(type) {
	case map[string]any:
		parent[last] = value
	case []any:
		parent[index(t, last)] = value
	}
}
