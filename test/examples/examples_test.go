package examples

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{
		"example/claim.yaml", "example/xr.yaml", "example/composition.yaml", "example/README.md",
		"example/vrf/claim.yaml", "example/vrf/xr.yaml", "example/vrf/composition.yaml",
		"example/vrf/observed-up/vlan.yaml", "example/vrf/required-up.yaml", "example/vrf/xr-up.yaml", "example/vrf/observed.yaml",
	} {
		p := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	at := func(p string) string { return filepath.Join(root, "example", p) }
	want := []Example{
		{Name: "example", Claim: at("claim.yaml"), XR: at("xr.yaml"), Composition: at("composition.yaml")},
		{Name: "vrf", Claim: at("vrf/claim.yaml"), XR: at("vrf/xr.yaml"), Composition: at("vrf/composition.yaml")},
		{Name: "vrf/observed", Claim: at("vrf/claim.yaml"), XR: at("vrf/xr.yaml"), Composition: at("vrf/composition.yaml"), Observed: at("vrf/observed.yaml")},
		{Name: "vrf/observed-up", Claim: at("vrf/claim.yaml"), XR: at("vrf/xr-up.yaml"), Composition: at("vrf/composition.yaml"), Observed: at("vrf/observed-up"), Required: at("vrf/required-up.yaml")},
	}
	if !slices.Equal(got, want) {
		t.Errorf("Find:\n got %+v\nwant %+v", got, want)
	}
}

func TestFindNothing(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "example"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(root); err == nil {
		t.Error("Find without any example: want an error")
	}
}
