package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
)

// Workers come and go, one is replaced by hand, and at no moment do two servers
// have the same address.
func TestScale(t *testing.T) {
	beside(t)
	c := small(t, "scale", 1010)
	// As many as machines and the surge of both pools: in the end it has to take some
	// again.
	c.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.9"}
	c.network(0)["exclude"] = []any{}
	c.apply()
	c.becomesReady(3)

	c.worker(0)["replicas"] = int64(5)
	c.apply()
	c.settles(6)

	c.worker(0)["replicas"] = int64(1)
	c.apply()
	c.settles(2)

	for _, m := range c.workerMachines() {
		if err := here.Client.Delete(t.Context(), stack.RefOf(&m)); err != nil {
			t.Fatal(err)
		}
		c.wait("replaced "+m.GetName(), func() error {
			for _, d := range c.devices() {
				if d.GetHostname() == m.GetName() {
					return stack.NotYet("its server is there")
				}
			}
			return c.complete(2)
		})
	}
	c.settles(2)

	c.worker(0)["replicas"] = int64(4)
	c.apply()
	c.settles(5)
	c.sound()
	if len(c.successions()) == 0 {
		t.Error("no address was taken again, so that nothing is known of their rest")
	}
	c.ends()
}

// A new machine type and at once another MTU: every machine is replaced by one
// that has both, and the templates that nothing uses any more are gone.
func TestRoll(t *testing.T) {
	beside(t)
	c := small(t, "roll", 1020)
	c.controlPlane()["replicas"] = int64(3)
	c.apply()
	c.becomesReady(5)

	before := append(c.hosts("general"), c.hosts("control-plane")...)
	c.worker(0)["machineType"] = "c3.medium.x86"
	c.apply()
	time.Sleep(3 * time.Second)
	c.network(0)["mtu"] = int64(9000)
	c.apply()
	c.rolled(5, before)
	for _, d := range c.devices() {
		p := d.GetPlan()
		if strings.Contains(d.GetHostname(), "-general-") && p.GetSlug() != "c3.medium.x86" {
			t.Errorf("server %q is a %s", d.GetHostname(), p.GetSlug())
		}
	}
	c.oneTemplateEach("general")
	c.sound()
	c.successions()
	c.ends()
}

// An edit that cannot be changes nothing, says why on the claim, and is
// forgotten when it is taken back.
func TestInvalidEdit(t *testing.T) {
	beside(t)
	c := small(t, "invalid", 1070)
	c.apply()
	c.becomesReady(3)
	before, from := c.addressesNow(), len(here.Cloud.Changes(0))
	good := c.network(0)["assignmentRanges"]

	// The API server accepts it, since only code can see that it is outside.
	c.network(0)["assignmentRanges"] = []any{"10.99.0.1-10.99.0.9"}
	c.apply()
	c.refuses("must lie inside")
	time.Sleep(20 * time.Second)
	c.unchanged(from)
	c.network(0)["assignmentRanges"] = good
	c.apply()
	c.settles(3)
	c.same(before)
	c.unchanged(from)
	c.ends()
}

// refuses waits until the claim says that its last edit cannot be, and why.
func (c *claim) refuses(text string) {
	c.t.Helper()
	c.wait("refused", func() error {
		status, why := stack.ConditionOf(c.get(), "InputValid")
		if status != "False" || !strings.Contains(why, text) {
			return stack.NotYet("InputValid is %q: %s", status, why)
		}
		c.t.Logf("the claim says: %s", why)
		return nil
	})
}

// Somebody deletes a machine's Request, which keeps its custom data: it comes
// back, and the server never loses its addresses.
func TestRequestDeleted(t *testing.T) {
	beside(t)
	c := small(t, "request", 1090)
	c.apply()
	c.becomesReady(3)
	before := c.addressesNow()
	from := len(here.Cloud.Changes(0))

	requests := c.composed("http.crossplane.io/v1alpha2", "Request")
	if len(requests) != 3 {
		t.Fatalf("there are %d requests for 3 servers", len(requests))
	}
	for i := range requests {
		if err := here.Client.Delete(t.Context(), stack.RefOf(&requests[i])); err != nil {
			t.Fatal(err)
		}
	}
	c.wait("requests made again", func() error {
		again := c.composed("http.crossplane.io/v1alpha2", "Request")
		if len(again) != 3 {
			return stack.NotYet("there are %d requests", len(again))
		}
		for _, r := range again {
			for _, was := range requests {
				if r.GetUID() == was.GetUID() {
					return stack.NotYet("request %q is still the old one", r.GetName())
				}
			}
			if status, why := stack.ConditionOf(&r, "Ready"); status != "True" {
				return stack.NotYet("request %q is not ready: %s", r.GetName(), why)
			}
		}
		return c.ready()
	})
	c.same(before)
	c.unchanged(from)
	c.delete()
}

// composed are the objects of a kind that the claim's composite composed.
func (c *claim) composed(version, kind string) []stack.Object {
	c.t.Helper()
	x := c.composite()
	if x == nil {
		return nil
	}
	all, err := here.Client.List(c.t.Context(), stack.Ref{APIVersion: version, Kind: kind})
	if err != nil {
		c.t.Logf("cannot list %s: %v", kind, err)
	}
	var out []stack.Object
	for _, o := range all {
		if o.GetLabels()["crossplane.io/composite"] == x.GetName() {
			out = append(out, o)
		}
	}
	return out
}
