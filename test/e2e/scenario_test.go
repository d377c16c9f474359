package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

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

// beside skips a scenario unless all of them are asked for, and lets it run beside
// others.
func beside(t *testing.T) {
	t.Helper()
	long(t)
	t.Parallel()
}

// small is the smallest cluster with workers: one control plane server and two
// workers on one VLAN of its own.
func small(t *testing.T, name string, vxlan int64) *claim {
	t.Helper()
	return alone(t, "", name, vxlan)
}

// sound fails the test if two servers had one address since the claim was made.
func (c *claim) sound() {
	c.t.Helper()
	if shared := sharedAddresses(here.Cloud.Changes(c.from)); len(shared) > 0 {
		c.t.Errorf("shared addresses: %v", shared)
	}
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

// serversOnRecord are the machines of the claim's cluster, on the API server.
func (c *claim) serversOnRecord() []stack.Object {
	c.t.Helper()
	all, err := here.Client.List(c.t.Context(), stack.Ref{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: c.body.GetNamespace()})
	if err != nil {
		c.t.Fatal(err)
	}
	cluster := c.cluster()
	return slices.DeleteFunc(all, func(o stack.Object) bool { return o.GetLabels()["cluster.x-k8s.io/cluster-name"] != cluster })
}

// addressesNow are the addresses in the custom data of the claim's servers, by
// host name.
func (c *claim) addressesNow() map[string]string {
	out := map[string]string{}
	for _, d := range c.devices() {
		out[d.GetHostname()] = fmt.Sprint(d.GetCustomdata()["l2cluster"])
	}
	return out
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

// rolled waits until none of the servers that were there before an edit is left,
// and the claim is ready with that many others.
func (c *claim) rolled(machines int, before []string) {
	c.t.Helper()
	c.wait(c.body.GetName()+" rolled", func() error {
		for _, d := range c.devices() {
			if slices.Contains(before, d.GetHostname()) {
				return stack.NotYet("server %q is still there", d.GetHostname())
			}
		}
		return c.upToDate(machines)
	})
}

// upToDate tells whether the claim is ready with that many machines, all of them
// made from what is asked for now.
func (c *claim) upToDate(machines int) error {
	if err := c.complete(machines); err != nil {
		return err
	}
	for _, m := range c.serversOnRecord() {
		if status, why := stack.ConditionOf(&m, "UpToDate"); status != "True" {
			return stack.NotYet("machine %q is not up to date: %s", m.GetName(), why)
		}
	}
	return c.ready()
}

// hosts of a pool's servers.
func (c *claim) hosts(pool string) []string {
	var out []string
	for _, d := range c.devices() {
		if strings.HasPrefix(d.GetHostname(), c.cluster()+"-"+pool+"-") {
			out = append(out, d.GetHostname())
		}
	}
	return out
}

// oneTemplateEach waits until of each pool's templates one is left.
func (c *claim) oneTemplateEach(pool string) {
	c.t.Helper()
	c.wait("old templates gone", func() error {
		for kind, version := range map[string]string{
			"PacketMachineTemplate": "infrastructure.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate": "bootstrap.cluster.x-k8s.io/v1beta2",
		} {
			all, err := here.Client.List(c.t.Context(), stack.Ref{APIVersion: version, Kind: kind, Namespace: c.body.GetNamespace()})
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(o stack.Object) bool { return !strings.HasPrefix(o.GetName(), c.cluster()+"-"+pool+"-") })
			if len(all) != 1 {
				return stack.NotYet("there are %d of %s", len(all), kind)
			}
		}
		return nil
	})
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

// without waits until a VLAN is gone.
func (c *claim) without(vxlan int32) {
	c.t.Helper()
	c.wait(fmt.Sprintf("VLAN %d gone", vxlan), func() error {
		if exists(vxlan) {
			return stack.NotYet("VLAN %d is there", vxlan)
		}
		return nil
	})
}

// verifiedFirst fails the test if a server lost its Layer 3 network or a member
// of its bond before it reported success, or if none did.
func (c *claim) verifiedFirst() {
	c.t.Helper()
	verified, converted := map[string]bool{}, map[string]bool{}
	cluster := c.cluster()
	for _, ch := range here.Cloud.Changes(c.from) {
		switch {
		case !strings.HasPrefix(ch.Hostname, cluster+"-"):
		case ch.Kind == metal.UserEvent && strings.HasPrefix(ch.After, "1001 "):
			verified[ch.Device] = true
		case ch.Kind == metal.PortBonded && ch.After == "false", ch.Kind == metal.NetworkType && strings.HasPrefix(ch.After, "layer2"):
			converted[ch.Hostname] = true
			if !verified[ch.Device] {
				c.t.Errorf("%s of %s was converted before the network was verified", ch.Port, ch.Hostname)
			}
		}
	}
	if len(converted) == 0 {
		c.t.Error("no port was converted")
	}
	c.t.Logf("%s: ports of %d servers were converted, each after its report", c.body.GetName(), len(converted))
}
