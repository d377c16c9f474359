// Package node is what the renderers of node files, the script that runs on the
// node, and those who read its reports have in common: names, paths, phrases,
// placeholders, and the description that the script works from.
package node

// File on a machine.
type File struct {
	// Path, absolute.
	Path string
	// Permissions in octal, for example 0644.
	Permissions string
	// Content that the machine's disk gets, byte for byte.
	Content string
	// Gzip is Content compressed, with bytes that depend on nothing but
	// Content and this module's own code; empty for content that travels as it
	// is.
	Gzip []byte
	// Live says that template engines on the way to the machine must fill in
	// placeholders of the content, so it travels unencoded.
	Live bool
}

// Where things are on a machine.
const (
	// ScriptPath is the script that brings up the machine's network.
	ScriptPath = "/usr/local/sbin/l2cluster-network"
	// Library is the folder of the script's modules.
	Library = "/usr/local/lib/l2cluster/"
	// DescriptionPath is what the script works from.
	DescriptionPath = "/etc/l2cluster/network.json"
	// StatePath is what the script remembers: what it found out about the
	// machine, and what it wrote.
	StatePath = "/var/lib/l2cluster/network.json"
)

// Command is the first command before kubeadm. The list of commands goes on
// after one that fails, so it ends the list: a machine without its network does
// not join.
const Command = ScriptPath + " || exit 1"

// CustomDataKey is the key in the server's custom data under which the machine
// finds its addresses: a flat JSON object that maps each address's key to the
// address with its prefix length, for example
//
//	{"l2cluster": {"vlan1000.ipv4": "10.60.10.2/24", "vlan1000.ipv6": "2001:db8::2/64"}}
const CustomDataKey = "l2cluster"

// Event is a report of a machine about its network. The platform shows it among
// the server's events as type user.<code> with the message as its body.
type Event struct {
	// State is running, succeeded or failed.
	State string `json:"state"`
	// Code is from 1000 to 1099.
	Code int `json:"code"`
	// Message is the phrase that readers know the event by. A failed one goes
	// on with a colon, a space, and which interface is wrong and why.
	Message string `json:"message"`
}

// Started is the report that the script began.
func Started() Event {
	return Event{State: "running", Code: 1000, Message: "network_configuration_started"}
}

// Succeeded is the report that the network is exactly as described.
func Succeeded() Event {
	return Event{State: "succeeded", Code: 1001, Message: "network_configuration_success"}
}

// Failed is the report that the network is not as described.
func Failed() Event {
	return Event{State: "failed", Code: 1002, Message: "network_configuration_failed"}
}

// Placeholders in kubeadm's own configuration, which the script fills in before
// kubeadm runs.
const (
	// NodeIPPlaceholder stands for the node's address: the IPv4 one if there
	// are two.
	NodeIPPlaceholder = "L2CLUSTER_NODE_IP"
	// NodeIPsPlaceholder stands for the node's addresses, at most one of each
	// family, joined by a comma as the kubelet takes them.
	NodeIPsPlaceholder = "L2CLUSTER_ALL_NODE_IPS"
)

// KubeadmConfigs are the files in which the script fills in NodeIPPlaceholder
// and NodeIPsPlaceholder.
const KubeadmConfigs = "/run/kubeadm/*.yaml"

// AddressOf is the placeholder, in a file's content or path, of the machine's
// address with that key, without its prefix length.
func AddressOf(key string) string { return "@address:" + key + "@" }

// PortName is the placeholder of the operating system's name of the platform's
// port.
func PortName(name string) string { return "@port:" + name + "@" }

// UnitOf is the placeholder of the base name of the file from which
// systemd-networkd configures the interface of the platform's port, for
// example 10-bond0.network.
func UnitOf(port string) string { return "@unit:" + port + "@" }

// Stage says when a part of a description counts. Only servers in a pure
// layer-2 mode have two stages: they boot with the platform's own network, and
// lose it once the platform has changed their ports.
type Stage string

// The stages.
const (
	// Always counts before and after.
	Always Stage = ""
	// Before counts while the platform's own network is there.
	Before Stage = "before"
	// After counts once the platform's own network is gone.
	After Stage = "after"
)
