package rule

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Patterns of addresses, as the markers have them. They let through nothing
// that means something to a shell, a template or YAML; whether it is an address
// is for a parser to say.
var (
	blockPattern   = NewText(`^[0-9a-f:.]+/[0-9]{1,3}$`, 43, "a block in prefix notation and lower case, for example 10.60.10.0/24 or 2001:db8::/64")
	addressPattern = NewText(`^[0-9a-f:.]+$`, 39, "an IP address in lower case, for example 10.60.10.1 or 2001:db8::1")
)

// reservedTable are blocks that no network, pod or service can use:
// https://www.rfc-editor.org/rfc/rfc6890.
var reservedTable = []struct {
	prefix netip.Prefix
	use    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this host"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local addresses"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "future use"},
	{netip.MustParsePrefix("::/16"), "loopback and for IPv4 addresses written as IPv6"},
	{netip.MustParsePrefix("fe80::/10"), "link-local addresses"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// Block reads an address block. It refuses host bits, IPv4 written as IPv6, and
// blocks that lie in one with a meaning of its own, such as loopback.
func Block(path *field.Path, value string) (netip.Prefix, field.ErrorList) {
	if errs := blockPattern.Required(path, value); len(errs) > 0 {
		return netip.Prefix{}, errs
	}
	p, err := netip.ParsePrefix(value)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, field.ErrorList{field.Invalid(path, value, "must be "+blockPattern.want)}
	}
	if p != p.Masked() {
		return netip.Prefix{}, field.ErrorList{field.Invalid(path, value, fmt.Sprintf("has host bits; the block is %s", p.Masked()))}
	}
	for _, r := range reservedTable {
		if r.prefix.Bits() <= p.Bits() && r.prefix.Overlaps(p) {
			return netip.Prefix{}, field.ErrorList{field.Invalid(path, value, fmt.Sprintf("lies in %s, which is reserved for %s", r.prefix, r.use))}
		}
	}
	return p, nil
}

// Address reads an IP address. It refuses zones and IPv4 written as IPv6.
func Address(path *field.Path, value string) (netip.Addr, field.ErrorList) {
	if errs := addressPattern.Required(path, value); len(errs) > 0 {
		return netip.Addr{}, errs
	}
	a, err := netip.ParseAddr(value)
	if err != nil || a.Is4In6() {
		return netip.Addr{}, field.ErrorList{field.Invalid(path, value, "must be "+addressPattern.want)}
	}
	return a, nil
}

// Family of an address in words.
func Family(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// OnePerFamily checks that of several blocks at most one is of each address
// family. Blocks that are not valid count for none.
func OnePerFamily(path *field.Path, blocks []netip.Prefix) field.ErrorList {
	var errs field.ErrorList
	first := map[string]netip.Prefix{}
	for i, b := range blocks {
		if !b.IsValid() {
			continue
		}
		family := Family(b.Addr())
		if other, again := first[family]; again {
			errs = append(errs, field.Invalid(path.Index(i), b.String(), fmt.Sprintf("is a second %s block beside %s; give at most one per address family", family, other)))
			continue
		}
		first[family] = b
	}
	return errs
}
