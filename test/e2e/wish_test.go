package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/metal"
)

// wish is what a claim, or its composite, asks for.
type wish struct{ body *stack.Object }

// list of the spec, whose elements may be changed.
func (w wish) list(field string) []map[string]any {
	raw, _, _ := unstructured.NestedFieldNoCopy(w.body.Object, "spec", field)
	return maps(raw)
}

// maps are the elements of a list of objects.
func maps(raw any) []map[string]any {
	list, _ := raw.([]any)
	var out []map[string]any
	for _, e := range list {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func (w wish) network(i int) map[string]any { return w.list("networks")[i] }
func (w wish) worker(i int) map[string]any  { return w.list("workers")[i] }

func (w wish) controlPlane() map[string]any {
	raw, _, _ := unstructured.NestedFieldNoCopy(w.body.Object, "spec", "controlPlane")
	m, _ := raw.(map[string]any)
	return m
}

// machines is how many there should be.
func (w wish) machines() int {
	n := replicas(w.controlPlane())
	for _, pool := range w.list("workers") {
		n += replicas(pool)
	}
	return n
}

func replicas(pool map[string]any) int {
	if least, found, _ := unstructured.NestedInt64(pool, "autoscaling", "min"); found {
		return int(least)
	}
	if n, found := pool["replicas"].(int64); found {
		return int(n)
	}
	return 1
}

// cluster is the name of the Cluster, or empty.
func (w wish) cluster() string {
	name, _, _ := unstructured.NestedString(w.body.Object, "status", "clusterName")
	return name
}

// port is how a port should be.
type port struct {
	bonded, layer2 bool
	vlans          []int64
}

// ports of a pool that differ from a new server's, by name.
func (w wish) ports(pool map[string]any) map[string]port {
	numbers := map[any]int64{}
	for _, n := range w.list("networks") {
		numbers[n["name"]], _ = n["vxlan"].(int64)
	}
	out := map[string]port{}
	for _, raw := range maps(pool["ports"]) {
		p := port{bonded: raw["bonded"] != false, layer2: raw["layer2"] == true}
		for _, n := range maps(raw["networks"]) {
			p.vlans = append(p.vlans, numbers[n["name"]])
		}
		slices.Sort(p.vlans)
		out[fmt.Sprint(raw["name"])] = p
	}
	return out
}

// pool that a server belongs to, or nil.
func (w wish) pool(cluster, hostname string) map[string]any {
	for _, pool := range w.list("workers") {
		if strings.HasPrefix(hostname, fmt.Sprintf("%s-%s-", cluster, pool["name"])) {
			return pool
		}
	}
	if strings.HasPrefix(hostname, cluster+"-control-plane-") {
		return w.controlPlane()
	}
	return nil
}

// outOfRange tells why an address of one of the networks' subnets is not one that
// the claim may give out; empty if it may, or where there are no ranges of its
// family.
func (w wish) outOfRange(text string) string {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return err.Error()
	}
	for _, n := range w.list("networks") {
		ranges, _ := n["assignmentRanges"].([]any)
		ranges = slices.DeleteFunc(slices.Clone(ranges), func(r any) bool { return strings.Contains(fmt.Sprint(r), ":") != prefix.Addr().Is6() })
		blocks, _ := n["ipAddresses"].([]any)
		if len(ranges) == 0 || !slices.ContainsFunc(blocks, func(b any) bool { return within(prefix.Addr(), b) }) {
			continue
		}
		excluded, _ := n["exclude"].([]any)
		if !slices.ContainsFunc(ranges, func(r any) bool { return within(prefix.Addr(), r) }) {
			return fmt.Sprintf("which is not in %v", ranges)
		}
		if slices.ContainsFunc(excluded, func(e any) bool { return within(prefix.Addr(), e) }) {
			return fmt.Sprintf("which is excluded by %v", excluded)
		}
	}
	return ""
}

// within tells whether an address is in "a-b", a CIDR, or the same as "a".
func within(a netip.Addr, text any) bool {
	from, to, isRange := strings.Cut(fmt.Sprint(text), "-")
	if prefix, err := netip.ParsePrefix(from); err == nil {
		return prefix.Contains(a)
	}
	first, err := netip.ParseAddr(from)
	if err != nil {
		return false
	}
	last := first
	if isRange {
		if last, err = netip.ParseAddr(to); err != nil {
			return false
		}
	}
	return a.Compare(first) >= 0 && a.Compare(last) <= 0
}

// whole tells what is missing for these servers to be what is asked for: each
// active, with its addresses taken, its success reported, and its ports carrying
// what they should.
func (w wish) whole(cluster string, devices []metalv1.Device) error {
	var errs []error
	succeeded := reported()
	for _, d := range devices {
		pool := w.pool(cluster, d.GetHostname())
		if pool == nil {
			errs = append(errs, stack.NotYet("server %q belongs to no pool", d.GetHostname()))
			continue
		}
		if err := serverIs(d, w.ports(pool), succeeded[d.GetId()]); err != nil {
			errs = append(errs, fmt.Errorf("server %q: %w", d.GetHostname(), err))
		}
	}
	return errors.Join(errs...)
}

// reported are the servers that have reported the success of their network.
func reported() map[string]bool {
	out := map[string]bool{}
	for _, ch := range here.Cloud.Changes(0) {
		if ch.Kind == metal.UserEvent && strings.HasPrefix(ch.After, "1001 ") {
			out[ch.Device] = true
		}
	}
	return out
}

func serverIs(d metalv1.Device, ports map[string]port, succeeded bool) error {
	if d.GetState() != metalv1.DEVICESTATE_ACTIVE {
		return stack.NotYet("it is %s", d.GetState())
	}
	if len(ports) == 0 {
		return nil
	}
	if here.Nodes.Networked(d.GetId()) == nil {
		return stack.NotYet("its network is not up")
	}
	if !succeeded {
		return stack.NotYet("it has not reported that its network is up")
	}
	for _, is := range d.NetworkPorts {
		if err := portIs(is, ports); err != nil {
			return fmt.Errorf("port %s %w", is.GetName(), err)
		}
	}
	return nil
}

func portIs(is metalv1.Port, ports map[string]port) error {
	want, mentioned := ports[is.GetName()]
	var vlans []int64
	for _, v := range is.VirtualNetworks {
		vlans = append(vlans, int64(v.GetVxlan()))
	}
	slices.Sort(vlans)
	if !slices.Equal(vlans, want.vlans) {
		return stack.NotYet("carries VLANs %v, not %v", vlans, want.vlans)
	}
	if !mentioned {
		return nil
	}
	data := is.GetData()
	if data.GetBonded() != want.bonded {
		return stack.NotYet("is bonded: %t", data.GetBonded())
	}
	layer2 := strings.HasPrefix(string(is.GetNetworkType()), "layer2")
	if strings.HasPrefix(is.GetName(), "bond") && layer2 != want.layer2 {
		return stack.NotYet("is in mode %s", is.GetNetworkType())
	}
	return nil
}

// serversOf a cluster that are not on their way out.
func serversOf(cluster string) []metalv1.Device {
	if cluster == "" {
		return nil
	}
	var out []metalv1.Device
	for _, d := range here.Cloud.Snapshot().Devices {
		if slices.Contains(d.Tags, "capp:cluster-id:"+cluster) && d.GetState() != metalv1.DEVICESTATE_DEPROVISIONING {
			out = append(out, d)
		}
	}
	return out
}
