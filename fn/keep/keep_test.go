package keep_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

func view(t *testing.T, format string, args ...any) object.View {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(fmt.Sprintf(format, args...)), &o); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return xr.ViewOf(s)
}

func template(t *testing.T, kind, name, pool string) object.View {
	t.Helper()
	return view(t, "{kind: %s, metadata: {name: %s, labels: {l2cluster.io/pool: %s}}}", kind, name, pool)
}

// deployment of three machines.
func deployment(t *testing.T, template string, generation, observed, upToDate int) object.View {
	t.Helper()
	const replicas = 3
	return view(t, `
kind: MachineDeployment
metadata: {name: edge-a, generation: %d, labels: {l2cluster.io/pool: a}}
spec:
  replicas: %d
  template: {spec: {infrastructureRef: {kind: PacketMachineTemplate, name: %s}, bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: %s}}}}
status: {observedGeneration: %d, replicas: %d, upToDateReplicas: %d, readyReplicas: %d}
`, generation, replicas, template, template, observed, replicas, upToDate, replicas)
}

func machineSet(t *testing.T, template string, replicas int) object.View {
	t.Helper()
	return view(t, `
kind: MachineSet
metadata: {name: edge-a-%s}
spec:
  replicas: %d
  template: {spec: {infrastructureRef: {kind: PacketMachineTemplate, name: %s}, bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: %s}}}}
`, template, replicas, template, template)
}

func TestTemplates(t *testing.T) {
	type world struct {
		deployment object.View
		templates  []string
		sets       object.Required
	}
	sets := func(views ...object.View) object.Required { return object.Required{Fetched: true, Items: views} }
	desired := []object.Object{{Key: "t2-machines"}, {Key: "t2-bootstrap"}}
	cases := map[string]struct {
		reason string
		world  world
		want   []string
	}{
		"JustEdited": {
			reason: "the deployment still names the old templates",
			world: world{deployment(t, "t1", 1, 1, 3), []string{"t1"},
				sets(machineSet(t, "t1", 3))},
			want: []string{"t1-bootstrap", "t1-machines"},
		},
		"Rolling": {
			reason: "the old machine set may still make a machine",
			world: world{deployment(t, "t2", 2, 2, 1), []string{"t1", "t2"},
				sets(machineSet(t, "t1", 2), machineSet(t, "t2", 1))},
			want: []string{"t1-bootstrap", "t1-machines"},
		},
		"ScaledToZeroWhileRolling": {
			reason: "a rollout that is not complete can be taken back",
			world: world{deployment(t, "t2", 2, 2, 2), []string{"t1", "t2"},
				sets(machineSet(t, "t1", 0), machineSet(t, "t2", 3))},
			want: []string{"t1-bootstrap", "t1-machines"},
		},
		"EditNotSeenYet": {
			reason: "figures of an older generation say nothing",
			world: world{deployment(t, "t2", 2, 1, 3), []string{"t1", "t2"},
				sets(machineSet(t, "t1", 0), machineSet(t, "t2", 3))},
			want: []string{"t1-bootstrap", "t1-machines"},
		},
		"Done": {
			reason: "nothing can need them any more",
			world: world{deployment(t, "t2", 2, 2, 3), []string{"t1", "t2"},
				sets(machineSet(t, "t1", 0), machineSet(t, "t2", 3))},
		},
		"TwoEditsInQuickSuccession": {
			reason: "every template that a machine set names stays",
			world: world{deployment(t, "t2", 3, 3, 1), []string{"t0", "t1", "t2"},
				sets(machineSet(t, "t0", 1), machineSet(t, "t1", 1), machineSet(t, "t2", 1))},
			want: []string{"t0-bootstrap", "t0-machines", "t1-bootstrap", "t1-machines"},
		},
		"MachineSetsNotFetched": {
			reason: "what cannot be told is kept",
			world:  world{deployment(t, "t2", 2, 2, 3), []string{"t1", "t2"}, object.Required{}},
			want:   []string{"t1-bootstrap", "t1-machines"},
		},
		"PoolRemoved": {
			reason: "the deployment is gone, its machine set is still being deleted",
			world:  world{nil, []string{"t1"}, sets(machineSet(t, "t1", 2))},
			want:   []string{"t1-bootstrap", "t1-machines"},
		},
		"PoolGone": {
			reason: "nothing is left of the pool",
			world:  world{nil, []string{"t1"}, sets()},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := map[string]object.View{}
			if tc.world.deployment != nil {
				observed["pool-a"] = tc.world.deployment
			}
			for _, n := range tc.world.templates {
				observed[n+"-machines"] = template(t, "PacketMachineTemplate", n, "a")
				observed[n+"-bootstrap"] = template(t, "KubeadmConfigTemplate", n, "a")
			}
			got := keep.Templates(desired, observed, tc.world.sets)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestControlPlaneTemplates(t *testing.T) {
	controlPlane := func(template string, upToDate int) object.View {
		return view(t, `
kind: KubeadmControlPlane
metadata: {name: edge-control-plane, generation: 2, labels: {l2cluster.io/pool: control-plane}}
spec: {replicas: 3, machineTemplate: {spec: {infrastructureRef: {kind: PacketMachineTemplate, name: %s}}}}
status: {observedGeneration: 2, replicas: 3, upToDateReplicas: %d, readyReplicas: 3}
`, template, upToDate)
	}
	cases := map[string]struct {
		controlPlane object.View
		want         []string
	}{
		"Rolling": {controlPlane("t2", 1), []string{"t1-machines"}},
		"Done":    {controlPlane("t2", 3), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := map[string]object.View{
				"control-plane": tc.controlPlane,
				"t1-machines":   template(t, "PacketMachineTemplate", "t1", "control-plane"),
				"t2-machines":   template(t, "PacketMachineTemplate", "t2", "control-plane"),
			}
			got := keep.Templates([]object.Object{{Key: "t2-machines"}}, observed, object.Required{Fetched: true})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
