package assign

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// Names of the requirements that Addresses and Bound read.
const (
	// Composites are the composites of all claims.
	Composites = "composites"
	// BoundAddresses are the addresses that outside pools gave.
	BoundAddresses = "ip-addresses"
)

const (
	ipamVersion = "ipam.cluster.x-k8s.io/v1beta2"
	claimKind   = "IPAddressClaim"
)

// Requirements are the objects that decide on addresses.
func Requirements(c infra.Cluster) map[string]object.Selector {
	out := map[string]object.Selector{
		Composites: {APIVersion: spec.Group + "/" + spec.Version, Kind: spec.CompositeKind},
	}
	if len(poolRefs(c)) > 0 {
		out[BoundAddresses] = object.Selector{APIVersion: ipamVersion, Kind: "IPAddress", Namespace: c.Namespace}
	}
	return out
}

// poolRefs are the outside pools by network.
func poolRefs(c infra.Cluster) map[string]spec.PoolRef {
	out := map[string]spec.PoolRef{}
	for _, n := range c.Spec.Networks {
		if n.PoolRef != nil {
			out[n.Name] = *n.PoolRef
		}
	}
	return out
}

// Claims are the IPAddressClaims of all machines: one for each network whose
// addresses come from an outside pool
// (https://cluster-api.sigs.k8s.io/developer/providers/contracts/ipam). Beside
// them come the keys of those that are observed and must stay: all while the
// machines are not known, and those whose address a machine was given that would
// not be given it any more, since its pool could bind it to another. What
// machines are given is what Addresses decided.
func Claims(c infra.Cluster, f infra.Facts, given infra.Delivery) (objects []object.Object, kept []string) {
	if !f.MachinesKnown {
		for _, key := range slices.Sorted(maps.Keys(c.Observed)) {
			if c.Observed[key].String("kind") == claimKind {
				kept = append(kept, key)
			}
		}
		return nil, kept
	}
	refs := poolRefs(c)
	forEachLink(c.Plan, f, func(m infra.Machine, l plan.Link) {
		if l.Assignment == plan.AssignPool {
			objects = append(objects, claim(c, refs[l.Network], m, l))
		}
	})
	return objects, lingeringClaims(c, given, objects)
}

// lingeringClaims are the keys of observed claims that are not composed and
// whose address their machine goes on using until it is replaced.
func lingeringClaims(c infra.Cluster, given infra.Delivery, composed []object.Object) []string {
	anew := make(map[string]bool, len(composed))
	for _, o := range composed {
		anew[o.Key] = true
	}
	var kept []string
	for machine, addresses := range given {
		for address := range addresses {
			vlan, named := plan.VLANOfAddressKey(address)
			key := claimKey(machine, vlan)
			if _, exists := c.Observed[key]; named && exists && !anew[key] {
				kept = append(kept, key)
			}
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// claimKey is the key of a machine's IPAddressClaim on a VLAN.
func claimKey(machine string, vlan int) string {
	return object.Key("machine", machine, "address", fmt.Sprintf("vlan%d", vlan))
}

func claim(c infra.Cluster, pool spec.PoolRef, m infra.Machine, l plan.Link) object.Object {
	o := object.Object{
		Key:  claimKey(m.Name, l.ID),
		Part: object.PartDelivery,
		Body: map[string]any{
			"apiVersion": ipamVersion, "kind": claimKind,
			"metadata": map[string]any{
				"name": claimName(m.Name, l.ID), "namespace": c.Namespace,
				"labels": map[string]any{"cluster.x-k8s.io/cluster-name": c.Name},
			},
			"spec": map[string]any{
				"clusterName": c.Name,
				"poolRef":     map[string]any{"apiGroup": pool.APIGroup, "kind": pool.Kind, "name": pool.Name},
			},
		},
	}
	observed, ok := c.Observed[o.Key]
	if was := poolOf(observed, ok); was != nil {
		o.Body["spec"] = map[string]any{"clusterName": c.Name, "poolRef": was}
	}
	if ok && observed.String("status", "addressRef", "name") != "" {
		o.Ready = object.IsReady
	}
	if o.Ready != object.IsReady {
		o.Why = fmt.Sprintf("machine %s: pool %s has not bound an address on network %s yet", m.Name, pool.Name, l.Network)
	}
	return o
}

// poolOf is the pool that a claim which exists was made for, or nil: Cluster API
// never lets a claim go to another one
// (https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/core/webhooks/admission/ipaddressclaim.go), and its
// machine keeps the address anyway.
func poolOf(observed object.View, exists bool) map[string]any {
	if !exists || !observed.Has("spec", "poolRef") {
		return nil
	}
	return observed.Object("spec", "poolRef")
}

// claimName is the name of a machine's IPAddressClaim on a VLAN.
func claimName(machine string, vlan int) string {
	return object.Name(object.LabelLimit, machine, fmt.Sprintf("vlan%d", vlan))
}

// Source is where a machine's address on a network comes from: the outside pool,
// and the IPAddressClaim that asks it. The pool is that of a claim which exists,
// also when the network names another one by now.
func Source(c infra.Cluster, machine string, n plan.Network) (pool, claim string) {
	pool = poolRefs(c)[n.Name].Name
	observed, ok := c.Observed[claimKey(machine, n.VLAN)]
	if was, named := poolOf(observed, ok)["name"].(string); named {
		pool = was
	}
	return pool, claimName(machine, n.VLAN)
}

// Bound are the addresses that outside pools gave, by machine and then by
// plan.LinkSubnet.Key. One that is in none of the network's blocks is told as of
// the first: Addresses refuses it by name.
func Bound(p plan.Plan, f infra.Facts, addresses object.Required) map[string]map[string]netip.Prefix {
	byClaim := make(map[string]netip.Addr, len(addresses.Items))
	for _, v := range addresses.Items {
		if a, err := netip.ParseAddr(v.String("spec", "address")); err == nil {
			byClaim[v.String("spec", "claimRef", "name")] = a.Unmap()
		}
	}
	out := map[string]map[string]netip.Prefix{}
	forEachLink(p, f, func(m infra.Machine, l plan.Link) {
		a, ok := byClaim[claimName(m.Name, l.ID)]
		if !ok || l.Assignment != plan.AssignPool || len(l.Subnets) == 0 {
			return
		}
		s := l.Subnets[max(0, slices.IndexFunc(l.Subnets, func(s plan.LinkSubnet) bool { return s.Prefix.Contains(a) }))]
		out[m.Name] = merge(out[m.Name], s.Key, netip.PrefixFrom(a, min(s.Prefix.Bits(), a.BitLen())))
	})
	return out
}

func merge(m map[string]netip.Prefix, key string, value netip.Prefix) map[string]netip.Prefix {
	if m == nil {
		m = map[string]netip.Prefix{}
	}
	m[key] = value
	return m
}

// forEachLink of every machine that exists.
func forEachLink(p plan.Plan, f infra.Facts, do func(infra.Machine, plan.Link)) {
	links := map[string][]plan.Link{}
	for _, pool := range p.Pools {
		links[pool.Name] = pool.Links
	}
	for _, m := range f.Machines {
		for _, l := range links[m.Pool] {
			do(m, l)
		}
	}
}
