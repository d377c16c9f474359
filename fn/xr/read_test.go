package xr_test

import (
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// structOf YAML.
func structOf(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const composite = `
metadata: {name: edge-abcde, uid: 1234, creationTimestamp: "2026-01-02T03:04:05Z"}
spec:
  claimRef: {apiVersion: l2cluster.io/v1alpha1, kind: L2Cluster, namespace: team-a, name: edge}
  compositionRef: {name: x}
  resourceRefs: []
  kubernetesVersion: v1.34.2
  projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11
  metro: da
  vrfs: [{name: backbone, localASN: 4200000000}]
  networks: [{name: storage, vxlan: 1e3, mtu: 9000, routes: [{destination: 10.0.0.0/16, gateway: 10.1.0.1, metric: 1000000}]}]
  controlPlane: {replicas: 3, machineType: c3.small.x86, os: ubuntu_22_04}
`

func read(t *testing.T, composite, input string) xr.Snapshot {
	t.Helper()
	req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: structOf(t, composite)}}}
	if input != "" {
		req.Input = structOf(t, input)
	}
	s, err := xr.Read(req, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadNumbers(t *testing.T) {
	s := read(t, composite, "")
	claim, errs := s.Claim()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := []int64{claim.VRFs[0].LocalASN, int64(claim.Networks[0].VXLAN), int64(claim.Networks[0].MTU), claim.Networks[0].Routes[0].Metric, int64(claim.ControlPlane.Replicas)}
	if diff := cmp.Diff([]int64{4200000000, 1000, 9000, 1000000, 3}, got); diff != "" {
		t.Errorf("whole numbers arrive as floats and must stay whole: -want, +got:\n%s", diff)
	}
	want := xr.Identity{
		Name: "edge-abcde", UID: "1234", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		ClaimNamespace: "team-a", ClaimName: "edge",
	}
	s.Identity.UID = "1234"
	if diff := cmp.Diff(want, s.Identity); diff != "" {
		t.Errorf("identity: -want, +got:\n%s", diff)
	}
}

func TestReadErrors(t *testing.T) {
	cases := map[string]struct {
		reason    string
		composite string
		input     string
		fault     xr.Fault
		want      []string
	}{
		"Fraction": {
			reason:    "half a server is an error and not two or three",
			composite: strings.Replace(composite, "replicas: 3", "replicas: 2.5", 1),
			fault:     xr.User,
			want:      []string{"L2Cluster team-a/edge is invalid", "spec.controlPlane.replicas", "2.5", "whole number"},
		},
		"UnknownField": {
			reason:    "a field that nobody reads is a typo",
			composite: strings.Replace(composite, "machineType:", "machinetypo:", 1),
			fault:     xr.User,
			want:      []string{"L2Cluster team-a/edge is invalid", `spec.controlPlane: Invalid value: "machinetypo"`},
		},
		"UnknownInputField": {
			reason:    "the platform team's typos are the platform team's",
			composite: composite,
			input:     "providerConfigg: x",
			fault:     xr.PlatformTeam,
			want:      []string{"the function's input is invalid (the platform team can mend this in the Composition)", `input: Invalid value: "providerConfigg"`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := read(t, tc.composite, tc.input)
			_, errs := s.Input()
			err := s.InputError(errs, nil)
			if err == nil {
				_, errs = s.Claim()
				err = s.ClaimError(errs, nil)
			}
			var invalid *xr.InvalidError
			if !asInvalid(err, &invalid) || invalid.Fault != tc.fault {
				t.Fatalf("%s: want an InvalidError with fault %d, got %v", tc.reason, tc.fault, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: want %q in %q", tc.reason, want, err)
				}
			}
		})
	}
}

func TestReadKnowsWhatWasFetched(t *testing.T) {
	req := &fnv1.RunFunctionRequest{
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: structOf(t, composite)}},
		RequiredResources: map[string]*fnv1.Resources{
			"none": {},
			"some": {Items: []*fnv1.Resource{
				{Resource: structOf(t, "metadata: {name: b}")}, {Resource: structOf(t, "metadata: {name: a}")},
			}},
		},
	}
	s, err := xr.Read(req, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if s.Required["other"].Fetched || !s.Required["none"].Fetched || len(s.Required["none"].Items) != 0 {
		t.Error("not fetched, and fetched and empty, are different things")
	}
	if got := s.Required["some"].Items[0].String("metadata", "name"); got != "a" {
		t.Errorf("fetched objects arrive in changing order and must be sorted: first is %q", got)
	}
}

// TestWish: what Crossplane itself writes into a composite's spec is no part of
// what the claim wants.
func TestWish(t *testing.T) {
	same := strings.Replace(composite, "resourceRefs: []", "resourceRefs: [{name: a}]", 1)
	if read(t, composite, "").Wish != read(t, same, "").Wish {
		t.Error("Crossplane's own fields change nothing in what is wanted")
	}
	for name, other := range map[string]xr.Snapshot{
		"another spec":  read(t, strings.Replace(composite, "replicas: 3", "replicas: 5", 1), ""),
		"another claim": read(t, strings.Replace(composite, "name: edge}", "name: core}", 1), ""),
		"another input": read(t, composite, "namespace: x"),
	} {
		if other.Wish == read(t, composite, "").Wish {
			t.Errorf("%s is another wish", name)
		}
	}
}
