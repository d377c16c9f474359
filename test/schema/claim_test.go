package schema

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/spec/strict"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// everything is the claim that has every field.
const everything = "testdata/good/everything.yaml"

// goodClaims are those of the examples and of this test, by file.
func goodClaims(t *testing.T) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, pattern := range []string{"../../example/claim.yaml", "../../example/*/claim.yaml", "testdata/good/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Fatalf("no file is %s", pattern)
		}
		for _, f := range files {
			out[f] = load(t, f)
		}
	}
	return out
}

// permissive is the input of a platform team that allows all that can be
// allowed.
func permissive() *v1beta1.Input {
	in := &v1beta1.Input{}
	v1beta1.Default(in)
	in.Equinix.HardwareReservations = true
	in.Equinix.CloudController.Kind = v1beta1.CloudControllerNone
	return in
}

// inputFor is the input that a claim needs: only everything names what an
// ordinary platform team does not allow.
func inputFor(file string) *v1beta1.Input {
	if file == everything {
		return permissive()
	}
	in := &v1beta1.Input{}
	v1beta1.Default(in)
	return in
}

// validate a claim as the function does: decode, fill in, check.
func validate(claim map[string]any, in *v1beta1.Input) field.ErrorList {
	s := &spec.Spec{}
	object, _ := claim["spec"].(map[string]any)
	errs := strict.Decode(object, s, field.NewPath("spec"))
	spec.Default(s)
	more, _ := spec.Validate(s, in)
	return append(errs, more...)
}

func TestGoodClaims(t *testing.T) {
	claims, modern := derived(t, claimsXRD), derived(t, modernXRD)
	kinds := map[string]api{
		"claim":           newAPI(t, claims[spec.ClaimKind]),
		"composite":       newAPI(t, claims[spec.CompositeKind]),
		"composite of v2": newAPI(t, modern[spec.CompositeKind]),
	}
	for file, claim := range goodClaims(t) {
		t.Run(file, func(t *testing.T) {
			for kind, a := range kinds {
				admitted, errs := a.admit(t, claim, nil)
				for _, err := range errs {
					t.Errorf("%s: %v", kind, err)
				}
				if _, errs := a.admit(t, admitted, admitted); len(errs) > 0 {
					t.Errorf("%s: applied again: %v", kind, errs)
				}
			}
			for _, err := range validate(claim, inputFor(file)) {
				t.Errorf("Validate(): %v", err)
			}
		})
	}
}

// badClaim is a good claim with changes that make it bad.
type badClaim struct {
	// Reason why it must be refused.
	Reason string `json:"reason"`
	// Set fields below spec to these values.
	Set map[string]any `json:"set,omitempty"`
	// Remove these fields below spec.
	Remove []string `json:"remove,omitempty"`
	// Update says that the good claim exists already.
	Update bool `json:"update,omitempty"`
	// Want is what the API server says, after the path.
	Want string `json:"want"`
}

func badClaims(t *testing.T) map[string]badClaim {
	t.Helper()
	out := map[string]badClaim{}
	if err := yaml.UnmarshalStrict(read(t, "testdata/bad.yaml"), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Each bad claim is refused by the schema with the words it states, and by
// Validate too: no rule is only in the schema, except those that compare a claim
// with what it was before.
func TestBadClaims(t *testing.T) {
	a := newAPI(t, derived(t, claimsXRD)[spec.ClaimKind])
	good := load(t, everything)
	existing, errs := a.admit(t, good, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, tc := range badClaims(t) {
		t.Run(name, func(t *testing.T) {
			claim := change(t, good, tc)
			var old map[string]any
			if tc.Update {
				old = existing
			}
			_, errs := a.admit(t, claim, old)
			got := make([]string, 0, len(errs))
			for _, err := range errs {
				got = append(got, err.Error())
			}
			if !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, tc.Want) }) {
				t.Errorf("%s\nthe schema must say %q, and says:\n%s", tc.Reason, tc.Want, strings.Join(got, "\n"))
			}
			if errs := validate(claim, permissive()); len(errs) == 0 && !tc.Update {
				t.Errorf("%s\nValidate() accepts it", tc.Reason)
			}
		})
	}
}

// Every CEL rule has a bad claim that breaks it.
func TestEveryRuleHasABadClaim(t *testing.T) {
	var messages []string
	var collect func(s *apiextensions.JSONSchemaProps)
	collect = func(s *apiextensions.JSONSchemaProps) {
		for _, r := range s.XValidations {
			messages = append(messages, r.Message)
		}
		for _, p := range s.Properties {
			collect(&p)
		}
		if s.Items != nil {
			collect(s.Items.Schema)
		}
	}
	collect(newAPI(t, derived(t, claimsXRD)[spec.ClaimKind]).schema)
	bad := slices.Collect(maps.Values(badClaims(t)))
	for _, m := range messages {
		if !slices.ContainsFunc(bad, func(tc badClaim) bool { return strings.HasSuffix(tc.Want, m) }) {
			t.Errorf("no bad claim in testdata/bad.yaml wants %q", m)
		}
	}
	if len(messages) == 0 {
		t.Error("the schema has no CEL rules")
	}
}

// change a copy of a claim.
func change(t *testing.T, claim map[string]any, tc badClaim) map[string]any {
	t.Helper()
	out := runtime.DeepCopyJSON(claim)
	for _, path := range tc.Remove {
		edit(t, out, path, nil)
	}
	for path, value := range tc.Set {
		edit(t, out, path, numbers(value))
	}
	if cmp.Equal(out, claim) {
		t.Fatal("nothing changed")
	}
	return out
}

// edit the value at a path below spec, such as networks.0.vxlan; nil removes
// it.
func edit(t *testing.T, claim map[string]any, path string, value any) {
	t.Helper()
	steps := strings.Split(path, ".")
	at := claim["spec"]
	for _, step := range steps[:len(steps)-1] {
		at = child(t, at, step)
	}
	last := steps[len(steps)-1]
	switch at := at.(type) {
	case map[string]any:
		if value == nil {
			delete(at, last)
			return
		}
		at[last] = value
	case []any:
		at[index(t, last)] = value
	default:
		t.Fatalf("%s: cannot edit a %T", path, at)
	}
}

func child(t *testing.T, at any, step string) any {
	t.Helper()
	switch at := at.(type) {
	case map[string]any:
		return at[step]
	case []any:
		return at[index(t, step)]
	default:
		t.Fatalf("%s: cannot step into a %T", step, at)
		return nil
	}
}

func index(t *testing.T, step string) int {
	t.Helper()
	i, err := strconv.Atoi(step)
	if err != nil {
		t.Fatal(err)
	}
	return i
}
