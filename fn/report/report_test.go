package report_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/report"
	"github.com/l2cluster/function-l2cluster/fn/rollout"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

func view(t *testing.T, text string) object.View {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return xr.ViewOf(s)
}

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// healthy is a cluster of one control plane machine and one worker on one
// network, with everything as it should be.
func healthy(t *testing.T) report.Input {
	t.Helper()
	one := int32(1)
	ports := []spec.Port{{Name: "bond0", Networks: []spec.PortNetwork{{Name: "storage"}}}}
	s := &spec.Spec{
		Networks:     []spec.Network{{Name: "storage", VXLAN: 1000, IPAddresses: []string{"10.60.10.0/24"}, Assignment: spec.AssignClusterAPI}},
		ControlPlane: spec.ControlPlane{Replicas: 1, Machines: spec.Machines{Ports: ports}},
		Workers:      []spec.WorkerPool{{Name: "a", Replicas: &one, Machines: spec.Machines{Ports: ports}}},
	}
	p, err := plan.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return report.Input{
		Cluster: infra.Cluster{Name: "edge-1a2b3c", Namespace: "team-a", Spec: s, Plan: p, Observed: map[string]object.View{
			"cluster": view(t, "{kind: Cluster, spec: {controlPlaneEndpoint: {host: 203.0.113.7, port: 6443}}}"),
		}},
		Facts: infra.Facts{
			MachinesKnown: true,
			Machines: []infra.Machine{
				{Name: "cp", Pool: "control-plane", Device: "d1", Joined: true, Ports: map[string]string{"bond0": "p1"}, Network: infra.NetworkVerified},
				{Name: "w", Pool: "a", Device: "d2", Joined: true, Ports: map[string]string{"bond0": "p2"}, Network: infra.NetworkVerified},
			},
			VLANs: map[string]string{"storage": "v1"},
		},
		Addresses: assign.Result{
			Addresses: infra.Delivery{"cp": {"vlan1000.ipv4": "10.60.10.2/24"}, "w": {"vlan1000.ipv4": "10.60.10.3/24"}},
			Record:    map[string]any{"some": "record"},
			Book:      ipam.Book{Capacity: []ipam.Capacity{{Pool: "p/da/1000/10.60.10.0/24", Used: 2, Total: 254, Wanted: 4}}},
		},
		Objects: []object.Object{
			{Key: "cluster", Part: object.PartCluster, Ready: object.IsReady},
			{Key: "vlan-1000", Part: object.PartNetworks, Ready: object.IsReady},
			{Key: object.PortKey("cp", "bond0"), Part: object.PartPorts, Ready: object.IsReady},
			{Key: object.PortKey("w", "bond0"), Part: object.PartPorts, Ready: object.IsReady},
		},
		Status: view(t, "{}"),
		Kubeconfig: object.Required{Fetched: true, Items: []object.View{
			view(t, "{metadata: {name: edge-1a2b3c-kubeconfig}, data: {value: a3ViZQ==}}"),
		}},
		Now: now,
	}
}

func TestHealthy(t *testing.T) {
	o := report.Report(healthy(t))
	for _, c := range o.Conditions {
		if c.Status != xr.True {
			t.Errorf("condition %s of a healthy cluster: want True, got %s: %s", c.Type, c.Status, c.Message)
		}
	}
	want := map[string]any{
		"phase": "Ready", "clusterName": "edge-1a2b3c", "controlPlaneEndpoint": "203.0.113.7:6443",
		"kubeconfigSecret": "edge-1a2b3c-kubeconfig",
		"summary":          map[string]any{"machines": "2/2", "addresses": "2/254"},
		"networks": []any{map[string]any{
			"name": "storage", "vxlan": int64(1000), "vlanID": "v1",
			"capacity": map[string]any{"used": int64(2), "total": int64(254), "needed": int64(4)},
		}},
		"machines": []any{
			map[string]any{"name": "cp", "pool": "control-plane", "network": "Verified", "addresses": map[string]any{"storage": "10.60.10.2/24"}},
			map[string]any{"name": "w", "pool": "a", "network": "Verified", "addresses": map[string]any{"storage": "10.60.10.3/24"}},
		},
		"ports": map[string]any{
			"cp": map[string]any{"bond0": "p1"}, "w": map[string]any{"bond0": "p2"},
		},
		"allocations": map[string]any{"some": "record"},
	}
	if diff := cmp.Diff(want, o.Status); diff != "" {
		t.Errorf("status: -want, +got:\n%s", diff)
	}
	if o.TTL != time.Minute || string(o.Connection["kubeconfig"]) != "kube" {
		t.Errorf("want a minute and the kubeconfig, got %s and %q", o.TTL, o.Connection["kubeconfig"])
	}
}

// TestExternalNetworks: a machine's status names the networks on which the claim
// calls its address external.
func TestExternalNetworks(t *testing.T) {
	in := healthy(t)
	for _, p := range in.Cluster.Plan.Pools {
		p.Links[0].External = p.Name == "a"
	}
	got := map[string]any{}
	for _, m := range report.Report(in).Status["machines"].([]any) {
		machine := m.(map[string]any)
		got[machine["name"].(string)] = machine["externalNetworks"]
	}
	want := map[string]any{"cp": nil, "w": []any{"storage"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestConditions(t *testing.T) {
	type want struct{ kind, status, reason, message string }
	cases := map[string]struct {
		reason string
		change func(*report.Input)
		want   want
		phase  string
	}{
		"Warnings": {
			reason: "a warning does not make a claim invalid",
			change: func(in *report.Input) { in.Warnings = []string{"tags are not passed on"} },
			want:   want{xr.ConditionInputValid, xr.True, "ValidWithWarnings", "tags are not passed on"},
			phase:  "Ready",
		},
		"NetworkWaits": {
			reason: "what a VLAN waits for is said",
			change: func(in *report.Input) {
				in.Objects[1].Ready, in.Objects[1].Why = object.NotReady, "VLAN 1000 is being created"
			},
			want:  want{xr.ConditionNetworksReady, xr.False, "Waiting", "VLAN 1000 is being created"},
			phase: "Provisioning",
		},
		"PortLost": {
			reason: "readiness is not remembered",
			change: func(in *report.Input) {
				in.Objects[3].Ready, in.Objects[3].Why = object.NotReady, "port bond0 of machine w: broken"
			},
			want:  want{xr.ConditionPortsAttached, xr.False, "Waiting", "port bond0 of machine w: broken"},
			phase: "Provisioning",
		},
		"RolloutHeld": {
			reason: "a pool that must not roll is told before anything changes",
			change: func(in *report.Input) {
				in.Holds = []rollout.Hold{{Pool: "a", Reason: rollout.NoRoom, Why: "keeps its machines as they are, since there is no room"}}
			},
			want:  want{xr.ConditionAddressesAllocated, xr.False, "RolloutHeld", "pool a keeps its machines as they are, since there is no room"},
			phase: "Provisioning",
		},
		"RolloutHeldBesideMissing": {
			reason: "one trouble hides no other",
			change: func(in *report.Input) {
				in.Addresses.Book.Missing = []ipam.Missing{{Key: "w/vlan1000.ipv4", Pool: "p/da/1000/10.60.10.0/24", Reason: ipam.Exhausted}}
				in.Holds = []rollout.Hold{{Pool: "a", Reason: rollout.NoRoom, Why: "keeps its machines as they are"}}
			},
			want: want{
				xr.ConditionAddressesAllocated, xr.False, "Missing",
				"machine w has no address on network storage: every address of the range is taken; pool a keeps its machines as they are",
			},
			phase: "Provisioning",
		},
		"WaitsForControlPlane": {
			reason: "a pool that waits for the control plane has all its addresses",
			change: func(in *report.Input) {
				in.Holds = []rollout.Hold{{Pool: "a", Reason: rollout.ControlPlaneFirst, Why: "waits"}}
			},
			want:  want{xr.ConditionAddressesAllocated, xr.True, "Allocated", ""},
			phase: "Ready",
		},
		"PortsOfOldLayout": {
			reason: "a machine that is to be replaced waits for no port",
			change: func(in *report.Input) {
				in.Objects = in.Objects[:3]
				in.Facts.Machines[1].Outdated = true
			},
			want:  want{xr.ConditionPortsAttached, xr.True, "Attached", ""},
			phase: "Ready",
		},
		"PortsUnknown": {
			reason: "a server whose ports nobody knows is named",
			change: func(in *report.Input) { in.Facts.Machines[1].Ports, in.Objects = nil, in.Objects[:3] },
			want:   want{xr.ConditionPortsAttached, xr.False, "Waiting", "machine w: the UUIDs of its ports are not known yet"},
			phase:  "Provisioning",
		},
		"PoolUnknown": {
			reason: "a machine of nobody's pool is not passed over",
			change: func(in *report.Input) { in.Facts.Machines[1].Pool = "" },
			want:   want{xr.ConditionPortsAttached, xr.False, "Waiting", "machine w: nobody knows its pool, so it gets no addresses and no ports; give it the label l2cluster.io/pool"},
			phase:  "Provisioning",
		},
		"PortsForgotten": {
			reason: "a port that is composed is known, whatever the status has lost",
			change: func(in *report.Input) { in.Facts.Machines[1].Ports = nil },
			want:   want{xr.ConditionPortsAttached, xr.True, "Attached", ""},
			phase:  "Ready",
		},
		"PortNotComposed": {
			reason: "a port whose turn has not come is not attached",
			change: func(in *report.Input) { in.Objects = in.Objects[:3] },
			want:   want{xr.ConditionPortsAttached, xr.False, "Waiting", "machine w: port bond0 waits for its VLANs, or until the machine's network is verified"},
			phase:  "Provisioning",
		},
		"NodeFailed": {
			reason: "the machine is named with its own words",
			change: func(in *report.Input) {
				in.Facts.Machines[1].Network = infra.NetworkFailed
				in.Facts.Machines[1].Message = "vlan1000: address 10.60.10.3/24 is missing"
			},
			want:  want{xr.ConditionNodesVerified, xr.False, "Failed", "machine w: vlan1000: address 10.60.10.3/24 is missing"},
			phase: "Failed",
		},
		"ServersUnheard": {
			reason: "servers that could not be asked are neither right nor wrong",
			change: func(in *report.Input) {
				in.Facts.Machines[1].Network, in.Facts.Unheard = infra.NetworkUnknown, []string{"the API is away"}
			},
			want:  want{xr.ConditionNodesVerified, xr.Unknown, "Unknown", "the API is away; machine w: attached"},
			phase: "Provisioning",
		},
		"NodeUnheard": {
			reason: "without a report and without a node there is nothing to trust",
			change: func(in *report.Input) {
				in.Facts.Machines[1].Network, in.Facts.Machines[1].Joined = infra.NetworkUnknown, false
			},
			want:  want{xr.ConditionNodesVerified, xr.False, "Waiting", "machine w: attached"},
			phase: "Provisioning",
		},
		"MachinesUnknown": {
			reason: "a list that was not read says nothing",
			change: func(in *report.Input) { in.Facts = infra.Facts{} },
			want:   want{xr.ConditionNodesVerified, xr.Unknown, "Unknown", "the list of machines has not been read yet"},
			phase:  "Pending",
		},
		"MachinesMissing": {
			reason: "fewer machines than wanted are not all machines",
			change: func(in *report.Input) { in.Facts.Machines = in.Facts.Machines[:1] },
			want:   want{xr.ConditionNodesVerified, xr.False, "Waiting", "1 of 2 machines exist"},
			phase:  "Provisioning",
		},
		"Short": {
			reason: "every machine has its address, and a rollout would not find one: told, and nothing stops",
			change: func(in *report.Input) { in.Addresses.Book.Capacity[0].Total = 2 },
			want: want{xr.ConditionAddressesAllocated, xr.True, "NoSpareForRollout",
				"network storage (10.60.10.0/24): needs 4 addresses (machines and the surge of a rollout), has 2; extend its assignment range, or set maxSurge: 0"},
			phase: "Ready",
		},
		"Missing": {
			reason: "a machine without an address is named",
			change: func(in *report.Input) {
				in.Addresses.Book.Missing = []ipam.Missing{{Key: "w/vlan1000.ipv4", Pool: "p/da/1000/10.60.10.0/24", Reason: ipam.Exhausted}}
			},
			want: want{xr.ConditionAddressesAllocated, xr.False, "Missing",
				"machine w has no address on network storage: every address of the range is taken"},
			phase: "Provisioning",
		},
		"Conflict": {
			reason: "both holders of an address are named",
			change: func(in *report.Input) {
				in.Addresses.Book.Conflicts = []ipam.Conflict{{
					Key: "w/vlan1000.ipv4", Pool: "p/da/1000/10.60.10.0/24", Address: netip.MustParseAddr("10.60.10.3"), Claim: "team-b/other", OtherKey: "x/vlan1000.ipv4", Outcome: ipam.Kept,
				}}
			},
			want: want{xr.ConditionAddressesAllocated, xr.False, "Conflict",
				"address 10.60.10.3 on network storage is held by machine w and by machine x of cluster team-b/other; both may use it, so replace one of the two machines"},
			phase: "Provisioning",
		},
		"ClusterWaits": {
			reason: "what the cluster waits for is said",
			change: func(in *report.Input) {
				in.Objects[0].Ready, in.Objects[0].Why = object.NotReady, "pool a: 2 of 3 machines are ready"
			},
			want:  want{xr.ConditionClusterAvailable, xr.False, "Waiting", "pool a: 2 of 3 machines are ready"},
			phase: "Provisioning",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := healthy(t)
			tc.change(&in)
			o := report.Report(in)
			var got want
			for _, c := range o.Conditions {
				if c.Type == tc.want.kind {
					got = want{c.Type, c.Status, c.Reason, c.Message}
				}
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if o.Status["phase"] != tc.phase {
				t.Errorf("%s: want phase %s, got %s", tc.reason, tc.phase, o.Status["phase"])
			}
		})
	}
}

func TestStatusStaysWhileMachinesAreUnknown(t *testing.T) {
	in := healthy(t)
	in.Facts = infra.Facts{}
	in.Status = view(t, "{machines: [{name: cp}], ports: {cp: {bond0: p1}}}")
	o := report.Report(in)
	if diff := cmp.Diff([]any{map[string]any{"name": "cp"}}, o.Status["machines"]); diff != "" {
		t.Errorf("a status replaces what was there, so it must be said again: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"cp": map[string]any{"bond0": "p1"}}, o.Status["ports"]); diff != "" {
		t.Errorf("ports are asked for once: -want, +got:\n%s", diff)
	}
}

func TestTTL(t *testing.T) {
	in := healthy(t)
	in.Objects[0].Ready = object.NotReady
	if got := report.Report(in).TTL; got != 15*time.Second {
		t.Errorf("while something moves, look again soon: got %s", got)
	}
	in.Addresses.Book.Next = now.Add(4 * time.Second)
	if got := report.Report(in).TTL; got != 4*time.Second {
		t.Errorf("an address becomes free in 4 seconds: got %s", got)
	}
	in.Addresses.Book.Next = now.Add(-4 * time.Second)
	if got := report.Report(in).TTL; got != time.Second {
		t.Errorf("never less than a second: got %s", got)
	}
}

func TestAutoscaled(t *testing.T) {
	in := healthy(t)
	in.Cluster.Spec.Workers[0].Autoscaling = &spec.Autoscaling{Min: 1, Max: 9}
	in.Cluster.Observed["pool-a"] = view(t, "{kind: MachineDeployment, spec: {replicas: 4}}")
	if got := report.Report(in).Status["summary"].(map[string]any)["machines"]; got != "2/5" {
		t.Errorf("the autoscaler wants four workers: want 2/5, got %s", got)
	}
	delete(in.Cluster.Observed, "pool-a")
	if got := report.Report(in).Status["summary"].(map[string]any)["machines"]; got != "2/2" {
		t.Errorf("without a deployment the smallest number counts: want 2/2, got %s", got)
	}
}

func TestCapacityOfBothFamilies(t *testing.T) {
	in := healthy(t)
	in.Addresses.Book.Capacity = []ipam.Capacity{
		{Pool: "p/da/1000/10.60.10.0/24", Used: 2, Total: 50, Wanted: 4},
		{Pool: "p/da/1000/2001:db8::/64", Used: 2, Total: ipam.MaxCount, Wanted: 4},
	}
	o := report.Report(in)
	want := map[string]any{"used": int64(2), "total": int64(50), "needed": int64(4)}
	if diff := cmp.Diff(want, o.Status["networks"].([]any)[0].(map[string]any)["capacity"]); diff != "" {
		t.Errorf("a machine needs an address of each family, so the smaller block counts: -want, +got:\n%s", diff)
	}
	if got := o.Status["summary"].(map[string]any)["addresses"]; got != "2/50" {
		t.Errorf("the summary counts the same: got %s", got)
	}
}
