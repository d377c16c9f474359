package metal

import (
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPool takes and gives blocks at random: none overlaps another, none is
// outside of the pool, and the pool is refused to be empty only when no block
// of that size is free.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &pool{prefix: netip.MustParsePrefix("127.64.0.0/26"), next: 1}
		var held []netip.Prefix
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "give") {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				p.give(held[i])
				held = slices.Delete(held, i, i+1)
				continue
			}
			bits := rapid.IntRange(28, 32).Draw(t, "bits")
			got, found := p.take(bits)
			if found != free(p.prefix, held, bits) {
				t.Fatalf("/%d found: %t with %v taken", bits, found, held)
			}
			if !found {
				continue
			}
			if got.Bits() != bits || got != got.Masked() || !p.prefix.Overlaps(got) || slices.ContainsFunc(held, got.Overlaps) {
				t.Fatalf("got %s for a /%d with %v taken", got, bits, held)
			}
			held = append(held, got)
		}
	})
}

// free looks at every block of that size but the first, which holds the pool's
// own first address.
func free(in netip.Prefix, held []netip.Prefix, bits int) bool {
	first := netip.PrefixFrom(in.Addr(), bits)
	for a := in.Addr(); in.Contains(a); a = a.Next() {
		block := netip.PrefixFrom(a, bits)
		if block == block.Masked() && block != first && !slices.ContainsFunc(held, block.Overlaps) {
			return true
		}
	}
	return false
}

func TestPoolComesBackLate(t *testing.T) {
	p := &pool{prefix: netip.MustParsePrefix("127.64.0.0/30"), next: 1}
	var got []string
	for range 4 {
		block, found := p.take(32)
		if !found {
			t.Fatal("the pool is empty")
		}
		got = append(got, block.Addr().String())
		p.give(block)
	}
	want := []string{"127.64.0.1", "127.64.0.2", "127.64.0.3", "127.64.0.1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPoolsGetEverythingBack lets a server, a reservation and a gateway come
// and go: nothing stays taken.
func TestPoolsGetEverythingBack(t *testing.T) {
	c := New(Options{Projects: map[string]string{"p": "ours"}})
	ask := func(method, path, body string) {
		t.Helper()
		req := httptest.NewRequest(method, basePath+path, strings.NewReader(body))
		req.Header.Set("X-Auth-Token", "any")
		rec := httptest.NewRecorder()
		c.ServeHTTP(rec, req)
		if rec.Code >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
		}
	}
	taken := func() []int {
		c.Snapshot()
		return []int{len(c.pools.public.taken), len(c.pools.private.taken), len(c.pools.elastic.taken), len(c.pools.gateway.taken)}
	}
	ask("POST", "/projects/p/devices", `{"metro":"da","plan":"c3.small.x86","operating_system":"debian_12"}`)
	ask("POST", "/projects/p/ips", `{"type":"public_ipv4","quantity":4,"metro":"da"}`)
	ask("POST", "/projects/p/virtual-networks", `{"metro":"da"}`)
	ask("POST", "/projects/p/metal-gateways", `{"virtual_network_id":"`+c.Snapshot().VLANs[0].GetId()+`","private_ipv4_subnet_size":8}`)
	if got := taken(); !slices.Equal(got, []int{1, 1, 1, 1}) {
		t.Errorf("taken: %v", got)
	}
	snap := c.Snapshot()
	ask("DELETE", "/metal-gateways/"+snap.Gateways[0].GetId(), "")
	ask("DELETE", "/devices/"+snap.Devices[0].GetId(), "")
	ask("DELETE", "/ips/"+snap.Reservations[0].GetId(), "")
	if got := taken(); !slices.Equal(got, []int{0, 0, 0, 0}) {
		t.Errorf("still taken: %v", got)
	}
}
