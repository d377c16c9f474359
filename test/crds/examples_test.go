package crds_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/l2cluster/function-l2cluster/test/crds"
	"github.com/l2cluster/function-l2cluster/test/examples"
)

// TestExamples validates everything that the function makes of every example,
// and the claims and composites themselves.
func TestExamples(t *testing.T) {
	root, err := examples.Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := examples.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	bin, err := examples.Build(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v := load(t)
	xrd, err := os.ReadFile(filepath.Join(root, "package", "configuration", "definition.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := v.AddXRD(xrd); err != nil {
		t.Fatal(err)
	}
	role := rules(t, root)
	for _, e := range all {
		t.Run(e.Name, func(t *testing.T) {
			claim, xr := document(t, e.Claim), document(t, e.XR)
			valid(t, v, claim)
			valid(t, v, xr)
			for _, from := range []string{e.Claim, e.XR} {
				out, err := e.Render(t.Context(), bin, from)
				if err != nil {
					t.Fatal(err)
				}
				docs := documents(t, out)
				printed(t, v, xr, docs)
				for _, d := range docs[1:] {
					u := &unstructured.Unstructured{Object: d}
					mayCompose(t, v, role, u.GetAPIVersion(), u.GetKind())
				}
			}
		})
	}
}

// printed validates what a render printed: first the composite with what the
// function says about it, and then what it composes.
func printed(t *testing.T, v *crds.Validator, xr map[string]any, docs []map[string]any) {
	t.Helper()
	if len(docs) < 2 {
		t.Fatalf("render printed %d documents, want the composite and composed objects", len(docs))
	}
	// Render prints no more of the composite than Crossplane changes: its
	// status, and references in its spec. The rest is what was given.
	whole := (&unstructured.Unstructured{Object: xr}).DeepCopy()
	whole.Object["status"] = docs[0]["status"]
	valid(t, v, whole.Object)
	for _, d := range docs[1:] {
		valid(t, v, d)
	}
}

// valid reports what is wrong with an object. Without the Equinix provider's
// CRDs its objects cannot be checked, and the test says so.
func valid(t *testing.T, v *crds.Validator, obj map[string]any) {
	t.Helper()
	u := &unstructured.Unstructured{Object: obj}
	gvk := u.GroupVersionKind()
	if gvk.Group == crds.EquinixGroup && os.Getenv(crds.EquinixDirEnv) == "" {
		t.Logf("not checked, since %s names no folder with its CRD: %s %q", crds.EquinixDirEnv, gvk.Kind, u.GetName())
		return
	}
	for _, e := range v.Validate(t.Context(), obj) {
		t.Errorf("%s %q: %v", gvk.Kind, u.GetName(), e)
	}
}

func document(t *testing.T, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs := documents(t, data)
	if len(docs) != 1 {
		t.Fatalf("%s holds %d documents, want one", path, len(docs))
	}
	return docs[0]
}

func documents(t *testing.T, data []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		obj := map[string]any{}
		err := d.Decode(&obj)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(obj) > 0 {
			out = append(out, obj)
		}
	}
}
