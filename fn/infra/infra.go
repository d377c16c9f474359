// Package infra is what a platform is asked and what it answers: the words that
// the platforms and their callers share.
package infra

import (
	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// Cluster is what a platform gets to know of a cluster.
type Cluster struct {
	// Name of the Cluster API Cluster, unique on the control plane and, as far
	// as names can make it so, in the platform's project.
	Name string
	// Namespace of the Cluster API objects.
	Namespace string
	// Spec of the claim, with defaults, validated.
	Spec *spec.Spec
	// Input of the platform team, with defaults, validated.
	Input *v1beta1.Input
	// Plan of the cluster.
	Plan plan.Plan
	// Observed composed objects by key.
	Observed map[string]object.View
}

// Sources are what a platform finds its facts in.
type Sources struct {
	// Cluster that the facts are about.
	Cluster Cluster
	// Required objects by the name of their requirement: those that the
	// platform asked for, and CAPIMachines.
	Required map[string]object.Required
	// Status of the composite as an earlier run wrote it.
	Status object.View
	// Credentials of the pipeline step by name.
	Credentials map[string]map[string][]byte
}

// CAPIMachines is the name of the requirement for the cluster's Machines.
const CAPIMachines = "machines"

// Facts are what the world has decided.
type Facts struct {
	// MachinesKnown says that the list of machines was fetched. Without it
	// nothing may be released and no machine's object given up.
	MachinesKnown bool
	// Machines that exist, by name, sorted; those being deleted too, since
	// they still hold what they have.
	Machines []Machine
	// VLANs are the UUIDs of the networks' VLANs that exist, by network.
	VLANs map[string]string
	// Delivered are the addresses that machines were sent earlier, by machine
	// and then by plan.LinkSubnet.Key: address with prefix length.
	Delivered map[string]map[string]string
	// Warnings say what could not be read and what follows, each a sentence.
	Warnings []string
	// Unheard say whose servers could not be asked how their networks are, each a
	// sentence.
	Unheard []string
}

// Machine is one server of the cluster.
type Machine struct {
	// Name of the machine, the same for Cluster API and the platform.
	Name string
	// Pool of the machine; "" when it cannot be told.
	Pool string
	// Device is the UUID of its server, or "" before there is one.
	Device string
	// Template is the name of the platform's template that the machine was made
	// from, or "" when it cannot be told.
	Template string
	// Deleting says that the machine is on its way out.
	Deleting bool
	// Joined says that its node has joined the cluster.
	Joined bool
	// Outdated says that the claim asks for another machine in its place, one
	// with other content or another version. What its node was set up for stays
	// as it is until it is replaced.
	Outdated bool
	// Held says that the machine's pool is kept as it is for now, whatever the
	// claim asks for.
	Held bool
	// Ports are the UUIDs of its server's ports by name; nil until known.
	Ports map[string]string
	// Network is the state of its network as its server reported it.
	Network NetworkState
	// Message says more about the state, in the server's own words.
	Message string
}

// NetworkState is the state of a machine's network as its server reported it.
type NetworkState int

// The states.
const (
	// NetworkUnknown has no report, or none that could be read.
	NetworkUnknown NetworkState = iota
	// NetworkStarted is being configured.
	NetworkStarted
	// NetworkVerified came up as wanted.
	NetworkVerified
	// NetworkFailed did not.
	NetworkFailed
)

// Infrastructure is what a platform makes of a cluster.
type Infrastructure struct {
	// Objects of the platform.
	Objects []object.Object
	// Kept are keys of observed objects that the claim no longer names and
	// that something still uses.
	Kept []string
	// LeftBehind is what stays on the platform when the cluster is deleted, each
	// a sentence that says how to find it, sorted.
	LeftBehind []string
	// Warnings for the user, each a sentence.
	Warnings []string
}

// Foundation is what follows from the claim alone, whatever the world has
// decided: what Cluster API's objects have to know of a platform.
type Foundation struct {
	// Cluster refers to the object that stands for the cluster's
	// infrastructure.
	Cluster object.Reference
	// Machines refers to the machine template of each pool, by pool name.
	Machines map[string]object.Reference
	// Bootstrap is what the platform's servers need of each pool's bootstrap,
	// by pool name.
	Bootstrap map[string]bootstrap.Bootstrap
}

// Delivery is what machines are given, by machine and then by
// plan.LinkSubnet.Key: address with prefix length. An address is in here only
// once the record that holds it is safe.
type Delivery map[string]map[string]string

// Set the address of a machine under a key.
func (d Delivery) Set(machine, key, address string) {
	if d[machine] == nil {
		d[machine] = map[string]string{}
	}
	d[machine][key] = address
}
