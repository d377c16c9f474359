// Package networkmanager renders node files for NetworkManager, which the
// images of Rocky, Alma and RHEL of Equinix Metal use:
// https://networkmanager.dev/docs/api/latest/nm-settings-keyfile.html.
//
// Connections of ours have a higher priority than the image's, so a port of ours
// does not go back into its bond. The bond's own connection stays the image's.
package networkmanager

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

const (
	connections = "/etc/NetworkManager/system-connections/l2cluster-"
	settings    = "/etc/NetworkManager/conf.d/90-l2cluster-"
	// clearing takes the platform's addresses off a bond that has lost them.
	clearing = "/etc/NetworkManager/dispatcher.d/90-l2cluster"
	header   = "# Written by l2cluster-network.\n"
)

// Port renders the files of a port.
func Port(p node.Port) []node.Template {
	switch {
	case p.Released && !p.Untagged:
		content := connection(p.Name, int(p.Name[len(p.Name)-1]-'0'), "ethernet", p.Device) + ethernet(p.MTU) + "[ipv4]\nmethod=disabled\n\n[ipv6]\nmethod=disabled\n"
		return []node.Template{{Path: connections + p.Name + ".nmconnection", Mode: "0600", Stage: p.Stage, Content: content}}
	case !p.Released && p.MTU != 0:
		content := fmt.Sprintf("%s[connection-l2cluster-%[2]s]\nmatch-device=interface-name:%[2]s\nethernet.mtu=%[3]d\n", header, p.Name, p.MTU)
		return []node.Template{{Path: settings + p.Name + ".conf", Mode: "0644", Content: content}}
	default:
		return nil
	}
}

// Link renders the files of a link: two of the same path when the default route
// comes with the handover.
func Link(l node.Link) []node.Template {
	path := connections + l.Network + ".nmconnection"
	if len(l.Defaults()) == 0 {
		return []node.Template{{Path: path, Mode: "0600", Stage: l.Stage, Content: keyfile(l, false)}}
	}
	after := node.Template{Path: path, Mode: "0600", Stage: node.After, Content: keyfile(l, true)}
	if l.Stage == node.After {
		return []node.Template{after}
	}
	return []node.Template{{Path: path, Mode: "0600", Stage: node.Before, Content: keyfile(l, false)}, after}
}

// Machine renders the files that belong to no single port or link.
func Machine(l node.Layout) []node.Template {
	var names []string
	for _, p := range l.Ports {
		if p.Cleared {
			names = append(names, strconv.Quote(p.Name+" up"))
		}
	}
	if len(names) == 0 {
		return nil
	}
	content := "#!/bin/sh\n" + header + `case "$1 $2" in
` + strings.Join(names, " | ") + `)
    ip -4 address flush dev "$1"
    ip -6 address flush dev "$1" scope global
    ip -4 route flush dev "$1"
    ip -6 route flush dev "$1" exact default
    ;;
esac
`
	return []node.Template{{Path: clearing, Mode: "0755", Stage: node.After, Content: content}}
}

func keyfile(l node.Link, defaults bool) string {
	kind, vlan := "ethernet", ""
	if l.Parent != "" {
		kind, vlan = "vlan", fmt.Sprintf("[vlan]\nid=%d\nparent=%s\n\n", l.VLAN, l.Parent)
	}
	return connection(l.Network, l.ID, kind, l.Device) + vlan + ethernet(l.MTU) +
		"[ipv4]\n" + family(l, true, defaults) + "\n[ipv6]\n" + family(l, false, defaults)
}

// connection of a name that is unique among ours, as the number is.
func connection(name string, number int, kind, device string) string {
	return fmt.Sprintf("%s[connection]\nid=l2cluster-%s\nuuid=%s\ntype=%s\ninterface-name=%s\nautoconnect-priority=100\n\n",
		header, name, uuid(number), kind, device)
}

// uuid of a connection. It has to differ only from others on the same machine,
// so it is of the kind that applications fill as they like:
// https://www.rfc-editor.org/rfc/rfc9562#section-5.8.
func uuid(number int) string { return fmt.Sprintf("6c32636c-7573-8465-8272-%012d", number) }

func ethernet(mtu int) string {
	if mtu == 0 {
		return ""
	}
	return fmt.Sprintf("[ethernet]\nmtu=%d\n\n", mtu)
}

// family renders a link's settings of one address family.
func family(l node.Link, v4, defaults bool) string {
	if v4 && !l.IPv4() || !v4 && !l.IPv6() {
		return "method=disabled\n"
	}
	if l.Dynamic() {
		return "method=auto\nignore-auto-dns=true\nignore-auto-routes=true\nnever-default=true\n" + patience(l, v4) + routes(l, v4)
	}
	var b strings.Builder
	b.WriteString("method=manual\n")
	for _, s := range l.Subnets {
		if s.Prefix.Addr().Is4() == v4 {
			fmt.Fprintf(&b, "address1=%s/%d\n", node.AddressOf(s.Key), s.Prefix.Bits())
			if defaults && s.Default {
				fmt.Fprintf(&b, "gateway=%s\n", s.Gateway)
			}
		}
	}
	return b.String() + routes(l, v4)
}

// patience waits for ever for a server that does not answer yet.
func patience(l node.Link, v4 bool) string {
	switch {
	case !l.Later:
		return ""
	case v4:
		return "dhcp-timeout=2147483647\n"
	default:
		return "ra-timeout=2147483647\ndhcp-timeout=2147483647\n"
	}
}

func routes(l node.Link, v4 bool) string {
	var b strings.Builder
	n := 0
	for _, r := range l.Routes {
		if r.Destination.Addr().Is4() != v4 {
			continue
		}
		n++
		fmt.Fprintf(&b, "route%d=%s,%s%s\n", n, r.Destination, r.Gateway, metric(r))
	}
	for _, s := range l.Sourced() {
		if s.Prefix.Addr().Is4() != v4 {
			continue
		}
		n++
		all := node.Everything(s.Gateway)
		fmt.Fprintf(&b, "route%[1]d=%[2]s,%[3]s\nroute%[1]d_options=table=%[4]d\n", n, all, s.Gateway, l.Table)
		fmt.Fprintf(&b, "routing-rule1=priority %d from %s table %d suppress_prefixlength 0\n", node.SharedRule, all, mainTable)
		fmt.Fprintf(&b, "routing-rule2=priority %[1]d from %[2]s table %[1]d\n", l.Table, node.AddressOf(s.Key))
	}
	return b.String()
}

// mainTable is the kernel's number of the main routing table.
const mainTable = 254

func metric(r plan.Route) string {
	if r.Metric == 0 {
		return ""
	}
	return fmt.Sprintf(",%d", r.Metric)
}
