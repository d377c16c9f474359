package metal

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// pools are the loopback ranges from which addresses come.
type pools struct {
	public, private, elastic, gateway *pool
}

func newPools(octet uint8) pools {
	block := func(n uint8) *pool {
		return &pool{prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{127, octet + n, 0, 0}), 16), next: 1}
	}
	return pools{public: block(0), private: block(1), elastic: block(2), gateway: block(3)}
}

// A pool hands out blocks of addresses one after the other. It comes back to
// a released one only when it has been through the whole range, as late as it
// can.
type pool struct {
	prefix netip.Prefix
	next   uint32 // offset of the first address to try
	taken  []netip.Prefix
}

// take returns a free block of that prefix length, if there is one.
func (p *pool) take(bits int) (netip.Prefix, bool) {
	size := uint32(1) << (32 - bits)
	total := uint32(1) << (32 - p.prefix.Bits())
	start := (p.next + size - 1) / size * size
	for tried := uint32(0); tried < total; tried += size {
		offset := (start + tried) % total
		block := netip.PrefixFrom(p.at(offset), bits)
		if offset == 0 || slices.ContainsFunc(p.taken, block.Overlaps) {
			continue
		}
		p.taken = append(p.taken, block)
		p.next = offset + size
		return block, true
	}
	return netip.Prefix{}, false
}

func (p *pool) give(block netip.Prefix) {
	p.taken = slices.DeleteFunc(p.taken, func(t netip.Prefix) bool { return t == block })
}

func (p *pool) at(offset uint32) netip.Addr {
	base := p.prefix.Addr().As4()
	var out [4]byte
	binary.BigEndian.PutUint32(out[:], binary.BigEndian.Uint32(base[:])+offset)
	return netip.AddrFrom4(out)
}

// netmask writes a prefix length of IPv4 as a mask.
func netmask(bits int) string {
	var out [4]byte
	binary.BigEndian.PutUint32(out[:], ^uint32(0)<<(32-bits))
	return netip.AddrFrom4(out).String()
}
