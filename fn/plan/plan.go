// Package plan is the cluster as networks, pools and links: what every platform
// and every operating system need to know of a claim, and nothing of theirs.
package plan

import (
	"net/netip"

	"go4.org/netipx"

	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// Plan of one cluster.
type Plan struct {
	// Networks by name, sorted.
	Networks []Network
	// Pools: the control plane first, then the worker pools by name, sorted.
	Pools []Pool
}

// Assignment is how machines get their addresses on a network.
type Assignment int

// The kinds of assignment.
const (
	// AssignNone brings an interface up without an address.
	AssignNone Assignment = iota
	// AssignStatic gives each machine an address from the network's ranges.
	AssignStatic
	// AssignPool gives each machine an address that an outside pool chose.
	AssignPool
	// AssignDHCP leaves addresses to a DHCP server.
	AssignDHCP
)

// Network is one VLAN with its subnets.
type Network struct {
	// Name of the network, a DNS label.
	Name string
	// VLAN id.
	VLAN int
	// Subnets are its blocks, masked: IPv4 before IPv6, at most one of each.
	Subnets []Subnet
	// Assignment is how machines get their addresses.
	Assignment Assignment
	// Links says whether any pool has a link on the network.
	Links bool
	// Needed is how many machines may need an address at once: replicas and
	// surge of every pool with a link on the network.
	Needed int
}

// Subnet is one block of a network.
type Subnet struct {
	// Prefix is the block, masked.
	Prefix netip.Prefix
	// Gateway is its router; invalid without one.
	Gateway netip.Addr
	// Ranges are the addresses of the block that machines may get, sorted;
	// none for every host address.
	Ranges []netipx.IPRange
	// Exclude are addresses of the block that no machine gets, sorted.
	Exclude []netipx.IPRange
}

// Role of a pool's machines.
type Role int

// The roles.
const (
	// ControlPlane machines run the API server.
	ControlPlane Role = iota
	// Worker machines run workloads.
	Worker
)

// ControlPlanePool is the name of the control plane's pool. Worker pools cannot
// have it.
const ControlPlanePool = "control-plane"

// Pool is a group of machines that are alike but for their addresses.
type Pool struct {
	// Name of the pool: ControlPlanePool or a worker pool's own.
	Name string
	// Role of its machines.
	Role Role
	// OS is the slug of its operating system.
	OS string
	// Replicas wanted; the highest number for an autoscaled pool.
	Replicas int
	// Surge is how many more machines a rollout may make.
	Surge int
	// Mode of its machines' ports.
	Mode spec.Mode
	// Ports that differ from a new server's, sorted: bonds before members.
	Ports []Port
	// Links on the ports, sorted by network.
	Links []Link
}

// Port of every machine of a pool.
type Port struct {
	// Name as the platform calls it: bond0, eth1.
	Name string
	// Bonded says that the port is in its bond, or is a working bond.
	Bonded bool
	// Layer2 says that a bond carries no addresses of the platform.
	Layer2 bool
	// Networks on the port by name, sorted.
	Networks []string
	// Native is the network that arrives untagged beside tagged ones, or "".
	Native string
	// MTU that the port needs for its links, in bytes; 0 leaves it alone.
	MTU int
}

// Bond says whether the port is a bond and not a member of one.
func (p Port) Bond() bool { return len(p.Name) > 4 && p.Name[:4] == "bond" }

// Link is a network on a port of every machine of a pool: one interface.
type Link struct {
	// Network by name.
	Network string
	// ID is the network's VLAN id, whether frames carry it or not.
	ID int
	// Port that the network is on.
	Port string
	// VLAN id that frames carry, or 0 when the network arrives untagged and
	// the port's own interface is the link's.
	VLAN int
	// Interface is the name of the VLAN interface, at most 15 bytes, or ""
	// when the link is untagged.
	Interface string
	// MTU of the interface in bytes; 0 leaves it alone.
	MTU int
	// Assignment is how the machine gets its addresses.
	Assignment Assignment
	// Subnets of the network: IPv4 before IPv6.
	Subnets []LinkSubnet
	// Routes through the network, sorted.
	Routes []Route
	// Table of the network's own routes for answers to what arrived on it; 0
	// without source routing.
	Table int
	// NodeIP makes the link's addresses the node's own.
	NodeIP bool
	// External says that the address is reported as reachable from outside.
	External bool
}

// LinkSubnet is a block of a link's network as the machine sees it.
type LinkSubnet struct {
	// Key under which the machine finds its address, from AddressKey.
	Key string
	// Prefix is the block, masked.
	Prefix netip.Prefix
	// Gateway is its router; invalid without one.
	Gateway netip.Addr
	// Default says that Gateway is the machine's default route.
	Default bool
	// Range narrows the addresses for this pool; not valid without.
	Range netipx.IPRange
}

// Route is a destination behind a link.
type Route struct {
	// Destination block, masked.
	Destination netip.Prefix
	// Gateway in one of the link's subnets.
	Gateway netip.Addr
	// Metric, or 0 for the system's own.
	Metric uint32
}

// RouteTable is the number of the routing table of a network with source
// routing. It never meets the kernel's own tables 0 and 253 to 255.
func RouteTable(vlan int) int { return 10000 + vlan }
