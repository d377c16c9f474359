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
	"github.com/l2cluster/function-l2cluster/test/metal"
)

// claim is one L2Cluster and what belongs to it.
type claim struct {
	t    *testing.T
	body *stack.Object
	// from is the number of the cloud's last change before the claim.
	from int
}

// example reads a claim of the example folder and gives it a name, a VLAN
// number in place of 1000, and the tests' Composition.
func example(t *testing.T, folder, name string, vxlan int64) *claim {
	t.Helper()
	objects, err := stack.Read(filepath.Join(here.Tools.Root, "example", folder, "claim.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := &claim{t: t, body: objects[0], from: len(here.Cloud.Changes(0))}
	c.body.SetName(name)
	c.set(stack.Composition, "spec", "compositionRef", "name")
	c.set(name+"-kubeconfig", "spec", "writeConnectionSecretToRef", "name")
	if vxlan > 0 {
		c.network(0)["vxlan"] = vxlan
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

// list of the claim's spec, whose elements may be changed.
func (c *claim) list(field string) []map[string]any {
	raw, _, _ := unstructured.NestedFieldNoCopy(c.body.Object, "spec", field)
	list, _ := raw.([]any)
	var out []map[string]any
	for _, e := range list {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func (c *claim) network(i int) map[string]any { return c.list("networks")[i] }
func (c *claim) worker(i int) map[string]any  { return c.list("workers")[i] }

func (c *claim) controlPlane() map[string]any {
	raw, _, _ := unstructured.NestedFieldNoCopy(c.body.Object, "spec", "controlPlane")
	m, _ := raw.(map[string]any)
	return m
}

func (c *claim) ref() stack.Ref { return stack.RefOf(c.body) }

// apply the claim as it is now.
func (c *claim) apply() {
	c.t.Helper()
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

// cluster is the name of the claim's Cluster, or empty.
func (c *claim) cluster() string {
	o := c.get()
	if o == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(o.Object, "status", "clusterName")
	return name
}

// wait until check is content, or fail the test and tell everything.
func (c *claim) wait(limit time.Duration, what string, check func() error) {
	c.t.Helper()
	begin := time.Now()
	if err := stack.Wait(c.t.Context(), limit, func(context.Context) error { return check() }); err != nil {
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
	if status, why := stack.ConditionOf(o, "Ready"); status != "True" {
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
func (c *claim) becomesReady(limit time.Duration, machines int) {
	c.t.Helper()
	c.wait(limit, fmt.Sprintf("%s ready with %d machines", c.body.GetName(), machines), func() error {
		if err := c.ready(); err != nil {
			return err
		}
		if have := len(c.devices()); have != machines {
			return stack.NotYet("there are %d servers, not %d", have, machines)
		}
		return nil
	})
	if err := c.complete(machines); err != nil {
		c.tell()
		c.t.Fatalf("the claim says that it is ready, but: %v", err)
	}
}

// settles waits until the claim is ready after an edit: it may be ready still
// for a moment, so the cloud counts.
func (c *claim) settles(limit time.Duration, machines int) {
	c.t.Helper()
	c.wait(limit, fmt.Sprintf("%s settled with %d machines", c.body.GetName(), machines), func() error {
		if err := c.complete(machines); err != nil {
			return err
		}
		return c.ready()
	})
}

// devices of the claim's cluster that are not on their way out.
func (c *claim) devices() []metalv1.Device {
	cluster := c.cluster()
	var out []metalv1.Device
	for _, d := range here.Cloud.Snapshot().Devices {
		if slices.Contains(d.Tags, "capp:cluster-id:"+cluster) && d.GetState() != metalv1.DEVICESTATE_DEPROVISIONING {
			out = append(out, d)
		}
	}
	return out
}

// vlans are the numbers of the VLANs that each port of a pool should carry, by
// port, from the claim.
func (c *claim) vlans(pool map[string]any) map[string][]int64 {
	numbers := map[any]int64{}
	for _, n := range c.list("networks") {
		number, _ := n["vxlan"].(int64)
		numbers[n["name"]] = number
	}
	out := map[string][]int64{}
	ports, _ := pool["ports"].([]any)
	for _, raw := range ports {
		p, _ := raw.(map[string]any)
		list, _ := p["networks"].([]any)
		for _, raw := range list {
			n, _ := raw.(map[string]any)
			name, _ := p["name"].(string)
			out[name] = append(out[name], numbers[n["name"]])
		}
	}
	return out
}

// complete tells what is missing in the cloud for the claim to be ready: as many
// servers as wanted, each active, with its addresses taken, its success
// reported, and its ports carrying what the claim says.
func (c *claim) complete(machines int) error {
	devices := c.devices()
	if len(devices) != machines {
		return stack.NotYet("there are %d servers, not %d", len(devices), machines)
	}
	cluster := c.cluster()
	for _, d := range devices {
		pool := c.poolOf(cluster, d.GetHostname())
		if pool == nil {
			return fmt.Errorf("server %q belongs to no pool", d.GetHostname())
		}
		if err := c.whole(d, pool); err != nil {
			return fmt.Errorf("server %q: %w", d.GetHostname(), err)
		}
	}
	return nil
}

func (c *claim) poolOf(cluster, hostname string) map[string]any {
	for _, w := range c.list("workers") {
		if strings.HasPrefix(hostname, fmt.Sprintf("%s-%s-", cluster, w["name"])) {
			return w
		}
	}
	if strings.HasPrefix(hostname, cluster+"-control-plane-") {
		return c.controlPlane()
	}
	return nil
}

func (c *claim) whole(d metalv1.Device, pool map[string]any) error {
	if d.GetState() != metalv1.DEVICESTATE_ACTIVE {
		return stack.NotYet("it is %s", d.GetState())
	}
	want := c.vlans(pool)
	if len(want) == 0 {
		return nil
	}
	if here.Nodes.Networked(d.GetId()) == nil {
		return stack.NotYet("its network is not up")
	}
	for _, p := range d.NetworkPorts {
		var have []int64
		for _, v := range p.VirtualNetworks {
			have = append(have, int64(v.GetVxlan()))
		}
		slices.Sort(have)
		slices.Sort(want[p.GetName()])
		if !slices.Equal(have, want[p.GetName()]) {
			return stack.NotYet("port %s carries VLANs %v, not %v", p.GetName(), have, want[p.GetName()])
		}
	}
	return nil
}

// delete the claim and wait until nothing is left of it anywhere.
func (c *claim) delete(limit time.Duration) {
	c.t.Helper()
	cluster := c.cluster()
	composite := c.composite()
	if err := here.Client.Delete(c.t.Context(), c.ref()); err != nil {
		c.t.Fatal(err)
	}
	c.wait(limit, c.body.GetName()+" gone", func() error { return c.gone(cluster, composite) })
}

func (c *claim) gone(cluster string, composite *stack.Object) error {
	if c.get() != nil {
		return stack.NotYet("the claim is there")
	}
	for _, d := range here.Cloud.Snapshot().Devices {
		if slices.Contains(d.Tags, "capp:cluster-id:"+cluster) {
			return stack.NotYet("server %q is there", d.GetHostname())
		}
	}
	for _, r := range []stack.Ref{
		{APIVersion: "l2cluster.io/v1alpha1", Kind: "XL2Cluster"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Vlan"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Port"},
		{APIVersion: "metal.equinix.jet.crossplane.io/v1alpha1", Kind: "Gateway"},
		{APIVersion: "http.crossplane.io/v1alpha2", Kind: "Request"},
		{APIVersion: "protection.crossplane.io/v1beta1", Kind: "ClusterUsage"},
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Namespace: c.body.GetNamespace()},
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: c.body.GetNamespace()},
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
	for _, d := range here.Cloud.Snapshot().Devices {
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
			c.t.Logf("%s %s: %s", r.Kind, objects[i].GetName(), strings.Join(c.falses(&objects[i]), "; "))
		}
	}
	c.t.Logf("logs are in %s", here.Dir)
}

// addressSpans are the times in which servers had addresses on any VLAN of the
// project, in order of beginnings: an address counts from the moment when it is
// in a server's custom data until it is taken out or the server is gone.
func addressSpans(changes []metal.Change) []metal.Span {
	var single []metal.Change
	held := map[string]map[string]bool{}
	for _, ch := range changes {
		if ch.Kind != metal.CustomData {
			continue
		}
		now := map[string]bool{}
		var custom map[string]map[string]string
		if json.Unmarshal([]byte(ch.After), &custom) == nil {
			for key, address := range custom["l2cluster"] {
				now[key+" "+address] = true
			}
		}
		for value := range held[ch.Device] {
			if !now[value] {
				end := ch
				end.Before, end.After = value, ""
				single = append(single, end)
			}
		}
		for value := range now {
			if !held[ch.Device][value] {
				begin := ch
				begin.Before, begin.After = "", value
				single = append(single, begin)
			}
		}
		held[ch.Device] = now
	}
	return metal.Spans(single, metal.CustomData)
}

// sharedAddresses are addresses that two servers were given at the same time.
func sharedAddresses(changes []metal.Change) []string {
	var out []string
	for _, o := range metal.Overlaps(addressSpans(changes)) {
		out = append(out, fmt.Sprintf("%s: %s and %s at %s", o.First.Value, o.First.Hostname, o.Second.Hostname, o.Second.From.Format(time.TimeOnly)))
	}
	slices.Sort(out)
	return out
}

func vlanInput(vxlan int32) metalv1.VirtualNetworkCreateInput {
	metro := "da"
	return metalv1.VirtualNetworkCreateInput{Metro: &metro, Vxlan: &vxlan}
}

// refusals are the requests that the cloud refused since the last reset, except
// the ones with an accepted pattern.
func refusals(accepted ...string) []string {
	var out []string
	for r, n := range here.Cloud.Requests() {
		if r.Status == 422 && !slices.Contains(accepted, r.Method+" "+r.Path) {
			out = append(out, fmt.Sprintf("%s %s: %d times", r.Method, r.Path, n))
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}
