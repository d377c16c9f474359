package spec

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

const (
	maxRanges   = 64
	maxExcludes = 256
	// minHostBits leaves a block two addresses beside its first and last.
	minHostBits = 2
)

// validateSubnet checks a network's blocks and everything that lies in them.
func validateSubnet(n network) field.ErrorList {
	path := n.path.Child("ipAddresses")
	var errs field.ErrorList
	switch {
	case n.IPAddresses != nil:
		errs = append(validateBlocks(path, n.IPAddresses, n.blocks), validateHostBits(n.blocks)...)
	case n.Assignment == AssignClusterAPI || n.Assignment == AssignIPAM:
		errs = field.ErrorList{field.Required(path, fmt.Sprintf("assignment: %s needs the subnet that addresses come from", n.Assignment))}
	}
	errs = append(errs, validateGateways(n)...)
	errs = append(errs, rule.Items(n.path.Child("assignmentRanges"), n.AssignmentRanges, maxRanges, n.validateRange)...)
	return append(errs, rule.Items(n.path.Child("exclude"), n.Exclude, maxExcludes, n.validateRange)...)
}

func validateHostBits(blocks []block) field.ErrorList {
	var errs field.ErrorList
	for _, b := range blocks {
		if !b.prefix.IsValid() {
			continue
		}
		longest := b.prefix.Addr().BitLen() - minHostBits
		if b.prefix.Bits() > longest {
			errs = append(errs, field.Invalid(b.path, b.prefix.String(), fmt.Sprintf("has no room for a router and a machine; the smallest block of a network is a /%d", longest)))
		}
	}
	return errs
}

// validateGateways checks both gateways and that they are of different families.
func validateGateways(n network) field.ErrorList {
	var errs field.ErrorList
	if n.Gateway != "" {
		errs = append(errs, n.validateGateway(n.path.Child("gateway"), n.Gateway)...)
	}
	if n.GatewayIPv6 != "" {
		errs = append(errs, n.validateGatewayIPv6()...)
	}
	if (n.DefaultRoute || n.SourceRouting) && !n.hasGateway() {
		what := "defaultRoute"
		if n.SourceRouting {
			what = "sourceRouting"
		}
		errs = append(errs, field.Required(n.path.Child("gateway"), what+" needs the network's gateway"))
	}
	return errs
}

func (n network) validateGatewayIPv6() field.ErrorList {
	path := n.path.Child("gatewayIPv6")
	addr, errs := rule.Address(path, n.GatewayIPv6)
	if len(errs) > 0 {
		return errs
	}
	if addr.Is4() {
		return field.ErrorList{field.Invalid(path, n.GatewayIPv6, "must be an IPv6 address; an IPv4 one goes into gateway")}
	}
	if other, err := netip.ParseAddr(n.Gateway); err == nil && other.Is6() {
		errs = append(errs, field.Invalid(path, n.GatewayIPv6, fmt.Sprintf("gateway %s is IPv6 as well; give an IPv4 gateway beside gatewayIPv6, or gateway alone", other)))
	}
	return append(errs, n.validateGateway(path, n.GatewayIPv6)...)
}

// validateGateway checks that an address can be a router of the network: inside
// a block, and neither its first address, which names the network, nor an IPv4
// block's last, which is its broadcast address.
func (n network) validateGateway(path *field.Path, value string) field.ErrorList {
	addr, errs := rule.Address(path, value)
	if len(errs) > 0 {
		return errs
	}
	prefix, found := n.blockOf(addr)
	if !found {
		if n.incomplete() {
			return nil
		}
		return field.ErrorList{field.Invalid(path, value, "must lie inside the network's ipAddresses"+listed(n.IPAddresses))}
	}
	if addr == prefix.Addr() {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("is the address of the network %s itself, not of a router in it", prefix))}
	}
	if addr.Is4() && addr == netipx.PrefixLastIP(prefix) {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("is the broadcast address of %s, not of a router in it", prefix))}
	}
	return nil
}

// validateRange checks that a range can be read and lies inside one block.
func (n network) validateRange(path *field.Path, value string) field.ErrorList {
	if errs := rangePattern.Required(path, value); len(errs) > 0 {
		return errs
	}
	r, err := ipam.ParseRange(value)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause
		}
		return field.ErrorList{field.Invalid(path, value, err.Error())}
	}
	prefix, found := n.blockOf(r.From())
	if n.incomplete() || (found && prefix.Contains(r.To())) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "must lie inside the network's ipAddresses"+listed(n.IPAddresses))}
}

// blockOf the network that holds the address.
func (n network) blockOf(addr netip.Addr) (netip.Prefix, bool) {
	for _, b := range n.blocks {
		if b.prefix.IsValid() && b.prefix.Contains(addr) {
			return b.prefix, true
		}
	}
	return netip.Prefix{}, false
}

// incomplete says whether a block could not be read: then nothing can be said of
// what should lie in it, and the block's own error says what to do.
func (n network) incomplete() bool {
	for _, b := range n.blocks {
		if !b.prefix.IsValid() {
			return true
		}
	}
	return false
}

func listed(values []string) string {
	if len(values) == 0 {
		return ", which it does not have"
	}
	return " " + strings.Join(values, ", ")
}

// notFound is the error for a name that names nothing, with the names that
// would.
func notFound(path *field.Path, value, detail string, names []string) *field.Error {
	err := field.NotFound(path, value)
	err.Detail = detail
	if len(names) > 0 {
		err.Detail += ": " + strings.Join(names, ", ")
	}
	return err
}
