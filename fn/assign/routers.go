package assign

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// routers are the addresses of a subnet that routers have, as the claims on the
// VLAN state them: a network's gateway and the next hops of its routes. No
// machine may have one of them: it would get what is sent to the router. Which
// claim is older does not matter, since a router is there whoever speaks of it.
func (in Input) routers(n plan.Network, s plan.Subnet, others []other) []ipam.Router {
	var out []ipam.Router
	if s.Gateway.IsValid() {
		out = append(out, ipam.Router{Address: s.Gateway})
	}
	for _, p := range in.Plan.Pools {
		for _, l := range p.Links {
			if l.Network != n.Name {
				continue
			}
			for _, r := range l.Routes {
				if s.Prefix.Contains(r.Gateway) {
					out = append(out, ipam.Router{Address: r.Gateway})
				}
			}
		}
	}
	for _, o := range others {
		for _, a := range o.routers(n.VLAN) {
			if s.Prefix.Contains(a) {
				out = append(out, ipam.Router{Address: a, Claim: o.name})
			}
		}
	}
	slices.SortFunc(out, func(a, b ipam.Router) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Claim, b.Claim))
	})
	return slices.Compact(out)
}

func addressesOf(routers []ipam.Router) []netip.Addr {
	out := make([]netip.Addr, 0, len(routers))
	for _, r := range routers {
		out = append(out, r.Address)
	}
	return out
}
