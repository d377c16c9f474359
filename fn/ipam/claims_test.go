package ipam

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// aClaim is one of several claims on one pool. A run reads all records at one
// moment and writes its own at a later one; anything may happen in between.
type aClaim struct {
	name    string
	age     int // the lowest is the oldest
	ranges  hosts
	record  []byte
	ready   map[string]bool // its machines
	told    map[string]netip.Prefix
	running *Book // a run that has read and not yet written
}

// claims are several claims and the wire that their machines share.
type claims struct {
	now      time.Time
	all      []*aClaim
	nextKey  int
	vanished map[netip.Addr]time.Time
}

func (w *claims) pick(t *rapid.T) *aClaim {
	return w.all[rapid.IntRange(0, len(w.all)-1).Draw(t, "claim")]
}

// read begins a run.
func (w *claims) read(t *rapid.T, c *aClaim, complete bool) {
	if c.running != nil {
		return
	}
	record, err := Decode(c.record)
	if err != nil {
		t.Fatal(err)
	}
	pool := Pool{Key: "p", Subnet: prefix("10.60.10.0/28"), Ranges: []AssignmentRange{{Usable: c.ranges.set()}}}
	for _, o := range w.all {
		if o == c {
			continue
		}
		other, err := Decode(o.record)
		if err != nil {
			t.Fatal(err)
		}
		pool.Foreign = append(pool.Foreign, Foreign{Claim: o.name, Older: o.age < c.age, Ranges: o.ranges.set(), Record: other["p"]})
	}
	in := Input{Pools: []Pool{pool}, Record: record, Complete: complete, CoolDown: coolDown, Now: w.now}
	for key, ready := range c.ready {
		in.Demands = append(in.Demands, Demand{Key: key, Pool: "p", Ready: ready, Delivered: c.told[key]})
	}
	book, err := Assign(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range book.Conflicts {
		if x.Outcome == Kept && x.Claim != "" && c.told[x.Key].IsValid() && w.claim(x.Claim).told[x.OtherKey].Addr() == x.Address {
			t.Fatalf("%s: two machines have %s: %+v", c.name, x.Address, x)
		}
	}
	c.running = &book
}

func (w *claims) claim(name string) *aClaim {
	return w.all[slices.IndexFunc(w.all, func(c *aClaim) bool { return c.name == name })]
}

// write ends a run: its record is read by all from now on, and machines get what
// may be delivered to them.
func (w *claims) write(t *rapid.T, c *aClaim) {
	if c.running == nil {
		return
	}
	book := *c.running
	c.running = nil
	data, err := book.Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c.record = data
	for key, a := range book.Assigned {
		if _, exists := c.ready[key]; !exists || !a.Deliver {
			continue
		}
		if was, ok := c.told[key]; ok {
			if was != a.Address {
				t.Fatalf("%s: %s was renumbered from %s to %s", c.name, key, was, a.Address)
			}
			continue
		}
		w.mayUse(t, c, key, a.Address.Addr())
		c.told[key] = a.Address
	}
}

// mayUse fails if an address is on the wire already, or was too recently.
func (w *claims) mayUse(t *rapid.T, c *aClaim, key string, a netip.Addr) {
	for _, o := range w.all {
		for k, other := range o.told {
			if other.Addr() == a {
				t.Fatalf("%s/%s gets %s, which %s/%s has", c.name, key, a, o.name, k)
			}
		}
	}
	if at, ok := w.vanished[a]; ok && w.now.Before(at.Add(coolDown)) {
		t.Fatalf("%s/%s gets %s at %s, which was in use at %s", c.name, key, a, w.now, at)
	}
}

func (w *claims) add(t *rapid.T) {
	c := w.pick(t)
	if len(c.ready) < 6 {
		w.nextKey++
		c.ready[fmt.Sprintf("m%d", w.nextKey)] = rapid.Bool().Draw(t, "ready")
	}
}

func (w *claims) remove(t *rapid.T) {
	c := w.pick(t)
	if len(c.ready) == 0 {
		return
	}
	key := rapid.SampledFrom(slices.Sorted(maps.Keys(c.ready))).Draw(t, "machine")
	if a, ok := c.told[key]; ok {
		w.vanished[a.Addr()] = w.now
	}
	delete(c.ready, key)
	delete(c.told, key)
}

// TestClaims lets claims with overlapping ranges live at random, and their runs
// overlap in any way: no two machines ever have one address, nor does one get an
// address that another one had too recently, and nobody is renumbered.
func TestClaims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &claims{now: start, vanished: map[netip.Addr]time.Time{}}
		for i := range rapid.IntRange(2, 4).Draw(t, "claims") {
			c := &aClaim{name: fmt.Sprint("claim", i), age: i, record: []byte("{}"), ready: map[string]bool{}, told: map[string]netip.Prefix{}}
			c.ranges = 1<<(lastHost+1) - 1<<2
			if rapid.Bool().Draw(t, "own ranges") {
				c.ranges = drawHosts(t, "ranges")
			}
			w.all = append(w.all, c)
		}
		read := func(t *rapid.T) { w.read(t, w.pick(t), true) }
		write := func(t *rapid.T) { w.write(t, w.pick(t)) }
		t.Repeat(map[string]func(*rapid.T){
			"Add":     w.add,
			"AddMore": w.add,
			"Remove":  w.remove,
			"Read":    read, "ReadMore": read, "ReadToo": read,
			"Write": write, "WriteMore": write, "WriteToo": write,
			"Blind": func(t *rapid.T) { w.read(t, w.pick(t), false) },
			"Wait": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.Int64Range(1, int64(coolDown)).Draw(t, "time")))
			},
			"Edit": func(t *rapid.T) { w.pick(t).ranges = drawHosts(t, "ranges") },
			"Ready": func(t *rapid.T) {
				c := w.pick(t)
				for _, key := range slices.Sorted(maps.Keys(c.ready)) {
					c.ready[key] = c.ready[key] || rapid.Bool().Draw(t, "ready")
				}
			},
		})
		w.settle(t)
	})
}

// settle checks that, when nothing happens any more, every machine that fits has
// its address within a few runs.
func (w *claims) settle(t *rapid.T) {
	rounds := len(w.all) + 2
	for range rounds {
		for _, c := range w.all {
			for key := range c.ready {
				c.ready[key] = true
			}
			w.write(t, c)
			w.read(t, c, true)
			w.write(t, c)
		}
		w.now = w.now.Add(coolDown + time.Second)
	}
	taken := map[netip.Addr]bool{}
	for _, c := range w.all {
		for _, a := range c.told {
			taken[a.Addr()] = true
		}
	}
	for _, c := range w.all {
		for key := range c.ready {
			if _, ok := c.told[key]; ok {
				continue
			}
			for _, i := range c.ranges.list() {
				if !taken[host(i)] {
					t.Fatalf("after %d rounds %s/%s has no address, although %s is free", rounds, c.name, key, host(i))
				}
			}
		}
	}
}
