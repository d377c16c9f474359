package crds

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// EquinixDirEnv names the environment variable with the folder of
// provider-jet-equinix's CRDs. They are in no Go module, so they come from a
// checkout of that provider (its package/crds).
const EquinixDirEnv = "EQUINIX_CRDS_DIR"

// EquinixGroup is the API group of provider-jet-equinix.
const EquinixGroup = "metal.equinix.jet.crossplane.io"

// Source is a Go module that ships CRDs of things that the function composes
// or reads. None of its packages is imported, so no go.sum line covers it: the
// hash is here.
type Source struct {
	// Path and Version of the module.
	Path, Version string
	// Sum is the module's hash in the form of a go.sum line.
	Sum string
	// Dirs are the folders of the module that hold CRDs.
	Dirs []string
}

// Sources are the modules whose CRDs the function's objects must satisfy.
func Sources() []Source {
	return []Source{
		{
			Path:    "sigs.k8s.io/cluster-api",
			Version: "v1.14.2",
			Sum:     "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=",
			Dirs: []string{
				"core/config/crd/bases",
				"bootstrap/kubeadm/config/crd/bases",
				"controlplane/kubeadm/config/crd/bases",
			},
		},
		{
			Path:    "sigs.k8s.io/cluster-api-provider-packet",
			Version: "v0.9.0",
			Sum:     "h1:fcQnlAXoPKio+1Hw4frWejLIgnr1TAR0fCh2nE0YZJU=",
			Dirs:    []string{"config/crd/bases"},
		},
		{
			Path:    "github.com/crossplane/crossplane/v2",
			Version: "v2.3.4",
			Sum:     "h1:fqYKqtyQjMnodjyKOJUeupf8SSzjLrTWGUrS+aR2z+E=",
			Dirs:    []string{"cluster/crds"},
		},
		{
			Path:    "github.com/crossplane-contrib/provider-http",
			Version: "v1.0.14",
			Sum:     "h1:159nQB2scUIWJvPlkmw4a0EeprTWweJMlr72OFlLfm0=",
			Dirs:    []string{"package/crds"},
		},
	}
}

// Dirs are the folders of the sources in the module cache, fetched if need be.
// The folder that EQUINIX_CRDS_DIR names comes last, when it names one.
func Dirs(ctx context.Context) ([]string, error) {
	sources := Sources()
	roots, err := download(ctx, sources)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, s := range sources {
		for _, d := range s.Dirs {
			dirs = append(dirs, filepath.Join(roots[s.Path], filepath.FromSlash(d)))
		}
	}
	if d := os.Getenv(EquinixDirEnv); d != "" {
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// download asks the go command for the modules and returns their folders by
// module path. A module whose hash is not the expected one is an error.
func download(ctx context.Context, sources []Source) (map[string]string, error) {
	args := []string{"mod", "download", "-json"}
	want := map[string]Source{}
	for _, s := range sources {
		args = append(args, s.Path+"@"+s.Version)
		want[s.Path] = s
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	// Outside of any module, so that no go.mod or go.sum takes part.
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot download modules with CRDs: %w\n%s%s", err, out, stderr.Bytes())
	}

	roots := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var m struct {
			Path  string `json:"Path"`
			Dir   string `json:"Dir"`
			Sum   string `json:"Sum"`
			Error string `json:"Error"`
		}
		if err := d.Decode(&m); err != nil {
			return nil, fmt.Errorf("cannot read what go mod download said: %w", err)
		}
		if m.Error != "" {
			return nil, fmt.Errorf("cannot download module %q: %s", m.Path, m.Error)
		}
		if m.Sum != want[m.Path].Sum {
			return nil, fmt.Errorf("cannot trust module %q: its hash is %q, want %q", m.Path, m.Sum, want[m.Path].Sum)
		}
		roots[m.Path] = m.Dir
	}
	return roots, nil
}
