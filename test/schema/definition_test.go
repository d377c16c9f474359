package schema

import (
	"slices"
	"testing"

	xrdv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xrdv2 "github.com/crossplane/crossplane/apis/v2/apiextensions/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"
)

// Every definition that an API server will be given is valid to it: structural,
// with defaults that fit, and with CEL rules that compile and stay below the
// cost limits.
func TestDerivedDefinitionsAreValid(t *testing.T) {
	crds := map[string]*apiextensions.CustomResourceDefinition{"Input": inputDefinition(t)}
	for kind, crd := range derived(t, claimsXRD) {
		crds["Claims"+kind] = crd
	}
	for kind, crd := range derived(t, modernXRD) {
		crds["Modern"+kind] = crd
	}
	want := []string{"ClaimsL2Cluster", "ClaimsXL2Cluster", "Input", "ModernXL2Cluster"}
	got := make([]string, 0, len(crds))
	for name, crd := range crds {
		got = append(got, name)
		t.Run(name, func(t *testing.T) {
			for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), crd) {
				t.Error(err)
			}
		})
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definitions: -want, +got:\n%s", diff)
	}
}

// The XRDs are valid to Crossplane: its schema and CEL rules for them, strictly.
func TestXRDsAreValid(t *testing.T) {
	crd := crossplaneDefinition(t)
	cases := map[string]struct {
		file    string
		version string
		into    any
	}{
		"Claims": {file: claimsXRD, version: "v1", into: &xrdv1.CompositeResourceDefinition{}},
		"Modern": {file: modernXRD, version: "v2", into: &xrdv2.CompositeResourceDefinition{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := yaml.UnmarshalStrict(read(t, tc.file), tc.into); err != nil {
				t.Errorf("%s: %v", tc.file, err)
			}
			one := crd.DeepCopy()
			one.Spec.Versions = slices.DeleteFunc(one.Spec.Versions, func(v extv1.CustomResourceDefinitionVersion) bool { return v.Name != tc.version })
			_, errs := newAPI(t, internal(t, one)).admit(t, load(t, tc.file), nil)
			for _, err := range errs {
				t.Error(err)
			}
		})
	}
}

// Both XRDs have the same schema: the second only leaves claims behind.
func TestXRDsHaveOneSchema(t *testing.T) {
	claims, modern := load(t, claimsXRD)["spec"].(map[string]any), load(t, modernXRD)["spec"].(map[string]any)
	if diff := cmp.Diff(claims["versions"], modern["versions"]); diff != "" {
		t.Errorf("versions: -%s, +%s:\n%s", claimsXRD, modernXRD, diff)
	}
}
