package change_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/change"
)

// running is a cluster as it was composed.
const running = `
control-plane:
  kind: KubeadmControlPlane
  metadata: {name: edge-control-plane, namespace: team-a, labels: {l2cluster.io/pool: control-plane}}
  spec:
    replicas: 3
    version: v1.34.2
    machineTemplate:
      metadata: {labels: {a: b}}
      spec: {infrastructureRef: {kind: PacketMachineTemplate, name: edge-cp-1}}
    kubeadmConfigSpec: {files: [{path: /etc/a, content: x}]}
pool-general:
  kind: MachineDeployment
  metadata: {name: edge-general, namespace: team-a, labels: {l2cluster.io/pool: general}}
  spec:
    replicas: 2
    rollout: {strategy: {rollingUpdate: {maxSurge: 1}}}
    template:
      metadata: {labels: {a: b}}
      spec:
        version: v1.34.2
        infrastructureRef: {kind: PacketMachineTemplate, name: edge-general-1}
        bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: edge-general-c1}}
pool-general-machines-1:
  kind: PacketMachineTemplate
  metadata: {name: edge-general-1, labels: {l2cluster.io/pool: general}, annotations: {l2cluster.io/layout: "[]"}}
  spec: {template: {spec: {machineType: c3.small.x86, os: ubuntu_22_04}}}
vlan-1000:
  kind: Vlan
  metadata: {name: edge-vlan-1000}
  spec: {forProvider: {vxlan: 1000}}
machine-m1-port-bond0:
  kind: Port
  metadata: {name: m1-bond0, labels: {l2cluster.io/machine: m1}}
  spec: {forProvider: {vlanIds: [a, b]}}
`

func objects(t *testing.T) change.Objects {
	t.Helper()
	var out change.Objects
	if err := yaml.Unmarshal([]byte(running), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// set a field of an object.
func set(o map[string]any, v any, path ...string) {
	for _, name := range path[:len(path)-1] {
		next, _ := o[name].(map[string]any)
		if next == nil {
			next = map[string]any{}
			o[name] = next
		}
		o = next
	}
	o[path[len(path)-1]] = v
}

func TestBetween(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(change.Objects)
		want   []change.Change
		pools  map[string]change.Effect
	}{
		"Nothing": {reason: "the same is no change", edit: func(change.Objects) {}, pools: map[string]change.Effect{}},
		"MachineType": {
			reason: "another machine template replaces the pool's servers, and the sentence says what is other in it",
			edit: func(o change.Objects) {
				set(o["pool-general"], "edge-general-2", "spec", "template", "spec", "infrastructureRef", "name")
				o["pool-general-machines-2"] = map[string]any{
					"kind":     "PacketMachineTemplate",
					"metadata": map[string]any{"name": "edge-general-2", "annotations": map[string]any{"l2cluster.io/layout": "[]"}},
					"spec":     map[string]any{"template": map[string]any{"spec": map[string]any{"machineType": "m3.large.x86", "os": "ubuntu_22_04"}}},
				}
			},
			want: []change.Change{
				{
					Key: "pool-general", Kind: "MachineDeployment", Namespace: "team-a", Name: "edge-general",
					Action: change.Update, Effect: change.Rolls, Pool: "general",
					Fields: []change.Field{
						{Path: "PacketMachineTemplate.machineType", Before: "c3.small.x86", After: "m3.large.x86"},
						{Path: "spec.template.spec.infrastructureRef.name", Before: "edge-general-1", After: "edge-general-2"},
					},
					Why: "its servers are replaced, because PacketMachineTemplate.machineType changes from c3.small.x86 to m3.large.x86",
				},
				{Key: "pool-general-machines-2", Kind: "PacketMachineTemplate", Name: "edge-general-2", Action: change.Create},
			},
			pools: map[string]change.Effect{"general": change.Rolls},
		},
		"Layout": {
			reason: "a template may differ in nothing but how the ports of its machines are laid out",
			edit: func(o change.Objects) {
				set(o["pool-general"], "edge-general-2", "spec", "template", "spec", "infrastructureRef", "name")
				o["pool-general-machines-2"] = map[string]any{
					"kind": "PacketMachineTemplate",
					"metadata": map[string]any{
						"name":        "edge-general-2",
						"annotations": map[string]any{"l2cluster.io/layout": `[{"name":"eth1"}]`, "example.org/other": "x"},
					},
					"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"machineType": "c3.small.x86", "os": "ubuntu_22_04"}}},
				}
			},
			want: []change.Change{
				{
					Key: "pool-general", Kind: "MachineDeployment", Namespace: "team-a", Name: "edge-general",
					Action: change.Update, Effect: change.Rolls, Pool: "general",
					Fields: []change.Field{
						{Path: "PacketMachineTemplate.metadata.annotations.l2cluster.io/layout", Before: "[]", After: `[{"name":"eth1"}]`},
						{Path: "spec.template.spec.infrastructureRef.name", Before: "edge-general-1", After: "edge-general-2"},
					},
					Why: `its servers are replaced, because PacketMachineTemplate.metadata.annotations.l2cluster.io/layout changes from [] to [{"name":"eth1"}]`,
				},
				{Key: "pool-general-machines-2", Kind: "PacketMachineTemplate", Name: "edge-general-2", Action: change.Create},
			},
			pools: map[string]change.Effect{"general": change.Rolls},
		},
		"ControlPlaneFile": {
			reason: "every part of the bootstrap configuration of a control plane replaces its servers",
			edit: func(o change.Objects) {
				set(o["control-plane"], []any{map[string]any{"path": "/etc/a", "content": "y"}}, "spec", "kubeadmConfigSpec", "files")
			},
			want: []change.Change{{
				Key: "control-plane", Kind: "KubeadmControlPlane", Namespace: "team-a", Name: "edge-control-plane",
				Action: change.Update, Effect: change.Rolls, Pool: "control-plane",
				Fields: []change.Field{{Path: "spec.kubeadmConfigSpec.files[/etc/a].content", Before: "x", After: "y"}},
				Why:    "its servers are replaced, because spec.kubeadmConfigSpec.files[/etc/a].content changes from x to y",
			}},
			pools: map[string]change.Effect{"control-plane": change.Rolls},
		},
		"Version": {
			reason: "a version is a field by itself",
			edit:   func(o change.Objects) { set(o["control-plane"], "v1.35.0", "spec", "version") },
			want: []change.Change{{
				Key: "control-plane", Kind: "KubeadmControlPlane", Namespace: "team-a", Name: "edge-control-plane",
				Action: change.Update, Effect: change.Rolls, Pool: "control-plane",
				Fields: []change.Field{{Path: "spec.version", Before: "v1.34.2", After: "v1.35.0"}},
				Why:    "its servers are replaced, because spec.version changes from v1.34.2 to v1.35.0",
			}},
			pools: map[string]change.Effect{"control-plane": change.Rolls},
		},
		"LabelsOfMachines": {
			reason: "Cluster API carries labels to machines in place",
			edit: func(o change.Objects) {
				set(o["pool-general"], "c", "spec", "template", "metadata", "labels", "a")
				set(o["control-plane"], "c", "spec", "machineTemplate", "metadata", "labels", "a")
			},
			want: []change.Change{
				{
					Key: "control-plane", Kind: "KubeadmControlPlane", Namespace: "team-a", Name: "edge-control-plane", Action: change.Update, Pool: "control-plane",
					Fields: []change.Field{{Path: "spec.machineTemplate.metadata.labels.a", Before: "b", After: "c"}},
				},
				{
					Key: "pool-general", Kind: "MachineDeployment", Namespace: "team-a", Name: "edge-general", Action: change.Update, Pool: "general",
					Fields: []change.Field{{Path: "spec.template.metadata.labels.a", Before: "b", After: "c"}},
				},
			},
			pools: map[string]change.Effect{},
		},
		"ScaledAndSurge": {
			reason: "how many, and how they are replaced one day, replaces none",
			edit: func(o change.Objects) {
				set(o["pool-general"], 3, "spec", "replicas")
				set(o["pool-general"], 0, "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
			},
			want: []change.Change{{
				Key: "pool-general", Kind: "MachineDeployment", Namespace: "team-a", Name: "edge-general",
				Action: change.Update, Effect: change.Scales, Pool: "general",
				Fields: []change.Field{
					{Path: "spec.replicas", Before: "2", After: "3"},
					{Path: "spec.rollout.strategy.rollingUpdate.maxSurge", Before: "1", After: "0"},
				},
				Why: "machines are added or removed",
			}},
			pools: map[string]change.Effect{"general": change.Scales},
		},
		"NetworkRemoved": {
			reason: "ports and VLANs are not servers",
			edit: func(o change.Objects) {
				set(o["machine-m1-port-bond0"], []any{"a"}, "spec", "forProvider", "vlanIds")
				delete(o, "vlan-1000")
			},
			want: []change.Change{
				{
					Key: "machine-m1-port-bond0", Kind: "Port", Name: "m1-bond0", Action: change.Update, Effect: change.Reconfigures, Machine: "m1",
					Fields: []change.Field{{Path: "spec.forProvider.vlanIds[1]", Before: "b"}}, Why: "its server goes on running",
				},
				{Key: "vlan-1000", Kind: "Vlan", Name: "edge-vlan-1000", Action: change.Delete, Why: "the VLAN is deleted, unless it was only observed"},
			},
			pools: map[string]change.Effect{},
		},
		"ProviderConfig": {
			reason: "how a server is reached changes nothing about it",
			edit:   func(o change.Objects) { set(o["machine-m1-port-bond0"], "other", "spec", "providerConfigRef", "name") },
			want: []change.Change{{
				Key: "machine-m1-port-bond0", Kind: "Port", Name: "m1-bond0", Action: change.Update, Machine: "m1",
				Fields: []change.Field{{Path: "spec.providerConfigRef", After: `{"name":"other"}`}},
			}},
			pools: map[string]change.Effect{},
		},
		"PoolRemoved": {
			reason: "with a deployment all its servers go",
			edit:   func(o change.Objects) { delete(o, "pool-general") },
			want: []change.Change{{
				Key: "pool-general", Kind: "MachineDeployment", Namespace: "team-a", Name: "edge-general",
				Action: change.Delete, Effect: change.Removes, Pool: "general", Why: "all its machines and their servers are deleted",
			}},
			pools: map[string]change.Effect{"general": change.Removes},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := objects(t), objects(t)
			tc.edit(after)
			got := change.Between(before, after)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.pools, change.Pools(got)); diff != "" {
				t.Errorf("%s: pools: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOnto: what others wrote into an observed object is no change.
func TestOnto(t *testing.T) {
	observed, desired := objects(t), objects(t)
	set(observed["control-plane"], true, "status", "initialized")
	set(observed["control-plane"], map[string]any{"host": "10.0.0.1"}, "spec", "controlPlaneEndpoint")
	set(observed["pool-general"], 5, "spec", "replicas")
	delete(desired["pool-general"]["spec"].(map[string]any), "replicas")
	if got := change.Onto(observed, desired); len(got) != 0 {
		t.Errorf("an autoscaled pool and what the provider filled in are somebody else's: got %v", got)
	}
	set(desired["pool-general"], "v1.35.0", "spec", "template", "spec", "version")
	want := []string{"general"}
	if diff := cmp.Diff(want, change.Replaced(change.Onto(observed, desired))); diff != "" {
		t.Errorf("what is applied onto an observed object and differs is a change: -want, +got:\n%s", diff)
	}
}

// TestOntoTaints: a list that is not applied any more goes, and with it the
// control plane's servers; a default that was filled in does not.
func TestOntoTaints(t *testing.T) {
	observed, desired := objects(t), objects(t)
	registration := []string{"spec", "kubeadmConfigSpec", "joinConfiguration", "nodeRegistration"}
	set(observed["control-plane"], "IfNotPresent", append(registration, "imagePullPolicy")...)
	if got := change.Replaced(change.Onto(observed, desired)); len(got) != 0 {
		t.Errorf("a default replaces nothing: got %v", got)
	}
	set(observed["control-plane"], []any{map[string]any{"key": "a", "effect": "NoSchedule"}}, append(registration, "taints")...)
	if diff := cmp.Diff([]string{"control-plane"}, change.Replaced(change.Onto(observed, desired))); diff != "" {
		t.Errorf("taints that are taken back replace the servers: -want, +got:\n%s", diff)
	}
}
