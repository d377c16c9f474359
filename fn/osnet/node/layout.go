package node

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// Layout is a pool's links and ports as the operating system has them: what
// every renderer works from.
type Layout struct {
	// Handover says that the machine loses the platform's own network when the
	// platform changes its ports.
	Handover bool
	// Ports that differ from a new server's: bonds before single ports.
	Ports []Port
	// Links on the ports: those on the ports' own interfaces first.
	Links []Link
}

// Port of a machine.
type Port struct {
	plan.Port
	// Device is the name of the port's interface: the bond's own, or a
	// placeholder.
	Device string
	// Stage at which the port is like this. A port that has to leave its bond
	// but carries the platform's own network leaves it when that is gone.
	Stage Stage
	// Released says that the port is in no bond.
	Released bool
	// Cleared says that the platform's addresses on the port are gone after
	// the handover.
	Cleared bool
	// VLANs are the interfaces on the port, sorted.
	VLANs []string
	// Untagged says that the port's own interface is a link.
	Untagged bool
}

// Link is one interface.
type Link struct {
	plan.Link
	// Device is the name of the interface: that of the VLAN, or a placeholder
	// of the port's own.
	Device string
	// Parent is the name of the interface below a VLAN: that of a bond, or a
	// placeholder; "" when the port's own interface is the link.
	Parent string
	// ParentMTU is the MTU that the interface below needs; 0 leaves it alone.
	ParentMTU int
	// VLANs are the interfaces on the link's own, sorted: those of other
	// networks on the port that it has untagged.
	VLANs []string
	// Released says that the port below is in no bond.
	Released bool
	// Stage at which the link is there.
	Stage Stage
	// Later says that a DHCP server answers only after the platform has changed
	// the ports, which it does when the rest of the network is right.
	Later bool
}

// SharedRule is the priority of the rule that makes the routes of the main
// table, but for the default ones, come before the tables of source routing:
// what is directly connected, pods among it, stays so.
const SharedRule = 9999

// lastRule is the highest priority of a rule: that of the table of the highest
// VLAN id.
const lastRule = 14095

// NewLayout lays a pool's links and ports out. It returns an error for a pool
// that cannot be brought up as it is.
func NewLayout(pool plan.Pool) (Layout, error) {
	out := Layout{Handover: pool.Mode.PureLayer2()}
	ports := map[string]Port{}
	for _, p := range pool.Ports {
		laid := layPort(p, pool.Mode)
		for _, l := range pool.Links {
			if l.Port != p.Name {
				continue
			}
			if l.Interface == "" {
				laid.Untagged = true
				continue
			}
			laid.VLANs = append(laid.VLANs, l.Interface)
		}
		slices.Sort(laid.VLANs)
		ports[p.Name] = laid
		out.Ports = append(out.Ports, laid)
	}
	for _, l := range pool.Links {
		port, known := ports[l.Port]
		if !known {
			return Layout{}, fmt.Errorf("cannot lay out network %q: its port %q is not among the pool's", l.Network, l.Port)
		}
		if err := checkLink(l); err != nil {
			return Layout{}, fmt.Errorf("cannot lay out network %q: %w", l.Network, err)
		}
		link := layLink(l, port)
		link.Later = link.Dynamic() && (link.Released || out.Handover)
		if link.Later && link.NodeIP {
			return Layout{}, fmt.Errorf("cannot lay out network %q: nodeIP needs an address before the ports are changed, when no DHCP server answers yet: "+
				"use assignment cluster-api or ipam", l.Network)
		}
		out.Links = append(out.Links, link)
	}
	slices.SortStableFunc(out.Links, func(a, b Link) int { return len(a.Parent) - len(b.Parent) })
	return out, checkNames(out.Links)
}

func layPort(p plan.Port, mode spec.Mode) Port {
	out := Port{Port: p, Device: PortName(p.Name)}
	if p.Bond() {
		out.Device = p.Name
		out.Cleared = mode.PureLayer2() && p.Layer2 && p.Name == platformBond
		return out
	}
	out.Released = !p.Bonded
	if mode == spec.Layer2Individual && p.Name == lastPort {
		out.Stage = After
	}
	return out
}

const (
	// platformBond carries the platform's own addresses.
	platformBond = "bond0"
	// lastPort stays in platformBond as long as that is needed, so that the
	// machine reaches the metadata service until then.
	lastPort = "eth0"
)

func layLink(l plan.Link, port Port) Link {
	if l.Interface == "" {
		// The interface has to be as large as the VLANs on it.
		l.MTU = max(l.MTU, port.MTU)
		return Link{Link: l, Device: port.Device, Stage: port.Stage, VLANs: port.VLANs, Released: port.Released}
	}
	return Link{
		Link: l, Device: l.Interface, Parent: port.Device, ParentMTU: port.MTU, Stage: port.Stage, Released: port.Released,
	}
}

// checkLink refuses what no back end could bring up.
func checkLink(l plan.Link) error {
	static := l.Assignment == plan.AssignStatic || l.Assignment == plan.AssignPool
	switch {
	case static && len(l.Subnets) == 0:
		return fmt.Errorf("an address needs a subnet: give the network ipAddresses")
	case l.Table != 0 && !static:
		return fmt.Errorf("sourceRouting needs an address that is known beforehand: use assignment cluster-api or ipam")
	case l.NodeIP && l.Assignment == plan.AssignNone:
		return fmt.Errorf("nodeIP needs an address: use another assignment than none")
	case len(l.Interface) > maxName:
		return fmt.Errorf("interface name %q is longer than %d bytes", l.Interface, maxName)
	default:
		return nil
	}
}

// maxName is the kernel's limit for the name of an interface, in bytes.
const maxName = 15

func checkNames(links []Link) error {
	seen := map[string]string{}
	for _, l := range links {
		if other, taken := seen[l.Device]; taken {
			return fmt.Errorf("cannot lay out network %q: network %q has the same interface", l.Network, other)
		}
		seen[l.Device] = l.Network
	}
	return nil
}

// Static says whether the machine's addresses on the link are known before it
// boots.
func (l Link) Static() bool {
	return l.Assignment == plan.AssignStatic || l.Assignment == plan.AssignPool
}

// Dynamic says whether a server on the network gives out the addresses.
func (l Link) Dynamic() bool { return l.Assignment == plan.AssignDHCP }

// IPv4 says whether the link has an IPv4 address.
func (l Link) IPv4() bool { return l.family(true) }

// IPv6 says whether the link has an IPv6 address.
func (l Link) IPv6() bool { return l.family(false) }

func (l Link) family(v4 bool) bool {
	if l.Assignment == plan.AssignNone {
		return false
	}
	if l.Dynamic() && len(l.Subnets) == 0 {
		return v4
	}
	return slices.ContainsFunc(l.Subnets, func(s plan.LinkSubnet) bool { return s.Prefix.Addr().Is4() == v4 })
}

// Defaults are the gateways of the machine's default routes through the link,
// at most one of each family.
func (l Link) Defaults() []netip.Addr {
	var out []netip.Addr
	for _, s := range l.Subnets {
		if s.Default {
			out = append(out, s.Gateway)
		}
	}
	return out
}

// Sourced are the subnets whose answers leave through their own gateway.
func (l Link) Sourced() []plan.LinkSubnet {
	var out []plan.LinkSubnet
	for _, s := range l.Subnets {
		if l.Table != 0 && s.Gateway.IsValid() {
			out = append(out, s)
		}
	}
	return out
}
