package ipam

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"
)

// Input is everything that Assign decides from.
type Input struct {
	// Pools are all pools of the claim.
	Pools []Pool
	// Demands are all keys that want an address, in any order.
	Demands []Demand
	// Complete says that everything could be read: every demand, every pool,
	// every other claim. If not, Assign chooses, releases and changes nothing.
	Complete bool
	// Record is what an earlier run wrote and has been read back since.
	Record Record
	// CoolDown is how long a released address is not given to anybody else.
	CoolDown time.Duration
	// Now is the current time.
	Now time.Time
}

// Pool is one subnet in its scope: the space in which an address is unique.
type Pool struct {
	// Key names scope and subnet, for example project/metro/vxlan/subnet. A
	// pool with another subnet is another pool, with another key.
	Key string
	// Subnet gives the prefix length of the addresses.
	Subnet netip.Prefix
	// Ranges are the parts of the subnet that demands draw from. They may
	// overlap.
	Ranges []AssignmentRange
	// Routers are the addresses of the subnet that routers have; no range offers
	// one of them, see Subnet.Gateways. One that a machine has nevertheless stays
	// with it, with a warning.
	Routers []Router
	// Foreign lists the other claims on this pool.
	Foreign []Foreign
}

// Router is an address that a router has.
type Router struct {
	// Address of the router.
	Address netip.Addr
	// Claim that says so; empty for ours.
	Claim string
}

// AssignmentRange is a part of a subnet and how many addresses it is to serve.
type AssignmentRange struct {
	// Name is unique in the pool; it may be empty.
	Name string
	// Usable are its addresses, see Subnet.Usable.
	Usable *netipx.IPSet
	// Wanted is the number of addresses needed at most at one time: machines
	// and surge.
	Wanted int64
}

// Foreign is what another claim has to do with a pool. A claim whose subnet
// overlaps without being the same is given with its own record of that subnet.
type Foreign struct {
	// Claim names it in conflicts.
	Claim string
	// Older says that it was created before ours, and so goes first.
	Older bool
	// Ranges are the addresses that it may use; they matter only of an older
	// claim.
	Ranges *netipx.IPSet
	// Record is its record of the pool.
	Record PoolRecord
}

// Demand is one key that wants one address.
type Demand struct {
	// Key is opaque and unique among all demands.
	Key string
	// Pool is the key of the pool.
	Pool string
	// Range names the assignment range to choose from; External demands
	// ignore it.
	Range string
	// Ready says that the address will be delivered now if Assignment.Deliver
	// allows it. Until then it stays pending.
	Ready bool
	// Delivered is the address that the machine was seen to have been given,
	// if any. It overrules the record: that is how a lost record comes back.
	Delivered netip.Prefix
	// External says that the address is chosen elsewhere and comes in Fixed.
	External bool
	// Fixed is the address that was bound elsewhere; not valid until then.
	Fixed netip.Prefix
}

// Assign decides on the address of every demand. The package comment has the
// rules. It is a pure function and does not change its input; the order of the
// slices does not matter.
//
// It fails only on an input that contradicts itself: a key that is not unique,
// a demand for a pool or range that does not exist, an address or subnet that
// is not valid, a negative cool-down.
func Assign(in Input) (Book, error) {
	demands, err := in.check()
	if err != nil {
		return Book{}, fmt.Errorf("cannot assign addresses: %w", err)
	}
	book := Book{Assigned: make(map[string]Assignment, len(in.Demands)), Record: Record{}}
	for _, pool := range in.Pools {
		l := newLedger(&in, pool, demands[pool.Key])
		l.adopt()
		if in.Complete {
			l.release()
			l.bind()
			l.settle()
			l.choose()
			l.deliver()
		}
		l.report(&book)
		book.Record.put(pool.Key, l.record())
		delete(demands, pool.Key)
	}
	in.retire(book.Record)
	book.sort()
	return book, nil
}

// retire carries over what the record says of pools that are gone: what was
// held is released, and remembered only until it has cooled down.
func (in *Input) retire(out Record) {
	for _, key := range slices.Sorted(maps.Keys(in.Record)) {
		if _, ok := out[key]; ok || slices.ContainsFunc(in.Pools, func(p Pool) bool { return p.Key == key }) {
			continue
		}
		if !in.Complete {
			out[key] = in.Record[key]
			continue
		}
		l := newLedger(in, Pool{Key: key}, nil)
		l.release()
		rest := l.record()
		rest.Released = slices.DeleteFunc(rest.Released, func(r Release) bool {
			return !r.At.Add(in.CoolDown).After(in.Now)
		})
		if len(rest.Released) > 0 {
			out[key] = rest
		}
	}
}

// put stores a pool's record unless it says nothing.
func (r Record) put(key string, p PoolRecord) {
	if len(p.Held) > 0 || len(p.Used) > 0 || len(p.Released) > 0 {
		r[key] = p
	}
}

// check refuses an input that contradicts itself and returns the demands of
// each pool, sorted by key.
func (in *Input) check() (map[string][]*Demand, error) {
	if in.CoolDown < 0 {
		return nil, fmt.Errorf("cool-down %s is negative", in.CoolDown)
	}
	pools := make(map[string]*Pool, len(in.Pools))
	for i := range in.Pools {
		p := &in.Pools[i]
		if _, ok := pools[p.Key]; ok {
			return nil, fmt.Errorf("pool %q is given twice", p.Key)
		}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("pool %q: %w", p.Key, err)
		}
		pools[p.Key] = p
	}
	demands := make(map[string][]*Demand, len(in.Pools))
	keys := make(map[string]struct{}, len(in.Demands))
	for i := range in.Demands {
		d := &in.Demands[i]
		if _, ok := keys[d.Key]; ok {
			return nil, fmt.Errorf("demand %q is given twice", d.Key)
		}
		keys[d.Key] = struct{}{}
		if err := d.check(pools[d.Pool]); err != nil {
			return nil, fmt.Errorf("demand %q: %w", d.Key, err)
		}
		demands[d.Pool] = append(demands[d.Pool], d)
	}
	for _, list := range demands {
		slices.SortFunc(list, func(a, b *Demand) int { return cmp.Compare(a.Key, b.Key) })
	}
	return demands, nil
}

func (p *Pool) check() error {
	if err := checkSubnet(p.Subnet); err != nil {
		return err
	}
	names := map[string]struct{}{}
	for _, r := range p.Ranges {
		if _, ok := names[r.Name]; ok {
			return fmt.Errorf("assignment range %q is given twice", r.Name)
		}
		names[r.Name] = struct{}{}
		for _, x := range rangesOf(r.Usable) {
			if !p.Subnet.Contains(x.From()) || !p.Subnet.Contains(x.To()) {
				return fmt.Errorf("assignment range %q: %s does not lie in %s", r.Name, formatRange(x), p.Subnet)
			}
		}
		for _, router := range p.Routers {
			if r.Usable != nil && r.Usable.Contains(router.Address) {
				return fmt.Errorf("assignment range %q offers %s, which a router has", r.Name, router.Address)
			}
		}
	}
	return nil
}

func (d *Demand) check(p *Pool) error {
	if p == nil {
		return fmt.Errorf("there is no pool %q", d.Pool)
	}
	for _, address := range []netip.Prefix{d.Delivered, d.Fixed} {
		if address == (netip.Prefix{}) {
			continue
		}
		if err := checkAddress(address); err != nil {
			return err
		}
	}
	if !d.External && !slices.ContainsFunc(p.Ranges, func(r AssignmentRange) bool { return r.Name == d.Range }) {
		return fmt.Errorf("pool %q has no assignment range %q", d.Pool, d.Range)
	}
	return nil
}
