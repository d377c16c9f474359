// Package examples finds the examples of this repository and renders them with
// the function as users do, by its own command line.
//
// An example is the folder example/ or one below it with a claim.yaml. Beside
// the claim lie:
//
//	xr.yaml           the composite that Crossplane makes of the claim
//	composition.yaml  the Composition, unless example/composition.yaml fits
//	functions.yaml    the Functions, unless example/functions.yaml fits
//	credentials.yaml  Secrets that the Composition names, unless
//	                  example/credentials.yaml fits
//	observed-S.yaml   composed objects that exist in state S, a file or folder
//	required-S.yaml   objects that the function reads in state S, likewise
//	xr-S.yaml         the composite in state S, unless xr.yaml fits
//
// Without -S the files describe a state without name.
package examples

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Example is one example in one state.
type Example struct {
	// Name of the example and, after a slash, of its state.
	Name string
	// Claim and XR are files with the claim and its composite.
	Claim, XR string
	// Composition and Functions are files.
	Composition, Functions string
	// Credentials, Observed and Required are files or folders, or empty.
	Credentials, Observed, Required string
}

// Root of the repository, seen from a package two folders below it.
func Root() (string, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return "", fmt.Errorf("cannot find the repository's root: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "example")); err != nil {
		return "", fmt.Errorf("cannot find the examples: %w", err)
	}
	return root, nil
}

// Find the examples below the root of the repository, each first with nothing
// observed and then in every state it describes. None at all is an error.
func Find(root string) ([]Example, error) {
	top := filepath.Join(root, "example")
	var out []Example
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "claim.yaml" {
			return err
		}
		found, err := states(top, filepath.Dir(path))
		out = append(out, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot find examples: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("cannot find any example in %q", top)
	}
	return out, nil
}

// states of the example in a folder.
func states(top, dir string) ([]Example, error) {
	name, err := filepath.Rel(top, dir)
	if err != nil {
		return nil, err
	}
	base := Example{
		Name:        filepath.ToSlash(name),
		Claim:       filepath.Join(dir, "claim.yaml"),
		XR:          filepath.Join(dir, "xr.yaml"),
		Composition: first(filepath.Join(dir, "composition.yaml"), filepath.Join(top, "composition.yaml")),
		Functions:   first(filepath.Join(dir, "functions.yaml"), filepath.Join(top, "functions.yaml")),
		Credentials: first(filepath.Join(dir, "credentials.yaml"), filepath.Join(top, "credentials.yaml")),
	}
	if base.Name == "." {
		base.Name = "example"
	}
	out := []Example{base}
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	for _, suffix := range suffixes(entries) {
		s := base
		s.Name += "/observed" + suffix
		s.XR = first(filepath.Join(dir, "xr"+suffix+".yaml"), base.XR)
		s.Observed = first(filepath.Join(dir, "observed"+suffix+".yaml"), filepath.Join(dir, "observed"+suffix))
		s.Required = first(filepath.Join(dir, "required"+suffix+".yaml"), filepath.Join(dir, "required"+suffix))
		out = append(out, s)
	}
	return out, nil
}

// suffixes of the states that entries of an example's folder describe, sorted.
func suffixes(entries []string) []string {
	var out []string
	for _, e := range entries {
		name := strings.TrimSuffix(filepath.Base(e), ".yaml")
		for _, prefix := range []string{"observed", "required"} {
			if s, ok := strings.CutPrefix(name, prefix); ok && (s == "" || s[0] == '-') {
				out = append(out, s)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// first of the paths that exists, or nothing.
func first(paths ...string) string {
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// Build the function of the repository at root into the folder dir, and return
// the binary's path.
func Build(ctx context.Context, root, dir string) (string, error) {
	bin := filepath.Join(dir, "function-l2cluster")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "./fn")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the function: %w\n%s", err, out)
	}
	return bin, nil
}

// Render the composite at path xr, or the claim, of an example with the
// function's binary, and return what it printed. What it printed to stderr is
// part of the error.
func (e Example) Render(ctx context.Context, bin, xr string) ([]byte, error) {
	args := []string{"render", xr, "--composition", e.Composition}
	for flag, path := range map[string]string{"--observed": e.Observed, "--required": e.Required, "--credentials": e.Credentials} {
		if path != "" {
			args = append(args, flag, path)
		}
	}
	if e.Composition == "" {
		return nil, errors.New("the example has no composition.yaml")
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot render %q: %w\n%s", xr, err, stderr.Bytes())
	}
	return out, nil
}
