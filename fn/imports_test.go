package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/l2cluster/function-l2cluster/"

// What packages outside of this module are for.
const (
	crossplane = "github.com/crossplane"
	protobuf   = "google.golang.org/protobuf"
	grpc       = "google.golang.org/grpc"
	clusterAPI = "sigs.k8s.io/cluster-api"
	equinixSDK = "github.com/equinix"
	netipx     = "go4.org/netipx"
	encodeYAML = "sigs.k8s.io/yaml"
	fieldError = "k8s.io/apimachinery/pkg/util/validation/field"
	metaTypes  = "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mayImport says what each package below fn may import beside the standard
// library: packages of this module by their path, others by how it begins. The
// line from a request to a response runs through packages that know only what
// is named here, so a reader of one of them knows what it can be about.
var mayImport = map[string][]string{
	"fn":          {"fn/diff", "fn/function", "fn/render", crossplane, grpc, "github.com/alecthomas/kong", "k8s.io/apimachinery/pkg/util/yaml"},
	"fn/function": {"fn", "input", crossplane, fieldError, "k8s.io/utils/lru"},
	"fn/render":   {"fn/bootstrap", "fn/change", "fn/diff", "fn/keep", "fn/object", "fn/plan", "fn/spec", "fn/xr", "input", crossplane, protobuf, encodeYAML, "github.com/google/uuid"},

	// What an edit does, from answers to a report; the library shows how texts
	// differ, line by line.
	"fn/diff": {"fn/change", "fn/keep", "fn/plan", encodeYAML, "github.com/rogpeppe/go-internal/diff"},

	// The boundary to Crossplane: only it knows what a request looks like.
	"fn/xr": {"fn/object", "fn/spec", "input", crossplane, protobuf, fieldError},

	// The claim.
	"fn/spec":        {"fn/spec/rule", "fn/ipam", "input", netipx, fieldError, "k8s.io/apimachinery/pkg/api/validate/content"},
	"fn/spec/rule":   {fieldError},
	"fn/spec/strict": {"fn/spec/rule", fieldError, metaTypes},

	// Neutral: they know neither Crossplane nor Cluster API nor a platform.
	"fn/object":    {},
	"fn/keep":      {"fn/object"},
	"fn/change":    {"fn/keep"},
	"fn/ipam":      {netipx},
	"fn/plan":      {"fn/ipam", "fn/spec", netipx},
	"fn/osnet":     {"fn/osnet", "fn/plan", "fn/ipam", "fn/spec", encodeYAML},
	"fn/bootstrap": {"fn/osnet", "input"},
	"fn/infra":     {"fn/bootstrap", "fn/object", "fn/plan", "fn/spec", "input"},
	"fn/assign":    {"fn/infra", "fn/ipam", "fn/object", "fn/plan", "fn/spec", netipx},
	"fn/report":    {"fn/assign", "fn/infra", "fn/ipam", "fn/object", "fn/plan", "fn/rollout", "fn/xr"},
	"fn/rollout":   {"fn/assign", "fn/change", "fn/infra", "fn/keep", "fn/object", "fn/plan", fieldError},

	// One side each of the machines.
	"fn/platform":         {"fn/infra", "fn/object", "fn/platform/equinix"},
	"fn/platform/equinix": {"fn/bootstrap", "fn/infra", "fn/keep", "fn/object", "fn/osnet", "fn/plan", "fn/spec", "input", equinixSDK, metaTypes},
	"fn/capi":             {"fn/bootstrap", "fn/keep", "fn/object", "fn/osnet", "fn/plan", "fn/spec", "input", clusterAPI, "k8s.io/api", "k8s.io/apimachinery"},
}

// mustNotReach says what packages must not import, even indirectly.
var mustNotReach = []struct {
	from, to, because string
}{
	{"fn/object", "k8s.io", "it is a leaf: whatever it imported, everything would"},
	{"fn/ipam", "k8s.io", "it knows addresses and strings, no machines and no objects"},
	{"fn/ipam", module + "fn", "it must serve any other allocator of addresses"},
	{"fn/change", "k8s.io", "what becomes of a cluster follows from values alone"},
	{"fn/diff", crossplane, "it compares answers, wherever they come from"},
	{"fn/diff", module + "fn/render", "it compares answers, wherever they come from"},
	{"fn/change", crossplane, "what becomes of a cluster follows from values alone"},
	{"fn/spec", crossplane, "the claim's rules hold wherever a claim is read"},
	{"fn/spec", clusterAPI, "a claim is about a cluster, not about Cluster API's objects"},
	{"fn/spec", equinixSDK, "rules must be checked without an API"},
	{"fn/plan", crossplane, "the plan is what every platform and operating system reads"},
	{"fn/plan", clusterAPI, "the plan is what every platform and operating system reads"},
	{"fn/plan", equinixSDK, "a second platform must be able to use the plan as it is"},
	{"fn/osnet", crossplane, "node files follow from the plan alone"},
	{"fn/osnet", clusterAPI, "node files follow from the plan alone"},
	{"fn/osnet", equinixSDK, "node files are the same on every platform"},
	{"fn/osnet", module + "fn/platform", "node files are the same on every platform"},
	{"fn/osnet", module + "fn/capi", "node files do not depend on what carries them"},
	{"fn/bootstrap", crossplane, "what a node does at boot does not depend on who asks for it"},
	{"fn/bootstrap", clusterAPI, "capi turns it into Cluster API's words"},
	{"fn/bootstrap", equinixSDK, "each platform adds its own part"},
	{"fn/assign", crossplane, "addresses follow from values, in tests as in a run"},
	{"fn/assign", clusterAPI, "a machine is a name here"},
	{"fn/assign", equinixSDK, "a machine is a name here"},
	{"fn/infra", module + "fn/platform", "it is what platforms and their callers share, so it knows none of them"},
	{"fn/infra", crossplane, "a platform answers in values"},
	{"fn/platform", module + "fn/capi", "a platform does not know what makes nodes of its servers"},
	{"fn/platform", clusterAPI, "a platform does not know what makes nodes of its servers"},
	{"fn/platform", module + "fn/xr", "a platform answers in values; only the first and the last step know requests and responses"},
	{"fn/platform", crossplane, "a platform answers in values; only the first and the last step know requests and responses"},
	{"fn/capi", module + "fn/platform", "infrastructure is opaque to Cluster API's objects: references and files"},
	{"fn/capi", equinixSDK, "infrastructure is opaque to Cluster API's objects: references and files"},
	{"fn/capi", crossplane, "only the first and the last step know requests and responses"},
	{"fn/capi", module + "fn/xr", "only the first and the last step know requests and responses"},
}

// goPackage is what go list tells of a package.
type goPackage struct {
	ImportPath string   `json:"ImportPath"`
	Name       string   `json:"Name"`
	Imports    []string `json:"Imports"`
	Deps       []string `json:"Deps"`
}

func packages(t *testing.T) map[string]goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Imports,Deps", module+"fn/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string]goPackage{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		found[strings.TrimPrefix(p.ImportPath, module)] = p
	}
}

// below says whether a package is another one, or one below it.
func below(pkg, other string) bool { return pkg == other || strings.HasPrefix(pkg, other+"/") }

// standard says whether a package is of the standard library.
func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}

// allowed is the row of a package: its own, or the nearest above it.
func allowed(pkg string) ([]string, bool) {
	for at := pkg; at != "fn" || pkg == "fn"; at = at[:strings.LastIndex(at, "/")] {
		if row, ok := mayImport[at]; ok {
			return row, true
		}
	}
	return nil, false
}

func TestImports(t *testing.T) {
	for path, p := range packages(t) {
		// Tools and helpers of tests are no part of the function.
		if strings.Contains(path, "/internal/") || p.Name == "main" && path != "fn" {
			continue
		}
		row, ok := allowed(path)
		if !ok {
			t.Errorf("package %s has no row in mayImport: say what it may import", path)
			continue
		}
		var wrong []string
		for _, i := range p.Imports {
			own := strings.TrimPrefix(i, module)
			if !standard(i) && !slices.ContainsFunc(row, func(allowed string) bool { return below(own, allowed) }) {
				wrong = append(wrong, own)
			}
		}
		if diff := cmp.Diff([]string(nil), wrong); diff != "" {
			t.Errorf("package %s may not import:\n%s", path, diff)
		}
	}
}

func TestBannedImports(t *testing.T) {
	found := packages(t)
	for _, ban := range mustNotReach {
		if _, ok := found[ban.from]; !ok {
			t.Errorf("package %s does not exist: correct mustNotReach", ban.from)
		}
		for path, p := range found {
			if !below(path, ban.from) || strings.Contains(path, "/internal/") {
				continue
			}
			for _, dep := range p.Deps {
				if below(dep, ban.to) && dep != p.ImportPath {
					t.Errorf("package %s reaches %s: %s", path, dep, ban.because)
				}
			}
		}
	}
}
