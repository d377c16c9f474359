package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Tools are the programs that a stack starts, and where their modules lie, with
// the CRDs and webhooks that come with them.
type Tools struct {
	// Root is the repository.
	Root string
	// Binaries are paths by the name of the module in test/tools.
	Binaries map[string]string
	// Modules are folders by module path.
	Modules map[string]string
	// Function is the function's own binary, Packages the folder with its and its
	// configuration's packages.
	Function, Packages string
}

// pinned are the modules below test/tools that are built, in order of need.
var pinned = []string{
	"etcd", "kubernetes", "crossplane", "cluster-api-core", "cluster-api-bootstrap", "cluster-api-control-plane",
	"workload-clusters", "capp", "provider-http", "ipam-in-cluster",
}

// manifests are the modules whose CRDs and webhooks are applied, and the module
// below test/tools that says which version.
var manifests = map[string]string{
	"github.com/crossplane/crossplane/v2":              "crossplane",
	"sigs.k8s.io/cluster-api":                          "cluster-api-core",
	"sigs.k8s.io/cluster-api-provider-packet":          "capp",
	"github.com/crossplane-contrib/provider-http":      "provider-http",
	"sigs.k8s.io/cluster-api-ipam-provider-in-cluster": "ipam-in-cluster",
}

// toolsVariable carries Tools into a network namespace, where nothing can be
// built.
const toolsVariable = "L2CLUSTER_E2E_TOOLS"

// Build everything that is not built yet, and say so: the first time takes half
// an hour or more on two cores. Built things of other projects stay in the
// user's cache; the function and its packages go to dir.
func Build(ctx context.Context, dir string, say func(format string, args ...any)) (Tools, error) {
	root, err := output(ctx, io.Discard, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return Tools{}, err
	}
	t := Tools{Root: root, Binaries: map[string]string{}, Modules: map[string]string{}, Packages: dir, Function: filepath.Join(dir, "function-l2cluster")}
	for _, name := range pinned {
		begin := time.Now()
		path, err := output(ctx, lines(say), root, filepath.Join(root, "test", "tools", "tool"), name)
		if err != nil {
			return Tools{}, fmt.Errorf("cannot build %q: %w", name, err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			say("built %s in %s", name, took.Round(time.Second))
		}
		t.Binaries[name] = path
	}
	for module, tool := range manifests {
		path, err := output(ctx, io.Discard, filepath.Join(root, "test", "tools", tool), "go", "list", "-m", "-f", "{{.Dir}}", module)
		if err != nil {
			return Tools{}, fmt.Errorf("cannot find module %q: %w", module, err)
		}
		if path == "" {
			return Tools{}, fmt.Errorf("module %q has no folder", module)
		}
		t.Modules[module] = path
	}
	begin := time.Now()
	if _, err := output(ctx, io.Discard, root, "make", "build", "xpkg", "OUT="+dir); err != nil {
		return Tools{}, fmt.Errorf("cannot build the function: %w", err)
	}
	say("built the function and its packages in %s", time.Since(begin).Round(time.Second))
	return t, nil
}

// Variable returns the tools as a variable of the environment, for Isolate.
func (t Tools) Variable() (string, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("cannot write where tools are: %w", err)
	}
	return toolsVariable + "=" + string(raw), nil
}

// FromVariable returns the tools that Isolate's caller built.
func FromVariable() (Tools, error) {
	var t Tools
	if err := json.Unmarshal([]byte(os.Getenv(toolsVariable)), &t); err != nil {
		return Tools{}, fmt.Errorf("cannot read where tools are from %s: %w", toolsVariable, err)
	}
	return t, nil
}

// lines is a writer that says each line as it comes.
type lines func(format string, args ...any)

// Write says what is written; the tool's script writes whole lines.
func (l lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l("%s", strings.TrimSpace(line))
	}
	return len(p), nil
}

// output of a command that must succeed, without the space around it. What it
// says meanwhile goes to progress too.
func output(ctx context.Context, progress io.Writer, dir, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, io.MultiWriter(&stderr, progress)
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.Join(lines[max(0, len(lines)-5):], "; "))
	}
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w", name, err)
	}
	return strings.TrimSpace(stdout.String()), nil
}
