package e2e

import (
	"strings"
	"testing"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
)

// Two claims made at the same moment choose from the same range on a VLAN that
// belongs to neither.
func TestTwoClaims(t *testing.T) {
	beside(t)
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
		c.becomesReady(3)
	}
	claims[0].sound()
	for _, c := range claims {
		c.accepted(false)
		c.delete()
	}
	if !exists(1040) {
		t.Error("a VLAN that was only lent is gone")
	}
}

// Addresses come from a pool of Cluster API's IPAM provider, on VLANs that were
// there before and stay.
func TestIPAM(t *testing.T) {
	beside(t)
	c := alone(t, "byo-vlan", "guest", 1200)
	c.network(0)["vlanID"], c.network(1)["vlanID"] = vlan(t, 1200), vlan(t, 1201)
	namespace := c.body.GetNamespace()
	pool := &stack.Object{Object: map[string]any{
		"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool",
		"metadata": map[string]any{"name": "lab-addresses", "namespace": namespace},
		"spec":     map[string]any{"addresses": []any{"10.80.0.10-10.80.0.40"}, "prefix": int64(24), "gateway": "10.80.0.1"},
	}}
	if err := here.Client.Apply(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	c.apply()
	c.becomesReady(3)
	bound := map[string]bool{}
	for _, o := range c.bound() {
		spec, _ := o.Object["spec"].(map[string]any)
		address, _ := spec["address"].(string)
		bound[address] = true
	}
	if len(bound) != 2 {
		t.Errorf("there are %d addresses, not 2", len(bound))
	}
	for host, text := range c.addressesNow() {
		if strings.Contains(host, "-general-") && !anyIn(text, bound) {
			t.Errorf("server %q has %s, which the pool did not give", host, text)
		}
	}
	c.sound()
	c.accepted(false)
	c.delete()
	c.wait("addresses given back", func() error {
		if left := c.bound(); len(left) > 0 {
			return stack.NotYet("there are %d addresses", len(left))
		}
		return nil
	})
	if !exists(1200) || !exists(1201) {
		t.Error("a VLAN that was only lent is gone")
	}
}

// bound are the addresses that IPAM providers gave in the claim's namespace.
func (c *claim) bound() []stack.Object {
	c.t.Helper()
	all, err := here.Client.List(c.t.Context(), stack.Ref{APIVersion: "ipam.cluster.x-k8s.io/v1beta2", Kind: "IPAddress", Namespace: c.body.GetNamespace()})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

func anyIn(text string, addresses map[string]bool) bool {
	for a := range addresses {
		if strings.Contains(text, a+"/") {
			return true
		}
	}
	return false
}

// A range with fewer addresses than machines says so, also when the machine without
// one has lost patience, and is healed by a larger one. Later the range has one for
// each machine and none for a rollout: nothing rolls until it has.
func TestTooFewAddresses(t *testing.T) {
	beside(t)
	c := small(t, "few", 1080)
	c.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.3"}
	c.network(0)["exclude"] = []any{}
	c.apply()
	c.says("AddressesAllocated", "storage", func() error {
		if n := len(c.devices()); n < 3 {
			return stack.NotYet("there are %d servers", n)
		}
		return nil
	})
	c.says("NodesVerified", "in the custom data", func() error { return nil })
	c.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.4"}
	c.apply()
	c.settles(3)

	before := c.hosts("general")
	c.worker(0)["machineType"] = "c3.medium.x86"
	c.apply()
	c.says("AddressesAllocated", "RolloutHeld", func() error { return c.complete(3) })
	c.network(0)["assignmentRanges"] = []any{"10.60.10.2-10.60.10.10"}
	c.apply()
	c.rolled(3, before)
	c.sound()
	c.ends()
}

// says waits until a condition of the claim is false and says something, while
// also is content.
func (c *claim) says(condition, text string, also func() error) {
	c.t.Helper()
	c.wait(condition+" says "+text, func() error {
		status, why := stack.ConditionOf(c.get(), condition)
		if status != "False" || !strings.Contains(why, text) {
			return stack.NotYet("%s is %q: %s", condition, status, why)
		}
		if err := also(); err != nil {
			return err
		}
		c.t.Logf("the claim says: %s", why)
		return nil
	})
}
