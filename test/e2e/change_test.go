package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/e2e/world"
	"github.com/l2cluster/function-l2cluster/test/metal"
)

// long skips a scenario unless all of them are asked for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("L2CLUSTER_E2E") != "all" {
		t.Skip("runs with L2CLUSTER_E2E=all, as make test-e2e does")
	}
}

// small is the smallest cluster with workers: one control plane server and two
// workers on one VLAN of its own.
func small(t *testing.T, name string, vxlan int64) *claim {
	t.Helper()
	c := example(t, "", name, vxlan)
	c.controlPlane()["replicas"] = int64(1)
	return c
}

// sound fails the test if addresses were shared since the claim was made.
func (c *claim) sound() {
	c.t.Helper()
	if shared := sharedAddresses(here.Cloud.Changes(c.from)); len(shared) > 0 {
		c.t.Errorf("shared addresses: %v", shared)
	}
}

// machines of the claim's cluster.
func (c *claim) machines() []stack.Object {
	c.t.Helper()
	all, err := here.Client.List(c.t.Context(), stack.Ref{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: c.body.GetNamespace()})
	if err != nil {
		c.t.Fatal(err)
	}
	cluster := c.cluster()
	return slices.DeleteFunc(all, func(o stack.Object) bool { return o.GetLabels()["cluster.x-k8s.io/cluster-name"] != cluster })
}

// Workers come and go, one is replaced by hand, and at no moment do two servers
// have the same address.
func TestScale(t *testing.T) {
	long(t)
	c := small(t, "scale", 1010)
	c.apply()
	c.becomesReady(6*time.Minute, 3)

	c.worker(0)["replicas"] = int64(5)
	c.apply()
	c.settles(6*time.Minute, 6)

	c.worker(0)["replicas"] = int64(1)
	c.apply()
	c.settles(6*time.Minute, 2)

	for _, m := range c.machines() {
		if _, control := m.GetLabels()["cluster.x-k8s.io/control-plane"]; control {
			continue
		}
		if err := here.Client.Delete(t.Context(), stack.RefOf(&m)); err != nil {
			t.Fatal(err)
		}
		c.wait(6*time.Minute, "replaced "+m.GetName(), func() error {
			for _, d := range c.devices() {
				if d.GetHostname() == m.GetName() {
					return stack.NotYet("its server is there")
				}
			}
			return c.complete(2)
		})
	}
	c.settles(time.Minute, 2)
	c.sound()
	c.cooledDown()
	c.delete(6 * time.Minute)
}

// cooledDown fails the test if an address went to another server before it had
// cooled down. The time counts from when the machine was gone, and that is
// before its server is: how long it may take to go is taken off.
func (c *claim) cooledDown() {
	c.t.Helper()
	least := world.Quick().CoolDown - world.Quick().Schedule.Deprovisioning - 2*time.Second
	type holder struct {
		device string
		end    time.Time
	}
	last := map[string]holder{}
	for _, s := range addressSpans(here.Cloud.Changes(c.from)) {
		if was := last[s.Value]; was.device != "" && was.device != s.Device && s.From.Sub(was.end) < least {
			c.t.Errorf("%s went from one server to another after %s", s.Value, s.From.Sub(was.end))
		}
		last[s.Value] = holder{device: s.Device, end: s.To}
	}
}

// A new machine type and at once another MTU: every worker is replaced by one
// that has both, and the templates that nothing uses any more are gone.
func TestRoll(t *testing.T) {
	long(t)
	c := small(t, "roll", 1020)
	c.apply()
	c.becomesReady(6*time.Minute, 3)

	c.worker(0)["machineType"] = "c3.medium.x86"
	c.apply()
	time.Sleep(3 * time.Second)
	c.network(0)["mtu"] = int64(9000)
	c.apply()
	c.wait(12*time.Minute, "rolled", func() error {
		if err := c.ready(); err != nil {
			return err
		}
		if err := c.complete(3); err != nil {
			return err
		}
		return c.rolled("c3.medium.x86")
	})
	c.sound()
	c.wait(3*time.Minute, "old templates gone", func() error {
		cluster := c.cluster()
		for kind, version := range map[string]string{
			"PacketMachineTemplate": "infrastructure.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate": "bootstrap.cluster.x-k8s.io/v1beta2",
		} {
			all, err := here.Client.List(t.Context(), stack.Ref{APIVersion: version, Kind: kind, Namespace: "team-a"})
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(o stack.Object) bool { return !strings.HasPrefix(o.GetName(), cluster+"-general-") })
			if len(all) != 1 {
				return stack.NotYet("there are %d of %s", len(all), kind)
			}
		}
		return nil
	})
	c.delete(6 * time.Minute)
}

// rolled tells whether all workers are of a type, and all machines up to date.
func (c *claim) rolled(plan string) error {
	cluster := c.cluster()
	for _, d := range c.devices() {
		p := d.GetPlan()
		if strings.HasPrefix(d.GetHostname(), cluster+"-general-") && p.GetSlug() != plan {
			return stack.NotYet("server %q is a %s", d.GetHostname(), p.GetSlug())
		}
	}
	for _, m := range c.machines() {
		if status, why := stack.ConditionOf(&m, "UpToDate"); status != "True" {
			return stack.NotYet("machine %q is not up to date: %s", m.GetName(), why)
		}
	}
	return nil
}

// Networks come to a port and leave it, in an order that the cloud accepts: it
// refuses nothing but the deletion of a VLAN that servers still have.
func TestNetworks(t *testing.T) {
	long(t)
	here.Cloud.ResetRequests()
	c := small(t, "nets", 1030)
	c.apply()
	c.becomesReady(6*time.Minute, 3)

	networks, _, _ := unstructured.NestedSlice(c.body.Object, "spec", "networks")
	backup := map[string]any{"name": "backup", "vxlan": int64(1031), "ipAddresses": []any{"10.61.0.0/24"}}
	c.set(append(networks, backup), "spec", "networks")
	c.port("backup")
	c.apply()
	c.settles(10*time.Minute, 3)

	c.set([]any{backup}, "spec", "networks")
	delete(c.controlPlane(), "ports")
	c.worker(0)["ports"] = []any{map[string]any{"name": "bond0", "networks": []any{map[string]any{"name": "backup"}}}}
	c.apply()
	c.settles(12*time.Minute, 3)
	c.wait(3*time.Minute, "VLAN gone", func() error {
		for _, v := range here.Cloud.Snapshot().VLANs {
			if v.GetVxlan() == 1030 {
				return stack.NotYet("VLAN 1030 is there")
			}
		}
		return nil
	})
	c.sound()
	c.delete(6 * time.Minute)
	if got := refusals("DELETE /virtual-networks/{id}"); len(got) > 0 {
		t.Errorf("the cloud refused: %v", got)
	}
}

// port of the first workers gets one more network.
func (c *claim) port(network string) {
	ports, _ := c.worker(0)["ports"].([]any)
	p, _ := ports[0].(map[string]any)
	list, _ := p["networks"].([]any)
	p["networks"] = append(list, map[string]any{"name": network})
}

// Two claims made at the same moment choose from the same range on a VLAN that
// belongs to neither.
func TestTwoClaims(t *testing.T) {
	long(t)
	id := vlan(t, 1040)
	var claims []*claim
	for _, name := range []string{"first", "second"} {
		c := small(t, name, 1040)
		c.network(0)["vlanID"] = id
		claims = append(claims, c)
	}
	for _, c := range claims {
		c.apply()
	}
	for _, c := range claims {
		c.becomesReady(8*time.Minute, 3)
	}
	claims[0].sound()
	for _, c := range claims {
		c.delete(6 * time.Minute)
	}
	if !exists(1040) {
		t.Error("a VLAN that was only lent is gone")
	}
}

// vlan makes a VLAN in the cloud as a user does, and returns its UUID.
func vlan(t *testing.T, vxlan int32) string {
	t.Helper()
	input := here.Cloud.Client().VLANsApi.CreateVirtualNetwork(t.Context(), stack.Project)
	made, _, err := input.VirtualNetworkCreateInput(vlanInput(vxlan)).Execute()
	if err != nil {
		t.Fatal(err)
	}
	return made.GetId()
}

func exists(vxlan int32) bool {
	for _, v := range here.Cloud.Snapshot().VLANs {
		if v.GetVxlan() == vxlan {
			return true
		}
	}
	return false
}

// Workers without a Layer 3 network: their ports are converted only when their
// nodes have reported that the network is up.
func TestLayer2(t *testing.T) {
	long(t)
	here.Cloud.ResetRequests()
	c := example(t, "layer2", "private", 0)
	c.controlPlane()["replicas"] = int64(1)
	c.apply()
	c.becomesReady(8*time.Minute, 4)
	c.verifiedFirst()
	c.sound()
	c.delete(6 * time.Minute)
	if got := refusals("DELETE /virtual-networks/{id}"); len(got) > 0 {
		t.Errorf("the cloud refused: %v", got)
	}
}

// verifiedFirst fails the test if a server lost its Layer 3 network or a member
// of its bond before it reported success.
func (c *claim) verifiedFirst() {
	c.t.Helper()
	verified := map[string]bool{}
	converted := 0
	for _, ch := range here.Cloud.Changes(c.from) {
		switch {
		case ch.Kind == metal.UserEvent && strings.HasPrefix(ch.After, "1001 "):
			verified[ch.Device] = true
		case ch.Kind == metal.PortBonded && ch.After == "false", ch.Kind == metal.NetworkType && strings.HasPrefix(ch.After, "layer2"):
			converted++
			if !verified[ch.Device] {
				c.t.Errorf("%s of %s was converted before the network was verified", ch.Port, ch.Hostname)
			}
		}
	}
	if converted == 0 {
		c.t.Error("no port was converted")
	}
}

// Addresses come from a pool of Cluster API's IPAM provider.
func TestIPAM(t *testing.T) {
	long(t)
	if here.Tools.Binaries["ipam-in-cluster"] == "" {
		t.Skip("the IPAM provider could not be built")
	}
	pool := &stack.Object{Object: map[string]any{
		"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool",
		"metadata": map[string]any{"name": "lab-addresses", "namespace": "team-b"},
		"spec":     map[string]any{"addresses": []any{"10.80.0.10-10.80.0.40"}, "prefix": int64(24), "gateway": "10.80.0.1"},
	}}
	if err := here.Client.Apply(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	c := example(t, "byo-vlan", "guest", 0)
	c.network(0)["vlanID"], c.network(1)["vlanID"] = vlan(t, 1200), vlan(t, 1201)
	c.apply()
	c.becomesReady(8*time.Minute, 3)
	claims, err := here.Client.List(t.Context(), stack.Ref{APIVersion: "ipam.cluster.x-k8s.io/v1beta2", Kind: "IPAddress", Namespace: "team-b"})
	if err != nil || len(claims) != 2 {
		t.Errorf("there are %d addresses, not 2: %v", len(claims), err)
	}
	c.sound()
	c.delete(6 * time.Minute)
}

// addressesNow are the addresses in the custom data of the claim's servers.
func (c *claim) addressesNow() map[string]string {
	out := map[string]string{}
	for _, d := range c.devices() {
		out[d.GetHostname()] = fmt.Sprint(d.GetCustomdata()["l2cluster"])
	}
	return out
}

// Each component is killed in the middle of a scale-up and comes back; later the
// composite's status, which records who has which address, is wiped. No server
// changes its address.
func TestRestarts(t *testing.T) {
	long(t)
	c := small(t, "restart", 1050)
	c.apply()
	c.becomesReady(6*time.Minute, 3)
	before := c.addressesNow()

	c.worker(0)["replicas"] = int64(4)
	c.apply()
	for _, name := range []string{"function", "crossplane", "kube-apiserver", "provider-http", "capp", "cluster-api-core"} {
		time.Sleep(3 * time.Second)
		p := here.Process(name)
		p.Kill()
		time.Sleep(time.Second)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	here.Revive(t.Context())
	c.settles(8*time.Minute, 5)
	c.same(before)

	before = c.addressesNow()
	x := c.composite()
	if err := here.Client.Patch(t.Context(), stack.RefOf(x), map[string]any{"status": map[string]any{
		"allocations": nil, "machines": nil, "networks": nil,
	}}, "status"); err != nil {
		t.Fatal(err)
	}
	c.wait(3*time.Minute, "status written again", func() error {
		allocations, found, _ := unstructured.NestedFieldNoCopy(c.composite().Object, "status", "allocations")
		if !found || allocations == nil {
			return stack.NotYet("there are no allocations")
		}
		return c.ready()
	})
	c.same(before)
	c.sound()
	c.delete(6 * time.Minute)
}

// same fails the test if a server that was there before has other addresses.
func (c *claim) same(before map[string]string) {
	c.t.Helper()
	now := c.addressesNow()
	for host, addresses := range before {
		if now[host] != addresses {
			c.t.Errorf("server %q had %s and has %s", host, addresses, now[host])
		}
	}
}

// The cloud fails for a minute and is slow afterwards, in the middle of a
// scale-up; everything gets there without hands.
func TestOutage(t *testing.T) {
	long(t)
	c := small(t, "outage", 1060)
	c.apply()
	c.becomesReady(6*time.Minute, 3)
	before := c.addressesNow()

	c.worker(0)["replicas"] = int64(4)
	c.apply()
	c.wait(time.Minute, "new servers", func() error {
		if n := len(c.devices()); n < 5 {
			return stack.NotYet("there are %d servers", n)
		}
		return nil
	})
	end := here.Cloud.Inject(metal.Fault{Path: "", Status: 503, For: time.Minute})
	time.Sleep(time.Minute)
	end()
	end = here.Cloud.Inject(metal.Fault{Delay: 2 * time.Second, For: 30 * time.Second})
	defer end()
	c.settles(8*time.Minute, 5)
	c.same(before)
	c.sound()
	c.delete(6 * time.Minute)
}

// An edit that cannot be changes nothing, says why on the claim, and is
// forgotten when it is taken back.
func TestInvalidEdit(t *testing.T) {
	long(t)
	c := small(t, "invalid", 1070)
	c.apply()
	c.becomesReady(6*time.Minute, 3)
	before := c.addressesNow()
	good := c.network(0)["assignmentRanges"]

	// The API server accepts it, since only code can see that it is outside.
	c.network(0)["assignmentRanges"] = []any{"10.99.0.1-10.99.0.9"}
	c.apply()
	c.wait(2*time.Minute, "refused", func() error {
		if status, why := stack.ConditionOf(c.get(), "InputValid"); status != "False" {
			return stack.NotYet("InputValid is %q: %s", status, why)
		}
		return nil
	})
	if err := c.complete(3); err != nil {
		t.Errorf("an invalid edit changed something: %v", err)
	}
	c.network(0)["assignmentRanges"] = good
	c.apply()
	c.settles(2*time.Minute, 3)
	c.same(before)
	c.delete(6 * time.Minute)
}

// A range that is too small says so, and is healed by a larger one.
func TestTooFewAddresses(t *testing.T) {
	long(t)
	c := small(t, "few", 1080)
	c.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.3"}
	c.network(0)["exclude"] = []any{}
	c.apply()
	c.wait(6*time.Minute, "too few addresses", func() error {
		status, why := stack.ConditionOf(c.get(), "AddressesAllocated")
		if status != "False" || len(c.devices()) < 3 || !strings.Contains(why, "storage") {
			return stack.NotYet("AddressesAllocated is %q: %s", status, why)
		}
		t.Logf("the claim says: %s", why)
		return nil
	})
	c.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.40"}
	c.apply()
	c.settles(6*time.Minute, 3)
	c.sound()
	c.delete(6 * time.Minute)
}
