// Package assign gives the machines of a plan their addresses: it turns the
// plan, the machines that exist, the record of earlier runs and the other
// claims on the same VLANs into the allocator's words, and its answer into what
// each machine is sent.
package assign

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go4.org/netipx"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// Input is what addresses are decided from.
type Input struct {
	// Scope of the cluster's VLANs.
	Scope Scope
	// Plan of the cluster.
	Plan plan.Plan
	// Facts about its machines.
	Facts infra.Facts
	// Status of the composite as an earlier run wrote it.
	Status object.View
	// Others are the other composites of the control plane.
	Others object.Required
	// Self tells the composite apart from the others, and how old it is.
	Self Self
	// Bound are the addresses that an outside pool gave, by machine and then
	// by plan.LinkSubnet.Key.
	Bound map[string]map[string]netip.Prefix
	// CoolDown is how long a released address rests.
	CoolDown time.Duration
	// Now is when the run began.
	Now time.Time
}

// Scope is where a VLAN id is unique.
type Scope struct {
	// Project and Metro of the VLANs.
	Project, Metro string
}

// Self is the composite that addresses are given for.
type Self struct {
	// UID of the composite.
	UID string
	// Created is when it was made.
	Created time.Time
}

// Result is what was decided.
type Result struct {
	// Book of the allocator.
	Book ipam.Book
	// Delivery is what machines are sent.
	Delivery infra.Delivery
	// Record for the composite's status, in unstructured values.
	Record map[string]any
	// Unreadable are composites on the same VLANs whose record could not be read,
	// each with the reason. While there are any, nobody gets an address that he
	// has not yet.
	Unreadable []string
	// Addresses of each machine, delivered or not, by plan.LinkSubnet.Key.
	Addresses infra.Delivery
	// Rooms of the assignment ranges that pools draw from.
	Rooms []Room
}

// poolKey names the space in which an address is unique.
func poolKey(s Scope, vlan int, subnet netip.Prefix) string {
	return fmt.Sprintf("%s/%s/%d/%s", s.Project, s.Metro, vlan, subnet)
}

// demandKey names one address of one machine.
func demandKey(machine, address string) string { return machine + "/" + address }

// Addresses decides who gets which address. It returns an error when the
// composite's own record cannot be read, since going on without it could give an
// address twice, and when a subnet was changed under machines that hold addresses
// of it.
func Addresses(in Input) (Result, error) {
	record, err := readRecord(in.Status, func(string) bool { return true })
	if err != nil {
		return Result{}, fmt.Errorf("cannot read the composite's record of addresses: %w; nobody is meant to edit it: "+
			"remove status.allocations, and it is rebuilt from what the machines were sent", err)
	}
	if err := in.subnetsStay(record); err != nil {
		return Result{}, err
	}
	others, unreadable := readOthers(in)
	pools, err := in.pools(others)
	if err != nil {
		return Result{}, err
	}
	demands := in.demands()
	pools, demands = in.lingering(record, pools, demands)
	book, err := ipam.Assign(ipam.Input{
		Pools: pools, Demands: demands,
		Complete: in.Facts.MachinesKnown && in.Others.Fetched && len(unreadable) == 0,
		Record:   record, CoolDown: in.CoolDown, Now: in.Now,
	})
	if err != nil {
		return Result{}, err
	}
	return in.result(book, unreadable)
}

func (in Input) result(book ipam.Book, unreadable []string) (Result, error) {
	out := Result{Book: book, Unreadable: unreadable, Delivery: infra.Delivery{}, Addresses: infra.Delivery{}, Rooms: in.rooms(book)}
	for key, a := range book.Assigned {
		machine, address, _ := strings.Cut(key, "/")
		out.Addresses.Set(machine, address, a.Address.String())
		if a.Deliver {
			out.Delivery.Set(machine, address, a.Address.String())
		}
	}
	b, err := book.Record.Encode()
	if err != nil {
		return Result{}, err
	}
	if err := json.Unmarshal(b, &out.Record); err != nil {
		return Result{}, fmt.Errorf("cannot write the record of addresses: %w", err)
	}
	return out, nil
}

// demands of all machines: one for each address that a link of its pool wants.
func (in Input) demands() []ipam.Demand {
	var out []ipam.Demand
	forEachLink(in.Plan, in.Facts, func(m infra.Machine, l plan.Link) {
		if l.Assignment != plan.AssignStatic && l.Assignment != plan.AssignPool {
			return
		}
		for _, s := range l.Subnets {
			out = append(out, in.demand(m, l, s))
		}
	})
	return out
}

// lingering adds what machines were given and would not be given any more: a
// machine that was made before a network was taken off its pool goes on using
// its address until it is replaced, so nobody else may get it.
func (in Input) lingering(record ipam.Record, pools []ipam.Pool, demands []ipam.Demand) ([]ipam.Pool, []ipam.Demand) {
	known := make(map[string]bool, len(pools))
	for _, p := range pools {
		known[p.Key] = true
	}
	given := in.given(record, demands)
	for _, holder := range slices.Sorted(maps.Keys(given)) {
		_, key, _ := strings.Cut(holder, "/")
		vlan, named := plan.VLANOfAddressKey(key)
		if !named {
			continue
		}
		address := given[holder]
		pool := ipam.Pool{Key: poolKey(in.Scope, vlan, address.Masked()), Subnet: address.Masked()}
		if !known[pool.Key] {
			known[pool.Key] = true
			pools = append(pools, pool)
		}
		demands = append(demands, ipam.Demand{
			Key: holder, Pool: pool.Key, Ready: true, Delivered: address, External: true, Fixed: address,
		})
	}
	return pools, demands
}

// given are the addresses that machines were or may have been given and that
// nothing demands any more, by the key of their demand: those that the record
// has let go to them, and above them those that they were seen to be sent.
func (in Input) given(record ipam.Record, demands []ipam.Demand) map[string]netip.Prefix {
	wanted := make(map[string]bool, len(demands))
	for _, d := range demands {
		wanted[d.Key] = true
	}
	machines := make(map[string]bool, len(in.Facts.Machines))
	for _, m := range in.Facts.Machines {
		machines[m.Name] = true
	}
	out := map[string]netip.Prefix{}
	for _, r := range record {
		for holder, address := range r.Held {
			machine, _, _ := strings.Cut(holder, "/")
			if !wanted[holder] && machines[machine] && !slices.Contains(r.Pending, holder) {
				out[holder] = address
			}
		}
	}
	for machine, addresses := range in.Facts.Delivered {
		for key, text := range addresses {
			holder := demandKey(machine, key)
			address, err := netip.ParsePrefix(text)
			if err == nil && !wanted[holder] && machines[machine] {
				out[holder] = address
			}
		}
	}
	return out
}

func (in Input) demand(m infra.Machine, l plan.Link, s plan.LinkSubnet) ipam.Demand {
	d := ipam.Demand{
		Key:      demandKey(m.Name, s.Key),
		Pool:     poolKey(in.Scope, l.ID, s.Prefix),
		Range:    rangeName(s),
		Ready:    m.Device != "",
		External: l.Assignment == plan.AssignPool,
		Fixed:    in.Bound[m.Name][s.Key],
	}
	if p, err := netip.ParsePrefix(in.Facts.Delivered[m.Name][s.Key]); err == nil {
		d.Delivered = p
	}
	return d
}

// rangeName tells the ranges of one subnet apart: the network's own, and those
// that ports name.
func rangeName(s plan.LinkSubnet) string {
	if !s.Range.IsValid() {
		return ""
	}
	return s.Range.String()
}

// pools of the allocator: one for each subnet that machines get addresses in.
func (in Input) pools(others []other) ([]ipam.Pool, error) {
	var out []ipam.Pool
	for _, n := range in.Plan.Networks {
		if n.Assignment != plan.AssignStatic && n.Assignment != plan.AssignPool {
			continue
		}
		for _, s := range n.Subnets {
			p, err := in.pool(n, s, others)
			if err != nil {
				return nil, fmt.Errorf("cannot tell the addresses of network %q: %w", n.Name, err)
			}
			out = append(out, p)
		}
	}
	return out, nil
}

func (in Input) pool(n plan.Network, s plan.Subnet, others []other) (ipam.Pool, error) {
	p := ipam.Pool{Key: poolKey(in.Scope, n.VLAN, s.Prefix), Subnet: s.Prefix, Routers: in.routers(n, s, others)}
	subnet := ipam.Subnet{Prefix: s.Prefix, Gateways: addressesOf(p.Routers), Exclude: s.Exclude}
	ranges := map[string]*ipam.AssignmentRange{}
	for _, w := range in.wants(n, s) {
		r, known := ranges[w.name]
		if !known {
			usable, err := subnet.Usable(w.narrow, s.Ranges)
			if err != nil {
				return ipam.Pool{}, err
			}
			r = &ipam.AssignmentRange{Name: w.name, Usable: usable}
			ranges[w.name] = r
		}
		r.Wanted += w.machines
	}
	for _, r := range ranges {
		p.Ranges = append(p.Ranges, *r)
	}
	slices.SortFunc(p.Ranges, func(a, b ipam.AssignmentRange) int { return cmp.Compare(a.Name, b.Name) })
	p.Foreign = foreign(n.VLAN, s.Prefix, others)
	return p, nil
}

// want is how many machines of one pool draw from which range.
type want struct {
	pool     string
	name     string
	narrow   []netipx.IPRange
	machines int64
}

func (in Input) wants(n plan.Network, s plan.Subnet) []want {
	var out []want
	for _, p := range in.Plan.Pools {
		for _, l := range p.Links {
			if l.Network != n.Name {
				continue
			}
			for _, ls := range l.Subnets {
				if ls.Prefix == s.Prefix {
					out = append(out, want{p.Name, rangeName(ls), narrow(ls), int64(p.Replicas + p.Surge)})
				}
			}
		}
	}
	return out
}

func narrow(s plan.LinkSubnet) []netipx.IPRange {
	if !s.Range.IsValid() {
		return nil
	}
	return []netipx.IPRange{s.Range}
}
