// Package netplan renders node files for netplan with systemd-networkd behind
// it: https://netplan.readthedocs.io/en/stable/netplan-yaml/.
//
// Netplan merges files, so links on a bond add themselves to the image's. It
// cannot take anything back that the image's file says, such as a port of a
// bond: links on ports outside the bond, and a bond without the platform's
// addresses, are files of systemd-networkd.
package netplan

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/osnet/networkd"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

const (
	links    = "/etc/netplan/90-l2cluster-"
	defaults = "/etc/netplan/91-l2cluster-"
	header   = "# Written by l2cluster-network.\n"
)

// document is a file of netplan's.
type document struct {
	Network network `json:"network"`
}

type network struct {
	Version int             `json:"version"`
	Bonds   map[string]bond `json:"bonds,omitempty"`
	VLANs   map[string]vlan `json:"vlans,omitempty"`
}

type bond struct {
	MTU int `json:"mtu"`
}

type vlan struct {
	ID              int       `json:"id,omitempty"`
	Link            string    `json:"link,omitempty"`
	MTU             int       `json:"mtu,omitempty"`
	Addresses       []string  `json:"addresses,omitempty"`
	LinkLocal       *[]string `json:"link-local,omitempty"`
	AcceptRA        *bool     `json:"accept-ra,omitempty"`
	DHCP4           bool      `json:"dhcp4,omitempty"`
	DHCP4Overrides  *override `json:"dhcp4-overrides,omitempty"`
	DHCP6           bool      `json:"dhcp6,omitempty"`
	DHCP6Overrides  *override `json:"dhcp6-overrides,omitempty"`
	Routes          []route   `json:"routes,omitempty"`
	RoutingPolicies []policy  `json:"routing-policy,omitempty"`
}

// override takes nothing but the address from a DHCP server.
type override struct {
	UseDNS      bool `json:"use-dns"`
	UseDomains  bool `json:"use-domains"`
	UseHostname bool `json:"use-hostname"`
	UseMTU      bool `json:"use-mtu"`
	UseNTP      bool `json:"use-ntp"`
	UseRoutes   bool `json:"use-routes"`
}

type route struct {
	To     string `json:"to"`
	Via    string `json:"via"`
	Metric uint32 `json:"metric,omitempty"`
	Table  int    `json:"table,omitempty"`
}

type policy struct {
	From     string `json:"from"`
	Table    int    `json:"table"`
	Priority int    `json:"priority"`
}

// Port renders the files of a port.
func Port(p node.Port) ([]node.Template, error) {
	if p.Released {
		return networkd.Port(p), nil
	}
	var out []node.Template
	if p.MTU != 0 {
		t, err := file(links+p.Name+".yaml", node.Always, network{Bonds: map[string]bond{p.Name: {MTU: p.MTU}}})
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return append(out, networkd.Cleared(p)...), nil
}

// Link renders the files of a link.
func Link(l node.Link) ([]node.Template, error) {
	if l.Released {
		return networkd.Link(l), nil
	}
	t, err := file(links+l.Network+".yaml", l.Stage, network{VLANs: map[string]vlan{l.Device: vlanOf(l)}})
	if err != nil {
		return nil, err
	}
	out := append([]node.Template{t}, networkd.SharedRules(l, "10-netplan-"+l.Device+".network")...)
	if gateways := l.Defaults(); len(gateways) > 0 {
		v := vlan{}
		for _, g := range gateways {
			v.Routes = append(v.Routes, route{To: node.Everything(g).String(), Via: g.String()})
		}
		t, err := file(defaults+l.Network+".yaml", node.After, network{VLANs: map[string]vlan{l.Device: v}})
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Machine renders the files that belong to no single port or link.
func Machine(node.Layout) ([]node.Template, error) { return nil, nil }

// file with the permissions that netplan asks for.
func file(path string, stage node.Stage, n network) (node.Template, error) {
	n.Version = 2
	content, err := yaml.Marshal(document{Network: n})
	if err != nil {
		return node.Template{}, fmt.Errorf("cannot encode %q: %w", path, err)
	}
	return node.Template{Path: path, Mode: "0600", Stage: stage, Content: header + string(content)}, nil
}

func vlanOf(l node.Link) vlan {
	v := vlan{ID: l.VLAN, Link: l.Parent, MTU: l.MTU}
	for _, s := range l.Subnets {
		if l.Static() {
			v.Addresses = append(v.Addresses, fmt.Sprintf("%s/%d", node.AddressOf(s.Key), s.Prefix.Bits()))
		}
	}
	if l.Dynamic() && l.IPv4() {
		v.DHCP4, v.DHCP4Overrides = true, &override{}
	}
	if l.Dynamic() && l.IPv6() {
		v.DHCP6, v.DHCP6Overrides = true, &override{}
	}
	if !l.IPv6() {
		v.LinkLocal = &[]string{}
	}
	if !l.Dynamic() || !l.IPv6() {
		v.AcceptRA = new(bool)
	}
	for _, r := range l.Routes {
		v.Routes = append(v.Routes, route{To: r.Destination.String(), Via: r.Gateway.String(), Metric: r.Metric})
	}
	for _, s := range l.Sourced() {
		v.Routes = append(v.Routes, route{To: node.Everything(s.Gateway).String(), Via: s.Gateway.String(), Table: l.Table})
		v.RoutingPolicies = append(v.RoutingPolicies, policy{From: node.AddressOf(s.Key), Table: l.Table, Priority: l.Table})
	}
	return v
}
