// Package ifupdown renders node files for ifupdown, which Debian's and Ubuntu's
// images of Equinix Metal use:
// https://manpages.debian.org/bookworm/ifupdown/interfaces.5.en.html.
//
// The stanzas are in files of our own below interfaces.d. They never name the
// bond of the image again: a VLAN's stanza makes sure that what is below it is
// there and large enough, whichever file is read first.
package ifupdown

import (
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

// Paths of files, before the name of a port or network. Ports come before the
// VLANs on them, and both before default routes.
const (
	ports    = "/etc/network/interfaces.d/90-l2cluster-"
	links    = "/etc/network/interfaces.d/91-l2cluster-"
	defaults = "/etc/network/interfaces.d/92-l2cluster-"
	// leases keeps what a DHCP server says about anything but the address away.
	leases = "/etc/dhcp/dhclient-enter-hooks.d/l2cluster-"
	// clearing takes the platform's addresses off a bond that has lost them.
	clearing = "/etc/network/if-up.d/l2cluster"
)

const header = "# Written by l2cluster-network.\n"

// Port renders the files of a port.
func Port(p node.Port) []node.Template {
	if !p.Released {
		return nil
	}
	return []node.Template{{Path: ports + p.Name, Mode: "0644", Stage: p.Stage, Content: header + released(p)}}
}

// Link renders the files of a link.
func Link(l node.Link) []node.Template {
	out := []node.Template{{Path: links + l.Network, Mode: "0644", Stage: l.Stage, Content: header + stanzas(l)}}
	if gateways := l.Defaults(); len(gateways) > 0 {
		var b strings.Builder
		fmt.Fprintf(&b, "%siface %s inet manual\n", header, l.Device)
		for _, g := range gateways {
			fmt.Fprintf(&b, "    up %s route replace default via %s dev $IFACE\n", ip(g.Is4()), g)
		}
		out = append(out, node.Template{Path: defaults + l.Network, Mode: "0644", Stage: node.After, Content: b.String()})
	}
	if l.Dynamic() && l.IPv4() {
		out = append(out, node.Template{Path: leases + l.Network, Mode: "0644", Stage: l.Stage, Content: header + hook(l)})
	}
	return out
}

// Machine renders the files that belong to no single port or link.
func Machine(l node.Layout) []node.Template {
	var names []string
	for _, p := range l.Ports {
		if p.Cleared {
			names = append(names, p.Name, p.Name+":*")
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []node.Template{{Path: clearing, Mode: "0755", Stage: node.After, Content: cleared(names)}}
}

// released keeps a port out of its bond. The image's stanza of the same port
// puts it into the bond by ifenslave's script, which no-scripts leaves out, and
// the bond's own stanza does as well, which nomaster undoes. So the bonds come
// first, whichever file is read first.
func released(p node.Port) string {
	var b strings.Builder
	fmt.Fprintf(&b, "no-scripts %[1]s\nauto %[1]s\niface %[1]s inet manual\n", p.Device)
	b.WriteString("    pre-up for b in bond0 bond1; do ifquery --state $b >/dev/null 2>&1 || ifup $b 2>/dev/null || true; done\n")
	b.WriteString("    pre-up ip link set dev $IFACE nomaster\n")
	if p.MTU != 0 {
		fmt.Fprintf(&b, "    pre-up ip link set dev $IFACE mtu %d\n", p.MTU)
	}
	if !p.Untagged {
		fmt.Fprintf(&b, "    pre-up %s\n", noIPv6)
	}
	return b.String()
}

// stanzas of a link: one per family. The first makes the interface, the last
// removes it.
func stanzas(l node.Link) string {
	var b strings.Builder
	if l.Parent != "" {
		fmt.Fprintf(&b, "auto %s\n", l.Device)
	}
	families := families(l)
	for i, f := range families {
		fmt.Fprintf(&b, "iface %s %s\n", l.Device, f.method)
		if f.address != "" {
			fmt.Fprintf(&b, "    address %s\n", f.address)
		}
		if i == 0 {
			lines(&b, "pre-up", create(l))
		}
		lines(&b, "pre-up", f.before)
		lines(&b, "up", f.up)
		lines(&b, "down", f.down)
		if i == len(families)-1 && l.Parent != "" {
			b.WriteString("    post-down ip link del dev $IFACE 2>/dev/null || true\n")
		}
	}
	return b.String()
}

func lines(b *strings.Builder, option string, commands []string) {
	for _, c := range commands {
		fmt.Fprintf(b, "    %s %s\n", option, c)
	}
}

// create are the commands that make the interface of a link, and what is below
// it, ready for addresses.
func create(l node.Link) []string {
	var out []string
	if l.Parent != "" {
		out = append(out, fmt.Sprintf("ip link show dev %[1]s >/dev/null 2>&1 || ifup %[1]s", l.Parent))
		if l.ParentMTU != 0 {
			out = append(out, fmt.Sprintf("ip link set dev %s mtu %d", l.Parent, l.ParentMTU))
		}
		out = append(out, fmt.Sprintf("ip link show dev $IFACE >/dev/null 2>&1 || ip link add link %s name $IFACE type vlan id %d", l.Parent, l.VLAN))
	}
	if l.MTU != 0 {
		out = append(out, fmt.Sprintf("ip link set dev $IFACE mtu %d", l.MTU))
	}
	if !l.IPv6() {
		out = append(out, noIPv6)
	}
	return out
}

// noIPv6 keeps an interface without IPv6 addresses from making itself some.
const noIPv6 = "echo 1 >/proc/sys/net/ipv6/conf/$IFACE/disable_ipv6 || true"

// disable IPv6 settings of an interface that is to have IPv6.
func disable(keys ...string) []string {
	var out []string
	for _, k := range append([]string{"disable_ipv6"}, keys...) {
		out = append(out, fmt.Sprintf("echo 0 >/proc/sys/net/ipv6/conf/$IFACE/%s || true", k))
	}
	return out
}

// family is a stanza: what a link is in one address family.
type family struct {
	method  string
	address string
	before  []string
	up      []string
	down    []string
}

func families(l node.Link) []family {
	var out []family
	if l.IPv4() {
		out = append(out, familyOf(l, true))
	}
	if l.IPv6() {
		out = append(out, familyOf(l, false))
	}
	if len(out) == 0 {
		f := family{method: "inet manual"}
		f.routes(l, true)
		f.routes(l, false)
		return []family{f}
	}
	return out
}

func familyOf(l node.Link, v4 bool) family {
	f := family{method: "inet static"}
	switch {
	case l.Dynamic() && v4:
		f.method = "inet dhcp"
	case l.Dynamic():
		// The router announces the block, but its default route is not wanted.
		f.method = "inet6 auto"
		f.before = disable("accept_ra_defrtr", "accept_ra_rtr_pref")
	case !v4:
		f.method = "inet6 static"
		f.before = disable("accept_ra", "autoconf")
	}
	for _, s := range l.Subnets {
		if l.Static() && s.Prefix.Addr().Is4() == v4 {
			f.address = fmt.Sprintf("%s/%d", node.AddressOf(s.Key), s.Prefix.Bits())
		}
	}
	f.routes(l, v4)
	f.sourced(l, v4)
	return f
}

// routes adds the routes of one family.
func (f *family) routes(l node.Link, v4 bool) {
	for _, r := range l.Routes {
		if r.Destination.Addr().Is4() != v4 {
			continue
		}
		metric := ""
		if r.Metric != 0 {
			metric = fmt.Sprintf(" metric %d", r.Metric)
		}
		f.up = append(f.up, fmt.Sprintf("%s route replace %s via %s dev $IFACE%s", ip(v4), r.Destination, r.Gateway, metric))
	}
}

// sourced adds the table and the rule of one family.
func (f *family) sourced(l node.Link, v4 bool) {
	for _, s := range l.Sourced() {
		if s.Prefix.Addr().Is4() != v4 {
			continue
		}
		rule := fmt.Sprintf("from %s lookup %d", node.AddressOf(s.Key), l.Table)
		shared := fmt.Sprintf("lookup main suppress_prefixlength 0 priority %d", node.SharedRule)
		f.up = append(f.up,
			fmt.Sprintf("%s route replace default via %s dev $IFACE table %d", ip(v4), s.Gateway, l.Table),
			again(v4, shared), again(v4, fmt.Sprintf("%s priority %d", rule, l.Table)))
		f.down = append(f.down, fmt.Sprintf("%s rule del %s 2>/dev/null || true", ip(v4), rule))
	}
}

// again adds a rule that may be there already.
func again(v4 bool, rule string) string {
	return fmt.Sprintf("%[1]s rule del %[2]s 2>/dev/null; %[1]s rule add %[2]s", ip(v4), rule)
}

func ip(v4 bool) string {
	if v4 {
		return "ip"
	}
	return "ip -6"
}

// cleared is the script that takes what is left of the platform's own network
// off the bonds that carried it, since the image's file gives it to them at
// every boot.
func cleared(names []string) string {
	return "#!/bin/sh\n" + header + `case "$IFACE" in
` + strings.Join(names, " | ") + `)
    bond="${IFACE%%:*}"
    ip -4 address flush dev "$bond"
    ip -6 address flush dev "$bond" scope global
    ip -4 route flush dev "$bond"
    ip -6 route flush dev "$bond" proto boot
    ;;
esac
`
}

// hook keeps a DHCP server from giving the machine a default route, name
// servers, or an MTU.
func hook(l node.Link) string {
	return `if [ "$interface" = "` + l.Device + `" ]; then
    unset new_routers new_rfc3442_classless_static_routes new_domain_name new_domain_name_servers new_domain_search new_interface_mtu
fi
`
}
