package crds_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/test/crds"
	"github.com/l2cluster/function-l2cluster/test/examples"
)

// TestPackages validates the contents of the packages and what the examples
// bring beside claims, against Crossplane's own CRDs.
func TestPackages(t *testing.T) {
	root, err := examples.Root()
	if err != nil {
		t.Fatal(err)
	}
	v := load(t)
	for _, path := range []string{
		"package/configuration/definition.yaml",
		"package/configuration/composition.yaml",
		"package/configuration-v2/definition.yaml",
		"package/configuration-v2/composition.yaml",
		"example/composition.yaml",
		"example/functions.yaml",
	} {
		t.Run(path, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
			if err != nil {
				t.Fatal(err)
			}
			docs := documents(t, data)
			if len(docs) == 0 {
				t.Fatal("no document in the file")
			}
			for _, d := range docs {
				valid(t, v, d)
			}
		})
	}
}

type rule struct {
	APIGroups, Resources, Verbs []string
}

// rules of the ClusterRole that Crossplane gets beside the packages.
func rules(t *testing.T, root string) []rule {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "package", "rbac", "clusterrole.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := struct {
		Metadata struct{ Labels map[string]string }
		Rules    []rule
	}{}
	if err := yaml.Unmarshal(data, &role); err != nil {
		t.Fatal(err)
	}
	if got := role.Metadata.Labels["rbac.crossplane.io/aggregate-to-crossplane"]; got != "true" {
		t.Errorf("the label that adds the role to Crossplane's is %q, want %q", got, "true")
	}
	return role.Rules
}

// granted says whether every one of the verbs is granted.
func granted(rules []rule, group, resource string, verbs []string) bool {
	var got []string
	for _, r := range rules {
		if slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) {
			got = append(got, r.Verbs...)
		}
	}
	return !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(got, v) })
}

// TestClusterRole checks that Crossplane may do what the function needs, and
// that every resource in its rules exists: a plural that nobody serves grants
// nothing, and nobody would notice.
func TestClusterRole(t *testing.T) {
	root, err := examples.Root()
	if err != nil {
		t.Fatal(err)
	}
	v, all := load(t), rules(t, root)
	read := []string{"get", "list", "watch"}
	compose := append([]string{"create", "update", "patch", "delete"}, read...)

	for _, need := range []struct {
		group, resource string
		verbs           []string
	}{
		{"cluster.x-k8s.io", "clusters", compose},
		{"cluster.x-k8s.io", "machinedeployments", compose},
		{"cluster.x-k8s.io", "machinehealthchecks", compose},
		{"controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes", compose},
		{"bootstrap.cluster.x-k8s.io", "kubeadmconfigtemplates", compose},
		{"infrastructure.cluster.x-k8s.io", "packetclusters", compose},
		{"infrastructure.cluster.x-k8s.io", "packetmachinetemplates", compose},
		{"addons.cluster.x-k8s.io", "clusterresourcesets", compose},
		{"ipam.cluster.x-k8s.io", "ipaddressclaims", compose},
		{"http.crossplane.io", "requests", compose},
		{"protection.crossplane.io", "clusterusages", compose},
		{crds.EquinixGroup, "vlans", compose},
		{crds.EquinixGroup, "ports", compose},
		{crds.EquinixGroup, "vrves", compose},
		{crds.EquinixGroup, "reservedipblocks", compose},
		{crds.EquinixGroup, "gateways", compose},
		{"cluster.x-k8s.io", "machines", read},
		{"cluster.x-k8s.io", "machinesets", read},
		{"infrastructure.cluster.x-k8s.io", "packetmachines", read},
		{"ipam.cluster.x-k8s.io", "ipaddresses", read},
		{"", "secrets", read},
	} {
		if !granted(all, need.group, need.resource, need.verbs) {
			t.Errorf("%v is not granted for %s of group %q", need.verbs, need.resource, need.group)
		}
	}
	for _, r := range all {
		for _, g := range r.APIGroups {
			for _, plural := range r.Resources {
				if g == "" || g == crds.EquinixGroup && os.Getenv(crds.EquinixDirEnv) == "" {
					continue
				}
				if !v.Serves(g, plural) {
					t.Errorf("no CRD serves %s of group %q", plural, g)
				}
			}
		}
	}
}

// mayCompose reports an object that Crossplane would not be allowed to apply.
func mayCompose(t *testing.T, v *crds.Validator, all []rule, apiVersion, kind string) {
	t.Helper()
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		t.Fatal(err)
	}
	plural := v.Resource(apiVersion, kind)
	if plural == "" && gv.Group == crds.EquinixGroup && os.Getenv(crds.EquinixDirEnv) == "" {
		return
	}
	if !granted(all, gv.Group, plural, []string{"get", "list", "watch", "create", "update", "patch", "delete"}) {
		t.Errorf("package/rbac/clusterrole.yaml does not let Crossplane compose %s (%s %s)", plural, apiVersion, kind)
	}
}
