package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	xrdv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Files of the packages, from this folder.
const (
	claimsXRD = "../../package/configuration/definition.yaml"
	modernXRD = "../../package/configuration-v2/definition.yaml"
	inputCRD  = "../../package/function/input/l2cluster.fn.crossplane.io_inputs.yaml"
)

// api admits objects of one kind as an API server does.
type api struct {
	schema     *apiextensions.JSONSchemaProps
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func newAPI(t *testing.T, crd *apiextensions.CustomResourceDefinition) api {
	t.Helper()
	schema := crd.Spec.Validation
	if schema == nil {
		schema = crd.Spec.Versions[0].Schema
	}
	structural, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("NewStructural(%s): %v", crd.Name, err)
	}
	validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("NewSchemaValidator(%s): %v", crd.Name, err)
	}
	return api{
		schema: schema.OpenAPIV3Schema, structural: structural, validator: validator,
		rules: cel.NewValidator(structural, true, apiservercel.PerCallLimit),
	}
}

// admit an object, in place of an old one or as a new one, as kubectl apply
// makes the API server do it: unknown fields are errors, defaults are filled in,
// then schema, lists and CEL rules are checked.
func (a api) admit(t *testing.T, object, old map[string]any) (map[string]any, field.ErrorList) {
	t.Helper()
	object = runtime.DeepCopyJSON(object)
	var errs field.ErrorList
	unknown := pruning.PruneWithOptions(object, a.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, field.Invalid(field.NewPath(path), field.OmitValueType{}, "unknown field"))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, a.structural)
	defaulting.Default(object, a.structural)
	errs = append(errs, validation.ValidateCustomResource(nil, object, a.validator)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, a.structural, object)...)
	if len(errs) > 0 {
		// The API server does not run CEL rules on what the schema refuses.
		return object, errs
	}
	var oldObject any
	if old != nil {
		oldObject = old
	}
	ruleErrs, _ := a.rules.Validate(t.Context(), nil, a.structural, object, oldObject, apiservercel.RuntimeCELCostBudget)
	return object, append(errs, ruleErrs...)
}

// derived are the definitions that Crossplane makes of an XRD: of the composite,
// and of the claim where there is one.
func derived(t *testing.T, file string) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()
	xrd := &xrdv1.CompositeResourceDefinition{}
	if err := yaml.UnmarshalStrict(read(t, file), xrd); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	xrd.SetUID("00000000-0000-4000-8000-000000000001")
	if xrd.Spec.Scope == nil {
		scope := xrdv1.CompositeResourceScopeLegacyCluster
		xrd.Spec.Scope = &scope
	}
	out := map[string]*apiextensions.CustomResourceDefinition{}
	composite, err := xcrd.ForCompositeResource(xrd)
	if err != nil {
		t.Fatalf("ForCompositeResource(%s): %v", file, err)
	}
	out[composite.Spec.Names.Kind] = internal(t, composite)
	if xrd.Spec.ClaimNames == nil {
		return out
	}
	claim, err := xcrd.ForCompositeResourceClaim(xrd)
	if err != nil {
		t.Fatalf("ForCompositeResourceClaim(%s): %v", file, err)
	}
	out[claim.Spec.Names.Kind] = internal(t, claim)
	return out
}

func internal(t *testing.T, crd *extv1.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	t.Helper()
	extv1.SetDefaults_CustomResourceDefinition(crd)
	extv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	crd.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
	out := &apiextensions.CustomResourceDefinition{}
	if err := extv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, out, nil); err != nil {
		t.Fatalf("cannot convert %s: %v", crd.Name, err)
	}
	return out
}

func inputDefinition(t *testing.T) *apiextensions.CustomResourceDefinition {
	t.Helper()
	crd := &extv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(read(t, inputCRD), crd); err != nil {
		t.Fatalf("%s: %v", inputCRD, err)
	}
	return internal(t, crd)
}

// crossplaneDefinition is Crossplane's own definition of XRDs, of the version
// that the tests run.
func crossplaneDefinition(t *testing.T) *extv1.CustomResourceDefinition {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/crossplane/crossplane/v2")
	cmd.Dir = "../tools/crossplane"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod download: %v", err)
	}
	module := struct {
		Dir string `json:"Dir"`
	}{}
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatalf("go mod download: %v", err)
	}
	crd := &extv1.CustomResourceDefinition{}
	file := filepath.Join(module.Dir, "cluster", "crds", "apiextensions.crossplane.io_compositeresourcedefinitions.yaml")
	if err := yaml.Unmarshal(read(t, file), crd); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return crd
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// load a YAML file as unstructured values, with whole numbers as int64.
func load(t *testing.T, file string) map[string]any {
	t.Helper()
	b, err := yaml.YAMLToJSON(read(t, file))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return fromJSON(t, b)
}

func fromJSON(t *testing.T, b []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return numbers(v).(map[string]any)
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return string(v)
		}
		return f
	}
	return v
}
