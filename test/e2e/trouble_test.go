package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/metal"
)

// Each component is killed in the middle of a scale-up, as kill -9 does, and comes
// back, as pods do; later the composite's status, which records who has which
// address, is wiped. No server changes its address.
func TestRestarts(t *testing.T) {
	long(t)
	c := small(t, "restart", 1050)
	c.apply()
	c.becomesReady(3)
	before := c.addressesNow()

	c.worker(0)["replicas"] = int64(4)
	c.apply()
	for _, name := range []string{
		"function", "crossplane", "kube-apiserver", "provider-http", "capp", "cluster-api-core", "cluster-api-bootstrap",
		"cluster-api-control-plane", "controllers", "ipam-in-cluster", "etcd",
	} {
		time.Sleep(3 * time.Second)
		here.Process(name).Kill()
	}
	here.RestartEquinix()
	c.settles(5)
	c.same(before)

	before = c.addressesNow()
	c.wipe()
	c.wait("status written again", func() error {
		if !c.recorded() {
			return stack.NotYet("there are no allocations")
		}
		return c.ready()
	})
	c.same(before)
	c.sound()
	c.ends()
}

// wipe the composite's whole status, while Crossplane and the function are away and
// cannot write it again.
func (c *claim) wipe() {
	c.t.Helper()
	x := c.composite()
	here.Process("crossplane").Kill()
	here.Process("function").Kill()
	if err := here.Client.Patch(c.t.Context(), stack.RefOf(x), map[string]any{"status": nil}, "status"); err != nil {
		c.t.Fatal(err)
	}
	if c.recorded() {
		c.t.Error("the status was not wiped")
	}
}

// recorded tells whether the composite's status has a record of addresses.
func (c *claim) recorded() bool {
	x := c.composite()
	if x == nil {
		return false
	}
	allocations, found, _ := unstructured.NestedFieldNoCopy(x.Object, "status", "allocations")
	return found && allocations != nil
}

// In the middle of a scale-up the cloud fails for a minute, then lets few
// requests through, then is slow; everything gets there without hands.
func TestOutage(t *testing.T) {
	long(t)
	c := small(t, "outage", 1060)
	c.apply()
	c.becomesReady(3)
	before := c.addressesNow()
	c.theirs()

	c.worker(0)["replicas"] = int64(4)
	c.apply()
	// A server that cannot be created is the end of its machine, as CAPP has it.
	c.wait("new servers", func() error {
		if n := len(c.devices()); n < 5 {
			return stack.NotYet("there are %d servers", n)
		}
		return nil
	})
	end := here.Cloud.Inject(metal.Fault{Status: http.StatusServiceUnavailable, For: time.Minute})
	time.Sleep(time.Minute)
	end()
	here.Cloud.LimitRate(10, 10*time.Second)
	time.Sleep(30 * time.Second)
	here.Cloud.LimitRate(0, 0)
	end = here.Cloud.Inject(metal.Fault{Delay: 2 * time.Second, For: 30 * time.Second})
	defer end()
	c.settles(5)
	t.Logf("programs that ended and were started again, since the stack was: %v", here.Restarts())
	c.same(before)
	c.untouched(before)
	c.sound()
	c.ends()
}

// theirs is what somebody else keeps in the custom data of the claim's servers.
const theirs = "theirs"

func (c *claim) theirs() {
	c.t.Helper()
	for _, d := range c.devices() {
		data := d.GetCustomdata()
		data[theirs] = "kept"
		call := here.Cloud.Client().DevicesApi.UpdateDevice(c.t.Context(), d.GetId())
		if _, _, err := call.DeviceUpdateInput(metalv1.DeviceUpdateInput{Customdata: data}).Execute(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// untouched fails the test if custom data ever had anything but addresses and what
// somebody else wrote, or if that is missing on the servers that had it.
func (c *claim) untouched(before map[string]string) {
	c.t.Helper()
	cluster := c.cluster()
	for _, ch := range here.Cloud.Changes(c.from) {
		if ch.Kind != metal.CustomData || !strings.HasPrefix(ch.Hostname, cluster+"-") || ch.After == "" {
			continue
		}
		var data map[string]any
		if err := json.Unmarshal([]byte(ch.After), &data); err != nil {
			c.t.Errorf("custom data of %q are %s: %v", ch.Hostname, ch.After, err)
		}
		delete(data, theirs)
		delete(data, ours)
		if len(data) > 0 {
			c.t.Errorf("custom data of %q were %s", ch.Hostname, ch.After)
		}
	}
	for _, d := range c.devices() {
		data := d.GetCustomdata()
		if _, had := before[d.GetHostname()]; had && data[theirs] != "kept" {
			c.t.Errorf("somebody else's custom data of %q are gone: %v", d.GetHostname(), data)
		}
	}
}
