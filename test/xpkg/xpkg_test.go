package xpkg

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// build the packages into a folder of the test's own.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", "-C", filepath.Join("..", ".."), "xpkg", "OUT="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make xpkg: %v\n%s", err, out)
	}
	return dir
}

// open a package and return it with the files of its flattened file system.
func open(t *testing.T, path string) (v1.Image, map[string]file) {
	t.Helper()
	img, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]file{}
	content := mutate.Extract(img)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return img, files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "/")] = file{mode: h.Mode, data: data}
	}
}

type file struct {
	mode int64
	data []byte
}

// kinds of the objects in a package's package.yaml, sorted.
func kinds(t *testing.T, files map[string]file) []string {
	t.Helper()
	var out []string
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(files["package.yaml"].data), 4096); ; {
		u := unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Object) > 0 {
			out = append(out, u.GetAPIVersion()+" "+u.GetKind()+" "+u.GetName())
		}
	}
}

func TestPackages(t *testing.T) {
	dir := build(t)
	cases := map[string]struct {
		reason string
		file   string
		want   []string
	}{
		"Function": {
			reason: "The function's package describes its input.",
			file:   "function-l2cluster-" + runtime.GOARCH + ".xpkg",
			want: []string{
				"apiextensions.k8s.io/v1 CustomResourceDefinition inputs.l2cluster.fn.crossplane.io",
				"meta.pkg.crossplane.io/v1 Function function-l2cluster",
			},
		},
		"Configuration": {
			reason: "The configuration serves claims.",
			file:   "configuration.xpkg",
			want: []string{
				"apiextensions.crossplane.io/v1 CompositeResourceDefinition xl2clusters.l2cluster.io",
				"apiextensions.crossplane.io/v1 Composition l2clusters.equinix.l2cluster.io",
				"meta.pkg.crossplane.io/v1 Configuration configuration-l2cluster",
			},
		},
		"ConfigurationV2": {
			reason: "The second configuration serves cluster-scoped composites without claims.",
			file:   "configuration-v2.xpkg",
			want: []string{
				"apiextensions.crossplane.io/v1 Composition l2clusters.equinix.l2cluster.io",
				"apiextensions.crossplane.io/v2 CompositeResourceDefinition xl2clusters.l2cluster.io",
				"meta.pkg.crossplane.io/v1 Configuration configuration-l2cluster-v2",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, files := open(t, filepath.Join(dir, tc.file))
			if diff := cmp.Diff(tc.want, kinds(t, files)); diff != "" {
				t.Errorf("%s\npackage.yaml: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
	t.Run("Runtime", func(t *testing.T) {
		img, files := open(t, filepath.Join(dir, "function-l2cluster-"+runtime.GOARCH+".xpkg"))
		runs(t, img, files)
	})
}

// runs checks that the function's package is an image that runs the function
// as nobody in particular.
func runs(t *testing.T, img v1.Image, files map[string]file) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{config.OS, config.Architecture, config.Config.User, strings.Join(config.Config.Entrypoint, " ")}
	if diff := cmp.Diff([]string{"linux", runtime.GOARCH, "65532:65532", "/function"}, got); diff != "" {
		t.Errorf("system, architecture, user and entry point: -want +got:\n%s", diff)
	}
	if !bytes.Contains(files["etc/ssl/certs/ca-certificates.crt"].data, []byte("BEGIN CERTIFICATE")) {
		t.Error("the image has no certificate authorities: calls of the Metal API would fail")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the binary of the image runs on Linux only")
	}
	bin := filepath.Join(t.TempDir(), "function")
	if err := os.WriteFile(bin, files["function"].data, os.FileMode(files["function"].mode)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), bin, "serve", "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("the image's binary: %v\n%s", err, out)
	}
	for _, flag := range []string{"--insecure", "--tls-certs-dir", "--max-recv-message-size", "--debug"} {
		if !bytes.Contains(out, []byte(flag)) {
			t.Errorf("the image's binary has no flag %s:\n%s", flag, out)
		}
	}
}
