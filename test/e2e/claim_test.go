package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
)

// claim is one L2Cluster and what belongs to it.
type claim struct {
	wish

	t *testing.T
	// from is the number of the cloud's last change before the claim, refusedFrom
	// that of its last refusal.
	from, refusedFrom int
	// numbers of VLANs that it ever had.
	numbers map[int64]bool
	// called is its Cluster's name, once that is known.
	called string
	// limit of everything that is waited for. A busy machine with a dozen clusters
	// is slow; only a failure takes so long.
	limit time.Duration
	// witness of what it says, and how to end it.
	witness *witness
	dismiss context.CancelFunc
}

// example reads a claim of the example folder and gives it the tests'
// Composition.
func example(t *testing.T, folder string) *claim {
	t.Helper()
	objects, err := stack.Read(filepath.Join(here.Tools.Root, "example", folder, "claim.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := &claim{
		t: t, wish: wish{objects[0]}, numbers: map[int64]bool{}, limit: 15 * time.Minute,
		from: len(here.Cloud.Changes(0)), refusedFrom: len(here.Cloud.Refusals(0)),
	}
	c.set(stack.Composition, "spec", "compositionRef", "name")
	c.set(c.body.GetName()+"-kubeconfig", "spec", "writeConnectionSecretToRef", "name")
	return c
}

// alone is a claim of the example folder in a namespace of its own that is called
// like it, with a control plane of one server and VLANs from a number on.
func alone(t *testing.T, folder, name string, vxlan int64) *claim {
	t.Helper()
	c := example(t, folder)
	namespace := &stack.Object{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	if err := here.Client.Apply(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	c.body.SetNamespace(name)
	c.body.SetName(name)
	c.set(name+"-kubeconfig", "spec", "writeConnectionSecretToRef", "name")
	c.controlPlane()["replicas"] = int64(1)
	for i, n := range c.list("networks") {
		n["vxlan"] = vxlan + int64(i)
	}
	return c
}

// set a field of the claim; apply makes it true.
func (c *claim) set(value any, path ...string) {
	c.t.Helper()
	if err := unstructured.SetNestedField(c.body.Object, value, path...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *claim) ref() stack.Ref { return stack.RefOf(c.body) }

// apply the claim as it is now; from the first time on it is watched.
func (c *claim) apply() {
	c.t.Helper()
	for _, n := range c.list("networks") {
		number, _ := n["vxlan"].(int64)
		c.numbers[number] = true
	}
	if c.witness == nil {
		ctx, end := context.WithCancel(context.Background())
		c.witness, c.dismiss = watch(ctx, c.body.GetNamespace(), c.body.GetName()), end
		c.t.Cleanup(end)
	}
	if err := here.Client.Apply(c.t.Context(), c.body.DeepCopy()); err != nil {
		c.t.Fatal(err)
	}
}

// get the claim from the API server; nil if there is none.
func (c *claim) get() *stack.Object {
	c.t.Helper()
	o, err := here.Client.Get(c.t.Context(), c.ref())
	if err != nil {
		c.t.Logf("cannot read the claim: %v", err)
	}
	return o
}

// composite of the claim; nil if there is none.
func (c *claim) composite() *stack.Object {
	o := c.get()
	if o == nil {
		return nil
	}
	name, _, _ := unstructured.NestedString(o.Object, "spec", "resourceRef", "name")
	if name == "" {
		return nil
	}
	x, err := here.Client.Get(c.t.Context(), stack.Ref{APIVersion: "l2cluster.io/v1alpha1", Kind: "XL2Cluster", Name: name})
	if err != nil {
		c.t.Logf("cannot read the composite: %v", err)
	}
	return x
}

// cluster is the name of the claim's Cluster, also when it is gone; empty if it
// has none yet.
func (c *claim) cluster() string {
	if o := c.get(); o != nil {
		c.called = cmp.Or(wish{o}.cluster(), c.called)
	}
	return c.called
}

// wait until check is content, or fail the test and tell everything.
func (c *claim) wait(what string, check func() error) {
	c.t.Helper()
	begin := time.Now()
	if err := stack.Wait(c.t.Context(), c.limit, func(context.Context) error { return check() }); err != nil {
		c.tell()
		c.t.Fatalf("%s: %v", what, err)
	}
	c.t.Logf("%s: %s", what, time.Since(begin).Round(time.Second))
}

// ready tells why the claim is not.
func (c *claim) ready() error {
	o := c.get()
	if o == nil {
		return stack.NotYet("there is no claim")
	}
	if _, why := stack.ConditionOf(o, "Ready"); !readyNow(o) {
		return stack.NotYet("claim is not ready: %s; %s", why, strings.Join(c.falses(o), "; "))
	}
	return nil
}

// falses are the conditions of an object that are not true.
func (c *claim) falses(o *stack.Object) []string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var out []string
	for _, raw := range conditions {
		m, _ := raw.(map[string]any)
		if m["status"] != "True" && m["type"] != "Ready" {
			out = append(out, fmt.Sprintf("%v %v: %v", m["type"], m["reason"], m["message"]))
		}
	}
	return out
}

// becomesReady waits until the claim is ready, and fails if it says so before
// it is true in the cloud.
func (c *claim) becomesReady(machines int) {
	c.t.Helper()
	c.wait(fmt.Sprintf("%s ready with %d machines", c.body.GetName(), machines), func() error {
		if err := c.ready(); err != nil {
			return err
		}
		return c.counted(machines)
	})
	if err := c.complete(machines); err != nil {
		c.tell()
		c.t.Fatalf("the claim says that it is ready, but: %v", err)
	}
}

// settles waits until the claim is ready after an edit: it may be ready still
// for a moment, so the cloud counts.
func (c *claim) settles(machines int) {
	c.t.Helper()
	c.wait(fmt.Sprintf("%s settled with %d machines", c.body.GetName(), machines), func() error {
		if err := c.complete(machines); err != nil {
			return err
		}
		return c.ready()
	})
}

// devices of the claim's cluster that are not on their way out.
func (c *claim) devices() []metalv1.Device { return serversOf(c.cluster()) }

// complete tells what is missing in the cloud for the claim to be ready: as many
// servers as there should be, each as it should be.
func (c *claim) complete(machines int) error {
	if err := c.counted(machines); err != nil {
		return err
	}
	return c.whole(c.cluster(), c.devices())
}

// counted tells whether there are that many servers.
func (c *claim) counted(machines int) error {
	have := len(c.devices())
	if have > machines && c.ready() == nil {
		c.forgotten()
	}
	if have != machines {
		return stack.NotYet("there are %d servers, not %d", have, machines)
	}
	return nil
}

// forgotten servers of a ready cluster are deleted, as their owner would have to.
// CAPP v0.9.0 makes a second server for a machine when it has not read back yet
// that it made one: it looks for it among the first ten of the project only.
func (c *claim) forgotten() {
	c.t.Helper()
	known := map[string]string{}
	for _, m := range c.machineObjects() {
		known[m.GetName()] = serverID(m)
	}
	for _, d := range c.devices() {
		if id, found := known[d.GetHostname()]; found && (id == "" || id == d.GetId()) || d.GetState() != metalv1.DEVICESTATE_ACTIVE {
			continue
		}
		c.t.Logf("CAPP made server %s of %q and forgot it: custom data %v", d.GetId(), d.GetHostname(), d.GetCustomdata())
		if _, err := here.Cloud.Client().DevicesApi.DeleteDevice(c.t.Context(), d.GetId()).Execute(); err != nil {
			c.t.Error(err)
		}
	}
}

// delete the claim and wait until nothing is left of it anywhere.
func (c *claim) delete() {
	c.t.Helper()
	cluster := c.cluster()
	composite := c.composite()
	c.honest()
	if err := here.Client.Delete(c.t.Context(), c.ref()); err != nil {
		c.t.Fatal(err)
	}
	c.wait(c.body.GetName()+" gone", func() error { return c.gone(cluster, composite) })
}

// honest fails the test if the claim or its composite said that it is ready when
// that was not so, and ends their watch.
func (c *claim) honest() {
	c.t.Helper()
	c.dismiss()
	wrong, summary := c.witness.verdict()
	for _, w := range wrong {
		c.t.Errorf("%s: %s", c.body.GetName(), w)
	}
	c.t.Logf("%s %s", c.body.GetName(), summary)
}

// gone tells what is left of the claim on the API server and in the cloud.
func (c *claim) gone(cluster string, composite *stack.Object) error {
	if c.get() != nil {
		return stack.NotYet("the claim is there")
	}
	if err := c.goneFromCloud(cluster); err != nil {
		return err
	}
	for _, r := range []stack.Ref{
		{APIVersion: "l2cluster.io/v1alpha1", Kind: "XL2Cluster"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Vlan"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Port"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Gateway"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "ReservedIPBlock"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Vrf"},
		{APIVersion: "http.crossplane.io/v1alpha2", Kind: "Request"},
		{APIVersion: "protection.crossplane.io/v1beta1", Kind: "ClusterUsage"},
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Namespace: c.body.GetNamespace()},
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: c.body.GetNamespace()},
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineDeployment", Namespace: c.body.GetNamespace()},
		{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "KubeadmControlPlane", Namespace: c.body.GetNamespace()},
		{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "PacketCluster", Namespace: c.body.GetNamespace()},
		{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "PacketMachine", Namespace: c.body.GetNamespace()},
		{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "PacketMachineTemplate", Namespace: c.body.GetNamespace()},
		{APIVersion: "bootstrap.cluster.x-k8s.io/v1beta2", Kind: "KubeadmConfigTemplate", Namespace: c.body.GetNamespace()},
	} {
		objects, err := here.Client.List(c.t.Context(), r)
		if err != nil {
			return err
		}
		for i := range objects {
			mine := composite != nil && objects[i].GetLabels()["crossplane.io/composite"] == composite.GetName()
			if mine || cluster != "" && objects[i].GetLabels()["cluster.x-k8s.io/cluster-name"] == cluster {
				return stack.NotYet("%s %q is there", r.Kind, objects[i].GetName())
			}
		}
	}
	return nil
}

// goneFromCloud tells what is left of the claim in the cloud: a server, a VLAN that
// is not only lent, or what belongs to its VRFs. The control plane's elastic address
// is there to stay.
func (c *claim) goneFromCloud(cluster string) error {
	cloud := here.Cloud.Snapshot()
	for _, d := range cloud.Devices {
		if slices.Contains(d.Tags, "capp:cluster-id:"+cluster) {
			return stack.NotYet("server %q is there", d.GetHostname())
		}
	}
	own := map[int64]bool{}
	for _, n := range c.list("networks") {
		number, _ := n["vxlan"].(int64)
		own[number] = n["vlanID"] == nil
	}
	for _, v := range cloud.VLANs {
		number := int64(v.GetVxlan())
		if mine, now := own[number]; c.numbers[number] && (mine || !now) {
			return stack.NotYet("VLAN %d is there", number)
		}
	}
	if n := len(cloud.VRFs) + len(cloud.VRFReservations) + len(cloud.VRFGateways); len(c.list("vrfs")) > 0 && n > 0 {
		return stack.NotYet("there are %d VRFs, reservations in them, and gateways", n)
	}
	return nil
}

// tell everything that helps to understand a failure.
func (c *claim) tell() {
	c.t.Helper()
	if o := c.get(); o != nil {
		status, _ := json.MarshalIndent(o.Object["status"], "", " ")
		c.t.Logf("claim: %s", status)
	}
	if x := c.composite(); x != nil {
		c.t.Logf("composite: %s", strings.Join(c.falses(x), "; "))
	}
	cluster := c.cluster()
	for _, d := range here.Cloud.Snapshot().Devices {
		if !strings.HasPrefix(d.GetHostname(), cluster) {
			continue
		}
		c.t.Logf("server %s %s: custom data %v, network %v", d.GetHostname(), d.GetState(), d.GetCustomdata(), here.Nodes.Networked(d.GetId()))
	}
	for _, r := range []stack.Ref{
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster"}, {APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "KubeadmControlPlane"},
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine"}, {APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "PacketMachine"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Vlan"}, {APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Port"},
		{APIVersion: "http.crossplane.io/v1alpha2", Kind: "Request"},
	} {
		objects, err := here.Client.List(c.t.Context(), r)
		if err != nil {
			c.t.Logf("%s: %v", r.Kind, err)
		}
		for i := range objects {
			if !strings.Contains(objects[i].GetName(), c.body.GetName()) {
				continue
			}
			c.t.Logf("%s %s: %s", r.Kind, objects[i].GetName(), strings.Join(c.falses(&objects[i]), "; "))
		}
	}
	c.t.Logf("logs are in %s", here.Dir)
}
