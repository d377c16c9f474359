package node

import "net/netip"

// Description is what a pool's machines' network must be. It is the same for
// all of them, and the script's only input beside the metadata service.
type Description struct {
	// Backend that configures the network.
	Backend string `json:"backend"`
	// Mode of the ports, as the platform calls it.
	Mode string `json:"mode"`
	// Metadata is the base URL of the metadata service.
	Metadata string `json:"metadata"`
	// CustomDataKey of the machine's addresses.
	CustomDataKey string `json:"customDataKey"`
	// Timeout in seconds for what the script does, and for the machine's addresses
	// until it reports that they are late; it waits for them beyond that.
	Timeout int `json:"timeout"`
	// Events that the script reports.
	Events Events `json:"events"`
	// State is where the script keeps what it remembers.
	State string `json:"state"`
	// Handover says that the machine loses the platform's own network when the
	// platform changes its ports.
	Handover bool `json:"handover,omitempty"`
	// Kubeadm says where the node's address goes; nil when no link's address is
	// the node's.
	Kubeadm *Kubeadm `json:"kubeadm,omitempty"`
	// Ports that the links are on.
	Ports []PortState `json:"ports"`
	// Links that must be up.
	Links []LinkState `json:"links"`
	// Rules of the routing policy.
	Rules []Rule `json:"rules,omitempty"`
	// RulePriorities are the lowest and the highest priority that only rules of
	// ours have.
	RulePriorities [2]int `json:"rulePriorities"`
	// Files of the machine, beside those of its ports and links.
	Files []Template `json:"files,omitempty"`
}

// AllFiles are the files of ports, of links, and of the machine.
func (d Description) AllFiles() []Template {
	var out []Template
	for _, p := range d.Ports {
		out = append(out, p.Files...)
	}
	for _, l := range d.Links {
		out = append(out, l.Files...)
	}
	return append(out, d.Files...)
}

// Events that the script reports.
type Events struct {
	// Started, once, before anything changes.
	Started Event `json:"started"`
	// Succeeded, or Failed, at the end.
	Succeeded Event `json:"succeeded"`
	// Failed at the end, or when addresses are late.
	Failed Event `json:"failed"`
}

// Kubeadm says where the node's address goes.
type Kubeadm struct {
	// Files that hold the placeholders, as a glob.
	Files string `json:"files"`
	// IP is the placeholder of one address.
	IP string `json:"ip"`
	// IPs is the placeholder of all of them.
	IPs string `json:"ips"`
}

// PortState is what a port must be.
type PortState struct {
	// Name as the platform calls it.
	Name string `json:"name"`
	// Stage at which the port is like this.
	Stage Stage `json:"stage,omitempty"`
	// Released says that the port is in no bond.
	Released bool `json:"released,omitempty"`
	// MTU in bytes; 0 for any.
	MTU int `json:"mtu,omitempty"`
	// Bare says that the port has no address of its own.
	Bare bool `json:"bare,omitempty"`
	// Cleared says that the platform's addresses on the port are gone after the
	// handover.
	Cleared bool `json:"cleared,omitempty"`
	// Files of the port.
	Files []Template `json:"files,omitempty"`
}

// LinkState is what a link must be.
type LinkState struct {
	// Network by name.
	Network string `json:"network"`
	// Stage at which the link is there.
	Stage Stage `json:"stage,omitempty"`
	// Port below the link.
	Port string `json:"port"`
	// Interface of the link; without one it is the port's own.
	Interface string `json:"interface,omitempty"`
	// VLAN id of the interface; 0 on the port's own.
	VLAN int `json:"vlan,omitempty"`
	// MTU in bytes; 0 for any.
	MTU int `json:"mtu,omitempty"`
	// Dynamic says that a server gives out the addresses.
	Dynamic bool `json:"dynamic,omitempty"`
	// Later says that the server answers only after the platform has changed the
	// ports, so that nothing waits for it.
	Later bool `json:"later,omitempty"`
	// NodeIP says that the addresses are the node's own.
	NodeIP bool `json:"nodeIP,omitempty"`
	// Subnets that the link has an address of, each.
	Subnets []SubnetState `json:"subnets,omitempty"`
	// Routes through the link, beside those to its subnets.
	Routes []Route `json:"routes,omitempty"`
	// Files of the link. They stand beside what they have to bring about, since
	// text compresses well where it repeats what is near.
	Files []Template `json:"files,omitempty"`
}

// SubnetState is a subnet that the link has an address of.
type SubnetState struct {
	// Key of the address in the machine's custom data.
	Key string `json:"key"`
	// Prefix of the subnet.
	Prefix netip.Prefix `json:"prefix"`
}

// Route through a link.
type Route struct {
	// To is the destination.
	To netip.Prefix `json:"to"`
	// Via is the next hop.
	Via netip.Addr `json:"via"`
	// Metric, or 0 for the system's own.
	Metric uint32 `json:"metric,omitempty"`
	// Table of the route; 0 for the main one.
	Table int `json:"table,omitempty"`
	// Stage at which the route is there.
	Stage Stage `json:"stage,omitempty"`
}

// Rule of the routing policy.
type Rule struct {
	// From is the key of the address that a packet comes from; without one the
	// rule is for all packets.
	From string `json:"from,omitempty"`
	// IPv6 says that the rule is for IPv6.
	IPv6 bool `json:"ipv6,omitempty"`
	// Priority of the rule; a lower one comes first.
	Priority int `json:"priority"`
	// Table that the rule looks up.
	Table int `json:"table"`
	// Specific says that default routes in the table do not count.
	Specific bool `json:"specific,omitempty"`
}

// Template of a file.
type Template struct {
	// Path, which may hold placeholders.
	Path string `json:"path"`
	// Mode in octal.
	Mode string `json:"mode"`
	// Stage at which the file is there.
	Stage Stage `json:"stage,omitempty"`
	// Content, which may hold placeholders.
	Content string `json:"content"`
}
