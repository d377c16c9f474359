// Package v1beta1 is the input of the function: what a platform team decides
// in the Composition and claim users must not choose.
//
// +kubebuilder:object:generate=true
// +groupName=l2cluster.fn.crossplane.io
// +versionName=v1beta1
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Values of the input's enumerations that others ask for.
const (
	// PlatformEquinix is Equinix Metal.
	PlatformEquinix = "equinix"
	// CloudControllerCPEM runs cloud-provider-equinix-metal.
	CloudControllerCPEM = "CPEM"
	// CloudControllerNone runs no cloud controller.
	CloudControllerNone = "None"
	// DeliveryUserData lets the first control plane server apply the cloud
	// controller.
	DeliveryUserData = "UserData"
	// DeliveryAddOn leaves the cloud controller to the platform team's add-ons.
	DeliveryAddOn = "AddOn"
	// NodePackagesInstalled come from package repositories at boot.
	NodePackagesInstalled = "Packages"
	// NodePackagesImage are in the operating system's image.
	NodePackagesImage = "Image"
	// StrategyApplyOnce applies an add-on once.
	StrategyApplyOnce = "ApplyOnce"
	// StrategyReconcile applies an add-on whenever it changes.
	StrategyReconcile = "Reconcile"
)

// Input of the function. Every field has a default that works.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=crossplane
type Input struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Platform that servers, VLANs and ports come from.
	// +optional
	// +kubebuilder:default=equinix
	// +kubebuilder:validation:Enum=equinix
	Platform string `json:"platform,omitempty"`

	// Namespace of the Cluster API objects of composites that have neither a
	// claim nor spec.namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// Allowed restricts what claims may ask for.
	// +optional
	Allowed Allowed `json:"allowed,omitzero"`

	// Equinix are the settings of the Equinix Metal platform.
	// +optional
	// +kubebuilder:default={}
	Equinix Equinix `json:"equinix,omitzero"`

	// Bootstrap is what every server does before it becomes a node.
	// +optional
	// +kubebuilder:default={}
	Bootstrap Bootstrap `json:"bootstrap,omitzero"`

	// Network are the settings of the servers' networks.
	// +optional
	// +kubebuilder:default={}
	Network Network `json:"network,omitzero"`

	// AddOns are applied to every new cluster by ClusterResourceSets.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	AddOns []AddOn `json:"addOns,omitempty"`
}

// Allowed restricts what claims may ask for. An empty list allows everything.
type Allowed struct {
	// Metros that claims may name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:Pattern=`^[a-z]{2}$`
	Metros []string `json:"metros,omitempty"`
	// MachineTypes that claims may name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$`
	MachineTypes []string `json:"machineTypes,omitempty"`
	// OperatingSystems that claims may name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$`
	OperatingSystems []string `json:"operatingSystems,omitempty"`
}

// Equinix are the settings of the Equinix Metal platform.
type Equinix struct {
	// ProviderConfig of provider-jet-equinix that owns VLANs, ports, VRFs,
	// reservations and gateways.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ProviderConfig string `json:"providerConfig,omitempty"`
	// HTTPProviderConfig of provider-http that delivers custom data to servers.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	HTTPProviderConfig string `json:"httpProviderConfig,omitempty"`
	// APIURL is the base URL of the Metal API, for installations that answer on
	// another address.
	// +optional
	// +kubebuilder:default="https://api.equinix.com/metal/v1"
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$`
	APIURL string `json:"apiURL,omitempty"`
	// MetadataURL is the base URL of the metadata service that servers ask.
	// +optional
	// +kubebuilder:default="https://metadata.platformequinix.com"
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$`
	MetadataURL string `json:"metadataURL,omitempty"`
	// TokenSecret names the Secret key with the Metal API token that
	// provider-http puts into its requests. Only the platform team may read it.
	// +optional
	// +kubebuilder:default={namespace: "crossplane-system", name: "equinix-metal", key: "auth_token"}
	TokenSecret SecretKey `json:"tokenSecret,omitzero"`
	// Blocks are address blocks that Equinix Metal gave to the project; a
	// network that overlaps one is refused, and so is a route into one on
	// servers that keep the platform's own addresses.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f:.]+/[0-9]{1,3}$`
	Blocks []string `json:"blocks,omitempty"`
	// HardwareReservations says that the installed infrastructure provider
	// honours hardwareReservationID. CAPP up to v0.9.0 ignores a single
	// reservation and crashes on several, so claims that name one are refused.
	// +optional
	HardwareReservations bool `json:"hardwareReservations,omitempty"`
	// CloudController runs in the cluster and knows its servers and addresses.
	// +optional
	// +kubebuilder:default={}
	CloudController CloudController `json:"cloudController,omitzero"`
	// KubeVIP announces the control plane's address where vipManager is
	// KUBE_VIP.
	// +optional
	// +kubebuilder:default={}
	KubeVIP KubeVIP `json:"kubeVIP,omitzero"`
	// CallTimeout bounds one call of the Metal API.
	// +optional
	// +kubebuilder:default="5s"
	CallTimeout *metav1.Duration `json:"callTimeout,omitempty"`
	// TotalTimeout bounds all calls of the Metal API in one run.
	// +optional
	// +kubebuilder:default="15s"
	TotalTimeout *metav1.Duration `json:"totalTimeout,omitempty"`
}

// SecretKey is a key of a Secret.
type SecretKey struct {
	// Namespace of the Secret.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
	// Name of the Secret.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// Key inside the Secret.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}

// CloudController is the cloud controller manager of the clusters.
type CloudController struct {
	// Kind CPEM runs cloud-provider-equinix-metal, as the upstream cluster
	// templates do. With None no cloud controller runs: only then can a
	// network's address be the node's own (nodeIP).
	// +optional
	// +kubebuilder:default=CPEM
	// +kubebuilder:validation:Enum=CPEM;None
	Kind string `json:"kind,omitempty"`
	// Delivery is how CPEM and its Secret reach the cluster. UserData: the
	// first control plane server applies them, and the project's API token is
	// in the user data of control plane servers. AddOn: the platform team
	// delivers both by addOns, and no token is in any user data.
	// +optional
	// +kubebuilder:default=UserData
	// +kubebuilder:validation:Enum=UserData;AddOn
	Delivery string `json:"delivery,omitempty"`
	// ManifestURL is CPEM's deployment for delivery UserData.
	// +optional
	// +kubebuilder:default="https://github.com/equinix/cloud-provider-equinix-metal/releases/download/v3.8.1/deployment.yaml"
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9._~:/?@+,=%-]+$`
	ManifestURL string `json:"manifestURL,omitempty"`
}

// KubeVIP announces the control plane's address over BGP.
type KubeVIP struct {
	// Image of kube-vip with its tag or digest.
	// +optional
	// +kubebuilder:default="ghcr.io/kube-vip/kube-vip:v0.8.1"
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9][A-Za-z0-9._:/@-]*$`
	Image string `json:"image,omitempty"`
}

// Bootstrap is what every server does before it becomes a node.
type Bootstrap struct {
	// NodePackages says where containerd, kubelet and kubeadm come from.
	// Packages: installed from package repositories at boot. Image: the
	// operating system image has them and nothing is installed.
	// +optional
	// +kubebuilder:default=Packages
	// +kubebuilder:validation:Enum=Packages;Image
	NodePackages string `json:"nodePackages,omitempty"`
	// KubernetesRepository is the base URL of the Kubernetes package
	// repository; the minor version and the package format are appended.
	// +optional
	// +kubebuilder:default="https://pkgs.k8s.io/core:/stable:"
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9._~:/-]+$`
	KubernetesRepository string `json:"kubernetesRepository,omitempty"`
	// Files are written to every server.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	Files []File `json:"files,omitempty"`
	// PreKubeadmCommands run after the network is up and before kubeadm.
	// Template braces of the infrastructure provider are escaped; those of
	// cloud-init work as everywhere in Cluster API.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	PreKubeadmCommands []string `json:"preKubeadmCommands,omitempty"`
	// PostKubeadmCommands run after kubeadm.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	PostKubeadmCommands []string `json:"postKubeadmCommands,omitempty"`
}

// File that is written to every server, byte for byte.
type File struct {
	// Path of the file, absolute.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/[A-Za-z0-9._/@+-]+$`
	Path string `json:"path"`
	// Permissions in octal.
	// +optional
	// +kubebuilder:default="0644"
	// +kubebuilder:validation:Pattern=`^0[0-7]{3}$`
	Permissions string `json:"permissions,omitempty"`
	// Content of the file, at most 7,680 bytes: more than that is more than
	// Cluster API accepts of a file in base64.
	// +kubebuilder:validation:MaxLength=7680
	Content string `json:"content"`
}

// Network are the settings of the servers' networks.
type Network struct {
	// Backends choose what configures the network, by the beginning of the
	// operating system's name; the longest that fits wins. What is not named
	// here gets the back end that Equinix Metal's image of it uses.
	// +optional
	// +listType=map
	// +listMapKey=osPrefix
	// +kubebuilder:validation:MaxItems=32
	Backends []Backend `json:"backends,omitempty"`
	// Timeout bounds how long a server tries to bring up its network, and after how
	// long without its addresses it reports that.
	// +optional
	// +kubebuilder:default="8m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// CoolDown is how long a released address rests before another machine
	// gets it: a deleted server still answers for its address for minutes.
	// +optional
	// +kubebuilder:default="10m"
	CoolDown *metav1.Duration `json:"coolDown,omitempty"`
}

// Backend says what configures the network of an operating system.
type Backend struct {
	// OSPrefix is the beginning of the operating system's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][-a-z0-9._]*$`
	OSPrefix string `json:"osPrefix"`
	// Name of the back end.
	// +kubebuilder:validation:Enum=ifupdown;netplan;networkd;networkmanager
	Name string `json:"name"`
}

// AddOn is applied to every new cluster by a ClusterResourceSet.
type AddOn struct {
	// Name of the add-on.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Strategy ApplyOnce applies the resources once; Reconcile again whenever
	// they change.
	// +optional
	// +kubebuilder:default=ApplyOnce
	// +kubebuilder:validation:Enum=ApplyOnce;Reconcile
	Strategy string `json:"strategy,omitempty"`
	// Resources hold the add-on's manifests, in the claim's namespace.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Resources []AddOnResource `json:"resources"`
}

// AddOnResource is a ConfigMap or Secret with manifests.
type AddOnResource struct {
	// Kind of the object.
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}
