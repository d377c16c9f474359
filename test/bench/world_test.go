package main

import (
	"context"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
)

// TestSettle checks that what is measured is a cluster at work: every machine
// has its addresses delivered and its port attached, and nothing is waited for.
func TestSettle(t *testing.T) {
	s := size{controlPlane: 3, workers: 2, networks: 4}
	c, err := settle(t.Context(), served(), s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range c.request.GetObserved().GetResources() {
		got[r.GetResource().GetFields()["kind"].GetStringValue()]++
	}
	for kind, want := range map[string]int{"Request": s.controlPlane + s.workers, "Port": s.controlPlane + s.workers, "Vlan": s.networks, "Cluster": 1} {
		if got[kind] != want {
			t.Errorf("%d observed objects of kind %s, want %d", got[kind], kind, want)
		}
	}
	for _, cond := range c.response.GetConditions() {
		if cond.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			t.Errorf("condition %s: %s", cond.GetType(), cond.GetMessage())
		}
	}
	if c.response.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_TRUE {
		t.Error("the composite is not ready")
	}
}

// TestMeasure checks that the floor answers what the function answered.
func TestMeasure(t *testing.T) {
	c, err := settle(t.Context(), served(), size{controlPlane: 1, workers: 0, networks: 1})
	if err != nil {
		t.Fatal(err)
	}
	rsp, err := floor{response: c.response}.RunFunction(context.Background(), c.request)
	if err != nil || !proto.Equal(rsp, c.response) {
		t.Errorf("floor: another response than the recorded one, error %v", err)
	}
	m, err := measure(t.Context(), served(), c)
	if err != nil {
		t.Fatal(err)
	}
	if m.ratio() <= 0 || m.requestBytes == 0 || m.responseBytes == 0 || m.function.mallocs == 0 {
		t.Errorf("measurement has holes: %+v", m)
	}
}
