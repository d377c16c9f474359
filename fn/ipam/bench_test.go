package ipam

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go4.org/netipx"
)

// crowd is a claim of machines with one address in each of several pools.
func crowd(machines, pools int) Input {
	in := Input{Complete: true, CoolDown: coolDown, Now: start}
	for p := range pools {
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(p), 0, 0}), 16)
		usable, err := Subnet{Prefix: subnet, Gateways: []netip.Addr{subnet.Addr().Next()}}.Usable()
		if err != nil {
			panic(err)
		}
		key := fmt.Sprintf("00000000-0000-4000-8000-00000000000a/da/%d/%s", 1000+p, subnet)
		in.Pools = append(in.Pools, Pool{Key: key, Subnet: subnet, Ranges: []AssignmentRange{{Usable: usable, Wanted: int64(machines) + 1}}})
		for m := range machines {
			in.Demands = append(in.Demands, Demand{Key: fmt.Sprintf("edge-general-x7k2p-%05d/net%d/4", m, p), Pool: key, Ready: true})
		}
	}
	return in
}

// settled is a crowd that has its addresses, and another claim as large.
func settled(machines, pools int) Input {
	in := crowd(machines, pools)
	for range 2 {
		book, err := Assign(in)
		if err != nil {
			panic(err)
		}
		in.Record = book.Record
	}
	return in
}

// benchmarkAssign tells the time for 100 and 1000 machines with 4 addresses
// each; the second should be about 10 times the first.
func benchmarkAssign(b *testing.B, prepare func(machines int) Input) {
	b.Helper()
	for _, machines := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("%dx4", machines), func(b *testing.B) {
			in := prepare(machines)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Assign(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAssignNew(b *testing.B) {
	benchmarkAssign(b, func(n int) Input { return crowd(n, 4) })
}

func BenchmarkAssignSettled(b *testing.B) {
	benchmarkAssign(b, func(n int) Input { return settled(n, 4) })
}

// Half of the machines have been replaced, each released at another second.
func BenchmarkAssignReplaced(b *testing.B) {
	benchmarkAssign(b, func(n int) Input {
		in := settled(n, 4)
		for i := range in.Demands {
			if i%2 == 0 {
				in.Demands[i].Key = "new-" + in.Demands[i].Key
			}
		}
		for key, r := range in.Record {
			for i := range min(n, 2000) {
				a := netip.AddrFrom4([4]byte{r.Used[0].From().As4()[0], r.Used[0].From().As4()[1], byte(128 + i/256), byte(i)})
				r.Released = append(r.Released, Release{At: start.Add(time.Duration(-i) * time.Second), Addresses: Ranges{netipx.IPRangeFrom(a, a)}})
			}
			in.Record[key] = r
		}
		return in
	})
}

func BenchmarkRecord(b *testing.B) {
	record := settled(1000, 4).Record
	data, err := record.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Encode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := record.Encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The size of a subnet makes no difference: a /64 is as quick as a /29.
func BenchmarkSubnetSize(b *testing.B) {
	for _, subnet := range []string{"10.60.10.0/29", "10.0.0.0/8", "2001:db8::/64", "2001:db8::/32"} {
		b.Run(subnet, func(b *testing.B) {
			p := netip.MustParsePrefix(subnet)
			for b.Loop() {
				usable, err := Subnet{Prefix: p}.Usable()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Assign(Input{
					Pools:    []Pool{{Key: "p", Subnet: p, Ranges: []AssignmentRange{{Usable: usable}}}},
					Demands:  []Demand{{Key: "a", Pool: "p"}, {Key: "b", Pool: "p"}},
					Complete: true, Now: start,
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The cost grows with the number of demands, not with its square: eight times
// as many may take 8 times as long, and some more for caches and noise, but not
// 64 times.
func TestGrowth(t *testing.T) {
	fastest := func(machines int) time.Duration {
		in := crowd(machines, 1)
		best := time.Hour
		for range 5 {
			before := time.Now()
			book, err := Assign(in)
			best = min(best, time.Since(before))
			if err != nil || len(book.Assigned) != machines {
				t.Fatalf("want %d addresses, got %d, %v", machines, len(book.Assigned), err)
			}
		}
		return best
	}
	if few, many := fastest(500), fastest(4000); many > 32*few {
		t.Errorf("500 demands take %s, 4000 take %s", few, many)
	}
}
