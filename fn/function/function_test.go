package function_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/render"
)

func TestBaseClaim(t *testing.T) {
	got := expand(t, parse(t, base))
	kinds := map[string]int{}
	for _, o := range got {
		kinds[o["kind"].(string)]++
	}
	want := map[string]int{
		"Cluster": 1, "PacketCluster": 1, "KubeadmControlPlane": 1, "MachineDeployment": 1,
		"PacketMachineTemplate": 2, "KubeadmConfigTemplate": 1, "Vlan": 1,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("objects of the base claim: -want, +got:\n%s", diff)
	}
}

// TestTwoNetworks is the wish that started it all: two VLANs on one bond, and
// the second does not evict the first
// (https://github.com/kubernetes-retired/cluster-api-provider-packet/issues/613).
func TestTwoNetworks(t *testing.T) {
	claim := parse(t, base)
	data := parse(t, "{name: data, vxlan: 1001, ipAddresses: [10.60.20.0/24], assignmentRanges: [10.60.20.2-10.60.20.40]}")
	storage := specOf(claim)["networks"].([]any)[0]
	specOf(claim)["networks"] = []any{storage, data}
	ports := parse(t, "{ports: [{name: bond0, networks: [{name: storage}, {name: data}]}]}")["ports"]
	specOf(claim)["controlPlane"].(object)["ports"] = ports
	specOf(claim)["workers"].([]any)[0].(object)["ports"] = ports
	got := expand(t, claim)
	vlans := map[string]any{}
	for _, key := range ofKind(got, "Vlan") {
		vlans[key] = at(got[key], "spec", "forProvider")
	}
	forProvider := func(vxlan int64) object {
		return object{"metro": "da", "projectId": "00000000-0000-4000-8000-00000000000a", "vxlan": vxlan}
	}
	want := map[string]any{"vlan-1000": forProvider(1000), "vlan-1001": forProvider(1001)}
	if diff := cmp.Diff(want, vlans); diff != "" {
		t.Errorf("one Vlan for each network and none for each machine: -want, +got:\n%s", diff)
	}

	specOf(claim)["networks"] = []any{data, storage}
	if diff := cmp.Diff(got, expand(t, claim)); diff != "" {
		t.Errorf("the order of networks must not change anything: -first, +second:\n%s", diff)
	}
}

// TestNamesOfTwoNamespaces: nothing of a cluster meets a cluster of the same
// name in another namespace.
func TestNamesOfTwoNamespaces(t *testing.T) {
	a, b := parse(t, base), parse(t, base)
	b["metadata"].(object)["namespace"] = "team-b"
	names := func(objects map[string]object) map[string]bool {
		out := map[string]bool{}
		for _, o := range objects {
			namespace, _ := at(o, "metadata", "namespace").(string)
			out[fmt.Sprintf("%s %s/%s", o["kind"], namespace, at(o, "metadata", "name"))] = true
		}
		return out
	}
	first, second := expand(t, a), expand(t, b)
	for name := range names(first) {
		if names(second)[name] {
			t.Errorf("both clusters have %s", name)
		}
	}
	if at(first["cluster"], "metadata", "name") == at(second["cluster"], "metadata", "name") {
		t.Error("the infrastructure provider finds a cluster's elastic address by project and cluster name: both have the same")
	}
	for key, o := range first {
		group, _, _ := strings.Cut(o["apiVersion"].(string), "/")
		namespaced := strings.HasSuffix(group, "cluster.x-k8s.io")
		if got, _ := at(o, "metadata", "namespace").(string); namespaced && got != "team-a" || !namespaced && got != "" {
			t.Errorf("%s: Cluster API's objects live in the claim's namespace, the provider's in none: got %q", key, got)
		}
	}
}

func TestLongNames(t *testing.T) {
	label := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	claim := parse(t, base)
	claim["metadata"].(object)["name"] = "a-cluster-name-that-is-exactly-fifty-characters-ok"
	pool := specOf(claim)["workers"].([]any)[0].(object)
	other := maps.Clone(pool)
	pool["name"], other["name"] = "general-purpose-pool-with-a-long-name-a", "general-purpose-pool-with-a-long-name-b"
	specOf(claim)["workers"] = []any{pool, other}
	got := expand(t, claim)
	seen := map[string]bool{}
	for key, o := range got {
		name := at(o, "metadata", "name").(string)
		if len(name) > 63 || !label.MatchString(name) || len(key) > 63 || !label.MatchString(key) {
			t.Errorf("key %q and name %q must be DNS labels of at most 63 characters", key, name)
		}
		if o["kind"] == "MachineDeployment" && len(name) > 46 {
			t.Errorf("MachineDeployment %q leaves no room for the suffixes of its machines", name)
		}
		id := o["kind"].(string) + name
		if seen[id] {
			t.Errorf("two objects have the name %s", id)
		}
		seen[id] = true
	}
	cluster := at(got["cluster"], "metadata", "name").(string)
	if tag := "cluster-api-provider-packet:cluster-id:" + cluster; len(tag) > 80 {
		t.Errorf("tag %q has %d characters, the platform allows 80", tag, len(tag))
	}
	if n := len(ofKind(got, "MachineDeployment")); n != 2 {
		t.Errorf("two long names that begin alike must stay apart: got %d deployments", n)
	}
}

func TestScopeOfComposite(t *testing.T) {
	composite := parse(t, base)
	composite["kind"] = "XL2Cluster"
	out := run(t, render.Input{Composite: composite})
	if got := fatal(out.Response); !strings.Contains(got, "metadata.namespace") || len(out.Response.GetDesired().GetResources()) != 0 {
		t.Errorf("a namespaced composite cannot compose cluster-scoped objects: got %q", got)
	}
	delete(composite["metadata"].(object), "namespace")
	if got := fatal(run(t, render.Input{Composite: composite}).Response); !strings.Contains(got, "spec.namespace") {
		t.Errorf("without a claim somebody must say the namespace: got %q", got)
	}
	input := run(t, render.Input{Composite: composite, Composition: composition(object{"namespace": "from-input"})})
	if got := at(desired(t, input)["cluster"], "metadata", "namespace"); got != "from-input" {
		t.Errorf("want the input's namespace, got %v", got)
	}
	specOf(composite)["namespace"] = "from-spec"
	spec := run(t, render.Input{Composite: composite, Composition: composition(object{"namespace": "from-input"})})
	if got := at(desired(t, spec)["cluster"], "metadata", "namespace"); got != "from-spec" {
		t.Errorf("the composite's own namespace comes first: got %v", got)
	}
}

// TestNotFetchedYet: in the first round nothing was fetched. The answer is not
// fatal, asks again, and keeps everything that exists.
func TestNotFetchedYet(t *testing.T) {
	claim := parse(t, base)
	complete := expand(t, claim)
	observed := observe(complete)
	observed = append(observed,
		parse(t, `{apiVersion: metal.equinix.jet.crossplane.io/v1alpha1, kind: Port, metadata: {name: p, labels: {l2cluster.io/machine: demo-a-1, l2cluster.io/port: bond0}, annotations: {crossplane.io/composition-resource-name: machine-demo-a-1-port-bond0}}, spec: {forProvider: {portId: x}}}`),
		parse(t, `{apiVersion: http.crossplane.io/v1alpha2, kind: Request, metadata: {name: r, labels: {l2cluster.io/machine: demo-a-1}, annotations: {crossplane.io/composition-resource-name: machine-demo-a-1-custom-data}}, spec: {forProvider: {}}}`),
	)
	out := run(t, render.Input{Composite: claim, Observed: observed})
	req := proto.CloneOf(out.Request)
	req.RequiredResources = nil
	rsp, err := newFunction().RunFunction(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if f := fatal(rsp); f != "" {
		t.Fatalf("a fatal result stops Crossplane from fetching anything: %s", f)
	}
	for key := range req.GetObserved().GetResources() {
		if _, ok := rsp.GetDesired().GetResources()[key]; !ok {
			t.Errorf("%s is left out, which would delete it", key)
		}
	}
	want := []string{"composites", "kubeconfig", "machine-sets", infra.CAPIMachines, "packet-machines"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(rsp.GetRequirements().GetResources()))); diff != "" {
		t.Errorf("requirements: -want, +got:\n%s", diff)
	}
	if !proto.Equal(rsp.GetRequirements(), out.Response.GetRequirements()) {
		t.Error("requirements must be the same in every response of a run")
	}
}

func TestInvalidEdit(t *testing.T) {
	claim := parse(t, base)
	observed := observe(expand(t, claim))
	specOf(claim)["networks"].([]any)[0].(object)["gateway"] = "10.61.0.1"
	specOf(claim)["metro"] = "dallas"
	out := run(t, render.Input{Composite: claim, Observed: observed})
	got := fatal(out.Response)
	for _, want := range []string{"L2Cluster team-a/demo is invalid", "spec.metro", "dallas", "spec.networks[0].gateway", "10.61.0.1"} {
		if !strings.Contains(got, want) {
			t.Errorf("every error of a claim in one result: want %q in %q", want, got)
		}
	}
	if c := conditionOf(out.Response, "InputValid"); c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
		t.Errorf("the claim says that it is invalid: got %v", c)
	}

	out = run(t, render.Input{Composite: parse(t, base), Composition: composition(object{"network": object{"timeout": "-1m"}})})
	if got := fatal(out.Response); !strings.Contains(got, "the function's input is invalid (the platform team can mend this") || !strings.Contains(got, "input.network.timeout") {
		t.Errorf("a wrong input is the platform team's fault: got %q", got)
	}
}

// TestSameInputSameBytes: equal requests give equal responses, whatever the
// order in which maps and lists arrive.
func TestSameInputSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	claim := parse(t, base)
	observed := observe(expand(t, claim))
	var machines []object
	for i := range 6 {
		name := fmt.Sprintf("demo-a-%d", i)
		machines = append(machines,
			parse(t, fmt.Sprintf(`{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: PacketMachine, metadata: {name: %s, namespace: team-a, labels: {cluster.x-k8s.io/cluster-name: %v, l2cluster.io/pool: a}}, spec: {providerID: "equinixmetal://00000000-0000-4000-8000-00000000000%d"}}`, name, at(expand(t, claim)["cluster"], "metadata", "name"), i)))
	}
	var want []byte
	for range 100 {
		rand.Shuffle(len(observed), func(i, j int) { observed[i], observed[j] = observed[j], observed[i] })
		rand.Shuffle(len(machines), func(i, j int) { machines[i], machines[j] = machines[j], machines[i] })
		out := run(t, render.Input{Composite: claim, Observed: observed, Required: machines})
		got, err := proto.MarshalOptions{Deterministic: true}.Marshal(out.Response)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Fatal("two runs over the same world differ")
		}
	}
}

var exponent = regexp.MustCompile(`\de[+]`)

func TestNumbers(t *testing.T) {
	claim := parse(t, base)
	specOf(claim)["vrfs"] = []any{parse(t, "{name: backbone, localASN: 4200000000, ipRanges: [10.60.0.0/16]}")}
	network := specOf(claim)["networks"].([]any)[0].(object)
	network["mtu"] = 9000.0
	network["routes"] = []any{parse(t, "{destination: 10.61.0.0/16, gateway: 10.60.10.1, metric: 1000000}")}
	network["metalGateway"] = object{"vrf": "backbone"}
	out := run(t, render.Input{Composite: claim})
	objects := desired(t, out)
	if got := at(objects["vrf-backbone"], "spec", "forProvider", "localAsn"); got != int64(4200000000) {
		t.Errorf("localAsn: want the number 4200000000, got %v (%T)", got, got)
	}
	if got := at(objects["control-plane"], "spec", "replicas"); got != int64(3) {
		t.Errorf("replicas: want the number 3, got %v (%T)", got, got)
	}
	text, err := protojson.Marshal(out.Response)
	if err != nil {
		t.Fatal(err)
	}
	// protojson itself writes large numbers that way; texts must not.
	for key, r := range out.Response.GetDesired().GetResources() {
		for _, s := range textsOf(structpb.NewStructValue(r.GetResource())) {
			if exponent.MatchString(s) && !regexp.MustCompile(`^[A-Za-z0-9+/=]{64,}$`).MatchString(s) {
				t.Errorf("%s holds a number with an exponent: %s", key, s)
			}
		}
	}
	if strings.Contains(string(text), ":null") {
		t.Error("a value that is not set must be absent and not null")
	}
}

// textsOf every string in a value.
func textsOf(v *structpb.Value) []string {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return []string{k.StringValue}
	case *structpb.Value_ListValue:
		var out []string
		for _, item := range k.ListValue.GetValues() {
			out = append(out, textsOf(item)...)
		}
		return out
	case *structpb.Value_StructValue:
		var out []string
		for _, item := range k.StructValue.GetFields() {
			out = append(out, textsOf(item)...)
		}
		return out
	default:
		return nil
	}
}

// TestNothingThatOthersOwn: no field that another controller writes is sent.
func TestNothingThatOthersOwn(t *testing.T) {
	claim := parse(t, base)
	specOf(claim)["workers"].([]any)[0].(object)["autoscaling"] = parse(t, "{min: 1, max: 5}")
	delete(specOf(claim)["workers"].([]any)[0].(object), "replicas")
	objects := expand(t, claim)
	for key, o := range objects {
		for _, path := range [][]string{{"status"}, {"spec", "paused"}, {"spec", "controlPlaneEndpoint"}, {"spec", "providerID"},
			{"metadata", "resourceVersion"}, {"metadata", "uid"}, {"metadata", "creationTimestamp"}} {
			if got := at(o, path...); got != nil {
				t.Errorf("%s: %s is somebody else's, got %v", key, strings.Join(path, "."), got)
			}
		}
	}
	if got := at(objects["pool-a"], "spec", "replicas"); got != nil {
		t.Errorf("the autoscaler owns the replicas of its pool: got %v", got)
	}
}

// TestEveryErrorAtOnce: a value that cannot be decoded hides no other error.
func TestEveryErrorAtOnce(t *testing.T) {
	claim := parse(t, base)
	specOf(claim)["controlPlane"].(object)["replicas"] = 2.5
	specOf(claim)["workers"].([]any)[0].(object)["machinetypo"] = "x"
	specOf(claim)["networks"].([]any)[0].(object)["vxlan"] = 4000.0
	got := fatal(run(t, render.Input{Composite: claim}).Response)
	for _, want := range []string{"spec.controlPlane.replicas: Invalid value: 2.5", `spec.workers[0]: Invalid value: "machinetypo"`, "spec.networks[0].vxlan: Invalid value: 4000"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in %q", want, got)
		}
	}
}
