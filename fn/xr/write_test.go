package xr_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

func asInvalid(err error, into **xr.InvalidError) bool { return errors.As(err, into) }

const observedVlan = `
apiVersion: metal.equinix.jet.crossplane.io/v1alpha1
kind: Vlan
metadata:
  name: edge-vlan-1000
  uid: abc
  resourceVersion: "17"
  labels: {crossplane.io/composite: edge-abcde}
  annotations: {crossplane.io/external-name: some-uuid, crossplane.io/composition-resource-name: vlan-1000, other: "1"}
spec: {forProvider: {vxlan: 1000}}
status: {atProvider: {id: some-uuid}}
`

func TestWrite(t *testing.T) {
	req := &fnv1.RunFunctionRequest{
		Meta: &fnv1.RequestMeta{Tag: "tag"},
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: structOf(t, composite)},
			Resources: map[string]*fnv1.Resource{"vlan-1000": {Resource: structOf(t, observedVlan)}},
		},
		Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"other": {Resource: structOf(t, "kind: Other")}}},
	}
	s, err := xr.Read(req, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	rsp := xr.Respond(req, time.Minute)
	err = xr.Write(rsp, s, xr.Outcome{
		Objects:    []object.Object{{Key: "cluster", Body: map[string]any{"kind": "Cluster", "count": int64(3)}, Ready: object.IsReady}},
		Kept:       []string{"vlan-1000"},
		Status:     map[string]any{"phase": "Ready"},
		Conditions: []xr.Condition{{Type: xr.ConditionInputValid, Status: xr.True, Reason: "Valid"}},
		Connection: map[string][]byte{"kubeconfig": []byte("x")},
		TTL:        15 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*fnv1.Resource{
		"other":   {Resource: structOf(t, "kind: Other")},
		"cluster": {Resource: structOf(t, "{kind: Cluster, count: 3}"), Ready: fnv1.Ready_READY_TRUE},
		"vlan-1000": {Ready: fnv1.Ready_READY_TRUE, Resource: structOf(t, `
apiVersion: metal.equinix.jet.crossplane.io/v1alpha1
kind: Vlan
metadata:
  name: edge-vlan-1000
  labels: {crossplane.io/composite: edge-abcde}
  annotations: {crossplane.io/external-name: some-uuid}
spec: {forProvider: {vxlan: 1000}}
`)},
	}
	if diff := cmp.Diff(want, rsp.GetDesired().GetResources(), protocmp.Transform()); diff != "" {
		t.Errorf("other functions' objects pass, and what is kept has only what we may own: -want, +got:\n%s", diff)
	}
	composed := &fnv1.Resource{
		Resource: structOf(t, "status: {phase: Ready}"), Ready: fnv1.Ready_READY_TRUE,
		ConnectionDetails: map[string][]byte{"kubeconfig": []byte("x")},
	}
	if diff := cmp.Diff(composed, rsp.GetDesired().GetComposite(), protocmp.Transform()); diff != "" {
		t.Errorf("composite: -want, +got:\n%s", diff)
	}
	if rsp.GetMeta().GetTtl().AsDuration() != 15*time.Second || rsp.GetMeta().GetTag() != "tag" {
		t.Errorf("want TTL 15s and the request's tag, got %v", rsp.GetMeta())
	}
}

func TestResultsTellOnlyWhatChanged(t *testing.T) {
	conditions := []xr.Condition{
		{Type: xr.ConditionInputValid, Status: xr.True, Reason: "ValidWithWarnings", Message: "tags are not passed on"},
		{Type: xr.ConditionNodesVerified, Status: xr.False, Reason: "Failed", Message: "machine a: no carrier"},
	}
	cases := map[string]struct {
		reason string
		before map[string]xr.Condition
		want   []string
	}{
		"First": {
			reason: "a warning is told when it is new; conditions that were unknown did not change",
			want:   []string{"tags are not passed on"},
		},
		"Same": {
			reason: "nothing changed",
			before: map[string]xr.Condition{
				xr.ConditionInputValid:    {Status: xr.True, Message: "tags are not passed on"},
				xr.ConditionNodesVerified: {Status: xr.False},
			},
		},
		"Lost": {
			reason: "a condition that was true and is not any more is an event",
			before: map[string]xr.Condition{
				xr.ConditionInputValid:    {Status: xr.True, Message: "tags are not passed on"},
				xr.ConditionNodesVerified: {Status: xr.True},
			},
			want: []string{"NodesVerified is now False: machine a: no carrier"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := xr.Respond(&fnv1.RunFunctionRequest{}, time.Minute)
			o := xr.Outcome{Conditions: conditions, Warnings: []string{"tags are not passed on"}}
			if err := xr.Write(rsp, xr.Snapshot{Conditions: tc.before}, o); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range rsp.GetResults() {
				got = append(got, r.GetMessage())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE {
				t.Error("a composite with a condition that is not true is not ready")
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	rsp := xr.Respond(&fnv1.RunFunctionRequest{}, time.Minute)
	typed := xr.Outcome{Objects: []object.Object{{Key: "a", Body: map[string]any{"list": []string{"x"}}}}}
	if err := xr.Write(rsp, xr.Snapshot{}, typed); err == nil {
		t.Error("a typed list cannot be put into a message, and leaving it out would delete something")
	}
	if err := xr.Write(rsp, xr.Snapshot{}, xr.Outcome{Kept: []string{"gone"}}); err == nil {
		t.Error("what was not observed cannot be kept")
	}
}

func TestFail(t *testing.T) {
	cases := map[string]struct {
		err            error
		status, reason string
	}{
		"User":         {&xr.InvalidError{Fault: xr.User, What: "L2Cluster a/b"}, xr.False, "Invalid"},
		"PlatformTeam": {&xr.InvalidError{Fault: xr.PlatformTeam, What: "input"}, xr.False, "InvalidComposition"},
		"Refused":      {errors.Join(&spec.RefusedError{Field: "spec.metro", Value: "ny", Why: "servers are where they are"}), xr.False, "Invalid"},
		"Other":        {errors.New("boom"), xr.Unknown, "Error"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := xr.Respond(&fnv1.RunFunctionRequest{}, time.Minute)
			xr.Fail(rsp, tc.err)
			if got := rsp.GetResults()[0]; got.GetSeverity() != fnv1.Severity_SEVERITY_FATAL || got.GetMessage() != tc.err.Error() {
				t.Errorf("want a fatal result %q, got %v", tc.err, got)
			}
			if got := rsp.GetConditions()[0]; got.GetReason() != tc.reason || got.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
				t.Errorf("want reason %q on composite and claim, got %v", tc.reason, got)
			}
		})
	}
}

// TestLargeResponse: who grows into the limits of messages is told before.
func TestLargeResponse(t *testing.T) {
	cases := map[string]struct {
		bytes  int
		reason string
	}{"Small": {3<<20 - 1<<10, "Valid"}, "Large": {3<<20 + 1, "ValidWithWarnings"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := xr.Respond(&fnv1.RunFunctionRequest{}, time.Minute)
			err := xr.Write(rsp, xr.Snapshot{}, xr.Outcome{
				Objects:    []object.Object{{Key: "large", Body: map[string]any{"text": strings.Repeat("x", tc.bytes)}}},
				Conditions: []xr.Condition{{Type: xr.ConditionInputValid, Status: xr.True, Reason: "Valid"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := rsp.GetConditions()[0]
			if got.GetReason() != tc.reason || (len(rsp.GetResults()) > 0) != (tc.reason != "Valid") {
				t.Errorf("got %v and results %v, want reason %s", got, rsp.GetResults(), tc.reason)
			}
			if tc.reason != "Valid" && !strings.Contains(got.GetMessage(), "the response has 3 MiB") {
				t.Errorf("got message %q", got.GetMessage())
			}
		})
	}
}
