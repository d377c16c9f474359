package spec

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateMetalGateway checks a network's gateway of the platform.
func (c claim) validateMetalGateway(n network) (field.ErrorList, []string) {
	g := n.MetalGateway
	if g == nil {
		return nil, nil
	}
	path := n.path.Child("metalGateway")
	var errs field.ErrorList
	if n.VLANID != "" {
		errs = append(errs, field.Invalid(path, *g, "a network with vlanID is only observed: its gateway belongs to the VLAN's owner; leave metalGateway out"))
	}
	if (g.VRF == "") == (g.PrivateSubnetSize == 0) {
		errs = append(errs, field.Invalid(path, *g, "give exactly one of vrf and privateSubnetSize"))
	}
	if g.PrivateSubnetSize != 0 {
		errs = append(errs, validatePrivateSubnetSize(path.Child("privateSubnetSize"), g.PrivateSubnetSize)...)
	}
	if g.VRF != "" {
		errs = append(errs, c.validateGatewayVRF(n, path.Child("vrf"))...)
	}
	return errs, privateSubnetWarnings(n)
}

func validatePrivateSubnetSize(path *field.Path, size int32) field.ErrorList {
	switch size {
	case 8, 16, 32, 64, 128:
		return nil
	default:
		return field.ErrorList{field.Invalid(path, size, "must be 8, 16, 32, 64 or 128 addresses")}
	}
}

func privateSubnetWarnings(n network) []string {
	if n.MetalGateway.PrivateSubnetSize == 0 || len(n.IPAddresses) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s.privateSubnetSize: Equinix chooses the gateway's block, so the gateway does not route ipAddresses of network %q", n.path.Child("metalGateway"), n.Name)}
}

// Prefix lengths of a reservation in a VRF.
const (
	reservationShortest = 22
	reservationLongest  = 29
)

// validateGatewayVRF checks that the network's IPv4 block can be reserved in the
// VRF, and that the gateway is the address that the Metal Gateway will have.
func (c claim) validateGatewayVRF(n network, path *field.Path) field.ErrorList {
	if errs := namePattern.Required(path, n.MetalGateway.VRF); len(errs) > 0 {
		return errs
	}
	vrf := c.vrf(n.MetalGateway.VRF)
	if vrf == nil {
		return field.ErrorList{notFound(path, n.MetalGateway.VRF, "must name one of spec.vrfs", vrfNames(c.spec.VRFs))}
	}
	b, found := n.ipv4()
	if !found {
		return field.ErrorList{field.Required(n.path.Child("ipAddresses"), "a metalGateway in a VRF needs an IPv4 block to reserve")}
	}
	var errs field.ErrorList
	if b.prefix.Bits() < reservationShortest || b.prefix.Bits() > reservationLongest {
		errs = append(errs, field.Invalid(b.path, b.prefix.String(),
			fmt.Sprintf("a metalGateway in a VRF needs an IPv4 block from /%d to /%d", reservationShortest, reservationLongest)))
	}
	if vrf.VRFID == "" && !insideAny(b.prefix, vrf.IPRanges) {
		errs = append(errs, field.Invalid(b.path, b.prefix.String(),
			fmt.Sprintf("must lie in one of the ipRanges %v of VRF %q, which it is reserved in", vrf.IPRanges, vrf.Name)))
	}
	return append(errs, validateVRFGatewayAddress(n, b.prefix)...)
}

func validateVRFGatewayAddress(n network, prefix netip.Prefix) field.ErrorList {
	gateway, err := netip.ParseAddr(n.Gateway)
	first := prefix.Addr().Next()
	if err != nil || !gateway.Is4() || gateway == first {
		return nil
	}
	return field.ErrorList{field.Invalid(n.path.Child("gateway"), n.Gateway,
		fmt.Sprintf("the metalGateway takes the first address of the block, %s; give that one, or none", first))}
}

// insideAny says whether the prefix lies in one of the blocks; those that cannot
// be read are reported elsewhere.
func insideAny(prefix netip.Prefix, blocks []string) bool {
	for _, text := range blocks {
		b, err := netip.ParsePrefix(text)
		if err == nil && b.Bits() <= prefix.Bits() && b.Overlaps(prefix) {
			return true
		}
	}
	return false
}
