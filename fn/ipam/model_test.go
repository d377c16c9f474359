package ipam

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"pgregory.net/rapid"
)

// The subnet of the model: 10.60.10.0/28, hosts .1 to .14, written here by
// their last number.
const (
	firstHost = 1
	lastHost  = 14
)

func host(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 60, 10, byte(i)}) }

// hosts is a set of the model's hosts, one bit each.
type hosts uint16

func (h hosts) has(i int) bool { return h&(1<<i) != 0 }

func (h hosts) list() []int {
	var out []int
	for i := firstHost; i <= lastHost; i++ {
		if h.has(i) {
			out = append(out, i)
		}
	}
	return out
}

func (h hosts) set() *netipx.IPSet {
	var b netipx.IPSetBuilder
	for _, i := range h.list() {
		b.Add(host(i))
	}
	return built(&b)
}

func drawHosts(t *rapid.T, name string) hosts {
	return hosts(rapid.Uint16().Draw(t, name)) & (1<<(lastHost+1) - 1<<firstHost)
}

// modelMachine is a key of the model.
type modelMachine struct {
	rangeName string
	ready     bool
	addr      int // 0 for none
	pending   bool
	observed  bool
}

// model is the allocator once more, by way of listing all addresses, beside the
// world that it lives in.
type model struct {
	now      time.Time
	ranges   map[string]hosts
	machines map[string]*modelMachine
	gone     []string // machines that have vanished and are still on record
	nextKey  int

	used     hosts
	released map[int]time.Time

	older           hosts
	foreign         map[int]bool // by host: whether it is held by another claim
	foreignReleased map[int]time.Time

	record []byte // what Assign is given

	// What happened, whatever anybody remembers of it.
	vanished  map[int]time.Time        // when a delivered address was last on a wire
	delivered map[string]netip.Prefix  // what each machine has been told
	fixed     map[string]string        // the address that a key must never lose
	dead      map[string]*modelMachine // machines by the keys in gone
}

func newModel() *model {
	return &model{
		now: start, ranges: map[string]hosts{"": 1<<(lastHost+1) - 1<<2, "workers": 0}, machines: map[string]*modelMachine{},
		released: map[int]time.Time{}, foreign: map[int]bool{}, foreignReleased: map[int]time.Time{},
		vanished: map[int]time.Time{}, delivered: map[string]netip.Prefix{}, fixed: map[string]string{}, dead: map[string]*modelMachine{},
	}
}

// input is the state as Assign is to see it.
func (m *model) input(t *rapid.T) Input {
	record, err := Decode(m.record)
	if err != nil {
		t.Fatal(err)
	}
	pool := Pool{Key: "p", Subnet: prefix("10.60.10.0/28")}
	for name, h := range m.ranges {
		pool.Ranges = append(pool.Ranges, AssignmentRange{Name: name, Usable: h.set(), Wanted: 3})
	}
	other := PoolRecord{Held: map[string]netip.Prefix{}}
	for i := range m.foreign {
		other.Held[fmt.Sprint("other", i)] = netip.PrefixFrom(host(i), 28)
	}
	for i, at := range m.foreignReleased {
		other.Released = append(other.Released, Release{At: at, Addresses: Ranges{netipx.IPRangeFrom(host(i), host(i))}})
	}
	pool.Foreign = []Foreign{
		{Claim: "old", Older: true, Ranges: m.older.set()},
		{Claim: "young", Ranges: drawHosts(t, "young ranges").set(), Record: other},
	}
	in := Input{Pools: []Pool{pool}, Record: record, Complete: true, CoolDown: coolDown, Now: m.now}
	for key, x := range m.machines {
		in.Demands = append(in.Demands, Demand{Key: key, Pool: "p", Range: x.rangeName, Ready: x.ready, Delivered: m.delivered[key]})
	}
	return in
}

func (m *model) holder(i int) bool {
	for _, x := range m.machines {
		if x.addr == i {
			return true
		}
	}
	for _, key := range m.gone {
		if m.dead[key].addr == i {
			return true
		}
	}
	return false
}

// lastRelease is when anybody released a host.
func (m *model) lastRelease(i int) (time.Time, bool) {
	ours, ok := m.released[i]
	theirs, too := m.foreignReleased[i]
	if too && (!ok || theirs.After(ours)) {
		return theirs, true
	}
	return ours, ok
}

// wish orders the hosts of a range for a demand: less is better.
func (m *model) wish(i int) [5]int64 {
	at, released := m.lastRelease(i)
	if released && at.Add(coolDown).After(m.now) {
		return [5]int64{1, at.Unix(), int64(i)}
	}
	var shared, class, since int64
	if m.older.has(i) {
		shared = 1
	}
	switch {
	case released:
		class, since = 2, at.Unix()
	case m.used.has(i):
		class = 1
	}
	return [5]int64{0, shared, class, since, int64(i)}
}

// assign is what Assign should do; it returns the missing demands.
func (m *model) assign() []Missing {
	up := m.now.Truncate(time.Second)
	if up.Before(m.now) {
		up = up.Add(time.Second)
	}
	for _, key := range m.gone {
		m.released[m.dead[key].addr] = up
	}
	m.gone = nil
	promised := map[int]bool{}
	var missing []Missing
	for _, key := range m.inOrder() {
		x := m.machines[key]
		if x.addr != 0 {
			continue
		}
		free := slices.DeleteFunc(m.ranges[x.rangeName].list(), func(i int) bool { return m.holder(i) || m.foreign[i] || promised[i] })
		if len(free) == 0 {
			missing = append(missing, Missing{Key: key, Pool: "p", Range: x.rangeName, Reason: Exhausted})
			continue
		}
		best := slices.MinFunc(free, func(a, b int) int { x, y := m.wish(a), m.wish(b); return slices.Compare(x[:], y[:]) })
		if m.wish(best)[0] == 1 {
			at, _ := m.lastRelease(best)
			promised[best] = true
			missing = append(missing, Missing{Key: key, Pool: "p", Range: x.rangeName, Reason: Cooling, Until: at.Add(coolDown)})
			continue
		}
		x.addr, x.pending, x.observed = best, true, false
		m.used |= 1 << best
		delete(m.released, best)
	}
	for _, x := range m.machines {
		if x.addr != 0 && x.pending && x.observed && x.ready {
			x.pending = false
		}
		x.observed = x.addr != 0
	}
	slices.SortFunc(missing, func(a, b Missing) int { return cmp.Compare(a.Key, b.Key) })
	return missing
}

// inOrder is the order of service: fewest addresses first, then by key.
func (m *model) inOrder() []string {
	return slices.SortedFunc(maps.Keys(m.machines), func(a, b string) int {
		x, y := m.machines[a], m.machines[b]
		return cmp.Or(cmp.Compare(len(m.ranges[x.rangeName].list()), len(m.ranges[y.rangeName].list())), cmp.Compare(a, b))
	})
}

// capacity is what the figures should be.
func (m *model) capacity() []Capacity {
	out := make([]Capacity, 0, len(m.ranges))
	for _, name := range slices.Sorted(maps.Keys(m.ranges)) {
		c := Capacity{Pool: "p", Range: name, Wanted: 3}
		own := map[int]bool{}
		for _, x := range m.machines {
			if x.addr != 0 && x.rangeName == name {
				c.Used++
				own[x.addr] = true
			}
		}
		for _, i := range m.ranges[name].list() {
			if m.foreign[i] || m.holder(i) && !own[i] {
				continue
			}
			c.Total++
			if m.older.has(i) {
				c.Shared++
			}
			at, released := m.lastRelease(i)
			if until := at.Add(coolDown); released && !m.holder(i) && until.After(m.now) {
				c.Cooling++
				if c.NextFree.IsZero() || until.Before(c.NextFree) {
					c.NextFree = until
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// decide runs Assign twice, the second time with everything in another order,
// and returns the answer, having seen that it is the same, and that the record
// given was left alone.
func (m *model) decide(t *rapid.T, in Input) Book {
	book, err := Assign(in)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := in.Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again := in
	again.Record, _ = Decode(m.record)
	again.Demands = rapid.Permutation(in.Demands).Draw(t, "demands")
	again.Pools = slices.Clone(in.Pools)
	again.Pools[0].Ranges = rapid.Permutation(in.Pools[0].Ranges).Draw(t, "ranges")
	again.Pools[0].Foreign = rapid.Permutation(in.Pools[0].Foreign).Draw(t, "foreign")
	shuffled, err := Assign(again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(book, shuffled, values); diff != "" {
		t.Fatalf("the order of the input matters: %s", diff)
	}
	if !bytes.Equal(kept, m.canonical(t)) {
		t.Fatalf("the input was changed: from %s to %s", m.record, kept)
	}
	return book
}

func (m *model) canonical(t *rapid.T) []byte {
	r, err := Decode(m.record)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run compares a run over everything with the model, and the outcome with what
// must never happen.
func (m *model) run(t *rapid.T) Book {
	book := m.decide(t, m.input(t))
	missing := m.assign()
	want := map[string]Assignment{}
	for key, x := range m.machines {
		if x.addr != 0 {
			want[key] = Assignment{Address: netip.PrefixFrom(host(x.addr), 28), Deliver: !x.pending}
		}
	}
	if diff := gocmp.Diff(want, book.Assigned, values); diff != "" {
		t.Fatalf("assigned: -want, +got:\n%s", diff)
	}
	if diff := gocmp.Diff(missing, book.Missing, values); diff != "" {
		t.Fatalf("missing: -want, +got:\n%s", diff)
	}
	if diff := gocmp.Diff(m.capacity(), book.Capacity, values); diff != "" {
		t.Fatalf("capacity: -want, +got:\n%s", diff)
	}
	m.live(t, book)
	return book
}

// live lets the world go on with an answer and checks it against what must never
// happen, independently of the model.
func (m *model) live(t *rapid.T, book Book) {
	owner := map[netip.Addr]string{}
	for key, a := range book.Assigned {
		if other, ok := owner[a.Address.Addr()]; ok {
			t.Fatalf("%s and %s both have %s", key, other, a.Address)
		}
		owner[a.Address.Addr()] = key
		if was, ok := m.fixed[key]; ok && was != a.Address.String() {
			t.Fatalf("%s had %s and now has %s", key, was, a.Address)
		}
		if _, ok := m.fixed[key]; !ok {
			if at, ok := m.vanished[int(a.Address.Addr().As4()[3])]; ok && m.now.Before(at.Add(coolDown)) {
				t.Fatalf("%s gets %s, which was in use at %s, at %s", key, a.Address, at, m.now)
			}
		}
		m.fixed[key] = a.Address.String()
		if a.Deliver {
			m.delivered[key] = a.Address
		}
	}
	data, err := book.Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m.record = data
}

// vanish removes a machine from the world.
func (m *model) vanish(key string) {
	x := m.machines[key]
	if x.addr != 0 {
		m.gone = append(m.gone, key)
		m.dead[key] = x
		if _, ok := m.delivered[key]; ok {
			m.vanished[x.addr] = m.now
		}
	}
	delete(m.machines, key)
	delete(m.delivered, key)
	delete(m.fixed, key)
}

func (m *model) add(t *rapid.T) {
	if len(m.machines) > 16 {
		return
	}
	m.nextKey++
	// Keys are not in the order of their creation.
	key := fmt.Sprintf("m%d-%d", rapid.IntRange(0, 9).Draw(t, "name"), m.nextKey)
	m.machines[key] = &modelMachine{
		rangeName: rapid.SampledFrom([]string{"", "", "workers"}).Draw(t, "range"), ready: rapid.Bool().Draw(t, "ready"),
	}
}

func (m *model) pick(t *rapid.T) (string, bool) {
	if len(m.machines) == 0 {
		return "", false
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.machines))).Draw(t, "machine"), true
}

func (m *model) remove(t *rapid.T) {
	if key, ok := m.pick(t); ok {
		m.vanish(key)
	}
}

// lose loses the record. It can only be noticed while a machine is left that
// has an address.
func (m *model) lose(t *rapid.T) {
	if len(m.delivered) == 0 {
		return
	}
	m.record = []byte("{}")
	m.used, m.released, m.gone = 0, map[int]time.Time{}, nil
	up := m.now.Add(time.Second - 1).Truncate(time.Second)
	for _, h := range m.ranges {
		for _, i := range h.list() {
			if !m.foreign[i] {
				m.released[i] = up
			}
		}
	}
	for key, x := range m.machines {
		if _, ok := m.delivered[key]; !ok {
			x.addr = 0
			delete(m.fixed, key) // it was never told
			continue
		}
		x.pending, x.observed = false, true
		m.used |= 1 << x.addr
		delete(m.released, x.addr)
	}
	// What was in use where nobody may choose now cannot be known any more.
	maps.DeleteFunc(m.vanished, func(i int, _ time.Time) bool { _, ok := m.released[i]; return !ok })
	m.run(t)
}

// blind is a run that could not read everything.
func (m *model) blind(t *rapid.T) {
	in := m.input(t)
	in.Complete = false
	in.Demands = slices.DeleteFunc(in.Demands, func(Demand) bool { return rapid.IntRange(0, 2).Draw(t, "unseen") == 0 })
	book := m.decide(t, in)
	got, err := book.Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, m.canonical(t)) {
		t.Fatalf("an incomplete reading changed %s to %s", m.record, got)
	}
	for _, d := range in.Demands {
		x := m.machines[d.Key]
		a, ok := book.Assigned[d.Key]
		if want := x.observed; ok != want || ok && (a.Address.Addr() != host(x.addr) || a.Deliver == x.pending) {
			t.Fatalf("%s: want %+v, got %+v, %t", d.Key, x, a, ok)
		}
	}
}

// meddle lets other claims do something, though nothing with an address of ours.
func (m *model) meddle(t *rapid.T) {
	m.older = drawHosts(t, "older")
	i := rapid.IntRange(firstHost, lastHost).Draw(t, "host")
	switch {
	case m.foreign[i]:
		delete(m.foreign, i)
		m.foreignReleased[i] = m.now.Truncate(time.Second)
	case !m.holder(i):
		m.foreign[i] = true
		delete(m.foreignReleased, i)
	}
}

// TestModel lets a claim live at random, beside a second implementation that
// lists all addresses.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		m.record = []byte("{}")
		t.Repeat(map[string]func(*rapid.T){
			"Add":     m.add,
			"AddMore": m.add,
			"Remove":  m.remove,
			"Replace": func(t *rapid.T) { m.remove(t); m.add(t) },
			"Ready": func(t *rapid.T) {
				if key, ok := m.pick(t); ok {
					m.machines[key].ready = true
				}
			},
			"Wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.Int64Range(1, int64(coolDown)).Draw(t, "time")))
			},
			"Edit": func(t *rapid.T) {
				m.ranges[rapid.SampledFrom([]string{"", "workers"}).Draw(t, "range")] = drawHosts(t, "hosts")
			},
			"Meddle": m.meddle,
			"Run":    func(t *rapid.T) { m.run(t) },
			"RunToo": func(t *rapid.T) { m.run(t) },
			"Blind":  m.blind,
			"Lose":   m.lose,
		})
		m.settle(t)
	})
}

// settle checks that in the end everybody who fits has an address.
func (m *model) settle(t *rapid.T) {
	for _, x := range m.machines {
		x.ready = true
	}
	m.run(t)
	m.now = m.now.Add(coolDown + time.Second)
	m.run(t)
	book := m.run(t)
	for key, a := range book.Assigned {
		if !a.Deliver {
			t.Fatalf("%s is not delivered", key)
		}
	}
	for _, x := range book.Missing {
		for _, i := range m.ranges[x.Range].list() {
			if !m.foreign[i] && !m.holder(i) {
				t.Fatalf("%s misses an address although %s is free", x.Key, host(i))
			}
		}
	}
	before, _ := json.Marshal(book.Record)
	after, _ := json.Marshal(m.run(t).Record)
	if !bytes.Equal(before, after) {
		t.Fatalf("nothing happened, and the record changed from %s to %s", before, after)
	}
}
