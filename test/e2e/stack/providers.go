package stack

import (
	"context"
	"os"
	"path/filepath"
)

// equinixKinds are the kinds of provider-jet-equinix that the function composes,
// by their plural names.
var equinixKinds = map[string]string{
	"vlans": "Vlan", "ports": "Port", "gateways": "Gateway", "vrves": "Vrf", "reservedipblocks": "ReservedIPBlock",
}

// equinixCRDs are those in the folder that EQUINIX_CRDS_DIR names, or CRDs of
// our own with the same names that take any content: the provider's are in no
// Go module.
func equinixCRDs() ([]*Object, error) {
	if dir := os.Getenv("EQUINIX_CRDS_DIR"); dir != "" {
		return Read(dir)
	}
	out := []*Object{openCRD("equinix.jet.crossplane.io", "v1alpha1", "ProviderConfig", "providerconfigs")}
	for plural, kind := range equinixKinds {
		out = append(out, openCRD("metal.equinix.jet.crossplane.io", "v1alpha1", kind, plural))
	}
	return out, nil
}

// openCRD of a cluster-scoped kind that takes any content.
func openCRD(group, version, kind, plural string) *Object {
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &Object{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Cluster",
			"names": map[string]any{"kind": kind, "plural": plural, "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": anything, "status": anything},
				}},
			}},
		},
	}}
}

// startHTTPProvider with its CRDs.
func (s *Stack) startHTTPProvider(ctx context.Context) error {
	admin, err := s.kubeconfig("provider-http", identity{user: "provider-http", groups: []string{clusterAdmin}})
	if err != nil {
		return err
	}
	crds, err := Read(filepath.Join(s.Tools.Modules["github.com/crossplane-contrib/provider-http"], "package", "crds"))
	if err != nil {
		return err
	}
	if err := s.applyCRDs(ctx, crds); err != nil {
		return err
	}
	return s.spawn("provider-http", s.Tools.Binaries["provider-http"], []string{"KUBECONFIG=" + admin}, "--debug")
}
