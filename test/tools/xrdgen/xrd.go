package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/yaml"
)

// Where the claim's types are, and its definitions go.
const (
	specPackage = "./fn/spec"
	claimType   = "L2Cluster"
	group       = "l2cluster.io"
	version     = "v1alpha1"

	claimsFile = "package/configuration/definition.yaml"
	modernFile = "package/configuration-v2/definition.yaml"
)

const header = "# Generated from the Go types in fn/spec by go generate. Do not edit.\n"

// definition is a CompositeResourceDefinition, with only the fields that ours
// have: https://docs.crossplane.io/latest/composition/composite-resource-definitions/.
type definition struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   metadata       `json:"metadata"`
	Spec       definitionSpec `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type definitionSpec struct {
	Group                string              `json:"group"`
	Scope                string              `json:"scope,omitempty"`
	Names                names               `json:"names"`
	ClaimNames           *names              `json:"claimNames,omitempty"`
	ConnectionSecretKeys []string            `json:"connectionSecretKeys,omitempty"`
	Versions             []definitionVersion `json:"versions"`
}

type names struct {
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind"`
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular"`
	ShortNames []string `json:"shortNames,omitempty"`
}

type definitionVersion struct {
	Name           string                                           `json:"name"`
	Served         bool                                             `json:"served"`
	Referenceable  bool                                             `json:"referenceable"`
	PrinterColumns []apiextensionsv1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty"`
	Schema         apiextensionsv1.CustomResourceValidation         `json:"schema"`
}

// generateXRDs writes both definitions below out.
func generateXRDs(root, out string) error {
	definitions, err := newDefinitions(root)
	if err != nil {
		return err
	}
	for file, d := range definitions {
		if err := write(filepath.Join(out, file), d); err != nil {
			return err
		}
	}
	return writeReference(filepath.Join(out, claimReference), claimTitle, claimFields(definitions[claimsFile].Spec.Versions[0]))
}

// newDefinitions are the definitions by the files that they belong in: one that
// has claims, and one for control planes that have left claims behind.
func newDefinitions(root string) (map[string]definition, error) {
	v, err := claimVersion(root)
	if err != nil {
		return nil, err
	}
	composite := names{Kind: "XL2Cluster", ListKind: "XL2ClusterList", Plural: "xl2clusters", Singular: "xl2cluster", ShortNames: []string{"xl2c"}}
	claim := names{Kind: claimType, ListKind: "L2ClusterList", Plural: "l2clusters", Singular: "l2cluster", ShortNames: []string{"l2c"}}
	return map[string]definition{
		// Only this version of the API has claims and connection secrets; its
		// scope is LegacyCluster when it says nothing else.
		claimsFile: newDefinition("v1", definitionSpec{
			Group: group, Names: composite, ClaimNames: &claim, ConnectionSecretKeys: []string{"kubeconfig"},
			Versions: []definitionVersion{v},
		}),
		modernFile: newDefinition("v2", definitionSpec{
			Group: group, Scope: "Cluster", Names: composite, Versions: []definitionVersion{v},
		}),
	}, nil
}

func newDefinition(apiVersion string, s definitionSpec) definition {
	return definition{
		APIVersion: "apiextensions.crossplane.io/" + apiVersion,
		Kind:       "CompositeResourceDefinition",
		Metadata:   metadata{Name: s.Names.Plural + "." + s.Group},
		Spec:       s,
	}
}

// claimVersion is the claim's schema and printer columns as its Go types state
// them.
func claimVersion(root string) (definitionVersion, error) {
	pkg, parser, err := parse(root, specPackage)
	if err != nil {
		return definitionVersion{}, err
	}
	ident := crd.TypeIdent{Package: pkg, Name: claimType}
	parser.NeedFlattenedSchemaFor(ident)
	// Imports that no type needs are left out when types are checked, so errors
	// of that kind mean nothing here.
	if loader.PrintErrors([]*loader.Package{pkg}, packages.TypeError) {
		return definitionVersion{}, fmt.Errorf("cannot make a schema of %s", ident)
	}
	schema := parser.FlattenedSchemata[ident]
	v := definitionVersion{
		Name: version, Served: true, Referenceable: true,
		Schema: apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
	}
	for _, m := range parser.Types[ident].Markers["kubebuilder:printcolumn"] {
		column, ok := m.(crdmarkers.PrintColumn)
		if !ok {
			return definitionVersion{}, fmt.Errorf("cannot read printer column %v", m)
		}
		v.PrinterColumns = append(v.PrinterColumns, printerColumn(column))
	}
	return v, nil
}

func printerColumn(c crdmarkers.PrintColumn) apiextensionsv1.CustomResourceColumnDefinition {
	return apiextensionsv1.CustomResourceColumnDefinition{
		Name: c.Name, Type: c.Type, JSONPath: c.JSONPath,
		Description: c.Description, Format: c.Format, Priority: c.Priority,
	}
}

// parse the types and markers of one package of the function's module.
func parse(root, path string) (*loader.Package, *crd.Parser, error) {
	pkgs, err := load(root, path)
	if err != nil {
		return nil, nil, err
	}
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return nil, nil, fmt.Errorf("cannot register markers: %w", err)
	}
	parser := &crd.Parser{
		Collector: &markers.Collector{Registry: registry},
		Checker:   &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crd.Generator{}.CheckFilter()}},
	}
	crd.AddKnownTypes(parser)
	parser.NeedPackage(pkgs[0])
	return pkgs[0], parser, nil
}

// write a definition as YAML, in the order of the fields of its Go type.
func write(path string, document any) error {
	b, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("cannot encode %q: %w", path, err)
	}
	y, err := yaml.JSONToYAML(b)
	if err != nil {
		return fmt.Errorf("cannot encode %q: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot create the folder of %q: %w", path, err)
	}
	if err := os.WriteFile(path, append([]byte(header), bytes.TrimLeft(y, "\n")...), 0o644); err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	return nil
}
