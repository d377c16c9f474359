package assign

import (
	"net/netip"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// routers are the addresses of a subnet that routers have, as the claim states
// them: the network's gateway and the next hops of its routes. No machine may
// have one of them: it would get what is sent to the router.
func (in Input) routers(n plan.Network, s plan.Subnet) []netip.Addr {
	var out []netip.Addr
	if s.Gateway.IsValid() {
		out = append(out, s.Gateway)
	}
	for _, p := range in.Plan.Pools {
		for _, l := range p.Links {
			if l.Network != n.Name {
				continue
			}
			for _, r := range l.Routes {
				if s.Prefix.Contains(r.Gateway) {
					out = append(out, r.Gateway)
				}
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
