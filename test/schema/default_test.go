package schema

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/spec/strict"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// Go fills in what the schema does, and more only where no schema can: a claim
// that went through an API server and one that did not end up the same.
func TestClaimDefaults(t *testing.T) {
	a := newAPI(t, derived(t, claimsXRD)[spec.ClaimKind])
	for file, claim := range goodClaims(t) {
		t.Run(file, func(t *testing.T) {
			served := runtime.DeepCopyJSON(claim)
			defaulting.Default(served, a.structural)

			got := decode[spec.Spec](t, claim["spec"])
			spec.Default(got)
			for _, path := range lost(served["spec"], encode(t, got), "spec") {
				t.Errorf("the schema's default of %s is not Go's", path)
			}

			want := decode[spec.Spec](t, served["spec"])
			spec.Default(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Default(): -after the schema's, +alone:\n%s", diff)
			}

			again := decode[spec.Spec](t, encode(t, got))
			spec.Default(again)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("Default(): -once, +twice:\n%s", diff)
			}
		})
	}
}

// Nobody but Go fills in an input, and it does so as its schema says.
func TestInputDefaults(t *testing.T) {
	a := newAPI(t, inputDefinition(t))
	cases := map[string]struct {
		reason string
		input  map[string]any
	}{
		"Empty":      {reason: "No field has to be given.", input: map[string]any{}},
		"Everything": {reason: "What is given stays.", input: load(t, "testdata/input.yaml")},
		"Sparse": {
			reason: "Objects and items that are there get their own defaults.",
			input: map[string]any{
				"equinix":   map[string]any{"cloudController": map[string]any{"kind": "None"}},
				"bootstrap": map[string]any{"files": []any{map[string]any{"path": "/opt/a", "content": ""}}},
				"addOns": []any{map[string]any{
					"name": "cni", "resources": []any{map[string]any{"kind": "Secret", "name": "cni"}},
				}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			served := runtime.DeepCopyJSON(tc.input)
			defaulting.Default(served, a.structural)
			want := decode[v1beta1.Input](t, served)
			got := decode[v1beta1.Input](t, tc.input)
			v1beta1.Default(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nDefault(): -schema, +Go:\n%s", tc.reason, diff)
			}
			if errs := v1beta1.Validate(got); len(errs) > 0 {
				t.Errorf("%s\nValidate(): %v", tc.reason, errs)
			}
		})
	}
}

func decode[T any](t *testing.T, object any) *T {
	t.Helper()
	out := new(T)
	if errs := strict.Decode(object.(map[string]any), out, field.NewPath("object")); len(errs) > 0 {
		t.Fatal(errs)
	}
	return out
}

func encode(t *testing.T, object any) map[string]any {
	t.Helper()
	b, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return fromJSON(t, b)
}

// lost are the paths of values that the second object does not have as the
// first has them. False is as good as none.
func lost(a, b any, path string) []string {
	var out []string
	switch a := a.(type) {
	case map[string]any:
		object, _ := b.(map[string]any)
		for k, v := range a {
			out = append(out, lost(v, object[k], path+"."+k)...)
		}
	case []any:
		list, _ := b.([]any)
		if len(list) != len(a) {
			return []string{path}
		}
		for i, v := range a {
			out = append(out, lost(v, list[i], path+"."+strconv.Itoa(i))...)
		}
	default:
		if !cmp.Equal(a, b) && a != false && a != "" {
			return []string{path}
		}
	}
	return out
}
