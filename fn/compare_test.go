package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/l2cluster/function-l2cluster/fn/change"
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

// Without a cloud controller an address of a network may be a node's own.
func kubeVIP(c doc) { spec(c)["vipManager"] = "KUBE_VIP" }

func withoutCloudController(input doc) { at(input, "equinix")["cloudController"] = doc{"kind": "None"} }

// outsideTheBond is a network on eth1 alone.
func outsideTheBond(network string) []any {
	return []any{doc{"name": "eth1", "bonded": false, "networks": []any{doc{"name": network}}}}
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
	// given edits the claim first, and input the function's input, and the cluster
	// has come to be like that.
	given func(claim doc)
	input func(input doc)
	edit  func(claim doc)
	want  outcome
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
			Created: []string{"Vlan"}, Changed: []string{controlPlane, deployment},
			Replaced: []string{bootstrapTemplate, machineTemplate, machineTemplate},
			Later:    []string{"delete Vlan"},
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
			Created: []string{"Vlan"}, Changed: []string{deployment}, Replaced: []string{bootstrapTemplate, machineTemplate},
			// As long as they run, the old servers keep the ports with which they
			// booted; addresses on the VLAN are sent to them all the same.
			Later: []string{"change Request", "change Request"},
		},
	},
	"NetworkForControlPlane": {
		example: "story", state: "all-ready",
		edit: func(c doc) {
			add(spec(c), "networks", doc{"name": "backup", "vxlan": 1001, "ipAddresses": []any{"10.60.20.0/24"}})
			add(at(c, "spec", "controlPlane", "ports", 0), "networks", doc{"name": "backup"})
		},
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3},
			Created: []string{"Vlan"}, Changed: []string{controlPlane}, Replaced: []string{machineTemplate},
			Later: []string{"change Request", "change Request", "change Request"},
		},
	},
	"ControlPlaneMovesToAnotherPort": {
		example: "story", state: "all-ready",
		edit: func(c doc) { at(c, "spec", "controlPlane")["ports"] = outsideTheBond("storage") },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3},
			Changed: []string{controlPlane}, Replaced: []string{machineTemplate},
		},
	},
	"ControlPlaneOffItsNetwork": {
		// The network is the workers' as well, so servers stay on it until they
		// are replaced.
		example: "story", state: "all-ready",
		edit: func(c doc) { at(c, "spec", "controlPlane")["ports"] = []any{} },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3},
			Changed: []string{controlPlane}, Replaced: []string{machineTemplate},
		},
	},
	"NetworkLeavesControlPlane": {
		example: "story", state: "all-ready", words: true,
		given: func(c doc) {
			add(spec(c), "networks", doc{"name": "backup", "vxlan": 1001, "ipAddresses": []any{"10.60.20.0/24"}})
			add(at(c, "spec", "controlPlane", "ports", 0), "networks", doc{"name": "backup"})
		},
		edit: func(c doc) {
			spec(c)["networks"] = spec(c)["networks"].([]any)[:1]
			port := at(c, "spec", "controlPlane", "ports", 0)
			port["networks"] = port["networks"].([]any)[:1]
		},
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3},
			Changed: []string{controlPlane, "Port", "Port", "Port"}, Replaced: []string{machineTemplate},
			Later: []string{"delete Vlan"},
		},
	},
	"ControlPlaneGetsItsFirstNetwork": {
		example: "story", state: "all-ready",
		given: func(c doc) { at(c, "spec", "controlPlane")["ports"] = []any{} },
		edit:  func(c doc) { at(c, "spec", "controlPlane")["ports"] = outsideTheBond("storage") },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3},
			Changed: []string{controlPlane}, Replaced: []string{machineTemplate},
			// Addresses are sent to the old servers all the same, and mean nothing
			// to them; their ports stay as they are.
			Later: []string{"create Request", "create Request", "create Request"},
		},
	},
	"WorkersGetTheirFirstNetwork": {
		example: "story", state: "all-ready",
		given: func(c doc) { worker(c, 0)["ports"] = []any{} },
		edit:  func(c doc) { worker(c, 0)["ports"] = outsideTheBond("storage") },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"general": 2},
			Changed: []string{deployment}, Replaced: []string{bootstrapTemplate, machineTemplate},
			Later: []string{"create Request", "create Request"},
		},
	},
	"WorkersGoToPureLayer2": {
		example: "story", state: "all-ready",
		given: func(c doc) { worker(c, 0)["ports"] = []any{} },
		edit: func(c doc) {
			network(c)["defaultRoute"] = true
			worker(c, 0)["ports"] = []any{doc{"name": "bond0", "layer2": true, "networks": []any{doc{"name": "storage"}}}}
		},
		want: outcome{
			Status: 2, Rolled: map[string]int64{"general": 2},
			Changed: []string{deployment}, Replaced: []string{bootstrapTemplate, machineTemplate},
			Later: []string{"create Request", "create Request"},
		},
	},
	"AddressOfWorkersNodes": {
		example: "story", state: "all-ready", given: kubeVIP, input: withoutCloudController,
		edit: func(c doc) { at(worker(c, 0), "ports", 0, "networks", 0)["nodeIP"] = true },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"general": 2},
			Changed: []string{deployment}, Replaced: []string{bootstrapTemplate, machineTemplate},
		},
	},
	"AddressOfControlPlaneNodes": {
		example: "story", state: "all-ready", given: kubeVIP, input: withoutCloudController,
		edit: func(c doc) { at(c, "spec", "controlPlane", "ports", 0, "networks", 0)["nodeIP"] = true },
		want: outcome{
			Status: 2, Rolled: map[string]int64{"control-plane": 3},
			Changed: []string{controlPlane}, Replaced: []string{machineTemplate},
		},
	},
	"EmptiedAndChanged": {
		// Nothing comes in the place of the servers, whatever it would be made of.
		example: "story", state: "all-ready",
		edit: func(c doc) { worker(c, 0)["replicas"], worker(c, 0)["machineType"] = 0, "m3.large.x86" },
		want: outcome{
			Status: 3, Removed: map[string]int64{"general": 2},
			Changed: []string{deployment}, Replaced: []string{machineTemplate},
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
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	if len(edits) < 20 {
		t.Errorf("only %d edits", len(edits))
	}
	for name, tc := range edits {
		t.Run(name, func(t *testing.T) {
			cmd := comparison(t, tc.example, tc.state, tc.edit)
			if tc.given != nil {
				cmd = begun(t, tc.given, tc.input)
				cmd.Edited = edited(t, cmd, tc.edit)
			}
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
	cmd := begun(t, func(c doc) {
		add(spec(c), "networks", doc{"name": "backup", "vxlan": 1001, "ipAddresses": []any{"10.60.20.0/24"}})
		add(at(worker(c, 0), "ports", 0), "networks", doc{"name": "backup"})
	}, nil)
	cmd.Edited = comparison(t, "story", "", func(doc) {}).Edited
	status, out := compared(t, cmd, formatJSON)
	var report diff.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	want := outcome{
		Status: 2, Rolled: map[string]int64{"general": 2},
		Changed:  []string{deployment, "Port", "Port"},
		Replaced: []string{bootstrapTemplate, machineTemplate},
		Later:    []string{"delete Vlan"},
	}
	if d := cmp.Diff(want, outcomeOf(status, report)); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
	if want := `VLAN 1001 (network "backup") is detached from ports of 2 servers of pool "general" while they run`; !slices.Contains(report.Warnings, want) {
		t.Errorf("want the warning %q, got %q", want, report.Warnings)
	}
	_, words := compared(t, cmd, formatText)
	golden(t, filepath.Join("testdata", "compare", "NetworkLeaves.txt"), words)
}

// TestReportsComeTrue lets the world follow each edit until nothing moves any more,
// and compares what became of it with the report: what it does not name is as it
// was, and what comes or goes has come or gone. Ports and what is sent to servers
// count while the servers from before the edit run; all else when every rollout is
// done.
func TestReportsComeTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	ready := begun(t, func(doc) {}, nil)
	for name, tc := range edits {
		if tc.state != "all-ready" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cmd := ready
			if tc.given != nil {
				cmd = begun(t, tc.given, tc.input)
			}
			cmd.Edited = edited(t, cmd, tc.edit)
			var report diff.Report
			_, out := compared(t, cmd, formatJSON)
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatal(err)
			}
			comesTrue(t, report, world(t, cmd), follow(t, cmd, tc.edit))
		})
	}
}

// TestReportsOfUnknownTemplatesComeTrue is the same for servers of which nobody
// knows the template that they were made from: only Cluster API tells that others
// are asked for in their place.
func TestReportsOfUnknownTemplatesComeTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	for _, name := range []string{"NetworkForControlPlane", "ControlPlaneGetsItsFirstNetwork", "NetworkForWorkers", "WorkersGetTheirFirstNetwork"} {
		t.Run(name, func(t *testing.T) {
			tc := edits[name]
			if tc.given == nil {
				tc.given = func(doc) {}
			}
			cmd := begun(t, tc.given, nil)
			required := objectsIn(t, cmd.Required)
			for _, o := range required {
				if o["kind"] == "PacketMachine" {
					delete(at(o, "metadata"), "annotations")
				}
			}
			cmd.Required, cmd.Edited = written(t, required...), edited(t, cmd, tc.edit)
			var report diff.Report
			_, out := compared(t, cmd, formatJSON)
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatal(err)
			}
			comesTrue(t, report, world(t, cmd), follow(t, cmd, tc.edit))
		})
	}
}

// begun is a comparison for the story's cluster when it has come to be as is given,
// with servers that were made for it. An edit is still to come. Where the input is
// another one, the cluster was made under it.
func begun(t *testing.T, given, input func(doc)) renderCmd {
	t.Helper()
	cmd := comparison(t, "story", "all-ready", func(doc) {})
	if input != nil {
		composition := objectsIn(t, cmd.Composition)[0]
		input(at(composition, "spec", "pipeline", 0, "input"))
		cmd.Composition = written(t, composition)
		cmd.Observed = written(t, slices.DeleteFunc(objectsIn(t, cmd.Observed), func(o doc) bool { return o["kind"] == "PacketCluster" })...)
	}
	cmd.Claim = lived(t, &cmd, given)
	rolledOut(t, &cmd)
	cmd.Claim = lived(t, &cmd, func(doc) {})
	return cmd
}

// edited is the file with the composite of a comparison after an edit.
func edited(t *testing.T, cmd renderCmd, edit func(doc)) string {
	t.Helper()
	composite := objectsIn(t, cmd.Claim)[0]
	edit(composite)
	return written(t, composite)
}

// follow an edit to its end.
func follow(t *testing.T, cmd renderCmd, edit func(doc)) map[string]doc {
	t.Helper()
	cmd.Claim = lived(t, &cmd, edit)
	after := world(t, cmd)
	maps.DeleteFunc(after, func(object string, _ doc) bool { return !ofServers(object) })
	// The workers may roll only when the control plane has.
	for range 2 {
		rolledOut(t, &cmd)
		cmd.Claim = lived(t, &cmd, func(doc) {})
	}
	for object, o := range world(t, cmd) {
		if !ofServers(object) {
			after[object] = o
		}
	}
	return after
}

// ofServers says whether an object, by kind and name, belongs to a server.
func ofServers(object string) bool {
	return strings.HasPrefix(object, "Port/") || strings.HasPrefix(object, "Request/")
}

func comesTrue(t *testing.T, report diff.Report, before, after map[string]doc) {
	t.Helper()
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

// written are objects in a file of their own.
func written(t *testing.T, objects ...doc) string {
	t.Helper()
	var b bytes.Buffer
	for _, o := range objects {
		y, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n")
		b.Write(y)
	}
	path := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// objectsIn a file.
func objectsIn(t *testing.T, path string) []doc {
	t.Helper()
	out, err := documents(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lived edits the composite of a comparison and lets the world follow: every
// object comes to be as it is asked for, and Cluster API takes in what has changed.
// The servers that there are go on running. It returns the file with the composite,
// and puts the other objects into the command.
func lived(t *testing.T, cmd *renderCmd, edit func(doc)) string {
	t.Helper()
	composite := objectsIn(t, cmd.Claim)[0]
	edit(composite)
	// A VLAN has its UUID first, then ports carry it, and addresses are
	// delivered once the status holds them.
	const rounds = 8
	for range rounds {
		cmd.Claim = written(t, composite)
		rendered, err := split(printed(t, *cmd, render.Output.Print))
		if err != nil {
			t.Fatal(err)
		}
		seen, required := objectsIn(t, cmd.Observed), objectsIn(t, cmd.Required)
		was := fmt.Sprint(seen, composite["status"])
		composite["status"] = rendered[0]["status"]
		now := became(rendered[1:], seen, required)
		if fmt.Sprint(now, composite["status"]) == was {
			break
		}
		cmd.Observed, cmd.Required = written(t, now...), written(t, required...)
	}
	return written(t, composite)
}

// became is what the objects that were asked for are now: managed resources as
// they were asked for, others as Cluster API has them when it has taken in what is
// asked for. A VLAN that is new has a UUID now.
func became(asked, seen, required []doc) []doc {
	const key = "crossplane.io/composition-resource-name"
	for _, o := range asked {
		for _, was := range seen {
			if at(was, "metadata", "annotations")[key] == at(o, "metadata", "annotations")[key] {
				takenIn(o, was, required)
			}
		}
		ready := []any{doc{"type": "Synced", "status": "True"}, doc{"type": "Ready", "status": "True"}}
		if kind := o["kind"]; kind == "Request" {
			o["status"] = doc{"conditions": ready}
		}
		if kind := o["kind"]; kind != "Vlan" && kind != "Port" {
			continue
		}
		is := doc{"id": "0b9e7c52-6d0f-4e37-8a55-3f4f0c6f1a01"}
		maps.Copy(is, at(o, "spec", "forProvider"))
		if was, _ := o["status"].(doc); was != nil {
			is["id"] = at(was, "atProvider")["id"]
		}
		o["status"] = doc{"atProvider": is, "conditions": ready}
	}
	return asked
}

// takenIn is what a controller makes of another spec: a new generation, and where
// a rollout begins, no machine that is up to date. What a machine set was made for
// stays.
func takenIn(o, was doc, required []doc) {
	status, _ := was["status"].(doc)
	if status == nil {
		return
	}
	o["status"] = status
	generation, _ := at(was, "metadata")["generation"].(float64)
	for _, c := range change.Onto(change.Objects{"": {"kind": was["kind"], "spec": was["spec"]}}, change.Objects{"": {"kind": o["kind"], "spec": o["spec"]}}) {
		generation++
		if c.Effect == change.Rolls {
			status["upToDateReplicas"] = 0.0
			outdate(o, required)
		}
	}
	at(o, "metadata")["generation"] = generation
	if status["observedGeneration"] != nil {
		status["observedGeneration"] = generation
	}
}

// outdate the machines of a control plane. Of others their machine set tells.
func outdate(maker doc, required []doc) {
	for _, m := range required {
		labels, _ := at(m, "metadata")["labels"].(doc)
		if _, its := labels["cluster.x-k8s.io/control-plane"]; its && m["kind"] == "Machine" && maker["kind"] == controlPlane {
			at(m, "status")["conditions"] = []any{doc{"type": "UpToDate", "status": "False"}}
		}
	}
}

// infrastructure is the reference to the template of the machines that are made.
func infrastructure(maker doc) doc {
	template := "template"
	if maker["kind"] == controlPlane {
		template = "machineTemplate"
	}
	return at(maker, "spec", template, "spec", "infrastructureRef")
}

func makesMachines(o doc) bool { return o["kind"] == controlPlane || o["kind"] == deployment }

// rolledOut replaces every server by one of another name that is made from what is
// asked for now, and as many as are asked for. Servers of a pool that is gone are
// gone.
func rolledOut(t *testing.T, cmd *renderCmd) {
	t.Helper()
	composite, observed, required := objectsIn(t, cmd.Claim)[0], objectsIn(t, cmd.Observed), objectsIn(t, cmd.Required)
	made, left := map[any]doc{}, map[string]int{}
	for _, o := range observed {
		if !makesMachines(o) || o["status"] == nil {
			continue
		}
		pool, status := at(o, "metadata", "labels")["l2cluster.io/pool"], at(o, "status")
		made[pool] = o
		if n, known := at(o, "spec")["replicas"].(float64); known {
			status["replicas"], status["readyReplicas"] = n, n
		}
		status["upToDateReplicas"], status["version"] = status["replicas"], at(o, "spec")["version"]
		for _, kind := range []string{"Machine", "PacketMachine"} {
			n, _ := status["replicas"].(float64)
			left[fmt.Sprint(kind, pool)] = int(n)
		}
	}
	required = slices.DeleteFunc(required, func(o doc) bool {
		labels, _ := at(o, "metadata")["labels"].(doc)
		pool, isPools := labels["l2cluster.io/pool"]
		maker := made[pool]
		if !isPools || maker == nil {
			return isPools
		}
		if o["kind"] == "MachineSet" {
			at(o, "spec")["template"], at(o, "spec")["replicas"] = at(maker, "spec")["template"], at(maker, "status")["replicas"]
			at(o, "status")["replicas"] = at(maker, "status")["replicas"]
			return false
		}
		kind := fmt.Sprint(o["kind"], pool)
		left[kind]--
		return left[kind] < 0
	})
	for _, o := range required {
		if maker := made[at(o, "metadata", "labels")["l2cluster.io/pool"]]; maker != nil && o["kind"] != "MachineSet" {
			replace(o, maker, composite)
		}
	}
	cmd.Claim, cmd.Observed, cmd.Required = written(t, composite), written(t, observed...), written(t, required...)
}

// replace what is known of a server by what is of its successor. The ports of the
// successor have the same IDs.
func replace(o, maker, composite doc) {
	metadata := at(o, "metadata")
	name, _ := metadata["name"].(string)
	successor := name + "x"
	metadata["name"] = successor
	switch o["kind"] {
	case "Machine":
		at(o, "status")["nodeRef"] = doc{"name": successor}
		if maker["kind"] == controlPlane {
			at(o, "status")["conditions"] = []any{doc{"type": "UpToDate", "status": "True"}}
		}
	case "PacketMachine":
		metadata["annotations"] = doc{"cluster.x-k8s.io/cloned-from-name": infrastructure(maker)["name"]}
		at(o, "metadata", "ownerReferences", 0)["name"] = successor
		ports := at(composite, "status", "ports")
		ports[successor] = ports[name]
	}
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
