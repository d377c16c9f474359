package crds

import (
	"context"
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Validate an object that is about to be created. The result is empty for an
// object that an API server takes as it is: it has no unknown field, nothing
// missing that no default fills in, and breaks no rule of its schema. The
// object is not changed.
func (v *Validator) Validate(ctx context.Context, obj map[string]any) field.ErrorList {
	u := &unstructured.Unstructured{Object: obj}
	k, ok := v.kinds[u.GroupVersionKind()]
	if !ok {
		return field.ErrorList{field.Invalid(field.NewPath("kind"), u.GroupVersionKind().String(), "no CRD serves this kind: load the folder that has it, or correct apiVersion and kind")}
	}
	body, err := copyJSON(obj)
	if err != nil {
		return field.ErrorList{field.Invalid(nil, obj, "cannot be written as JSON: "+err.Error())}
	}

	// The steps of an API server, in its order.
	errs := metadata(body, k.namespaced)
	errs = append(errs, prune(body, k.structural)...)
	defaulting.PruneNonNullableNullsWithoutDefaults(body, k.structural)
	defaulting.Default(body, k.structural)
	errs = append(errs, validation.ValidateCustomResource(nil, body, k.schema)...)
	errs = append(errs, objectmeta.Validate(ctx, nil, body, k.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, body)...)
	if k.rules == nil {
		return errs
	}
	ruleErrs, _ := k.rules.Validate(ctx, nil, k.structural, body, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, ruleErrs...)
}

// copyJSON takes an object through JSON, as it would travel to an API server:
// whatever kinds of numbers it holds become int64 and float64.
func copyJSON(obj map[string]any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	err = utiljson.Unmarshal(data, &out)
	return out, err
}

// prune drops the fields that the schema does not have, and names them.
func prune(body map[string]any, s *schema.Structural) field.ErrorList {
	paths := pruning.PruneWithOptions(body, s, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	var errs field.ErrorList
	for _, p := range paths {
		errs = append(errs, field.Forbidden(field.NewPath(p), "the schema has no such field"))
	}
	return errs
}

// metadata is checked apart: the schema of every CRD leaves it open.
func metadata(body map[string]any, namespaced bool) field.ErrorList {
	path := field.NewPath("metadata")
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(body, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return field.ErrorList{field.Invalid(path, body["metadata"], err.Error())}
	}
	if !found {
		return field.ErrorList{field.Required(path, "an object needs metadata")}
	}
	var errs field.ErrorList
	for _, p := range unknown {
		errs = append(errs, field.Forbidden(field.NewPath(p), "metadata has no such field"))
	}
	return append(errs, apivalidation.ValidateObjectMeta(meta, namespaced, apivalidation.NameIsDNSSubdomain, path)...)
}
