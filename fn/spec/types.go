// Package spec is the claim of an L2 cluster: its Go types, from which the XRD
// is generated, its defaults, and its validation.
//
// The structural rules (types, enums, patterns, bounds) and the rules that CEL
// can say are markers on the types, so that kubectl apply refuses what can be
// refused there. Validate repeats them all, because a claim that is rendered
// offline never meets an API server, and adds those that need more than CEL.
//
// +kubebuilder:object:generate=false
// +groupName=l2cluster.io
// +versionName=v1alpha1
package spec

// Names of the claim's API.
const (
	// Group is the API group of the claim and of the composite.
	Group = "l2cluster.io"
	// Version is the version of the claim and of the composite.
	Version = "v1alpha1"
	// ClaimKind is the kind that a user team applies.
	ClaimKind = "L2Cluster"
	// CompositeKind is the kind of the composite behind a claim.
	CompositeKind = "XL2Cluster"
)

// L2Cluster is a Kubernetes cluster on bare-metal servers whose nodes sit on
// layer-2 networks with addresses of the team's own choice.
//
// +kubebuilder:object:root=true
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Machines",type="string",JSONPath=".status.summary.machines",description="Machines with a verified network, of those wanted"
// +kubebuilder:printcolumn:name="Addresses",type="string",JSONPath=".status.summary.addresses",description="Addresses in use, of those in the assignment ranges"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".status.controlPlaneEndpoint",priority=1
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.kubernetesVersion",priority=1
type L2Cluster struct {
	// Spec is the cluster that the team wants.
	Spec Spec `json:"spec"`
	// Status is what the cluster is.
	// +optional
	Status Status `json:"status,omitzero"`
}

// Spec is the cluster that a team wants.
//
// +kubebuilder:validation:XValidation:rule="!has(self.networks) || self.networks.all(n, self.networks.exists_one(m, m.vxlan == n.vxlan))",message="two networks cannot have the same vxlan: it names one VLAN of the project and metro"
// +kubebuilder:validation:XValidation:rule="!has(self.networks) || self.networks.filter(n, has(n.defaultRoute) && n.defaultRoute).size() <= 1",message="at most one network may have defaultRoute: true"
// +kubebuilder:validation:XValidation:rule="!has(self.networks) || self.networks.all(n, !has(n.metalGateway) || !has(n.metalGateway.vrf) || (has(self.vrfs) && self.vrfs.exists(v, v.name == n.metalGateway.vrf)))",message="metalGateway.vrf must name one of spec.vrfs"
// +kubebuilder:validation:XValidation:rule="self.metro == oldSelf.metro",message="metro cannot be changed: VLANs and servers are bound to their metro"
// +kubebuilder:validation:XValidation:rule="self.projectID == oldSelf.projectID",message="projectID cannot be changed: VLANs and servers are bound to their project"
// +kubebuilder:validation:XValidation:rule="(has(self.vipManager) ? self.vipManager : 'CPEM') == (has(oldSelf.vipManager) ? oldSelf.vipManager : 'CPEM')",message="vipManager cannot be changed: the infrastructure provider forbids it"
type Spec struct {
	// Namespace is where the Cluster API objects of a composite without a claim
	// live. A claim's own namespace always wins.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// KubernetesVersion of control plane and workers, for example v1.34.2.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v1\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})$`
	KubernetesVersion string `json:"kubernetesVersion"`

	// ProjectID is the UUID of the Equinix Metal project.
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	ProjectID string `json:"projectID"`

	// Metro that servers and VLANs live in, for example da.
	// +kubebuilder:validation:MaxLength=2
	// +kubebuilder:validation:Pattern=`^[a-z]{2}$`
	Metro string `json:"metro"`

	// SSHKeys are the public keys that may log in to the servers, one
	// authorized_keys line each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:items:Pattern=`^(ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( [A-Za-z0-9@._+:/ -]*)?$`
	SSHKeys []string `json:"sshKeys,omitempty"`

	// VIPManager is who moves the control plane's elastic address.
	// +optional
	// +kubebuilder:default=CPEM
	VIPManager VIPManager `json:"vipManager,omitempty"`

	// ClusterNetwork is the pod and service network.
	// +optional
	// +kubebuilder:default={}
	ClusterNetwork ClusterNetwork `json:"clusterNetwork,omitzero"`

	// VRFs are the routing domains that networks with a metal gateway can use.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	VRFs []VRF `json:"vrfs,omitempty"`

	// Networks are the layer-2 networks of the cluster, one VLAN each.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Networks []Network `json:"networks,omitempty"`

	// ControlPlane are the servers of the control plane.
	ControlPlane ControlPlane `json:"controlPlane"`

	// Workers are the pools of worker servers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Workers []WorkerPool `json:"workers,omitempty"`
}

// VIPManager is who moves the control plane's elastic address.
//
// +kubebuilder:validation:Enum=CPEM;KUBE_VIP;EMLB
type VIPManager string

// The ways that the infrastructure provider knows.
const (
	// CPEM moves the address with the Equinix Metal cloud controller.
	CPEM VIPManager = "CPEM"
	// KubeVIP announces the address with kube-vip over BGP.
	KubeVIP VIPManager = "KUBE_VIP"
	// EMLB puts a Metal load balancer before the control plane.
	EMLB VIPManager = "EMLB"
)

// ClusterNetwork is the pod and service network of the cluster.
type ClusterNetwork struct {
	// Pods are the blocks that pods get addresses from, at most one per family.
	// +optional
	// +kubebuilder:default={cidrBlocks: {"192.168.0.0/16"}}
	Pods CIDRBlocks `json:"pods,omitzero"`
	// Services are the blocks of service addresses, at most one per family.
	// +optional
	// +kubebuilder:default={cidrBlocks: {"172.26.0.0/16"}}
	Services CIDRBlocks `json:"services,omitzero"`
	// ServiceDomain is the DNS domain of services.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ServiceDomain string `json:"serviceDomain,omitempty"`
}

// CIDRBlocks is a list of address blocks.
type CIDRBlocks struct {
	// CIDRBlocks in prefix notation, at most one per address family.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f:.]+/[0-9]{1,3}$`
	CIDRBlocks []string `json:"cidrBlocks"`
}

// VRF is a routing domain of the project and metro.
//
// +kubebuilder:validation:XValidation:rule="has(self.vrfID) || (has(self.localASN) && has(self.ipRanges))",message="give localASN and ipRanges for a VRF to be created, or vrfID for one that exists"
// +kubebuilder:validation:XValidation:rule="!has(self.vrfID) || (!has(self.localASN) && !has(self.ipRanges))",message="a VRF with vrfID is only observed: localASN and ipRanges belong to its owner"
type VRF struct {
	// Name that networks refer to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Description is free text for people.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Description string `json:"description,omitempty"`
	// VRFID is the UUID of an existing VRF, which is observed and never changed.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	VRFID string `json:"vrfID,omitempty"`
	// LocalASN is the 4-byte autonomous system number of the VRF.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967294
	LocalASN int64 `json:"localASN,omitempty"`
	// IPRanges are the blocks that reservations of the VRF come from; IPv4
	// blocks are /8 to /29.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f:.]+/[0-9]{1,3}$`
	IPRanges []string `json:"ipRanges,omitempty"`
}

// Assignment is how machines get their addresses on a network.
//
// +kubebuilder:validation:Enum=cluster-api;dhcp;ipam;none
type Assignment string

// The kinds of assignment.
const (
	// AssignClusterAPI gives each machine an address of the assignment ranges.
	AssignClusterAPI Assignment = "cluster-api"
	// AssignDHCP leaves addresses to a DHCP server on the network.
	AssignDHCP Assignment = "dhcp"
	// AssignIPAM claims addresses from a pool of a Cluster API IPAM provider.
	AssignIPAM Assignment = "ipam"
	// AssignNone brings the interface up without an address.
	AssignNone Assignment = "none"
)

// Network is one layer-2 network: a VLAN with its subnet, and how machines get
// addresses on it.
//
// +kubebuilder:validation:XValidation:rule="has(self.poolRef) == (has(self.assignment) && self.assignment == 'ipam')",message="poolRef goes with assignment: ipam, and only with it"
// +kubebuilder:validation:XValidation:rule="has(self.ipAddresses) || (has(self.assignment) && self.assignment in ['dhcp', 'none'])",message="assignment: cluster-api and assignment: ipam need ipAddresses, the subnet that addresses come from"
// +kubebuilder:validation:XValidation:rule="!has(self.ipAddresses) || self.ipAddresses.all(c, isCIDR(c) && cidr(c).masked() == cidr(c))",message="each of ipAddresses must be a block without host bits, for example 10.60.10.0/24"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || (has(self.ipAddresses) && isIP(self.gateway) && self.ipAddresses.exists(c, isCIDR(c) && cidr(c).containsIP(self.gateway)))",message="gateway must be an address inside one of ipAddresses"
// +kubebuilder:validation:XValidation:rule="!has(self.gatewayIPv6) || (has(self.ipAddresses) && isIP(self.gatewayIPv6) && self.ipAddresses.exists(c, isCIDR(c) && cidr(c).ip().family() == 6 && cidr(c).containsIP(self.gatewayIPv6)))",message="gatewayIPv6 must be an address inside the IPv6 block of ipAddresses"
// +kubebuilder:validation:XValidation:rule="!has(self.vlanID) || !has(self.metalGateway)",message="a network with vlanID is only observed: its gateway belongs to the VLAN's owner"
type Network struct {
	// Name that ports refer to; not one that a port can have, such as eth1.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Description is free text for people; it never reaches a server.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Description string `json:"description,omitempty"`
	// VXLAN is the VLAN id, unique in the project and metro.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=3999
	VXLAN int32 `json:"vxlan"`
	// VLANID is the UUID of an existing VLAN, which is observed and never
	// created, changed or deleted.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	VLANID string `json:"vlanID,omitempty"`
	// IPAddresses is the subnet, at most one block per address family. It is
	// needed where addresses are assigned; assignment: ipam takes exactly one
	// block, since a pool gives each machine one address.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f:.]+/[0-9]{1,3}$`
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// Assignment is how machines get their addresses.
	// +optional
	// +kubebuilder:default=cluster-api
	Assignment Assignment `json:"assignment,omitempty"`
	// AssignmentRanges are the addresses that machines may get: a-b, a single
	// address or a block, inside the subnet. Without any: every host address of
	// the subnet. Only for assignment: cluster-api.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=79
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f:.]+(-[0-9a-f:.]+|/[0-9]{1,3})?$`
	AssignmentRanges []string `json:"assignmentRanges,omitempty"`
	// Exclude are addresses that no machine gets, in the same forms. Only for
	// assignment: cluster-api.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=79
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f:.]+(-[0-9a-f:.]+|/[0-9]{1,3})?$`
	Exclude []string `json:"exclude,omitempty"`
	// Gateway is the router of the network, inside one of its blocks. It serves
	// sourceRouting and defaultRoute; it never becomes a default route by itself.
	// +optional
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:Pattern=`^[0-9a-f:.]+$`
	Gateway string `json:"gateway,omitempty"`
	// GatewayIPv6 is the IPv6 router of a network that has both families.
	// +optional
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:Pattern=`^[0-9a-f:.]+$`
	GatewayIPv6 string `json:"gatewayIPv6,omitempty"`
	// Routes are what machines reach through the network beside its subnet.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Routes []Route `json:"routes,omitempty"`
	// MTU of the network's interfaces, in bytes; the ports below are raised to
	// the highest of theirs.
	// +optional
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9000
	MTU int32 `json:"mtu,omitempty"`
	// InterfaceName of the network's VLAN interface on the servers. The default
	// is vlan followed by the VLAN id.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_.-]*$`
	InterfaceName string `json:"interfaceName,omitempty"`
	// DefaultRoute makes the network's gateway the default route of servers
	// that have no other: those in a pure layer-2 mode.
	// +optional
	DefaultRoute bool `json:"defaultRoute,omitempty"`
	// SourceRouting answers what arrives on the network through its gateway, by
	// a routing table of its own. It needs an address that is known before the
	// network is configured: assignment cluster-api or ipam.
	// +optional
	SourceRouting bool `json:"sourceRouting,omitempty"`
	// PoolRef is the pool of a Cluster API IPAM provider, in the claim's
	// namespace, for assignment: ipam.
	// +optional
	PoolRef *PoolRef `json:"poolRef,omitempty"`
	// MetalGateway puts an Equinix Metal Gateway on the VLAN.
	// +optional
	MetalGateway *MetalGateway `json:"metalGateway,omitempty"`
}

// Route is what machines reach through a network.
type Route struct {
	// Destination block; neither the subnet of another network on the same
	// servers nor a part of it.
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:Pattern=`^[0-9a-f:.]+/[0-9]{1,3}$`
	Destination string `json:"destination"`
	// Gateway inside the network's own block of the same family.
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:Pattern=`^[0-9a-f:.]+$`
	Gateway string `json:"gateway"`
	// Metric of the route; a lower one wins. Without it the system's default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967295
	Metric int64 `json:"metric,omitempty"`
}

// PoolRef is a pool of a Cluster API IPAM provider in the claim's namespace.
type PoolRef struct {
	// APIGroup of the pool.
	// +optional
	// +kubebuilder:default=ipam.cluster.x-k8s.io
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	APIGroup string `json:"apiGroup,omitempty"`
	// Kind of the pool, for example InClusterIPPool.
	// +optional
	// +kubebuilder:default=InClusterIPPool
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind,omitempty"`
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// MetalGateway is an Equinix Metal Gateway on a network's VLAN: in a VRF, with
// the network's own IPv4 block, or with a private block of Equinix's choice.
//
// +kubebuilder:validation:XValidation:rule="has(self.vrf) != has(self.privateSubnetSize)",message="give exactly one of vrf and privateSubnetSize"
type MetalGateway struct {
	// VRF is the name of one of the claim's vrfs; the network's IPv4 block
	// (/22 to /29) is reserved in it and the gateway takes its first address.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	VRF string `json:"vrf,omitempty"`
	// PrivateSubnetSize is the number of addresses of a private block that
	// Equinix chooses.
	// +optional
	// +kubebuilder:validation:Enum=8;16;32;64;128
	PrivateSubnetSize int32 `json:"privateSubnetSize,omitempty"`
}

// Machines is what control plane and worker pools have in common.
type Machines struct {
	// MachineType is the Equinix Metal plan, for example c3.small.x86.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$`
	MachineType string `json:"machineType"`
	// OS is the Equinix Metal operating system slug, for example ubuntu_22_04.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$`
	OS string `json:"os"`
	// BillingCycle of the servers.
	// +optional
	// +kubebuilder:default=hourly
	// +kubebuilder:validation:Enum=hourly;daily;monthly;yearly
	BillingCycle string `json:"billingCycle,omitempty"`
	// HardwareReservationID is a reservation's UUID or next-available.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(next-available|[0-9a-f-]{36}(,[0-9a-f-]{36})*)$`
	HardwareReservationID string `json:"hardwareReservationID,omitempty"`
	// Tags of the servers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=80
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9][A-Za-z0-9_.:/=-]*$`
	Tags []string `json:"tags,omitempty"`
	// Labels of the nodes.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// Taints of the nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Taints []Taint `json:"taints,omitempty"`
	// Ports of each server and the networks on them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=6
	Ports []Port `json:"ports,omitempty"`
	// HealthCheck replaces machines whose node is unhealthy.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
}

// ControlPlane are the servers of the control plane.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rollout) || !has(self.rollout.maxSurge) || self.rollout.maxSurge > 0 || !has(self.replicas) || self.replicas >= 3",message="rollout.maxSurge: 0 needs at least 3 replicas: etcd would lose its majority while a server is replaced"
type ControlPlane struct {
	// Replicas is an odd number, since etcd needs a majority.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Enum=1;3;5;7
	Replicas int32 `json:"replicas,omitempty"`
	// Rollout is how servers are replaced.
	// +optional
	// +kubebuilder:default={}
	Rollout *ControlPlaneRollout `json:"rollout,omitempty"`

	Machines `json:",inline"`
}

// ControlPlaneRollout is how control plane servers are replaced.
type ControlPlaneRollout struct {
	// MaxSurge is how many servers more than replicas may exist meanwhile; 0
	// needs at least 3 replicas.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	MaxSurge *int32 `json:"maxSurge,omitempty"`
}

// WorkerPool are worker servers of one kind.
//
// +kubebuilder:validation:XValidation:rule="self.name != 'control-plane'",message="control-plane is the name of the control plane's own pool"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.autoscaling)",message="give replicas or autoscaling, not both: the autoscaler owns the number of an autoscaled pool"
type WorkerPool struct {
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Replicas is the number of servers; 1 without it and without autoscaling.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`
	// Autoscaling leaves the number of servers to the cluster autoscaler.
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`
	// Rollout is how servers are replaced.
	// +optional
	// +kubebuilder:default={}
	Rollout *WorkerRollout `json:"rollout,omitempty"`

	Machines `json:",inline"`
}

// Autoscaling bounds the number of servers that the autoscaler may choose.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="min cannot be more than max"
type Autoscaling struct {
	// Min is the lowest number of servers.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Min int32 `json:"min"`
	// Max is the highest number of servers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Max int32 `json:"max"`
}

// WorkerRollout is how the servers of a worker pool are replaced.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || self.maxSurge > 0 || !has(self.maxUnavailable) || self.maxUnavailable > 0",message="maxSurge and maxUnavailable cannot both be 0: nothing could ever be replaced"
type WorkerRollout struct {
	// MaxSurge is how many servers more than replicas may exist meanwhile.
	// Each of them needs an address.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MaxSurge *int32 `json:"maxSurge,omitempty"`
	// MaxUnavailable is how many servers may be missing meanwhile. The default
	// is 0, and 1 when maxSurge is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// Taint of a node.
type Taint struct {
	// Key of the taint.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Key string `json:"key"`
	// Value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Value string `json:"value,omitempty"`
	// Effect on pods that do not tolerate the taint.
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect string `json:"effect"`
}

// HealthCheck is when a machine counts as broken and is replaced.
type HealthCheck struct {
	// NodeStartupTimeoutSeconds is how long a server may take to become a node.
	// It must leave room for the node's own network time limit.
	// +optional
	// +kubebuilder:default=1800
	// +kubebuilder:validation:Minimum=600
	// +kubebuilder:validation:Maximum=86400
	NodeStartupTimeoutSeconds int32 `json:"nodeStartupTimeoutSeconds,omitempty"`
	// UnhealthyTimeoutSeconds is how long a node may be not ready.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=86400
	UnhealthyTimeoutSeconds int32 `json:"unhealthyTimeoutSeconds,omitempty"`
	// MaxUnhealthy is how many machines of the pool, as a number or a
	// percentage, may be unhealthy before nothing is replaced any more.
	// +optional
	// +kubebuilder:default="40%"
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([0-9]{1,4}|[0-9]{1,2}%|100%)$`
	MaxUnhealthy string `json:"maxUnhealthy,omitempty"`
}

// Port of each server of a pool, and the networks on it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.layer2) || !self.layer2 || self.name.startsWith('bond')",message="layer2 can be set on a bond port only"
// +kubebuilder:validation:XValidation:rule="!has(self.nativeNetwork) || (has(self.networks) && self.networks.exists(n, n.name == self.nativeNetwork))",message="nativeNetwork must be one of the port's networks"
// +kubebuilder:validation:XValidation:rule="!has(self.nativeNetwork) || self.name.startsWith('eth')",message="a bond port has no native VLAN: every VLAN on it is tagged"
type Port struct {
	// Name of the port as the platform calls it: bond0, bond1, eth0 to eth3.
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^(bond[01]|eth[0-3])$`
	Name string `json:"name"`
	// Bonded says that the port is in its bond.
	// +optional
	// +kubebuilder:default=true
	Bonded *bool `json:"bonded,omitempty"`
	// Layer2 takes the platform's own addresses off a bond port.
	// +optional
	Layer2 bool `json:"layer2,omitempty"`
	// NativeNetwork is the network that an unbonded port carries untagged,
	// beside the tagged ones.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	NativeNetwork string `json:"nativeNetwork,omitempty"`
	// Networks on the port.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Networks []PortNetwork `json:"networks,omitempty"`
}

// PortNetwork is a network on a port of a pool.
type PortNetwork struct {
	// Name of one of the claim's networks.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// AssignmentRange takes the pool's addresses from here instead of the
	// network's assignment ranges: a-b, a single address or a block.
	// +optional
	// +kubebuilder:validation:MaxLength=79
	// +kubebuilder:validation:Pattern=`^[0-9a-f:.]+(-[0-9a-f:.]+|/[0-9]{1,3})?$`
	AssignmentRange string `json:"assignmentRange,omitempty"`
	// AddressType is how the address is reported for the machine: the networks of
	// external ones are named in the status, as externalNetworks.
	// +optional
	// +kubebuilder:default=Internal
	AddressType AddressType `json:"addressType,omitempty"`
	// NodeIP makes the address the node's own address in Kubernetes.
	// +optional
	NodeIP bool `json:"nodeIP,omitempty"`
}

// AddressType is how an address is reported for a machine.
//
// +kubebuilder:validation:Enum=Internal;External
type AddressType string

// The types of an address.
const (
	// AddressInternal is reachable inside the cluster's networks.
	AddressInternal AddressType = "Internal"
	// AddressExternal is reachable from outside.
	AddressExternal AddressType = "External"
)
