package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/function"
	"github.com/l2cluster/function-l2cluster/fn/render"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// exampleNow is when the observed states of the examples were taken.
var exampleNow = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// examples are the folders with a claim, relative to this package.
func examples(t *testing.T) []string {
	t.Helper()
	claims, err := filepath.Glob("../example/*/claim.yaml")
	if err != nil || len(claims) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	dirs := []string{"../example"}
	for _, c := range claims {
		dirs = append(dirs, filepath.Dir(c))
	}
	return dirs
}

// golden compares with a file, or writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatalf("%v (go test ./fn -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want, +got (go test ./fn -update writes it):\n%s", path, diff)
	}
}

// TestExampleComposites keeps the composite beside each claim as what Crossplane
// would make of the claim.
func TestExampleComposites(t *testing.T) {
	for _, dir := range examples(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			claims, err := documents(filepath.Join(dir, "claim.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			composite, err := render.Composite(claims[0])
			if err != nil {
				t.Fatal(err)
			}
			b, err := yaml.Marshal(composite)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, "xr.yaml"), b)
		})
	}
}

// TestExamples renders every example with nothing observed, and in every state
// that it describes.
func TestExamples(t *testing.T) {
	for _, dir := range examples(t) {
		states, err := filepath.Glob(filepath.Join(dir, "observed-*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, observed := range append([]string{""}, states...) {
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(observed), "observed"), ".yaml")
			if observed == "" {
				name = ""
			}
			t.Run(filepath.Base(dir)+name, func(t *testing.T) {
				cmd := renderCmd{Claim: filepath.Join(dir, "xr.yaml"), Composition: "../example/composition.yaml"}
				if name != "" {
					cmd.Claim = filepath.Join(dir, "xr"+name+".yaml")
					cmd.Observed, cmd.Required = observed, filepath.Join(dir, "required"+name+".yaml")
				}
				golden(t, filepath.Join(dir, "rendered"+name+".yaml"), readable(t, printed(t, cmd, render.Output.Print)))
				golden(t, filepath.Join(dir, "plan"+name+".txt"), printed(t, cmd, func(o render.Output, w io.Writer) error {
					return errors.Join(o.PrintPlan(w), o.Report(w))
				}))
			})
		}
	}
}

// longest file content that a golden file spells out, in bytes.
const longest = 4096

// readable is a rendered stream with the contents of files as their machines
// get them, so that a reader of a golden file's diff sees what changes there.
func readable(t *testing.T, stream []byte) []byte {
	t.Helper()
	objects, err := split(stream)
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.NewBufferString("# What render prints, with encoded file contents decoded.\n")
	for _, o := range objects {
		decodeFiles(t, o)
		y, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(b, "---\n%s", y)
	}
	return b.Bytes()
}

// decodeFiles replaces every encoded content below v.
func decodeFiles(t *testing.T, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			decodeFiles(t, item)
		}
	case map[string]any:
		encoding, _ := v["encoding"].(string)
		content, _ := v["content"].(string)
		if encoding != "" && content != "" {
			v["content"] = decoded(t, encoding, content)
			return
		}
		for _, item := range v {
			decodeFiles(t, item)
		}
	}
}

func decoded(t *testing.T, encoding, content string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		t.Fatal(err)
	}
	if encoding == "gzip+base64" {
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if b, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(b) > longest {
		return fmt.Sprintf("%d bytes with SHA-256 %x", len(b), sha256.Sum256(b))
	}
	return string(b)
}

// printed is what a render prints.
func printed(t *testing.T, cmd renderCmd, how func(render.Output, io.Writer) error) []byte {
	t.Helper()
	in, err := cmd.input()
	if err != nil {
		t.Fatal(err)
	}
	out, err := render.Run(context.Background(), function.New(logging.NewNopLogger(), func() time.Time { return exampleNow }), in)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := how(out, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestClaimAndComposite renders a claim and its composite to the same objects.
func TestClaimAndComposite(t *testing.T) {
	for _, dir := range examples(t) {
		claim := renderCmd{Claim: filepath.Join(dir, "claim.yaml"), Composition: "../example/composition.yaml"}
		composite := renderCmd{Claim: filepath.Join(dir, "xr.yaml"), Composition: "../example/composition.yaml"}
		if diff := cmp.Diff(string(printed(t, composite, render.Output.Print)), string(printed(t, claim, render.Output.Print))); diff != "" {
			t.Errorf("%s: -composite, +claim:\n%s", dir, diff)
		}
	}
}
