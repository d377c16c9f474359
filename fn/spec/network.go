package spec

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

// Bounds of networks. VLAN ids as
// https://deploy.equinix.com/developers/docs/metal/layer2-networking/vlans/ has
// them; no frame of the platform is larger than maxMTU, and IPv6 needs at least
// minMTUIPv6 (https://www.rfc-editor.org/rfc/rfc8200#section-5).
const (
	maxNetworks = 64
	minVXLAN    = 2
	maxVXLAN    = 3999
	minMTU      = 576
	minMTUIPv6  = 1280
	maxMTU      = 9000
)

// network of a claim with its path, and its blocks parsed.
type network struct {
	Network

	path   *field.Path
	blocks []block
}

func newNetworks(networks []Network, path *field.Path) []network {
	out := make([]network, 0, len(networks))
	for i, n := range networks {
		p := path.Index(i)
		out = append(out, network{Network: n, path: p, blocks: parseBlocks(p.Child("ipAddresses"), n.IPAddresses)})
	}
	return out
}

// ipv4 is the network's IPv4 block.
func (n network) ipv4() (block, bool) {
	for _, b := range n.blocks {
		if b.prefix.IsValid() && b.prefix.Addr().Is4() {
			return b, true
		}
	}
	return block{}, false
}

// hasGateway says whether machines know a router on the network. In a VRF the
// Metal Gateway takes the first address of the block.
func (n network) hasGateway() bool {
	return n.Gateway != "" || n.GatewayIPv6 != "" || (n.MetalGateway != nil && n.MetalGateway.VRF != "")
}

// Interface is the name of the network's VLAN interface: the claim's own, or one
// that depends on nothing but the VLAN id.
func (n Network) Interface() string {
	if n.InterfaceName != "" {
		return n.InterfaceName
	}
	return fmt.Sprintf("vlan%d", n.VXLAN)
}

func (c claim) validateNetworks() (field.ErrorList, []string) {
	errs := rule.AtMostItems(c.path.Child("networks"), len(c.networks), maxNetworks)
	errs = append(errs, c.validateUnique()...)
	var warnings []string
	for _, n := range c.networks {
		errs = append(errs, validateNetwork(n)...)
		errs = append(errs, validateAssignment(n)...)
		errs = append(errs, validateSubnet(n)...)
		errs = append(errs, validateNetworkRoutes(n)...)
		e, w := c.validateMetalGateway(n)
		errs, warnings = append(errs, e...), append(warnings, w...)
	}
	return errs, warnings
}

// validateUnique checks what no two networks of a claim can share.
func (c claim) validateUnique() field.ErrorList {
	names, ids, interfaces := rule.Seen[string]{}, rule.Seen[string]{}, rule.Seen[string]{}
	vlans := rule.Seen[int32]{}
	var errs field.ErrorList
	var defaultRoute *field.Path
	for _, n := range c.networks {
		errs = append(errs, names.Add(n.path.Child("name"), n.Name)...)
		again := vlans.Add(n.path.Child("vxlan"), n.VXLAN)
		errs = append(errs, again...)
		if len(again) == 0 {
			errs = append(errs, interfaces.Add(n.path.Child("interfaceName"), n.Interface())...)
		}
		if n.VLANID != "" {
			errs = append(errs, ids.Add(n.path.Child("vlanID"), n.VLANID)...)
		}
		if !n.DefaultRoute {
			continue
		}
		path := n.path.Child("defaultRoute")
		if defaultRoute != nil {
			errs = append(errs, field.Invalid(path, true, fmt.Sprintf("at most one network may have defaultRoute: true, and %s is it already", defaultRoute)))
			continue
		}
		defaultRoute = path
	}
	return errs
}

// validateNetwork checks the fields of a network that stand for themselves.
func validateNetwork(n network) field.ErrorList {
	errs := validateNetworkName(n)
	errs = append(errs, rule.AtMostCharacters(n.path.Child("description"), n.Description, descriptionLimit)...)
	errs = append(errs, rule.Between(n.path.Child("vxlan"), n.VXLAN, minVXLAN, maxVXLAN)...)
	errs = append(errs, uuidPattern.Optional(n.path.Child("vlanID"), n.VLANID)...)
	errs = append(errs, validateMTU(n)...)
	return append(errs, validateInterfaceName(n)...)
}

// portLikePattern are names that ports of servers have.
var portLikePattern = regexp.MustCompile(`^(bond|eth)\d+$`)

// validateNetworkName keeps the names of ports free: files on servers are named
// after ports and networks alike, and one would take the place of the other.
func validateNetworkName(n network) field.ErrorList {
	path := n.path.Child("name")
	if errs := namePattern.Required(path, n.Name); len(errs) > 0 {
		return errs
	}
	if portLikePattern.MatchString(n.Name) {
		return field.ErrorList{field.Invalid(path, n.Name, "is the name of a server's port, whose files on the server the network's would replace; choose another")}
	}
	return nil
}

func validateMTU(n network) field.ErrorList {
	path := n.path.Child("mtu")
	if n.MTU == 0 {
		return nil
	}
	if errs := rule.Between(path, n.MTU, minMTU, maxMTU); len(errs) > 0 {
		return errs
	}
	for _, b := range n.blocks {
		if b.prefix.IsValid() && b.prefix.Addr().Is6() && n.MTU < minMTUIPv6 {
			return field.ErrorList{field.Invalid(path, n.MTU, fmt.Sprintf("must be at least %d with the IPv6 block %s", minMTUIPv6, b.prefix))}
		}
	}
	return nil
}

// systemInterfacePattern are names that the kernel, the platform's images or a pod
// network give to interfaces of their own, and the two that mean every interface
// below /proc/sys/net. VLAN interfaces such as bond0.1000 are not among them.
var systemInterfacePattern = regexp.MustCompile(`^(lo|all|default|kube-bridge|nodelocaldns)$` +
	`|^(bond|br|cbr|cni|docker|dummy|eth|gre|ifb|ip6tnl|kube-ipvs|sit|team|tunl|virbr|vxlan|wg|wlan)[0-9]+$` +
	`|^en[opsx][0-9]|^(cali|cilium_|flannel\.|lxc|veth)`)

func validateInterfaceName(n network) field.ErrorList {
	path := n.path.Child("interfaceName")
	if errs := interfacePattern.Optional(path, n.InterfaceName); len(errs) > 0 {
		return errs
	}
	if systemInterfacePattern.MatchString(n.InterfaceName) {
		return field.ErrorList{field.Invalid(path, n.InterfaceName, "is the name of an interface that the system makes; leave it out for "+Network{VXLAN: n.VXLAN}.Interface()+", or choose another")}
	}
	return nil
}

// validateAssignment checks that a network says of addresses exactly what its
// kind of assignment reads: what nothing reads would be ignored in silence.
func validateAssignment(n network) field.ErrorList {
	path := n.path.Child("assignment")
	if errs := rule.OneOf(path, n.Assignment, AssignClusterAPI, AssignDHCP, AssignIPAM, AssignNone); len(errs) > 0 {
		return errs
	}
	errs := validatePoolRef(n)
	if n.Assignment != AssignClusterAPI {
		const why = "only assignment: cluster-api chooses addresses; leave it out"
		if len(n.AssignmentRanges) > 0 {
			errs = append(errs, field.Invalid(n.path.Child("assignmentRanges"), n.AssignmentRanges, why))
		}
		if len(n.Exclude) > 0 {
			errs = append(errs, field.Invalid(n.path.Child("exclude"), n.Exclude, why))
		}
	}
	if n.Assignment == AssignIPAM && len(n.IPAddresses) > 1 {
		errs = append(errs, field.Invalid(n.path.Child("ipAddresses"), n.IPAddresses, "assignment: ipam needs exactly one block: a pool gives each machine one address"))
	}
	if n.Assignment == AssignNone {
		errs = append(errs, validateNoAddress(n)...)
	}
	if n.Assignment == AssignDHCP && n.SourceRouting {
		errs = append(errs, field.Invalid(n.path.Child("sourceRouting"), true, "with assignment: dhcp a machine's address is not known when its network is configured; use cluster-api or ipam"))
	}
	return errs
}

// validateNoAddress: an interface without an address reaches no router.
func validateNoAddress(n network) field.ErrorList {
	const why = "with assignment: none machines have no address on the network and reach no router; leave it out, or assign addresses"
	var errs field.ErrorList
	if len(n.Routes) > 0 {
		errs = append(errs, field.Invalid(n.path.Child("routes"), len(n.Routes), why))
	}
	if n.DefaultRoute {
		errs = append(errs, field.Invalid(n.path.Child("defaultRoute"), true, why))
	}
	if n.SourceRouting {
		errs = append(errs, field.Invalid(n.path.Child("sourceRouting"), true, why))
	}
	return errs
}

func validatePoolRef(n network) field.ErrorList {
	path := n.path.Child("poolRef")
	if n.PoolRef == nil {
		if n.Assignment == AssignIPAM {
			return field.ErrorList{field.Required(path, "assignment: ipam needs the pool to claim addresses from")}
		}
		return nil
	}
	var errs field.ErrorList
	if n.Assignment != AssignIPAM {
		errs = append(errs, field.Invalid(path, *n.PoolRef, "goes with assignment: ipam, and only with it"))
	}
	errs = append(errs, domainPattern.Required(path.Child("apiGroup"), n.PoolRef.APIGroup)...)
	errs = append(errs, kindPattern.Required(path.Child("kind"), n.PoolRef.Kind)...)
	return append(errs, objectNamePattern.Required(path.Child("name"), n.PoolRef.Name)...)
}
