package assign

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// Room is how many machines an assignment range has room for.
type Room struct {
	// Network by name, its VLAN id and the subnet that the range is in.
	Network string
	VLAN    int
	Subnet  netip.Prefix
	// Range tells the ranges of a subnet apart: "" for the network's own.
	Range string
	// Pools whose machines draw from the range, in the plan's order.
	Pools []string
	// Known says that the room could be counted: all machines and all other
	// claims were read.
	Known bool
	// Total is the number of addresses that machines of the pools hold or can
	// get.
	Total int64
}

// rooms of all ranges that machines draw addresses of our choice from.
func (in Input) rooms(book ipam.Book) []Room {
	var out []Room
	for _, n := range in.Plan.Networks {
		if n.Assignment != plan.AssignStatic {
			continue
		}
		for _, s := range n.Subnets {
			for _, r := range in.roomsOf(n, s) {
				in.count(&r, poolKey(in.Scope, n.VLAN, s.Prefix), book)
				out = append(out, r)
			}
		}
	}
	return out
}

// roomsOf the ranges of one subnet, not counted yet.
func (in Input) roomsOf(n plan.Network, s plan.Subnet) []Room {
	var out []Room
	for _, w := range in.wants(n, s) {
		i := slices.IndexFunc(out, func(r Room) bool { return r.Range == w.name })
		if i < 0 {
			i = len(out)
			out = append(out, Room{Network: n.Name, VLAN: n.VLAN, Subnet: s.Prefix, Range: w.name})
		}
		out[i].Pools = append(out[i].Pools, w.pool)
	}
	return out
}

// count the room. An address that a machine holds outside of its range is room
// for this machine and no other.
func (in Input) count(r *Room, key string, book ipam.Book) {
	for _, c := range book.Capacity {
		if c.Pool == key && c.Range == r.Range {
			r.Known, r.Total = true, c.Total
		}
	}
	outside := map[string]bool{}
	for _, w := range book.Warnings {
		machine, _, _ := strings.Cut(w.Key, "/")
		outside[machine] = outside[machine] || w.Pool == key && w.Concern != ipam.FixedDiffers
	}
	for _, m := range in.Facts.Machines {
		if outside[m.Name] && slices.Contains(r.Pools, m.Pool) && r.Total < ipam.MaxCount {
			r.Total++
		}
	}
}
