// Package networkd renders node files for systemd-networkd, which Flatcar's
// image of Equinix Metal uses:
// https://www.freedesktop.org/software/systemd/man/latest/systemd.network.html.
//
// The first file that fits an interface wins, so ours sort before the image's,
// which may fit by a MAC address that VLANs and bond members share. The bond's
// own file stays the image's; a drop-in adds the VLANs to it.
package networkd

import (
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

const (
	folder = "/etc/systemd/network/"
	prefix = folder + "00-l2cluster-"
	header = "# Written by l2cluster-network.\n"
)

// Port renders the files of a port.
func Port(p node.Port) []node.Template {
	switch {
	case p.Released && p.Untagged:
		return nil
	case p.Released:
		return []node.Template{file(prefix+p.Name+".network", p.Stage, bare(p))}
	case len(p.VLANs) == 0 && !p.Cleared:
		return nil
	}
	stage := node.Always
	if p.Cleared {
		stage = node.Before
	}
	var out []node.Template
	if len(p.VLANs) > 0 {
		dropIn := folder + node.UnitOf(p.Name) + ".d/l2cluster.conf"
		out = append(out, file(dropIn, stage, mtu(p.MTU)+"[Network]\n"+vlans(p.VLANs)))
	}
	return append(out, Cleared(p)...)
}

// Cleared renders the file of a bond that has lost the platform's addresses; the
// image's file, which still gives them to it, does not count any more.
func Cleared(p node.Port) []node.Template {
	if !p.Cleared {
		return nil
	}
	return []node.Template{file(prefix+p.Name+".network", node.After, bare(p))}
}

// bare renders an interface that carries VLANs and no address.
func bare(p node.Port) string {
	return match(p.Device) + mtu(p.MTU) + "[Network]\n" + noIPv6 + vlans(p.VLANs)
}

// Link renders the files of a link.
func Link(l node.Link) []node.Template {
	var out []node.Template
	if l.Parent != "" {
		netdev := fmt.Sprintf("[NetDev]\nName=%s\nKind=vlan\n\n[VLAN]\nId=%d\n", l.Device, l.VLAN)
		out = append(out, file(prefix+l.Network+".netdev", l.Stage, netdev))
	}
	out = append(out, file(prefix+l.Network+".network", l.Stage, network(l)))
	var defaults strings.Builder
	for _, g := range l.Defaults() {
		fmt.Fprintf(&defaults, "[Route]\nGateway=%s\n\n", g)
	}
	if defaults.Len() > 0 {
		out = append(out, file(prefix+l.Network+".network.d/default.conf", node.After, defaults.String()))
	}
	return out
}

// Machine renders the files that belong to no single port or link.
func Machine(node.Layout) []node.Template { return nil }

func file(path string, stage node.Stage, content string) node.Template {
	return node.Template{Path: path, Mode: "0644", Stage: stage, Content: header + strings.TrimRight(content, "\n") + "\n"}
}

func match(device string) string { return fmt.Sprintf("[Match]\nName=%s\n\n", device) }

func mtu(bytes int) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("[Link]\nMTUBytes=%d\n\n", bytes)
}

func vlans(names []string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "VLAN=%s\n", n)
	}
	return b.String() + "\n"
}

const noIPv6 = "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"

func network(l node.Link) string {
	var b strings.Builder
	b.WriteString(match(l.Device) + mtu(l.MTU) + "[Network]\n")
	for _, s := range l.Subnets {
		if l.Static() {
			fmt.Fprintf(&b, "Address=%s/%d\n", node.AddressOf(s.Key), s.Prefix.Bits())
		}
	}
	b.WriteString(families(l) + vlans(l.VLANs))
	for _, r := range l.Routes {
		b.WriteString(route(r))
	}
	for _, s := range l.Sourced() {
		fmt.Fprintf(&b, "[Route]\nGateway=%s\nTable=%d\n\n", s.Gateway, l.Table)
		b.WriteString(rules(l, s))
	}
	return b.String() + dhcp(l)
}

// families says which address families the interface has, and what it takes
// from others on the network.
func families(l node.Link) string {
	switch {
	case l.Dynamic() && l.IPv4() && l.IPv6():
		return "DHCP=yes\n"
	case l.Dynamic() && l.IPv6():
		return "DHCP=ipv6\n"
	case l.Dynamic():
		return "DHCP=ipv4\n" + noIPv6
	case l.IPv6():
		return "IPv6AcceptRA=no\n"
	default:
		return noIPv6
	}
}

// dhcp takes nothing but the address.
func dhcp(l node.Link) string {
	if !l.Dynamic() {
		return ""
	}
	out := ""
	if l.IPv4() {
		out += "[DHCPv4]\nUseGateway=no\nUseRoutes=no\nUseDNS=no\nUseDomains=no\nUseHostname=no\nUseMTU=no\nUseNTP=no\n\n"
	}
	if l.IPv6() {
		out += "[DHCPv6]\nUseDNS=no\nUseHostname=no\nUseNTP=no\n\n[IPv6AcceptRA]\nUseGateway=no\nUseDNS=no\nUseDomains=no\n\n"
	}
	return out
}

func route(r plan.Route) string {
	metric := ""
	if r.Metric != 0 {
		metric = fmt.Sprintf("Metric=%d\n", r.Metric)
	}
	return fmt.Sprintf("[Route]\nDestination=%s\nGateway=%s\n%s\n", r.Destination, r.Gateway, metric)
}

// rules renders the rules of source routing in a subnet.
func rules(l node.Link, s plan.LinkSubnet) string {
	return fmt.Sprintf("[RoutingPolicyRule]\nFrom=%s\nTable=%d\nPriority=%d\n\n", node.AddressOf(s.Key), l.Table, l.Table) + sharedRule(s)
}

// sharedRule makes what is directly connected come before source routing.
func sharedRule(s plan.LinkSubnet) string {
	family := "ipv4"
	if s.Prefix.Addr().Is6() {
		family = "ipv6"
	}
	return fmt.Sprintf("[RoutingPolicyRule]\nFamily=%s\nTable=254\nSuppressPrefixLength=0\nPriority=%d\n\n", family, node.SharedRule)
}

// SharedRules renders, as a drop-in for the named file, the rules that make what
// is directly connected come before source routing, which netplan cannot say.
func SharedRules(l node.Link, unit string) []node.Template {
	var content strings.Builder
	for _, s := range l.Sourced() {
		content.WriteString(sharedRule(s))
	}
	if content.Len() == 0 {
		return nil
	}
	return []node.Template{file(folder+unit+".d/l2cluster.conf", l.Stage, content.String())}
}
