package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"

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

// ours is the key of custom data that the addresses are under.
const ours = "l2cluster"

// holdings are the times in which servers had addresses since the claim was made:
// its own, and those of others, which may be on the same VLAN.
func (c *claim) holdings() []metal.Span { return metal.Holdings(here.Cloud.Changes(c.from), ours) }

// sound fails the test if two servers had one address since the claim was made, or
// if one of its own had an address outside of the ranges.
func (c *claim) sound() {
	c.t.Helper()
	spans := c.holdings()
	for _, o := range metal.Overlaps(spans) {
		c.t.Errorf("shared address: %s: %s and %s at %s", o.First.Value, o.First.Hostname, o.Second.Hostname, o.Second.From.Format(time.TimeOnly))
	}
	cluster := c.cluster()
	for _, s := range spans {
		_, text, _ := strings.Cut(s.Value, " ")
		if !strings.HasPrefix(s.Hostname, cluster+"-") {
			continue
		}
		if why := c.outOfRange(text); why != "" {
			c.t.Errorf("server %q had %s, %s", s.Hostname, text, why)
		}
	}
}

// successions are the addresses that went from one server to another since the
// claim was made. The test fails if one had not cooled down: the time counts from
// when the machine was gone, and that is before its server is off; how long that may
// take is taken off.
func (c *claim) successions() []metal.Succession {
	c.t.Helper()
	least := world.Quick().CoolDown - world.Quick().Schedule.Deprovisioning - 2*time.Second
	all := metal.Successions(c.holdings())
	for _, s := range all {
		if s.Rested < least {
			c.t.Errorf("%s went from %s to %s after %s", s.First.Value, s.First.Hostname, s.Second.Hostname, s.Rested)
		}
	}
	return all
}

// machines of the claim's cluster, on the API server.
func (c *claim) machineObjects() []stack.Object {
	c.t.Helper()
	all, err := here.Client.List(c.t.Context(), stack.Ref{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: c.body.GetNamespace()})
	if err != nil {
		c.t.Fatal(err)
	}
	cluster := c.cluster()
	return slices.DeleteFunc(all, func(o stack.Object) bool { return o.GetLabels()["cluster.x-k8s.io/cluster-name"] != cluster })
}

// workerMachines of the claim's cluster that are not being deleted.
func (c *claim) workerMachines() []stack.Object {
	c.t.Helper()
	return slices.DeleteFunc(c.machineObjects(), func(o stack.Object) bool {
		_, control := o.GetLabels()["cluster.x-k8s.io/control-plane"]
		return control || o.GetDeletionTimestamp() != nil
	})
}

// addressesNow are the addresses in the custom data of the claim's servers, by
// host name.
func (c *claim) addressesNow() map[string]string {
	out := map[string]string{}
	for _, d := range c.devices() {
		out[d.GetHostname()] = fmt.Sprint(d.GetCustomdata()[ours])
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
// and the claim is ready with that many others. Meanwhile every machine has the
// templates that it was made from.
func (c *claim) rolled(machines int, before []string) {
	c.t.Helper()
	c.wait(c.body.GetName()+" rolled", func() error {
		if err := c.templatesKept(); err != nil {
			return err
		}
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
	for _, m := range c.machineObjects() {
		if status, why := stack.ConditionOf(&m, "UpToDate"); status != "True" {
			return stack.NotYet("machine %q is not up to date: %s", m.GetName(), why)
		}
	}
	return c.ready()
}

// templatesKept fails the test if a template is gone that a machine was made from.
func (c *claim) templatesKept() error {
	c.t.Helper()
	for kind, made := range map[string]stack.Ref{
		"PacketMachine": {APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "PacketMachineTemplate"},
		"KubeadmConfig": {APIVersion: "bootstrap.cluster.x-k8s.io/v1beta2", Kind: "KubeadmConfigTemplate"},
	} {
		objects, err := here.Client.List(c.t.Context(), stack.Ref{APIVersion: made.APIVersion, Kind: kind, Namespace: c.body.GetNamespace()})
		if err != nil {
			return err
		}
		for _, o := range objects {
			made.Namespace, made.Name = o.GetNamespace(), o.GetAnnotations()["cluster.x-k8s.io/cloned-from-name"]
			if made.Name == "" || o.GetAnnotations()["cluster.x-k8s.io/cloned-from-groupkind"] == "KubeadmControlPlane.controlplane.cluster.x-k8s.io" {
				continue
			}
			template, err := here.Client.Get(c.t.Context(), made)
			if err != nil {
				return err
			}
			still, err := here.Client.Get(c.t.Context(), stack.RefOf(&o))
			if err != nil {
				return err
			}
			if template == nil && still != nil {
				c.t.Errorf("%s %q is gone, and %s %q was made from it", made.Kind, made.Name, kind, o.GetName())
			}
		}
	}
	return nil
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

// unchanged fails the test if the cloud has changed anything of the claim's servers
// and VLANs since that change.
func (c *claim) unchanged(from int) {
	c.t.Helper()
	cluster := c.cluster()
	for _, ch := range here.Cloud.Changes(from) {
		if strings.HasPrefix(ch.Hostname, cluster+"-") || ch.Kind == metal.VLAN && (c.hasVLAN(ch.Before) || c.hasVLAN(ch.After)) {
			c.t.Errorf("the cloud was changed: %s of %s from %q to %q", ch.Kind, ch.Hostname, ch.Before, ch.After)
		}
	}
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

func vlanInput(vxlan int32) metalv1.VirtualNetworkCreateInput {
	metro := "da"
	return metalv1.VirtualNetworkCreateInput{Metro: &metro, Vxlan: &vxlan}
}
