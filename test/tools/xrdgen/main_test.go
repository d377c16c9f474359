package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is committed is what the types say.
func TestGeneratedFilesAreFresh(t *testing.T) {
	const root = "../../.."
	out := t.TempDir()
	if err := run(root, out, []string{"xrd", "input"}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		claimsFile, modernFile, claimReference, inputReference,
		filepath.Join(inputFolder, "l2cluster.fn.crossplane.io_inputs.yaml"),
		filepath.Join(inputPackage, "zz_generated.deepcopy.go"),
	} {
		want, err := os.ReadFile(filepath.Join(out, file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is stale: run go generate ./...", file)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for name, outputs := range map[string][]string{"Nothing": nil, "Unknown": {"crd"}} {
		t.Run(name, func(t *testing.T) {
			if err := run("../../..", t.TempDir(), outputs); err == nil {
				t.Errorf("run(%q) succeeds", outputs)
			}
		})
	}
}
