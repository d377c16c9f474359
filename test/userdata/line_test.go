package userdata

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/function"
	"github.com/l2cluster/function-l2cluster/fn/render"
)

const claim = `
apiVersion: l2cluster.io/v1alpha1
kind: L2Cluster
metadata: {name: edge, namespace: team-a}
spec:
  kubernetesVersion: v1.34.2
  projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11
  metro: da
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGf3DpnUZ6HjGJLJgcTJFFUY ops]
  networks:
  - {name: storage, vxlan: 1000, ipAddresses: [10.60.10.0/24], assignmentRanges: [10.60.10.2-10.60.10.40], gateway: 10.60.10.1}
  controlPlane:
    replicas: 3
    machineType: c3.small.x86
    os: ubuntu_22_04
    ports: [{name: bond0, networks: [{name: storage}]}]
  workers:
  - name: general
    replicas: 2
    machineType: c3.small.x86
    os: ubuntu_22_04
    ports: [{name: bond0, networks: [{name: storage}]}]
`

const input = `
apiVersion: l2cluster.fn.crossplane.io/v1beta1
kind: Input
`

// The values that the infrastructure provider fills in.
const (
	endpoint = "203.0.113.10"
	apiKey   = "s3cr3t-t0k3n"
	instance = "7d0c9d4e-0000-4000-8000-000000000001"
	hostname = "edge-control-plane-abcde"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// merge puts the fields of change into those of base; lists are replaced.
func merge(base, change map[string]any) map[string]any {
	out := maps.Clone(base)
	for name, value := range change {
		inner, isMap := value.(map[string]any)
		before, wasMap := out[name].(map[string]any)
		if isMap && wasMap {
			out[name] = merge(before, inner)
			continue
		}
		out[name] = value
	}
	return out
}

// expand runs the whole function over the claim with changes, and the input with
// changes.
func expand(t *testing.T, claimChange, inputChange map[string]any) Cluster {
	t.Helper()
	out, err := render.Run(t.Context(), function.New(logging.NewNopLogger(), func() time.Time { return time.Unix(1700000000, 0) }), render.Input{
		Composite: merge(parse(t, claim), claimChange),
		Composition: map[string]any{"spec": map[string]any{"pipeline": []any{map[string]any{
			"step": "cluster", "input": merge(parse(t, input), inputChange),
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Fatal() {
		t.Fatalf("the function refuses the claim: %v", out.Response.GetResults())
	}
	c := Cluster{Endpoint: endpoint, APIKey: apiKey}
	resources := out.Response.GetDesired().GetResources()
	for _, key := range slices.Sorted(maps.Keys(resources)) {
		c.Objects = append(c.Objects, resources[key].GetResource().AsMap())
	}
	return c
}

// servers are the user data of a cluster's servers as they get it, by role.
func servers(t *testing.T, c Cluster) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for role, assemble := range map[string]func() ([]byte, error){
		"first": c.Init, "joining": c.Join, "worker": func() ([]byte, error) { return c.Worker("general") },
	} {
		data, err := assemble()
		if err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		out[role] = data
	}
	return out
}
