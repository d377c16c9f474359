package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/metal"
)

// networks of the claim, in place of those that it had.
func (c *claim) networks(list ...map[string]any) {
	c.t.Helper()
	var raw []any
	for _, n := range list {
		raw = append(raw, n)
	}
	c.set(raw, "spec", "networks")
}

// on is a port with networks.
func on(name string, bonded bool, networks ...string) map[string]any {
	var list []any
	for _, n := range networks {
		list = append(list, map[string]any{"name": n})
	}
	return map[string]any{"name": name, "bonded": bonded, "networks": list}
}

// A network comes to a port and leaves it, in an order that the cloud accepts: a
// VLAN is not deleted before no port has it.
func TestNetworksComeAndGo(t *testing.T) {
	beside(t)
	c := small(t, "nets", 1030)
	c.apply()
	c.becomesReady(3)

	storage := c.network(0)
	backup := map[string]any{"name": "backup", "vxlan": int64(1031), "ipAddresses": []any{"10.61.0.0/24"}}
	before := c.hosts("general")
	c.networks(storage, backup)
	c.worker(0)["ports"] = []any{on("bond0", true, "storage", "backup")}
	c.apply()
	c.rolled(3, before)

	before = c.hosts("general")
	c.networks(storage)
	c.worker(0)["ports"] = []any{on("bond0", true, "storage")}
	c.apply()
	c.without(1031)
	c.rolled(3, before)
	c.sound()
	c.successions()
	c.ends()
}

// A network moves from the bond to a port outside of it. The old machines keep
// their ports until they are replaced, and the VLAN stays all the time.
func TestNetworkMoves(t *testing.T) {
	beside(t)
	c := small(t, "moves", 1034)
	c.apply()
	c.becomesReady(3)
	from := len(here.Cloud.Changes(0))

	before := c.hosts("general")
	c.worker(0)["ports"] = []any{on("eth1", false, "storage")}
	c.apply()
	c.rolled(3, before)
	for _, ch := range here.Cloud.Changes(from) {
		if ch.Kind == metal.VLAN && c.hasVLAN(ch.Before) {
			t.Error("the VLAN was deleted")
		}
	}
	for _, s := range metal.Spans(here.Cloud.Changes(c.from), metal.PortVLAN) {
		if slices.Contains(before, s.Hostname) && s.Port != "bond0" {
			t.Errorf("port %s of old server %q got a VLAN", s.Port, s.Hostname)
		}
	}
	c.verifiedFirst()
	c.sound()
	c.ends()
}

// Another VLAN number for a network is refused while servers are on it, also under
// another name; a network of another name and with other addresses takes its place.
func TestVLANSwap(t *testing.T) {
	beside(t)
	c := small(t, "swap", 1036)
	c.apply()
	c.becomesReady(3)
	from := len(here.Cloud.Changes(0))

	c.network(0)["vxlan"] = int64(1037)
	c.apply()
	c.refuses("cannot change the VLAN")
	c.unchanged(from)

	before := append(c.hosts("general"), c.hosts("control-plane")...)
	c.networks(map[string]any{"name": "fresh", "vxlan": int64(1037), "ipAddresses": []any{"10.62.0.0/24"}})
	c.controlPlane()["ports"] = []any{on("bond0", true, "fresh")}
	c.worker(0)["ports"] = []any{on("bond0", true, "fresh")}
	c.apply()
	c.rolled(3, before)
	c.without(1036)
	c.sound()
	c.ends()
}

// Workers without a Layer 3 network: their ports are converted only when their
// nodes have reported that the network is up.
func TestLayer2(t *testing.T) {
	beside(t)
	c := alone(t, "layer2", "private", 1100)
	c.apply()
	c.becomesReady(4)
	c.verifiedFirst()
	c.sound()
	c.ends()
}

// Workers with a port outside of their bond, on a network with two families.
func TestHybrid(t *testing.T) {
	beside(t)
	c := alone(t, "hybrid", "ceph", 1110)
	c.worker(0)["replicas"] = int64(2)
	c.apply()
	c.becomesReady(3)
	c.verifiedFirst()
	c.sound()
	c.ends()
}

// A server whose network does not come up keeps its ports, and the claim says why;
// the one that takes its place is verified first and converted then.
func TestUnverified(t *testing.T) {
	beside(t)
	c := alone(t, "hybrid", "broken", 1130)
	c.worker(0)["replicas"] = int64(1)
	here.Nodes.Break(func(hostname string) string {
		if strings.HasPrefix(hostname, "broken-") && !strings.Contains(hostname, "-control-plane-") {
			return "eth1: has no carrier"
		}
		return ""
	})
	c.apply()
	c.says("NodesVerified", "eth1: has no carrier", func() error { return c.counted(2) })
	time.Sleep(20 * time.Second)
	cluster := c.cluster()
	for _, ch := range here.Cloud.Changes(c.from) {
		if strings.HasPrefix(ch.Hostname, cluster+"-") && ch.Kind == metal.PortBonded && ch.After == "false" {
			t.Errorf("%s of %s was converted", ch.Port, ch.Hostname)
		}
	}
	here.Nodes.Break(nil)
	for _, m := range c.workerMachines() {
		if err := here.Client.Delete(t.Context(), stack.RefOf(&m)); err != nil {
			t.Fatal(err)
		}
	}
	c.becomesReady(2)
	c.verifiedFirst()
	c.sound()
	c.ends()
}

// Two VLANs with gateways in a VRF. When the claim is deleted, gateways go before
// their VLANs and reservations, and those before the VRF, without a single
// refusal on the way: Crossplane's usages hold back what is still used.
func TestGateways(t *testing.T) {
	beside(t)
	c := alone(t, "vrf", "routed", 1120)
	c.worker(0)["replicas"] = int64(2)
	c.apply()
	c.becomesReady(3)
	if s := here.Cloud.Snapshot(); len(s.VRFs) != 1 || len(s.VRFReservations) != 2 || len(s.VRFGateways) != 2 {
		t.Errorf("there are %d VRFs, %d reservations, %d gateways", len(s.VRFs), len(s.VRFReservations), len(s.VRFGateways))
	}
	from := len(here.Cloud.Changes(0))
	c.ends()

	last := map[metal.Kind]int{}
	first := map[metal.Kind]int{}
	for _, ch := range here.Cloud.Changes(from) {
		ours := ch.Kind == metal.Gateway || ch.Kind == metal.VRF || ch.Kind == metal.Reservation && strings.HasPrefix(ch.Before, "10.60.") ||
			ch.Kind == metal.VLAN && c.hasVLAN(ch.Before)
		if !ours || ch.After != "" {
			continue
		}
		last[ch.Kind] = ch.Seq
		if first[ch.Kind] == 0 {
			first[ch.Kind] = ch.Seq
		}
	}
	for _, kind := range []metal.Kind{metal.Gateway, metal.VLAN, metal.Reservation, metal.VRF} {
		if first[kind] == 0 {
			t.Errorf("no %s was deleted", kind)
		}
	}
	if last[metal.Reservation] > first[metal.VRF] {
		t.Error("the VRF went before its reservations")
	}
	for _, r := range here.Cloud.Refusals(c.refusedFrom) {
		for _, path := range []string{"/metal-gateways/", "/vrfs/", "/ips/"} {
			if r.Method == "DELETE" && (strings.HasPrefix(r.Path, path) || strings.Contains(strings.Join(r.Messages, " "), "gateway")) {
				t.Errorf("the cloud refused %s %s: %v", r.Method, r.Path, r.Messages)
			}
		}
	}
}
