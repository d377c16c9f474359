package ipam

import (
	"fmt"
	"net/netip"

	"go4.org/netipx"
)

// Subnet is one subnet and what in it is spoken for.
type Subnet struct {
	// Prefix is the subnet, host bits zero.
	Prefix netip.Prefix
	// Gateways are the routers in the subnet, never handed out.
	Gateways []netip.Addr
	// Exclude holds addresses that are never handed out: servers made by
	// hand, VRRP addresses, endpoints. What lies outside of the subnet has no
	// effect.
	Exclude []netipx.IPRange
}

// Usable returns the addresses that may be handed out: the first of the choices
// that is not empty (a port's assignment range, else the network's), else all
// hosts of the subnet; less the network and the broadcast address, gateways and
// excluded addresses. The result may be empty.
//
// An IPv4 subnet loses its first and last address, an IPv6 subnet only its
// first, the subnet-router anycast address (RFC 4291 section 2.6.1:
// https://www.rfc-editor.org/rfc/rfc4291#section-2.6.1). In /31, /32, /127 and
// /128 every address is a host (https://www.rfc-editor.org/rfc/rfc3021,
// https://www.rfc-editor.org/rfc/rfc6164).
//
// It fails when the prefix is not valid or has host bits, and when a gateway or
// a range does not lie in the subnet.
func (s Subnet) Usable(choices ...[]netipx.IPRange) (*netipx.IPSet, error) {
	if err := checkSubnet(s.Prefix); err != nil {
		return nil, err
	}
	whole := netipx.RangeOfPrefix(s.Prefix)
	ranges := []netipx.IPRange{whole}
	for _, c := range choices {
		if len(c) > 0 {
			ranges = c
			break
		}
	}
	var b netipx.IPSetBuilder
	for _, r := range ranges {
		if !r.IsValid() || !whole.Contains(r.From()) || !whole.Contains(r.To()) {
			return nil, fmt.Errorf("cannot use address range %q: it does not lie in the subnet %s", formatRange(r), s.Prefix)
		}
		b.AddRange(r)
	}
	b.RemoveSet(notHosts(s.Prefix))
	for _, g := range s.Gateways {
		if !whole.Contains(g) {
			return nil, fmt.Errorf("cannot use gateway %q: it does not lie in the subnet %s", g, s.Prefix)
		}
		b.Remove(g)
	}
	for _, r := range s.Exclude {
		b.RemoveRange(r)
	}
	return built(&b), nil
}

// notHosts returns the addresses of a subnet that no host may have.
func notHosts(p netip.Prefix) *netipx.IPSet {
	if p.Addr().BitLen()-p.Bits() <= 1 {
		return &netipx.IPSet{}
	}
	whole := netipx.RangeOfPrefix(p)
	first := netipx.IPRangeFrom(whole.From(), whole.From())
	if p.Addr().Is6() {
		return setOf(first)
	}
	return setOf(first, netipx.IPRangeFrom(whole.To(), whole.To()))
}

func checkSubnet(p netip.Prefix) error {
	if !p.IsValid() {
		return fmt.Errorf("cannot use subnet %q: it is not a valid prefix", p)
	}
	if p != p.Masked() {
		return fmt.Errorf("cannot use subnet %q: host bits are set, write %s", p, p.Masked())
	}
	return nil
}
