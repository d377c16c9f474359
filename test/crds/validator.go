// Package crds validates objects as strictly as an API server can: against the
// real CustomResourceDefinitions of what the function composes, with the code
// that API servers validate with. Unknown fields are errors, CEL rules run, and
// nothing needs a cluster.
package crds

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	xpv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	schemagvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kyaml "sigs.k8s.io/yaml"
)

// Validator knows the schemas of kinds.
type Validator struct {
	kinds map[schemagvk.GroupVersionKind]kind
}

// kind is one version of a kind.
type kind struct {
	plural     string
	namespaced bool
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// Load reads every CRD in the folders; files that are no CRD are passed over.
// A folder without any CRD is an error: it is not the folder that was meant.
func Load(dirs ...string) (*Validator, error) {
	v := &Validator{kinds: map[schemagvk.GroupVersionKind]kind{}}
	for _, d := range dirs {
		files, err := filepath.Glob(filepath.Join(d, "*.yaml"))
		if err != nil {
			return nil, fmt.Errorf("cannot list CRDs in %q: %w", d, err)
		}
		before := len(v.kinds)
		for _, f := range files {
			if err := v.addFile(f); err != nil {
				return nil, fmt.Errorf("cannot load CRDs of %q: %w", f, err)
			}
		}
		if len(v.kinds) == before {
			return nil, fmt.Errorf("cannot find any CRD in %q", d)
		}
	}
	return v, nil
}

// Resource is the plural name under which a kind is served, as permissions name
// it, or nothing when no CRD serves it.
func (v *Validator) Resource(apiVersion, k string) string {
	return v.kinds[schemagvk.FromAPIVersionAndKind(apiVersion, k)].plural
}

// Serves says whether any version of a resource, by its plural name, is served.
func (v *Validator) Serves(group, plural string) bool {
	for gvk, k := range v.kinds {
		if gvk.Group == group && k.plural == plural {
			return true
		}
	}
	return false
}

// AddXRD adds the composite resource, and the claim if there is one, of a
// CompositeResourceDefinition, as Crossplane derives their CRDs from it.
func (v *Validator) AddXRD(document []byte) error {
	xrd := &xpv1.CompositeResourceDefinition{}
	if err := kyaml.UnmarshalStrict(document, xrd); err != nil {
		return fmt.Errorf("cannot read CompositeResourceDefinition: %w", err)
	}
	crd, err := xcrd.ForCompositeResource(xrd)
	if err != nil {
		return fmt.Errorf("cannot derive the composite's CRD of %q: %w", xrd.GetName(), err)
	}
	if err := v.add(crd); err != nil {
		return err
	}
	if xrd.Spec.ClaimNames == nil {
		return nil
	}
	if crd, err = xcrd.ForCompositeResourceClaim(xrd); err != nil {
		return fmt.Errorf("cannot derive the claim's CRD of %q: %w", xrd.GetName(), err)
	}
	return v.add(crd)
}

func (v *Validator) addFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read file: %w", err)
	}
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		crd := &extv1.CustomResourceDefinition{}
		err := d.Decode(crd)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot decode document: %w", err)
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		if err := v.add(crd); err != nil {
			return err
		}
	}
}

// add every served version of a CRD.
func (v *Validator) add(crd *extv1.CustomResourceDefinition) error {
	for _, version := range crd.Spec.Versions {
		if !version.Served || version.Schema == nil {
			continue
		}
		k, err := newKind(version.Schema.OpenAPIV3Schema)
		if err != nil {
			return fmt.Errorf("cannot use the schema of %q version %q: %w", crd.Name, version.Name, err)
		}
		k.plural = crd.Spec.Names.Plural
		k.namespaced = crd.Spec.Scope == extv1.NamespaceScoped
		v.kinds[schemagvk.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = k
	}
	return nil
}

func newKind(props *extv1.JSONSchemaProps) (kind, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := extv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return kind{}, fmt.Errorf("cannot convert schema: %w", err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return kind{}, fmt.Errorf("cannot make schema structural: %w", err)
	}
	sv, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return kind{}, fmt.Errorf("cannot make validator: %w", err)
	}
	return kind{
		structural: structural,
		schema:     sv,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}
