package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go/logging"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/diff"
	"github.com/l2cluster/function-l2cluster/fn/function"
	"github.com/l2cluster/function-l2cluster/fn/render"
)

// doc is a part of a claim.
type doc = map[string]any

// at is the object at a path of names and places in lists.
func at(o doc, path ...any) doc {
	var v any = o
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(doc)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v.(doc)
}

func spec(c doc) doc { return at(c, "spec") }

func worker(c doc, i int) doc { return at(c, "spec", "workers", i) }

// network is the first one.
func network(c doc) doc { return at(c, "spec", "networks", 0) }

// add an item to the list under a name.
func add(o doc, name string, item any) {
	list, _ := o[name].([]any)
	o[name] = append(list, item)
}

// outcome of an edit: what a reader of the report must learn.
type outcome struct {
	// Status is the exit status.
	Status int
	// Rolled and Removed are the pools whose servers are replaced or deleted,
	// each with the number of servers.
	Rolled, Removed map[string]int64
	// Created, changed, replaced and deleted are kinds of objects, one for each
	// object; Later is what happens later, with the action before the kind.
	Created, Changed, Replaced, Deleted, Later []string
}

func outcomeOf(status int, r diff.Report) outcome {
	out := outcome{Status: status}
	for _, p := range r.Pools {
		switch {
		case p.Effect == diff.Rolls:
			out.Rolled = with(out.Rolled, p.Name, p.Servers)
		case p.Servers > p.Wanted:
			out.Removed = with(out.Removed, p.Name, p.Servers-p.Wanted)
		}
	}
	for _, o := range r.Objects {
		kinds := map[diff.Action]*[]string{
			diff.Create: &out.Created, diff.Change: &out.Changed, diff.Replace: &out.Replaced, diff.Delete: &out.Deleted,
		}[o.Action]
		kind := o.Kind
		if o.When == diff.Later {
			kinds, kind = &out.Later, string(o.Action)+" "+o.Kind
		}
		*kinds = append(*kinds, kind)
	}
	return out
}

func with(m map[string]int64, name string, n int64) map[string]int64 {
	if m == nil {
		m = map[string]int64{}
	}
	m[name] = n
	return m
}

// Kinds in the order in which a report lists them.
const (
	bootstrapTemplate = "KubeadmConfigTemplate"
	controlPlane      = "KubeadmControlPlane"
	deployment        = "MachineDeployment"
	machineTemplate   = "PacketMachineTemplate"
)

// edits of the examples. The control plane of the story has three servers and
// its worker pool "general" two; all of them are on VLAN 1000.
var edits = map[string]struct {
	// example whose claim is edited, and the state that it is in; without a
	// state nothing is observed.
	example, state string
	edit           func(claim doc)
	want           outcome
	// words says that the report in words is compared with a golden file.
	words bool
}{
	"LabelOnTheClaim": {
		example: "story", state: "all-ready",
		edit: func(c doc) {
			labels, _ := at(c, "metadata")["labels"].(doc)
			labels = maps.Clone(labels)
			if labels == nil {
				labels = doc{}
			}
			labels["team"] = "a"
			at(c, "metadata")["labels"] = labels
		},
	},
	"OtherOrder": {
		example: "layer2",
		edit: func(c doc) {
			slices.Reverse(spec(c)["networks"].([]any))
			slices.Reverse(spec(c)["workers"].([]any))
		},
	},
	"MoreWorkers": {
		example: "story", state: "all-ready",
		edit: func(c doc) { worker(c, 0)["replicas"] = 3 },
		want: outcome{Changed: []string{deployment}},
	},
	"FewerWorkers": {
		example: "story", state: "all-ready", words: true,
		edit: func(c doc) { worker(c, 0)["replicas"] = 1 },
		want: outcome{Status: 3, Removed: map[string]int64{"general": 1}, Changed: []string{deployment}},
	},
	"MachineTypeOfWorkers": {
		example: "story", state: "all-ready", words: true,
		edit: func(c doc) { worker(c, 0)["machineType"] = "m3.large.x86" },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"general": 2},
			Changed: []string{deployment}, Replaced: []string{machineTemplate},
		},
	},
	"MachineTypeBeforeAnyMachine": {
		example: "story", state: "no-machines",
		edit: func(c doc) { worker(c, 0)["machineType"] = "m3.large.x86" },
		// Without a server none is replaced.
		want: outcome{
			Rolled:  map[string]int64{"general": 0},
			Changed: []string{deployment}, Replaced: []string{machineTemplate},
		},
	},
	"MachineTypeOfControlPlane": {
		example: "story", state: "all-ready",
		edit: func(c doc) { at(c, "spec", "controlPlane")["machineType"] = "m3.large.x86" },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3},
			Changed: []string{controlPlane}, Replaced: []string{machineTemplate},
		},
	},
	"MachineTypeOfWorkersTakenBack": {
		// The pool has a third server already, on the new type, and all three are
		// not of the old one as far as the deployment knows.
		example: "story", state: "rolling",
		edit: func(doc) {},
		want: outcome{
			Status: 2, Rolled: map[string]int64{"general": 3},
			Changed: []string{deployment}, Replaced: []string{machineTemplate},
		},
	},
	"MTU": {
		example: "story", state: "all-ready", words: true,
		edit: func(c doc) { network(c)["mtu"] = 9000 },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3, "general": 2},
			Changed: []string{controlPlane, deployment}, Replaced: []string{bootstrapTemplate},
		},
	},
	"Description": {
		example: "story", state: "all-ready",
		edit: func(c doc) { network(c)["description"] = "Storage" },
		want: outcome{Changed: []string{"Vlan"}},
	},
	"RangeWithoutSpareAddresses": {
		example: "story", state: "all-ready", words: true,
		edit: func(c doc) { network(c)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.6"} },
	},
	"RangeExtended": {
		example: "story", state: "all-ready",
		edit: func(c doc) { add(network(c), "assignmentRanges", "10.60.10.50-10.60.10.60") },
	},
	"KubernetesPatch": {
		example: "story", state: "all-ready", words: true,
		edit: func(c doc) { spec(c)["kubernetesVersion"] = "v1.34.3" },
		// Workers wait for the control plane.
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3, "general": 2},
			Changed: []string{controlPlane},
			Later:   []string{"replace " + bootstrapTemplate, "change " + deployment},
		},
	},
	"OtherVLAN": {
		example: "story", words: true,
		edit: func(c doc) { network(c)["vxlan"] = 1500 },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3, "general": 2},
			Created: []string{"Vlan"}, Changed: []string{controlPlane, deployment}, Replaced: []string{bootstrapTemplate},
			Later: []string{"delete Vlan"},
		},
	},
	"NetworkThatNobodyUses": {
		example: "story", state: "all-ready",
		edit: func(c doc) {
			add(spec(c), "networks", doc{"name": "backup", "vxlan": 1001, "ipAddresses": []any{"10.60.20.0/24"}})
		},
		want: outcome{Created: []string{"Vlan"}},
	},
	"NetworkForWorkers": {
		example: "story", state: "all-ready", words: true,
		edit: func(c doc) {
			add(spec(c), "networks", doc{"name": "backup", "vxlan": 1001, "ipAddresses": []any{"10.60.20.0/24"}})
			add(at(worker(c, 0), "ports", 0), "networks", doc{"name": "backup"})
		},
		want: outcome{
			Status: 2, Rolled: map[string]int64{"general": 2},
			Created: []string{"Vlan"}, Changed: []string{deployment}, Replaced: []string{bootstrapTemplate},
			// As long as they run, the old servers keep the ports with which they
			// booted; addresses on the VLAN are sent to them all the same.
			Later: []string{"change Request", "change Request"},
		},
	},
	"LabelThatClusterAPISyncs": {
		example: "story", state: "all-ready",
		edit: func(c doc) { worker(c, 0)["labels"] = doc{"node-role.kubernetes.io/worker": ""} },
		want: outcome{Changed: []string{deployment}},
	},
	"LabelThatTheKubeletRegisters": {
		example: "story", state: "all-ready",
		edit: func(c doc) { worker(c, 0)["labels"] = doc{"example.org/rack": "7"} },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"general": 2},
			Changed: []string{deployment}, Replaced: []string{bootstrapTemplate},
		},
	},
	"Taint": {
		example: "layer2",
		edit: func(c doc) {
			worker(c, 1)["taints"] = []any{doc{"key": "example.org/only", "value": "x", "effect": "NoSchedule"}}
		},
		// The autoscaler keeps one server at least.
		want: outcome{
			Status: 2, Rolled: map[string]int64{"individual": 1},
			Changed: []string{deployment}, Replaced: []string{bootstrapTemplate},
		},
	},
	"SSHKeys": {
		example: "story", state: "all-ready",
		edit: func(c doc) {
			spec(c)["sshKeys"] = []any{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGf3DpnUZ6HjGJLJgcTJFFUY+kVDlF0VzQzPy8mQeK1a ops"}
		},
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3, "general": 2},
			Changed: []string{controlPlane, deployment}, Replaced: []string{bootstrapTemplate, machineTemplate, machineTemplate},
		},
	},
	"MaxSurge": {
		example: "story", state: "all-ready",
		edit: func(c doc) { worker(c, 0)["rollout"] = doc{"maxSurge": 0, "maxUnavailable": 1} },
		want: outcome{Changed: []string{deployment}},
	},
	"HealthCheck": {
		example: "story", state: "all-ready",
		edit: func(c doc) { worker(c, 0)["healthCheck"] = doc{} },
		want: outcome{Created: []string{"MachineHealthCheck"}},
	},
	"NewPool": {
		example: "story", state: "all-ready",
		edit: func(c doc) {
			add(spec(c), "workers", doc{"name": "big", "replicas": 1, "machineType": "m3.large.x86", "os": "ubuntu_22_04"})
		},
		want: outcome{Created: []string{bootstrapTemplate, deployment, machineTemplate}},
	},
	"PoolRemoved": {
		example: "story", state: "all-ready",
		edit: func(c doc) { delete(spec(c), "workers") },
		want: outcome{
			Status: 3, Removed: map[string]int64{"general": 2}, Deleted: []string{deployment},
			Later: []string{"delete " + bootstrapTemplate, "delete " + machineTemplate},
		},
	},
	"PoolRenamed": {
		example: "layer2", words: true,
		edit: func(c doc) { worker(c, 0)["name"] = "renamed" },
		want: outcome{
			Status: 3, Removed: map[string]int64{"bonded": 2},
			Created: []string{bootstrapTemplate, deployment, machineTemplate}, Deleted: []string{deployment},
			Later: []string{"delete " + bootstrapTemplate, "delete " + machineTemplate},
		},
	},
	"AutoscaledFromNowOn": {
		example: "story", state: "all-ready",
		edit: func(c doc) {
			delete(worker(c, 0), "replicas")
			worker(c, 0)["autoscaling"] = doc{"min": 2, "max": 4}
		},
		want: outcome{Changed: []string{deployment}},
	},
	"AutoscaledDown": {
		example: "story", state: "all-ready",
		edit: func(c doc) {
			delete(worker(c, 0), "replicas")
			worker(c, 0)["autoscaling"] = doc{"min": 0, "max": 1}
		},
		want: outcome{Status: 3, Removed: map[string]int64{"general": 1}, Changed: []string{deployment}},
	},
}

// TestEdits compares the report of each edit with what was worked out by hand.
func TestEdits(t *testing.T) {
	if len(edits) < 20 {
		t.Errorf("only %d edits", len(edits))
	}
	for name, tc := range edits {
		t.Run(name, func(t *testing.T) {
			cmd := comparison(t, tc.example, tc.state, tc.edit)
			status, out := compared(t, cmd, formatJSON)
			var report diff.Report
			d := json.NewDecoder(bytes.NewReader(out))
			d.DisallowUnknownFields()
			if err := d.Decode(&report); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, outcomeOf(status, report)); d != "" {
				t.Errorf("-want, +got:\n%s", d)
			}
			if got, want := report.ControlPlaneRolls, tc.want.Rolled["control-plane"] > 0; got != want {
				t.Errorf("the control plane rolls: want %v, got %v", want, got)
			}
			if got, want := len(report.Warnings) > 0, status != 0 || name == "RangeWithoutSpareAddresses"; got != want {
				t.Errorf("warnings: want %v, got %q", want, report.Warnings)
			}
			if !tc.words {
				return
			}
			var words bytes.Buffer
			if err := report.Text(&words); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "compare", name+".txt"), words.Bytes())
			again, same := compared(t, cmd, formatText)
			if d := cmp.Diff(words.String(), string(same)); again != status || d != "" {
				t.Errorf("a second run says something else:\n%s", d)
			}
		})
	}
}

// TestNetworkLeaves takes a network off the ports of servers that go on running
// until they are replaced: the ports shrink now, each server keeps its address as
// long as it exists, and the VLAN goes only when no port carries it.
func TestNetworkLeaves(t *testing.T) {
	cmd := comparison(t, "story", "all-ready", func(doc) {})
	// Without their sets the servers count as made for the claim before the edit.
	cmd.Required = withoutMachineSets(t, cmd.Required)
	cmd.Claim = lived(t, &cmd, func(c doc) {
		add(spec(c), "networks", doc{"name": "backup", "vxlan": 1001, "ipAddresses": []any{"10.60.20.0/24"}})
		add(at(worker(c, 0), "ports", 0), "networks", doc{"name": "backup"})
	})
	status, out := compared(t, cmd, formatJSON)
	var report diff.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	want := outcome{
		Status: 2, Rolled: map[string]int64{"general": 2},
		Changed:  []string{deployment, "Port", "Port"},
		Replaced: []string{bootstrapTemplate},
		Later:    []string{"delete Vlan"},
	}
	if d := cmp.Diff(want, outcomeOf(status, report)); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
	_, words := compared(t, cmd, formatText)
	golden(t, filepath.Join("testdata", "compare", "NetworkLeaves.txt"), words)
}

// TestReportsComeTrue lets the world follow each edit until nothing moves any more
// and every rollout is done, and compares what became of it with the report:
// what it does not name is as it was, and what comes or goes has come or gone.
func TestReportsComeTrue(t *testing.T) {
	start := comparison(t, "story", "all-ready", func(doc) {})
	start.Required = withoutMachineSets(t, start.Required)
	start.Claim = lived(t, &start, func(doc) {})
	before := world(t, start)
	for name, tc := range edits {
		if tc.state != "all-ready" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cmd := start
			cmd.Edited = comparison(t, tc.example, tc.state, tc.edit).Edited
			var report diff.Report
			_, out := compared(t, cmd, formatJSON)
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatal(err)
			}
			cmd.Claim = lived(t, &cmd, tc.edit)
			after := world(t, cmd)
			said := map[string]bool{}
			for _, o := range report.Objects {
				object := o.Kind + "/" + o.Name
				said[object] = true
				if _, exists := after[object]; exists == (o.Action == diff.Delete) {
					t.Errorf("the report says %s of %s, which exists in the end: %v", o.Action, object, exists)
				}
				if d := cmp.Diff(before[object], after[object]); o.Action == diff.Change && d == "" {
					t.Errorf("the report says that %s changes, and it is as it was", object)
				}
				if o.Replaces == nil {
					continue
				}
				old := o.Kind + "/" + o.Replaces.Name
				said[old] = true
				if _, exists := after[old]; exists {
					t.Errorf("the report says that %s goes, and it exists in the end", old)
				}
			}
			for object := range both(before, after) {
				if d := cmp.Diff(before[object], after[object]); !said[object] && d != "" {
					t.Errorf("the report does not name %s, which changed:\n%s", object, d)
				}
			}
		})
	}
}

func both(a, b map[string]doc) map[string]doc {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// world is what an observed object asks for, by kind and name.
func world(t *testing.T, cmd renderCmd) map[string]doc {
	t.Helper()
	objects, err := documents(cmd.Observed)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]doc{}
	for _, o := range objects {
		name, _ := at(o, "metadata")["name"].(string)
		kind, _ := o["kind"].(string)
		out[kind+"/"+name] = at(o, "spec")
	}
	return out
}

// withoutMachineSets are the required objects when every rollout is done and no
// old machine set is left.
func withoutMachineSets(t *testing.T, path string) string {
	t.Helper()
	objects, err := documents(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, o := range objects {
		if o["kind"] == "MachineSet" {
			continue
		}
		y, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n")
		b.Write(y)
	}
	out := filepath.Join(t.TempDir(), "required.yaml")
	if err := os.WriteFile(out, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// lived edits the composite of a comparison and lets the world follow: every
// object comes to be as it is asked for. It returns the file with the composite,
// and puts the observed objects into the command.
func lived(t *testing.T, cmd *renderCmd, edit func(doc)) string {
	t.Helper()
	before := *cmd
	composites, err := documents(cmd.Claim)
	if err != nil {
		t.Fatal(err)
	}
	edit(composites[0])
	dir := t.TempDir()
	write := func(name string, objects ...doc) string {
		var b bytes.Buffer
		for _, o := range objects {
			y, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString("---\n")
			b.Write(y)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// A VLAN has its UUID first, then ports carry it, and addresses are
	// delivered once the status holds them.
	const rounds = 6
	for range rounds {
		before.Claim = write("xr.yaml", composites[0])
		rendered, err := split(printed(t, before, render.Output.Print))
		if err != nil {
			t.Fatal(err)
		}
		seen, err := documents(before.Observed)
		if err != nil {
			t.Fatal(err)
		}
		composites[0]["status"] = rendered[0]["status"]
		now := became(rendered[1:], seen)
		if cmp.Equal(now, seen) {
			break
		}
		before.Observed = write("observed.yaml", now...)
	}
	cmd.Observed = before.Observed
	return write("xr.yaml", composites[0])
}

// became is what the objects that were asked for are now: managed resources as
// they were asked for, others in the state in which they were seen.
// A VLAN that is new has a UUID now.
func became(asked, seen []doc) []doc {
	const key = "crossplane.io/composition-resource-name"
	for _, o := range asked {
		for _, was := range seen {
			if at(was, "metadata", "annotations")[key] == at(o, "metadata", "annotations")[key] {
				o["status"] = was["status"]
				at(o, "metadata")["generation"] = at(was, "metadata")["generation"]
			}
		}
		if status, ok := o["status"].(doc); ok && o["kind"] == controlPlane {
			status["version"] = at(o, "spec")["version"]
		}
		if kind := o["kind"]; kind != "Vlan" && kind != "Port" {
			continue
		}
		is := doc{"id": "0b9e7c52-6d0f-4e37-8a55-3f4f0c6f1a01"}
		maps.Copy(is, at(o, "spec", "forProvider"))
		if was, _ := o["status"].(doc); was != nil {
			is["id"] = at(was, "atProvider")["id"]
		}
		o["status"] = doc{"atProvider": is, "conditions": []any{
			doc{"type": "Synced", "status": "True"}, doc{"type": "Ready", "status": "True"},
		}}
	}
	return asked
}

// comparison of an example's claim with an edited one.
func comparison(t *testing.T, example, state string, edit func(doc)) renderCmd {
	t.Helper()
	dir := filepath.Join("..", "example", example)
	claims, err := documents(filepath.Join(dir, "claim.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	edit(claims[0])
	b, err := yaml.Marshal(claims[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := renderCmd{
		Diff: true, Composition: "../example/composition.yaml",
		Claim: filepath.Join(dir, "claim.yaml"), Edited: filepath.Join(t.TempDir(), "edited.yaml"),
	}
	if err := os.WriteFile(cmd.Edited, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if state != "" {
		cmd.Claim = filepath.Join(dir, "xr-"+state+".yaml")
		cmd.Observed = filepath.Join(dir, "observed-"+state+".yaml")
		cmd.Required = filepath.Join(dir, "required-"+state+".yaml")
	}
	return cmd
}

func exampleFunction() *function.Function {
	return function.New(logging.NewNopLogger(), func() time.Time { return exampleNow })
}

func compared(t *testing.T, cmd renderCmd, format string) (int, []byte) {
	t.Helper()
	cmd.Output = format
	var stdout, stderr bytes.Buffer
	status, err := cmd.compare(t.Context(), exampleFunction(), &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return status, stdout.Bytes()
}

// TestNothingObserved: a folder without objects says that there are none, and not
// that nobody looked.
func TestNothingObserved(t *testing.T) {
	cmd := comparison(t, "story", "", edits["MTU"].edit)
	cmd.Observed = t.TempDir()
	status, out := compared(t, cmd, formatJSON)
	var report diff.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	if status != 0 || report.Assumed || report.Replaces {
		t.Errorf("want no server replaced, got exit status %d and:\n%s", status, out)
	}
}

// TestEditedComposition shows what an edit of the function's input does to a
// cluster whose claim stays as it is.
func TestEditedComposition(t *testing.T) {
	cases := map[string]struct {
		edit func(input doc)
		want outcome
	}{
		"ProviderConfig": {
			edit: func(input doc) { at(input, "equinix")["providerConfig"] = "other" },
			want: outcome{Changed: []string{"Port", "Port", "Port", "Port", "Port", "Vlan"}},
		},
		"Commands": {
			edit: func(input doc) { input["bootstrap"] = doc{"preKubeadmCommands": []any{"sysctl -w vm.swappiness=1"}} },
			want: outcome{
				Status: 2, Rolled: map[string]int64{"control-plane": 3, "general": 2},
				Changed: []string{controlPlane, deployment}, Replaced: []string{bootstrapTemplate},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := comparison(t, "story", "all-ready", func(doc) {})
			edited, err := composition(cmd.Composition)
			if err != nil {
				t.Fatal(err)
			}
			tc.edit(at(edited, "spec", "pipeline", 0, "input"))
			b, err := yaml.Marshal(edited)
			if err != nil {
				t.Fatal(err)
			}
			cmd.EditedComposition = filepath.Join(t.TempDir(), "composition.yaml")
			if err := os.WriteFile(cmd.EditedComposition, b, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd.Edited = ""
			status, out := compared(t, cmd, formatJSON)
			var report diff.Report
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, outcomeOf(status, report)); d != "" {
				t.Errorf("-want, +got:\n%s", d)
			}
		})
	}
}

// TestRefusedEdits are not shown but refused, with the reason.
func TestRefusedEdits(t *testing.T) {
	cases := map[string]struct {
		example, state string
		edit           func(doc)
		want           string
	}{
		"RangeOutsideOfTheSubnet": {
			example: "story", state: "all-ready",
			edit: func(c doc) { network(c)["ipAddresses"] = []any{"10.61.10.0/24"} },
			want: "spec.networks[0].assignmentRanges[0]",
		},
		"OtherVLANUnderMachines": {
			// Without the observed state this edit is shown, because only running
			// machines stand against it.
			example: "story", state: "all-ready",
			edit: edits["OtherVLAN"].edit,
			want: "cannot change the VLAN of network",
		},
		"VLANTakenOver": {
			// Only what exists tells that the VLAN is not the cluster's own.
			example: "byo-vlan",
			edit: func(c doc) {
				for _, n := range spec(c)["networks"].([]any) {
					delete(n.(doc), "vlanID")
				}
			},
			want: "put the ID back",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := comparison(t, tc.example, tc.state, tc.edit)
			for _, format := range []string{formatText, formatJSON} {
				cmd.Output = format
				var stdout, stderr bytes.Buffer
				_, err := cmd.compare(t.Context(), exampleFunction(), &stdout, &stderr)
				if !errors.Is(err, errRefused) {
					t.Errorf("%s: want %v, got %v", format, errRefused, err)
				}
				if !strings.Contains(stdout.String(), tc.want) {
					t.Errorf("%s: the reason does not say %q:\n%s", format, tc.want, stdout.String())
				}
				for _, effect := range []string{"WARNING", "Now:", `"action"`} {
					if strings.Contains(stdout.String(), effect) {
						t.Errorf("%s: a refused edit does nothing, but the report says:\n%s", format, stdout.String())
					}
				}
			}
		})
	}
}

// TestComparedClaims are the same claim before and after an edit.
func TestComparedClaims(t *testing.T) {
	cases := map[string]struct {
		old, edited, want string
	}{
		"OtherName":     {"../example/story/claim.yaml", "../example/vrf/claim.yaml", "another name"},
		"RefusedBefore": {"testdata/compare/invalid.yaml", "../example/story/claim.yaml", errOld.Error()},
		"NoClaim":       {"../example/composition.yaml", "../example/story/claim.yaml", `kind "Composition"`},
		"SeveralObjects": {
			"../example/story/claim.yaml", "../example/story/observed-all-ready.yaml", "must hold one",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := renderCmd{Diff: true, Claim: tc.old, Edited: tc.edited}
			var stdout, stderr bytes.Buffer
			_, err := cmd.compare(t.Context(), exampleFunction(), &stdout, &stderr)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}

// TestExitStatus runs the command line as a script would.
func TestExitStatus(t *testing.T) {
	edited := func(name string) string {
		tc := edits[name]
		return comparison(t, "story", "", tc.edit).Edited
	}
	const claim = "../example/story/claim.yaml"
	cases := map[string]struct {
		args []string
		want int
		// stdout and stderr contain this.
		stdout, stderr string
	}{
		"NothingReplaced":      {args: []string{"--diff", claim, edited("MoreWorkers")}, want: 0, stdout: "No server is replaced"},
		"Replaced":             {args: []string{"--diff", claim, edited("MTU")}, want: 2, stdout: "WARNING: the control plane rolls (3 servers)"},
		"Removed":              {args: []string{claim, edited("FewerWorkers"), "--diff"}, want: 3, stdout: "1 server is deleted"},
		"JSON":                 {args: []string{"-d", claim, edited("MTU"), "-O", "json"}, want: 2, stdout: `"controlPlaneRolls": true`},
		"YAML":                 {args: []string{"-d", claim, edited("MTU"), "-O", "yaml"}, want: 2, stdout: "controlPlaneRolls: true"},
		"Refused":              {args: []string{"--diff", claim, "testdata/compare/invalid.yaml"}, want: 1, stdout: "REFUSED: ", stderr: "the edit is refused"},
		"NoSuchFile":           {args: []string{"--diff", claim, "nothing.yaml"}, want: 80, stderr: "nothing.yaml"},
		"OneFile":              {args: []string{"--diff", claim}, want: 80, stderr: "give the edited claim"},
		"CompositionOfARender": {args: []string{claim, "--edited-composition", "../example/composition.yaml"}, want: 80, stderr: "is for --diff"},
		"TwoFiles":             {args: []string{claim, claim}, want: 80, stderr: "only --diff takes a second file"},
		"PlanOfADiff":          {args: []string{"--diff", claim, claim, "-O", "plan"}, want: 80, stderr: "must be one of text, yaml, json"},
		"TextOfARender":        {args: []string{claim, "-O", "text"}, want: 80, stderr: "must be one of yaml, plan"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, stdout, stderr := run(t, append([]string{"render"}, tc.args...))
			if got != tc.want {
				t.Errorf("want exit status %d, got %d: %s", tc.want, got, stderr)
			}
			if !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("want %q and %q, got:\n%s\n%s", tc.stdout, tc.stderr, stdout, stderr)
			}
		})
	}
}

// run the command line and return its exit status.
func run(t *testing.T, args []string) (status int, stdout, stderr string) {
	t.Helper()
	type exited struct{ status int }
	var o, e bytes.Buffer
	defer func() {
		stdout, stderr = o.String(), e.String()
		switch r := recover().(type) {
		case nil:
		case exited:
			status = r.status
		default:
			panic(r)
		}
	}()
	parser, err := kong.New(&cli{}, kong.Name("function-l2cluster"), kong.Writers(&o, &e),
		kong.Exit(func(status int) { panic(exited{status}) }), kong.BindTo(t.Context(), (*context.Context)(nil)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	k.FatalIfErrorf(k.Run())
	return 0, "", ""
}
