package spec

// Status is what the cluster is, as the composite and the claim show it.
type Status struct {
	// Phase of the cluster in one word.
	// +optional
	Phase string `json:"phase,omitempty"`
	// ClusterName is the name of the Cluster API Cluster.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`
	// ControlPlaneEndpoint is host:port of the API server.
	// +optional
	ControlPlaneEndpoint string `json:"controlPlaneEndpoint,omitempty"`
	// KubeconfigSecret names the Secret of the claim's namespace that holds the
	// cluster's admin kubeconfig under the key value.
	// +optional
	KubeconfigSecret string `json:"kubeconfigSecret,omitempty"`
	// LeftBehind is what stays in the project when the claim is deleted, each a
	// sentence that says how to find it: what nobody deletes, and what was there
	// before the cluster.
	// +optional
	// +listType=atomic
	LeftBehind []string `json:"leftBehind,omitempty"`
	// Summary are the figures of the printer columns.
	// +optional
	Summary Summary `json:"summary,omitzero"`
	// Networks of the cluster, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Networks []NetworkStatus `json:"networks,omitempty"`
	// Machines of the cluster, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Machines []MachineStatus `json:"machines,omitempty"`
	// Allocations is the record of addresses: per scope (project, metro, VLAN
	// and subnet) who holds which address and what was released when. The
	// function reads it back on its next run; do not edit it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Allocations map[string]any `json:"allocations,omitempty"`
	// Ports remembers the UUIDs of every machine's ports, so that the platform
	// is asked for them once. The function reads it back; do not edit it.
	// +optional
	Ports map[string]map[string]string `json:"ports,omitempty"`
}

// Summary are figures that a table can show.
type Summary struct {
	// Machines with a verified network, of those wanted: 4/5.
	// +optional
	Machines string `json:"machines,omitempty"`
	// Addresses in use, of those in the assignment ranges: 5/39.
	// +optional
	Addresses string `json:"addresses,omitempty"`
}

// NetworkStatus is what a network is.
type NetworkStatus struct {
	// Name of the network.
	Name string `json:"name"`
	// VXLAN is the VLAN id.
	VXLAN int32 `json:"vxlan"`
	// VLANID is the VLAN's UUID, once it exists.
	// +optional
	VLANID string `json:"vlanID,omitempty"`
	// Capacity of the network, where machines get addresses from us.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`
}

// Capacity is how many addresses a network has and needs.
type Capacity struct {
	// Used addresses.
	Used int64 `json:"used"`
	// Total addresses that machines may get, the used ones among them.
	Total int64 `json:"total"`
	// Needed addresses: replicas and the surge of a rollout.
	Needed int64 `json:"needed"`
}

// MachineStatus is what a machine's network is.
type MachineStatus struct {
	// Name of the machine.
	Name string `json:"name"`
	// Pool of the machine: control-plane, or a worker pool's name.
	// +optional
	Pool string `json:"pool,omitempty"`
	// Addresses of the machine: address with prefix length, by network; two,
	// separated by a comma, on a network with both families.
	// +optional
	Addresses map[string]string `json:"addresses,omitempty"`
	// ExternalNetworks are those of the addresses whose addressType is External.
	// +optional
	// +listType=set
	ExternalNetworks []string `json:"externalNetworks,omitempty"`
	// Network is the state of the machine's network in one word: Waiting,
	// Delivered, Attached, Verified, Failed or Unknown.
	// +optional
	Network string `json:"network,omitempty"`
	// Message says more about the state.
	// +optional
	Message string `json:"message,omitempty"`
}
