package rollout_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/rollout"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

func body(t *testing.T, format string, args ...any) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(fmt.Sprintf(format, args...)), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func view(t *testing.T, format string, args ...any) object.View {
	t.Helper()
	s, err := structpb.NewStruct(body(t, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return xr.ViewOf(s)
}

// maker of a pool's machines in short: what it is made from, the version, and
// how far it is.
type maker struct {
	template, version string
	// replicas exist, of which upToDate are what the spec asks for.
	replicas, upToDate int
	// broken are not ready.
	broken int
	// late says that the status speaks of an older spec.
	late bool
	// leaving are machines that their maker no longer counts.
	leaving int
	// runs is what the control plane says that it runs.
	runs string
}

const controlPlaneBody = `
kind: KubeadmControlPlane
metadata: {name: edge-control-plane, generation: 2, labels: {l2cluster.io/pool: control-plane}}
spec: {replicas: 3, version: %s, machineTemplate: {spec: {infrastructureRef: {kind: PacketMachineTemplate, name: %s}}}, kubeadmConfigSpec: {format: cloud-config}}
`

const deploymentBody = `
kind: MachineDeployment
metadata: {name: edge-%s, generation: 2, labels: {l2cluster.io/pool: %s}}
spec: {replicas: 2, template: {spec: {version: %s, infrastructureRef: {kind: PacketMachineTemplate, name: %s}, bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: %s}}}}}
`

func status(m maker) string {
	observed := 2
	if m.late {
		observed = 1
	}
	return fmt.Sprintf("status: {observedGeneration: %d, replicas: %d, upToDateReplicas: %d, readyReplicas: %d, version: %q}",
		observed, m.replicas, m.upToDate, m.replicas-m.broken, m.runs)
}

func (m maker) text(pool string) string {
	if pool == plan.ControlPlanePool {
		return fmt.Sprintf(controlPlaneBody, m.version, m.template)
	}
	return fmt.Sprintf(deploymentBody, pool, pool, m.version, m.template, m.template)
}

// world is what is there and what is asked for.
type world struct {
	observed map[string]maker
	desired  map[string]maker
	surge    map[string]int
	// total is how many addresses there are; all pools draw from one range.
	total    int64
	unknown  bool
	machines object.Required
	sets     object.Required
}

func keyOf(pool string) string {
	if pool == plan.ControlPlanePool {
		return pool
	}
	return object.DeploymentKey(pool)
}

func (w world) input(t *testing.T) rollout.Input {
	t.Helper()
	in := rollout.Input{
		Cluster:  infra.Cluster{Spec: &spec.Spec{}, Observed: map[string]object.View{}},
		Machines: w.machines, MachineSets: w.sets,
	}
	pools := []string{plan.ControlPlanePool, "a", "b"}
	for _, pool := range pools {
		if m, ok := w.observed[pool]; ok {
			in.Cluster.Observed[keyOf(pool)] = view(t, "%s", m.text(pool)+status(m))
			for i := range m.replicas + m.leaving {
				in.Facts.Machines = append(in.Facts.Machines, infra.Machine{Name: fmt.Sprintf("%s-%d", pool, i), Pool: pool})
			}
		}
		m, ok := w.desired[pool]
		if !ok {
			continue
		}
		replicas, role := 2, plan.Worker
		if pool == plan.ControlPlanePool {
			replicas, role = 3, plan.ControlPlane
			in.Cluster.Spec.KubernetesVersion = m.version
		}
		in.Cluster.Plan.Pools = append(in.Cluster.Plan.Pools, plan.Pool{Name: pool, Role: role, Replicas: replicas, Surge: w.surge[pool]})
		in.Desired = append(in.Desired, object.Object{Key: keyOf(pool), Body: body(t, "%s", m.text(pool)), Ready: object.IsReady})
	}
	in.Rooms = []assign.Room{{
		Network: "storage", VLAN: 1000, Subnet: netip.MustParsePrefix("10.60.10.0/24"),
		Pools: pools, Known: !w.unknown, Total: w.total,
	}}
	return in
}

func held(d rollout.Decision) []string {
	var out []string
	for _, h := range d.Holds {
		out = append(out, h.Pool)
	}
	return out
}

// asIs are makers of three and two machines that are all made from t1.
func asIs() map[string]maker {
	return map[string]maker{
		plan.ControlPlanePool: {template: "t1", version: "v1.34.2", replicas: 3, upToDate: 3, runs: "v1.34.2"},
		"a":                   {template: "t1", version: "v1.34.2", replicas: 2, upToDate: 2},
		"b":                   {template: "t1", version: "v1.34.2", replicas: 2, upToDate: 2},
	}
}

// but is a world of makers with one of them changed.
func but(makers map[string]maker, pool string, change func(*maker)) map[string]maker {
	m := makers[pool]
	change(&m)
	makers[pool] = m
	return makers
}

func template(name string) func(*maker) { return func(m *maker) { m.template = name } }

func TestRoom(t *testing.T) {
	one := map[string]int{plan.ControlPlanePool: 1, "a": 1, "b": 1}
	all := func() map[string]maker {
		return but(but(but(asIs(), "a", template("t2")), "b", template("t2")), plan.ControlPlanePool, template("t2"))
	}
	cases := map[string]struct {
		reason string
		world  world
		want   []string
		says   string
	}{
		"NothingRolls": {
			reason: "a full range is no trouble while nothing is replaced",
			world:  world{observed: asIs(), desired: asIs(), surge: one, total: 7},
		},
		"Enough": {
			reason: "seven machines and one more",
			world:  world{observed: asIs(), desired: but(asIs(), "a", template("t2")), surge: one, total: 8},
		},
		"OneShort": {
			reason: "seven machines hold all seven addresses",
			world:  world{observed: asIs(), desired: but(asIs(), "a", template("t2")), surge: one, total: 7},
			want:   []string{"a"},
			says:   "network storage (VLAN 1000, 10.60.10.0/24): needs 8 addresses (7 machines and a surge of 1), has 7; extend the assignment range, or set rollout.maxSurge: 0",
		},
		"SurgeZero": {
			reason: "the user wants a machine to go before its successor comes",
			world:  world{observed: asIs(), desired: but(asIs(), "a", template("t2")), surge: map[string]int{plan.ControlPlanePool: 1, "b": 1}, total: 7},
		},
		"AllAtOnce": {
			reason: "the surge of all pools together: one spare address lets the control plane begin, and nobody else",
			world:  world{observed: asIs(), desired: all(), surge: one, total: 8},
			want:   []string{"a", "b"},
			says:   "needs 9 addresses (7 machines and a surge of 2), has 8",
		},
		"AllAtOnceWithRoom": {
			reason: "three spare addresses let all three begin",
			world:  world{observed: asIs(), desired: all(), surge: one, total: 10},
		},
		"AnotherRollsAlready": {
			reason: "the surge of a rollout that has begun is not free",
			world: world{
				observed: but(asIs(), "b", func(m *maker) { m.upToDate = 1 }),
				desired:  but(asIs(), "a", template("t2")), surge: one, total: 8,
			},
			want: []string{"a"},
		},
		"BegunGoesOn": {
			reason: "an edit of a rollout that has begun, or taking it back, needs no more than it",
			world: world{
				observed: but(asIs(), "a", func(m *maker) { m.replicas, m.upToDate = 3, 1 }),
				desired:  but(asIs(), "a", template("t0")), surge: one, total: 7,
			},
		},
		"NotSettled": {
			reason: "figures of an older spec say nothing of a rollout",
			world: world{
				observed: but(asIs(), "a", func(m *maker) { m.upToDate, m.late = 1, true }),
				desired:  but(asIs(), "a", template("t2")), surge: one, total: 7,
			},
			want: []string{"a"},
		},
		"NoMachines": {
			reason: "where nothing is, nothing is replaced",
			world: world{
				observed: but(asIs(), "a", func(m *maker) { m.replicas, m.upToDate = 0, 0 }),
				desired:  but(asIs(), "a", template("t2")), surge: one, total: 5,
			},
		},
		"Unknown": {
			reason: "nobody gets an address while a record cannot be read",
			world:  world{observed: asIs(), desired: but(asIs(), "a", template("t2")), surge: one, total: 100, unknown: true},
			want:   []string{"a"},
			says:   "nobody can tell how many addresses are free",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := rollout.Decide(tc.world.input(t))
			if diff := cmp.Diff(tc.want, held(got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if len(got.Holds) == 0 {
				return
			}
			if h := got.Holds[0]; !strings.Contains(h.Why, tc.says) || h.Reason != rollout.NoRoom {
				t.Errorf("%s: want %q in %q", tc.reason, tc.says, h.Why)
			}
		})
	}
}

// TestRoomAtEveryMoment follows the rollout of all three pools where one address
// is spare: at every moment from the edit to the last new machine one pool rolls,
// and the others keep their machines.
func TestRoomAtEveryMoment(t *testing.T) {
	const cp = plan.ControlPlanePool
	one := map[string]int{cp: 1, "a": 1, "b": 1}
	asked := but(but(but(asIs(), "a", template("t2")), "b", template("t2")), cp, template("t2"))
	applied := func(makers map[string]maker, pool string, m maker) map[string]maker {
		return but(makers, pool, func(was *maker) {
			was.template, was.late, was.leaving = "t2", m.late, m.leaving
			was.replicas, was.upToDate = m.replicas, m.upToDate
		})
	}
	controlPlane := func(m maker) map[string]maker { return applied(asIs(), cp, m) }
	a := func(m maker) map[string]maker { return applied(controlPlane(maker{replicas: 3, upToDate: 3}), "a", m) }
	all := func(m maker) map[string]maker { return applied(a(maker{replicas: 2, upToDate: 2}), "b", m) }
	moments := []struct {
		when     string
		observed map[string]maker
		// aOld and aNew are machines of the pool a by what their sets were made for.
		aOld, aNew int
		want       []string
	}{
		{"edited", asIs(), 2, 0, []string{"a", "b"}},
		{"the control plane's new spec is applied and not taken in", controlPlane(maker{replicas: 3, upToDate: 3, late: true}), 2, 0, []string{"a", "b"}},
		{"taken in", controlPlane(maker{replicas: 3}), 2, 0, []string{"a", "b"}},
		{"one machine more", controlPlane(maker{replicas: 4, upToDate: 1}), 2, 0, []string{"a", "b"}},
		{"an old one leaves", controlPlane(maker{replicas: 3, upToDate: 1, leaving: 1}), 2, 0, []string{"a", "b"}},
		{"it is gone", controlPlane(maker{replicas: 3, upToDate: 1}), 2, 0, []string{"a", "b"}},
		{"the last old one leaves", controlPlane(maker{replicas: 3, upToDate: 3, leaving: 1}), 2, 0, []string{"a", "b"}},
		{"the control plane is done", controlPlane(maker{replicas: 3, upToDate: 3}), 2, 0, []string{"b"}},
		{"the new spec of a is applied and not taken in", a(maker{replicas: 2, upToDate: 2, late: true}), 2, 0, []string{"b"}},
		{"taken in, and the figures are still the old ones", a(maker{replicas: 2, upToDate: 2}), 2, 0, []string{"b"}},
		{"the figures are right", a(maker{replicas: 2}), 2, 0, []string{"b"}},
		{"one machine more, and the figures say nothing of it", a(maker{replicas: 2, leaving: 1}), 2, 1, []string{"b"}},
		{"the figures say it", a(maker{replicas: 3, upToDate: 1}), 2, 1, []string{"b"}},
		{"an old one is gone", a(maker{replicas: 2, upToDate: 1}), 1, 1, []string{"b"}},
		{"the last old one leaves, and does not count", a(maker{replicas: 2, upToDate: 2, leaving: 1}), 1, 2, []string{"b"}},
		{"the pool a is done", a(maker{replicas: 2, upToDate: 2}), 0, 2, nil},
		{"the new spec of b is applied", all(maker{replicas: 2, upToDate: 2, late: true}), 0, 2, nil},
	}
	for _, m := range moments {
		w := world{observed: m.observed, desired: asked, surge: one, total: 8}
		w.sets = object.Required{Fetched: true, Items: []object.View{machineSet(t, "old", "t1"), machineSet(t, "new", "t2")}}
		for i := range m.aOld + m.aNew {
			set := "old"
			if i >= m.aOld {
				set = "new"
			}
			w.machines.Items = append(w.machines.Items, machine(t, fmt.Sprintf("a-%d", i), "a", "v1.34.2", set, "True"))
		}
		if diff := cmp.Diff(m.want, held(rollout.Decide(w.input(t)))); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", m.when, diff)
		}
	}
}

// TestNoRoomTaken are pools that an edit has just been applied to and that make no
// machine beside those that they have.
func TestNoRoomTaken(t *testing.T) {
	sets := object.Required{Fetched: true, Items: []object.View{machineSet(t, "t1-set", "t1"), machineSet(t, "t2-set", "t2")}}
	of := func(set string) object.Required {
		return object.Required{Fetched: true, Items: []object.View{machine(t, "b-0", "b", "", set, "True"), machine(t, "b-1", "b", "", set, "True")}}
	}
	one := map[string]int{"a": 1, "b": 1}
	cases := map[string]struct {
		reason   string
		surge    map[string]int
		machines object.Required
		want     []string
	}{
		"SurgeZero":   {"a machine goes before its successor comes", map[string]int{"a": 1}, of("t1-set"), nil},
		"OtherEdit":   {"all its machines are what it asks for, so the edit was of something else", one, of("t2-set"), nil},
		"Rolls":       {"its machines are not what it asks for", one, of("t1-set"), []string{"a"}},
		"SetUnknown":  {"nobody knows what its machines were made for", one, of("t3-set"), []string{"a"}},
		"NotFetched":  {"nobody looked at its machines", one, object.Required{}, []string{"a"}},
		"NoneOfAPool": {"it has machines, and none was found", one, object.Required{Fetched: true}, []string{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := rollout.Decide(world{
				observed: but(asIs(), "b", func(m *maker) { m.template, m.late = "t2", true }),
				desired:  but(but(asIs(), "a", template("t2")), "b", template("t2")),
				surge:    tc.surge, total: 8, machines: tc.machines, sets: sets,
			}.input(t))
			if diff := cmp.Diff(tc.want, held(got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func version(v string) func(*maker) { return func(m *maker) { m.version = v } }

// upgraded are makers of another version.
func upgraded(makers map[string]maker, v string) map[string]maker {
	return but(but(but(makers, plan.ControlPlanePool, version(v)), "a", version(v)), "b", version(v))
}

func TestControlPlaneFirst(t *testing.T) {
	surge := map[string]int{plan.ControlPlanePool: 1, "a": 1, "b": 1}
	halfway := but(asIs(), plan.ControlPlanePool, func(m *maker) { m.version, m.replicas, m.upToDate = "v1.35.0", 4, 2 })
	done := but(asIs(), plan.ControlPlanePool, func(m *maker) { m.version, m.runs = "v1.35.0", "v1.35.0" })
	broken := but(asIs(), plan.ControlPlanePool, func(m *maker) { m.version, m.runs, m.broken = "v1.35.0", "v1.35.0", 1 })
	late := but(asIs(), plan.ControlPlanePool, func(m *maker) { m.version, m.late = "v1.35.0", true })
	without := func(makers map[string]maker, pool string) map[string]maker { delete(makers, pool); return makers }
	cases := map[string]struct {
		reason            string
		observed, desired map[string]maker
		want              []string
		says              string
	}{
		"New":         {"nothing runs yet, so nothing is too new", nil, asIs(), nil, ""},
		"Same":        {"no other version", asIs(), asIs(), nil, ""},
		"Edited":      {"the control plane begins", asIs(), upgraded(asIs(), "v1.35.0"), []string{"a", "b"}, "waits with Kubernetes v1.35.0 until the control plane is done with it: 0 of its 3 machines are up to date, and 3 ready"},
		"NotTakenIn":  {"figures of the old spec say nothing", late, upgraded(asIs(), "v1.35.0"), []string{"a", "b"}, "until the control plane"},
		"Halfway":     {"two machines of four are new", halfway, upgraded(asIs(), "v1.35.0"), []string{"a", "b"}, "2 of its 4 machines"},
		"NotReady":    {"a control plane that is not well yet is not done", broken, upgraded(asIs(), "v1.35.0"), []string{"a", "b"}, "3 of its 3 machines are up to date, and 2 ready"},
		"Done":        {"now the workers", done, upgraded(asIs(), "v1.35.0"), nil, ""},
		"Patch":       {"a patch version goes the same way", asIs(), upgraded(asIs(), "v1.34.3"), []string{"a", "b"}, "v1.34.3"},
		"NewPool":     {"a new pool's kubelets would be too new", without(asIs(), "b"), upgraded(asIs(), "v1.35.0"), []string{"a", "b"}, "v1.35.0"},
		"NewPoolOnly": {"a new pool without another version does not wait", without(asIs(), "b"), asIs(), nil, ""},
		"OtherEdit":   {"what has the version already rolls by itself", asIs(), but(asIs(), "a", template("t2")), nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := rollout.Decide(world{observed: tc.observed, desired: tc.desired, surge: surge, total: 100}.input(t))
			if diff := cmp.Diff(tc.want, held(got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			for _, h := range got.Holds {
				if !strings.Contains(h.Why, tc.says) || h.Reason != rollout.ControlPlaneFirst {
					t.Errorf("%s: want %q in %q", tc.reason, tc.says, h.Why)
				}
			}
		})
	}
}

// TestControlPlaneUnseen: an observation that misses the control plane does not let
// workers run ahead of it.
func TestControlPlaneUnseen(t *testing.T) {
	without := func(pools ...string) map[string]maker {
		makers := asIs()
		for _, pool := range pools {
			delete(makers, pool)
		}
		return makers
	}
	cases := map[string]struct {
		reason            string
		observed, desired map[string]maker
		want              []string
	}{
		"OtherVersion": {"nobody knows what it runs", without(plan.ControlPlanePool), upgraded(asIs(), "v1.35.0"), []string{"a", "b"}},
		"SameVersion":  {"the workers have the version already", without(plan.ControlPlanePool), asIs(), nil},
		"NewPool":      {"a new pool could be too new", without(plan.ControlPlanePool, "b"), asIs(), []string{"b"}},
		"NewCluster":   {"there is nothing yet", nil, asIs(), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := rollout.Decide(world{
				observed: tc.observed, desired: tc.desired,
				surge: map[string]int{plan.ControlPlanePool: 1, "a": 1, "b": 1}, total: 100,
			}.input(t))
			if diff := cmp.Diff(tc.want, held(got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			for _, h := range got.Holds {
				if !strings.Contains(h.Why, "until its control plane is seen") || h.Reason != rollout.ControlPlaneFirst {
					t.Errorf("%s: got %q", tc.reason, h.Why)
				}
			}
		})
	}
}

// TestApply: a held pool keeps what a rollout compares and nothing else, and the
// desired objects are not changed by it.
func TestApply(t *testing.T) {
	asked := but(asIs(), "a", template("t2"))
	in := world{observed: asIs(), desired: asked, surge: map[string]int{"a": 1}, total: 7}.input(t)
	asked2 := in.Desired[1].Body["spec"].(map[string]any)
	asked2["replicas"] = int64(5)
	desired := append(slices.Clone(in.Desired),
		object.Object{Key: "pool-a-bootstrap-t2", Body: body(t, "{kind: KubeadmConfigTemplate, metadata: {labels: {l2cluster.io/pool: a}}}")},
		object.Object{Key: "pool-b-bootstrap-t1", Body: body(t, "{kind: KubeadmConfigTemplate, metadata: {labels: {l2cluster.io/pool: b}}}")},
		object.Object{Key: "vlan-1000", Body: body(t, "{kind: Vlan, metadata: {name: x}}")},
	)
	got := map[string]object.Object{}
	for _, o := range rollout.Decide(in).Apply(desired) {
		got[o.Key] = o
	}
	if _, composed := got["pool-a-bootstrap-t2"]; composed || len(got) != 5 {
		t.Errorf("only the template that nothing will name is left out: got %d objects", len(got))
	}
	want := body(t, "%s", asIs()["a"].text("a"))
	want["spec"].(map[string]any)["replicas"] = int64(5)
	if diff := cmp.Diff(want, got["pool-a"].Body); diff != "" {
		t.Errorf("the number of machines is carried out, their templates stay: -want, +got:\n%s", diff)
	}
	if got["pool-a"].Ready != object.NotReady || got["pool-a"].Why == "" {
		t.Errorf("a held pool is not ready and says why: got %q", got["pool-a"].Why)
	}
	if diff := cmp.Diff(asked2["template"], body(t, "%s", asked["a"].text("a"))["spec"].(map[string]any)["template"]); diff != "" {
		t.Errorf("the given object was changed: -got, +want:\n%s", diff)
	}
}

func machine(t *testing.T, name, pool, version, set, upToDate string) object.View {
	t.Helper()
	return view(t, `
kind: Machine
metadata: {name: %s, labels: {l2cluster.io/pool: %s, cluster.x-k8s.io/set-name: %q}}
spec: {version: %q}
status: {conditions: [{type: UpToDate, status: %q}]}
`, name, pool, set, version, upToDate)
}

func machineSet(t *testing.T, name, template string) object.View {
	t.Helper()
	return view(t, `
kind: MachineSet
metadata: {name: %s}
spec: {template: {spec: {version: v1.34.2, infrastructureRef: {kind: PacketMachineTemplate, name: %s}, bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: %s}}}}}
`, name, template, template)
}

func TestOutdated(t *testing.T) {
	const cp = plan.ControlPlanePool
	machines := object.Required{Fetched: true, Items: []object.View{
		machine(t, "cp-old", cp, "v1.34.2", "", "False"), machine(t, "cp-new", cp, "v1.34.2", "", "True"),
		machine(t, "a-old", "a", "v1.34.2", "set-1", "True"), machine(t, "a-new", "a", "v1.34.2", "set-2", "True"),
		machine(t, "a-unknown", "a", "v1.34.2", "set-3", "True"),
	}}
	sets := object.Required{Fetched: true, Items: []object.View{machineSet(t, "set-1", "t1"), machineSet(t, "set-2", "t2")}}
	rolling := func() map[string]maker {
		return but(but(asIs(), cp, func(m *maker) { m.replicas, m.upToDate = 4, 1 }), "a", func(m *maker) { m.template, m.upToDate = "t2", 1 })
	}
	cases := map[string]struct {
		reason            string
		observed, desired map[string]maker
		want              map[string]bool
	}{
		"Rolling": {
			"sets and the control plane tell old from new", rolling(), but(asIs(), "a", template("t2")),
			map[string]bool{"cp-old": true, "a-old": true, "a-unknown": true},
		},
		"EditedAgain": {
			"what is asked for now is not what the newest were made for", rolling(), but(but(asIs(), "a", template("t4")), cp, template("t4")),
			map[string]bool{"cp-old": true, "cp-new": true, "a-old": true, "a-new": true, "a-unknown": true},
		},
		"TakenBack": {
			"the old ones are right again, and the new ones are not", rolling(), asIs(),
			map[string]bool{"cp-old": true, "a-new": true, "a-unknown": true},
		},
		"NotTakenIn": {
			"the control plane speaks of its old spec", but(rolling(), cp, func(m *maker) { m.late = true }), but(asIs(), "a", template("t2")),
			map[string]bool{"cp-old": true, "cp-new": true, "a-old": true, "a-unknown": true},
		},
		"Done": {
			"a late condition of a machine counts for nothing when the count is right", but(asIs(), "a", template("t2")), but(asIs(), "a", template("t2")),
			map[string]bool{"a-old": true, "a-unknown": true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := world{observed: tc.observed, desired: tc.desired, machines: machines, sets: sets, total: 100}.input(t)
			got := rollout.Decide(in)
			if diff := cmp.Diff(tc.want, got.Outdated); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			f := infra.Facts{Machines: []infra.Machine{{Name: "a-old"}, {Name: "a-unknown"}}}
			want := infra.Facts{Machines: []infra.Machine{{Name: "a-old", Outdated: tc.want["a-old"]}, {Name: "a-unknown", Outdated: true}}}
			if diff := cmp.Diff(want, got.Mark(f)); diff != "" || f.Machines[0].Outdated {
				t.Errorf("marked in a copy: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestNobodyCanTell: where a list was not fetched, or the control plane is not
// seen, any machine may be outdated.
func TestNobodyCanTell(t *testing.T) {
	const cp = plan.ControlPlanePool
	all := world{observed: asIs(), desired: asIs(), total: 100}
	all.machines = object.Required{Fetched: true, Items: []object.View{machine(t, "cp", cp, "v1.34.2", "", "True"), machine(t, "w", "a", "v1.34.2", "set-1", "True")}}
	all.sets = object.Required{Fetched: true, Items: []object.View{machineSet(t, "set-1", "t1")}}
	cases := map[string]struct {
		change func(*world)
		want   map[string]bool
	}{
		"All":            {func(*world) {}, map[string]bool{}},
		"NoMachines":     {func(w *world) { w.machines = object.Required{} }, map[string]bool{"cp": true, "w": true}},
		"NoSets":         {func(w *world) { w.sets = object.Required{} }, map[string]bool{"cp": true, "w": true}},
		"NoControlPlane": {func(w *world) { w.observed = maps.Clone(w.observed); delete(w.observed, cp) }, map[string]bool{"cp": true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := all
			tc.change(&w)
			got := map[string]bool{}
			marked := rollout.Decide(w.input(t)).Mark(infra.Facts{Machines: []infra.Machine{{Name: "cp"}, {Name: "w"}}})
			for _, m := range marked.Machines {
				if m.Outdated {
					got[m.Name] = true
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("outdated: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	const cp = plan.ControlPlanePool
	cases := map[string]struct {
		reason   string
		wanted   string
		runs     string
		machines map[string]string // by name: those that begin with cp are control plane
		want     string            // part of the error, "" for none
	}{
		"New":        {"nothing runs", "v1.34.2", "", nil, ""},
		"Same":       {"no change", "v1.34.2", "v1.34.2", map[string]string{"cp-0": "v1.34.2", "w-0": "v1.34.2"}, ""},
		"OneUp":      {"one minor version up", "v1.35.0", "v1.34.2", map[string]string{"cp-0": "v1.34.2"}, ""},
		"TwoUp":      {"a minor version is left out", "v1.36.0", "v1.34.2", map[string]string{"cp-0": "v1.34.2"}, `machine cp-0 runs v1.34.2, and a control plane goes up one minor version at a time; go to v1.35 first`},
		"Halfway":    {"the slowest machine counts", "v1.36.0", "v1.34.2", map[string]string{"cp-0": "v1.35.1", "cp-1": "v1.34.2"}, `machine cp-1 runs v1.34.2`},
		"Down":       {"never to an older minor version", "v1.33.9", "v1.34.2", map[string]string{"cp-0": "v1.34.2"}, `machine cp-0 runs v1.34.2 already, and a cluster never goes back to an older minor version; put v1.34 back`},
		"TakenBack":  {"no machine has the newer version yet", "v1.34.2", "v1.34.2", map[string]string{"cp-0": "v1.34.2"}, ""},
		"TooLate":    {"one machine has it", "v1.34.2", "v1.34.2", map[string]string{"cp-0": "v1.34.2", "cp-1": "v1.35.0"}, `machine cp-1 runs v1.35.0 already`},
		"PatchDown":  {"a patch version may go back", "v1.34.1", "v1.34.2", map[string]string{"cp-0": "v1.34.2", "w-0": "v1.34.2"}, ""},
		"OldKubelet": {"three minor versions behind is the most", "v1.35.0", "v1.34.0", map[string]string{"cp-0": "v1.34.0", "w-0": "v1.31.4"}, `machine w-0 still runs v1.31.4, and a kubelet may be at most 3 minor versions behind`},
		"ThreeOld":   {"three are fine", "v1.34.0", "v1.33.0", map[string]string{"cp-0": "v1.33.0", "w-0": "v1.31.4"}, ""},
		"StatusOnly": {"the machines were not fetched, the control plane itself says it", "v1.36.0", "v1.34.2", nil, `the control plane runs v1.34.2`},
		"NoVersions": {"who says nothing, is not judged", "v1.36.0", "", map[string]string{"cp-0": ""}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := world{observed: but(asIs(), cp, func(m *maker) { m.runs = tc.runs }), desired: upgraded(asIs(), tc.wanted), total: 100}
			w.machines.Fetched = true
			for _, name := range slices.Sorted(maps.Keys(tc.machines)) {
				pool := "a"
				if strings.HasPrefix(name, "cp-") {
					pool = cp
				}
				w.machines.Items = append(w.machines.Items, machine(t, name, pool, tc.machines[name], "", "True"))
			}
			got := rollout.Versions(w.input(t)).ToAggregate()
			text := ""
			if got != nil {
				text = got.Error()
			}
			if (tc.want == "") != (text == "") || !strings.Contains(text, tc.want) {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, text)
			}
			if text != "" && !strings.Contains(text, fmt.Sprintf("spec.kubernetesVersion: Invalid value: %q", tc.wanted)) {
				t.Errorf("the error names field and value: %q", text)
			}
		})
	}
}

// TestRemedyOfOneControlPlaneMachine: with one machine nothing can be taken away
// first, so nobody is told to.
func TestRemedyOfOneControlPlaneMachine(t *testing.T) {
	in := world{observed: asIs(), desired: but(asIs(), plan.ControlPlanePool, template("t2")), surge: map[string]int{plan.ControlPlanePool: 1}, total: 6}.input(t)
	in.Cluster.Plan.Pools[0].Replicas = 1
	got := rollout.Decide(in).Holds
	if len(got) != 1 || !strings.HasSuffix(got[0].Why, "; extend the assignment range") {
		t.Errorf("want only the remedy that is one: got %v", got)
	}
}
