package model

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/render"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

var update = flag.Bool("update", false, "write the states of the story instead of comparing with them")

// storyNow is when the states of examples are seen.
var storyNow = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const storyDir = "../../example/story"

// TestStory keeps the states beside the story's claim as the world makes them.
func TestStory(t *testing.T) {
	claim := document(t, filepath.Join(storyDir, "claim.yaml"))
	composite, err := render.Composite(claim)
	if err != nil {
		t.Fatal(err)
	}
	composition := document(t, "../../example/composition.yaml")
	step := composition["spec"].(map[string]any)["pipeline"].([]any)[0].(map[string]any)
	told, err := Tell(storyNow, message(t, composite), message(t, step["input"].(map[string]any)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range told {
		compare(t, "xr-"+m.Name+".yaml", []*structpb.Struct{m.Composite})
		compare(t, "observed-"+m.Name+".yaml", m.Observed)
		compare(t, "required-"+m.Name+".yaml", m.Required)
	}
}

func document(t *testing.T, path string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := yaml.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func message(t *testing.T, o map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compare objects with a file, or write it.
func compare(t *testing.T, name string, objects []*structpb.Struct) {
	t.Helper()
	path := filepath.Join(storyDir, name)
	texts := make([]string, 0, len(objects))
	for _, o := range objects {
		b, err := yaml.Marshal(xr.ToMap(o))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	if len(texts) > 1 {
		slices.Sort(texts)
	}
	got := "# Made by go test ./test/model -run TestStory -update.\n" + strings.Join(texts, "---\n")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want, +got (go test ./test/model -run TestStory -update writes it):\n%s", name, diff)
	}
}
