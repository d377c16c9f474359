package assign

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// use is an address that a machine has in a subnet.
type use struct {
	machine string
	vlan    int
	subnet  netip.Prefix
	address netip.Prefix
}

// subnetsStay refuses another subnet on a VLAN whose machines hold addresses of
// the old one: they would go on using those, and somebody else could get them.
func (in Input) subnetsStay(record ipam.Record) error {
	machines := map[string]bool{}
	for _, m := range in.Facts.Machines {
		machines[m.Name] = true
	}
	for _, u := range in.uses(record) {
		network, now, changed := in.changed(u.vlan, u.subnet)
		if changed && machines[u.machine] {
			return &spec.RefusedError{Field: spec.NetworkField(network, "ipAddresses"), Value: now.String(), Why: fmt.Sprintf(
				"cannot change the subnet of network %q: machine %s holds %s of %s; put %s back, or take the network off the ports and wait until its machines have let go",
				network, u.machine, u.address, u.subnet, u.subnet)}
		}
	}
	return nil
}

// uses of all addresses: those of the record, and those that machines were seen
// to be sent and the record does not know, since it can be lost.
func (in Input) uses(record ipam.Record) []use {
	var out []use
	recorded := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(record)) {
		vlan, subnet, ok := parsePoolKey(key)
		if !ok {
			continue
		}
		for _, holder := range slices.Sorted(maps.Keys(record[key].Held)) {
			machine, _, _ := strings.Cut(holder, "/")
			recorded[holder] = true
			out = append(out, use{machine, vlan, subnet, record[key].Held[holder]})
		}
	}
	for _, machine := range slices.Sorted(maps.Keys(in.Facts.Delivered)) {
		for _, key := range slices.Sorted(maps.Keys(in.Facts.Delivered[machine])) {
			vlan, named := plan.VLANOfAddressKey(key)
			address, err := netip.ParsePrefix(in.Facts.Delivered[machine][key])
			if named && err == nil && !recorded[demandKey(machine, key)] {
				out = append(out, use{machine, vlan, address.Masked(), address})
			}
		}
	}
	return out
}

// changed says whether the VLAN is still the cluster's and has another subnet of
// that family. A family that the network has no more changes nothing under the
// machines: they keep what they have, and the next ones get none.
func (in Input) changed(vlan int, subnet netip.Prefix) (network string, now netip.Prefix, changed bool) {
	for _, n := range in.Plan.Networks {
		if n.VLAN != vlan || !n.Links {
			continue
		}
		for _, s := range n.Subnets {
			if s.Prefix.Addr().Is4() == subnet.Addr().Is4() {
				return n.Name, s.Prefix, s.Prefix != subnet
			}
		}
		return n.Name, netip.Prefix{}, false
	}
	return "", netip.Prefix{}, false
}
