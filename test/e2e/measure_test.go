package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/metal"
)

// meter counts what the cloud is asked for, and looks at the memory of programs.
type meter struct {
	begin    time.Time
	requests map[string]int
	changes  int
}

func startMeter() meter {
	return meter{begin: time.Now(), requests: asked(), changes: len(here.Cloud.Changes(0))}
}

// asked is how often the API was asked for what; the servers' own metadata
// service is not the API.
func asked() map[string]int {
	out := map[string]int{}
	for r, n := range here.Cloud.Requests() {
		if !strings.HasPrefix(r.Path, "/nodes/") {
			out[r.Method+" "+r.Path] += n
		}
	}
	return out
}

// tell what happened since the meter was started.
func (m meter) tell(t *testing.T, what string) {
	t.Helper()
	took := time.Since(m.begin)
	requests := 0
	var kinds []string
	for kind, n := range asked() {
		if n -= m.requests[kind]; n > 0 {
			requests += n
			kinds = append(kinds, fmt.Sprintf("%6d %s", n, kind))
		}
	}
	slices.Sort(kinds)
	slices.Reverse(kinds)
	t.Logf("%s: asked for: %s", what, strings.Join(kinds[:min(len(kinds), 6)], ", "))
	t.Logf("%s: %s, %d requests to the cloud, %.1f a second", what, took.Round(time.Second), requests, float64(requests)/took.Seconds())
	for _, name := range []string{"function", "crossplane", "kube-apiserver", "etcd", "capp", "provider-http", "cluster-api-core", "cluster-api-bootstrap", "cluster-api-control-plane"} {
		now, most, err := here.Process(name).Memory()
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s: memory of %s: %d MiB now, %d MiB at most", what, name, now>>20, most>>20)
	}
}

// attached is how long after the meter's start that many servers had all the
// VLANs that their ports ever got, and when the first and the last server became
// active.
func (m meter) attached(t *testing.T, cluster string) {
	t.Helper()
	var active, vlans []time.Duration
	for _, ch := range here.Cloud.Changes(m.changes) {
		switch {
		case ch.Kind == metal.DeviceState && ch.After == "active":
			active = append(active, ch.At.Sub(m.begin))
		case ch.Kind == metal.PortVLAN && ch.After != "":
			vlans = append(vlans, ch.At.Sub(m.begin))
		}
	}
	if len(active) == 0 || len(vlans) == 0 {
		t.Errorf("%s has %d active servers and %d VLANs on ports", cluster, len(active), len(vlans))
		return
	}
	round := func(d time.Duration) time.Duration { return d.Round(time.Second) }
	t.Logf("%s: servers active from %s to %s, VLANs attached from %s to %s after the claim",
		cluster, round(slices.Min(active)), round(slices.Max(active)), round(slices.Min(vlans)), round(slices.Max(vlans)))
}

// One cluster of a hundred servers, from nothing to ready and to nothing again.
func TestMeasureHundredMachines(t *testing.T) {
	long(t)
	c := alone(t, "", "hundred", 1300)
	c.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.200"}
	c.limit = 40 * time.Minute
	c.controlPlane()["replicas"] = int64(3)
	c.worker(0)["replicas"] = int64(97)
	m := startMeter()
	c.apply()
	c.becomesReady(100)
	m.attached(t, "hundred")
	m.tell(t, "a hundred servers ready")
	c.sound()

	m = startMeter()
	time.Sleep(2 * time.Minute)
	m.tell(t, "a hundred servers at rest")
	if err := c.upToDate(100); err != nil {
		t.Error(err)
	}
	c.accepted(false)
	m = startMeter()
	c.delete()
	m.tell(t, "a hundred servers gone")
	c.accepted(true)
}

// Twenty clusters at once, each on a VLAN of its own.
func TestMeasureTwentyClusters(t *testing.T) {
	long(t)
	const many = 20
	var claims []*claim
	for i := range many {
		c := alone(t, "", fmt.Sprintf("many-%02d", i), int64(1400+i))
		c.limit = 40 * time.Minute
		c.worker(0)["replicas"] = int64(1)
		claims = append(claims, c)
	}
	m := startMeter()
	for _, c := range claims {
		c.apply()
	}
	var took []time.Duration
	waiting := slices.Clone(claims)
	claims[0].wait("twenty clusters ready", func() error {
		waiting = slices.DeleteFunc(waiting, func(c *claim) bool {
			if c.ready() != nil || c.complete(2) != nil {
				return false
			}
			took = append(took, time.Since(m.begin))
			return true
		})
		if len(waiting) > 0 {
			return stack.NotYet("%d clusters are not ready, among them %s: %v", len(waiting), waiting[0].body.GetName(), waiting[0].ready())
		}
		return nil
	})
	t.Logf("twenty clusters ready: the first after %s, the tenth after %s, the last after %s",
		took[0].Round(time.Second), took[many/2-1].Round(time.Second), took[many-1].Round(time.Second))
	m.attached(t, "twenty clusters")
	m.tell(t, "twenty clusters ready")
	claims[0].sound()

	m = startMeter()
	time.Sleep(2 * time.Minute)
	m.tell(t, "twenty clusters at rest")
	m = startMeter()
	for _, c := range claims {
		c.accepted(false)
		c.cluster()
		c.honest()
		if err := here.Client.Delete(t.Context(), c.ref()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range claims {
		c.wait(c.body.GetName()+" gone", func() error { return c.gone(c.called, nil) })
		c.accepted(true)
	}
	m.tell(t, "twenty clusters gone")
	if left := here.Cloud.Snapshot(); len(left.Devices) > 0 {
		t.Errorf("left in the cloud: %d servers", len(left.Devices))
	}
}
