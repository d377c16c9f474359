package render

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/test/examples"
)

// env is what the tests share: the repository, the function's binary, a server
// of it, and the tools of Crossplane.
type env struct {
	root, function, target string
	cli, core              string
}

func setup(t *testing.T) env {
	t.Helper()
	root, err := examples.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := examples.Build(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return env{
		root:     root,
		function: bin,
		target:   serve(t, bin),
		cli:      tool(t, root, "crossplane-cli"),
		core:     tool(t, root, "crossplane"),
	}
}

// tool is the path of a tool that is pinned in test/tools, built if need be.
func tool(t *testing.T, root, name string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "test", "tools", "tool"), name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot build tool %q: %v", name, err)
	}
	return string(bytes.TrimSpace(out))
}

// serve the function on loopback until the test ends, and return its address.
func serve(t *testing.T, bin string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, bin, "--insecure", "--address", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})

	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		var entry struct {
			Address string `json:"address"`
		}
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Address != "" {
			go func() {
				for lines.Scan() {
				}
			}()
			return entry.Address
		}
	}
	t.Fatalf("the function ended without saying where it serves: %v", lines.Err())
	return ""
}

// crossplane renders an example with Crossplane's own tools.
func (e env) crossplane(ctx context.Context, ex examples.Example) ([]byte, error) {
	args := []string{
		"render", ex.XR, ex.Composition, ex.Functions,
		"--crossplane-binary", e.core,
		"--xrd", filepath.Join(e.root, "package", "configuration", "definition.yaml"),
		"--function-annotations", "render.crossplane.io/runtime=Development",
		"--function-annotations", "render.crossplane.io/runtime-development-target=" + e.target,
	}
	for flag, path := range map[string]string{
		"--observed-resources": ex.Observed, "--required-resources": ex.Required, "--function-credentials": ex.Credentials,
	} {
		if path != "" {
			args = append(args, flag, path)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, e.cli, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("crossplane render: %w\n%s", err, stderr.Bytes())
	}
	return out, nil
}

func TestSameAsCrossplane(t *testing.T) {
	e := setup(t)
	all, err := examples.Find(e.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, ex := range all {
		t.Run(ex.Name, func(t *testing.T) {
			want, err := e.crossplane(t.Context(), ex)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) == 0 {
				t.Fatal("crossplane render printed nothing")
			}
			got, err := ex.Render(t.Context(), e.function, ex.XR)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("render differs from crossplane render: -crossplane +ours:\n%s", diff)
			}
		})
	}
}

// TestFatal gives both the same wrong claim: neither prints an object, and both
// say so by their exit status.
func TestFatal(t *testing.T) {
	e := setup(t)
	all, err := examples.Find(e.root)
	if err != nil {
		t.Fatal(err)
	}
	ex := all[slices.IndexFunc(all, func(ex examples.Example) bool { return ex.Name == "example" })]
	xr, err := os.ReadFile(ex.XR)
	if err != nil {
		t.Fatal(err)
	}
	wrong := bytes.ReplaceAll(xr, []byte("vxlan: 1000"), []byte("vxlan: 1"))
	if bytes.Equal(wrong, xr) {
		t.Fatalf("%s has no vxlan 1000 to make wrong", ex.XR)
	}
	ex.XR = filepath.Join(t.TempDir(), "xr.yaml")
	if err := os.WriteFile(ex.XR, wrong, 0o600); err != nil {
		t.Fatal(err)
	}

	theirs, theirErr := e.crossplane(t.Context(), ex)
	ours, ourErr := ex.Render(t.Context(), e.function, ex.XR)
	for who, got := range map[string]struct {
		out []byte
		err error
	}{"crossplane": {theirs, theirErr}, "ours": {ours, ourErr}} {
		var exit *exec.ExitError
		if !errors.As(got.err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: want exit status 1, got %v", who, got.err)
		}
		if len(got.out) > 0 {
			t.Errorf("%s: want nothing printed, got:\n%s", who, got.out)
		}
	}
}
