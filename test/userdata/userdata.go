// Package userdata assembles the user data of servers as those do who stand
// between the function and a server: Cluster API's control plane and bootstrap
// providers, by their own code, the infrastructure provider's template engine
// with exactly its values, and cloud-init's.
package userdata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	kubeadmtypes "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstream"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/desiredstate"
	"sigs.k8s.io/cluster-api/util/secret"
)

// Cluster is one cluster's composed objects, and what others add to them.
type Cluster struct {
	// Objects that the function composed, as unstructured values.
	Objects []map[string]any
	// Endpoint is the control plane's address, which the infrastructure
	// provider writes into the Cluster.
	Endpoint string
	// APIKey is the infrastructure provider's own credential.
	APIKey string
	// BalancerID is the load balancer's, where one stands before the control
	// plane.
	BalancerID string
}

// BootstrapToken is the token of every machine that joins.
const BootstrapToken = "abcdef.0123456789abcdef"

// Init is the user data of the first control plane server, as the server gets
// it.
func (c Cluster) Init() ([]byte, error) {
	data, err := c.bootstrapFirst()
	if err != nil {
		return nil, err
	}
	return c.provider(data, true)
}

// Join is the user data of a server that joins the control plane.
func (c Cluster) Join() ([]byte, error) {
	data, err := c.bootstrapJoining()
	if err != nil {
		return nil, err
	}
	return c.provider(data, true)
}

// Worker is the user data of a server of a worker pool.
func (c Cluster) Worker(pool string) ([]byte, error) {
	data, err := c.bootstrapWorker(pool)
	if err != nil {
		return nil, err
	}
	return c.provider(data, false)
}

// decode the object of a kind into its own type, without unknown fields. The
// pool is that of its label, or "" for any.
func (c Cluster) decode(kind, pool string, into any) error {
	for _, o := range c.Objects {
		if o["kind"] != kind {
			continue
		}
		metadata, _ := o["metadata"].(map[string]any)
		labels, _ := metadata["labels"].(map[string]any)
		if pool != "" && labels["l2cluster.io/pool"] != pool {
			continue
		}
		text, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("cannot encode the %s: %w", kind, err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			return fmt.Errorf("cannot decode the %s: %w", kind, err)
		}
		return nil
	}
	return fmt.Errorf("there is no %s of pool %q", kind, pool)
}

// cluster as it is once the infrastructure provider has written the endpoint.
func (c Cluster) cluster() (*clusterv1.Cluster, error) {
	out := &clusterv1.Cluster{}
	if err := c.decode("Cluster", "", out); err != nil {
		return nil, err
	}
	out.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: c.Endpoint, Port: 6443}
	return out, nil
}

// controlPlaneConfig is the KubeadmConfig that the control plane provider makes.
func (c Cluster) controlPlaneConfig(joins bool) (*clusterv1.Cluster, *bootstrapv1.KubeadmConfig, semver.Version, error) {
	cluster, err := c.cluster()
	if err != nil {
		return nil, nil, semver.Version{}, err
	}
	controlPlane := &controlplanev1.KubeadmControlPlane{}
	if err := c.decode("KubeadmControlPlane", "", controlPlane); err != nil {
		return nil, nil, semver.Version{}, err
	}
	version, err := semver.ParseTolerant(controlPlane.Spec.Version)
	if err != nil {
		return nil, nil, semver.Version{}, err
	}
	config, err := desiredstate.ComputeDesiredKubeadmConfig(controlPlane, cluster, joins, "machine", nil)
	return cluster, config, version, err
}

func (c Cluster) bootstrapFirst() ([]byte, error) {
	cluster, config, version, err := c.controlPlaneConfig(false)
	if err != nil {
		return nil, err
	}
	spec := config.Spec
	spec.ClusterConfiguration.ControlPlaneEndpoint = cluster.Spec.ControlPlaneEndpoint.String()
	full := "v" + version.String()
	services, pods := cluster.Spec.ClusterNetwork.Services.String(), cluster.Spec.ClusterNetwork.Pods.String()
	additional := &upstream.AdditionalData{ClusterName: &cluster.Name, KubernetesVersion: &full, ServiceSubnet: &services, PodSubnet: &pods}
	if domain := cluster.Spec.ClusterNetwork.ServiceDomain; domain != "" {
		additional.DNSDomain = &domain
	}
	clusterData, err := kubeadmtypes.MarshalClusterConfigurationForVersion(&spec.ClusterConfiguration, version, additional)
	if err != nil {
		return nil, err
	}
	initData, err := kubeadmtypes.MarshalInitConfigurationForVersion(&spec.InitConfiguration, version)
	if err != nil {
		return nil, err
	}
	certificates := secret.NewCertificatesForInitialControlPlane(&spec.ClusterConfiguration)
	if err := fill(certificates); err != nil {
		return nil, err
	}
	return cloudinit.NewInitControlPlane(&cloudinit.ControlPlaneInput{
		BaseUserData: base(spec, version), Certificates: certificates,
		ClusterConfiguration: clusterData, InitConfiguration: initData,
	})
}

func (c Cluster) bootstrapJoining() ([]byte, error) {
	cluster, config, version, err := c.controlPlaneConfig(true)
	if err != nil {
		return nil, err
	}
	certificates := secret.NewControlPlaneJoinCerts(&config.Spec.ClusterConfiguration)
	if err := fill(certificates); err != nil {
		return nil, err
	}
	joinData, err := join(cluster, config.Spec.JoinConfiguration, certificates, version)
	if err != nil {
		return nil, err
	}
	return cloudinit.NewJoinControlPlane(&cloudinit.ControlPlaneJoinInput{
		BaseUserData: base(config.Spec, version), Certificates: certificates, JoinConfiguration: joinData,
	})
}

func (c Cluster) bootstrapWorker(pool string) ([]byte, error) {
	cluster, err := c.cluster()
	if err != nil {
		return nil, err
	}
	deployment := &clusterv1.MachineDeployment{}
	if err := c.decode("MachineDeployment", pool, deployment); err != nil {
		return nil, err
	}
	template := &bootstrapv1.KubeadmConfigTemplate{}
	if err := c.decode("KubeadmConfigTemplate", pool, template); err != nil {
		return nil, err
	}
	if got, want := deployment.Spec.Template.Spec.Bootstrap.ConfigRef.Name, template.Name; got != want {
		return nil, fmt.Errorf("pool %q uses the bootstrap template %q, and has %q", pool, got, want)
	}
	version, err := semver.ParseTolerant(deployment.Spec.Template.Spec.Version)
	if err != nil {
		return nil, err
	}
	spec := template.Spec.Template.Spec
	certificates := secret.NewCertificatesForWorker(spec.JoinConfiguration.CACertPath)
	if err := fill(certificates); err != nil {
		return nil, err
	}
	joining := *spec.JoinConfiguration.DeepCopy()
	var taints []corev1.Taint
	if t := joining.NodeRegistration.Taints; t != nil {
		taints = *t
	}
	taints = append(taints, clusterv1.NodeUninitializedTaint)
	joining.NodeRegistration.Taints = &taints
	joinData, err := join(cluster, joining, certificates, version)
	if err != nil {
		return nil, err
	}
	return cloudinit.NewNode(&cloudinit.NodeInput{BaseUserData: base(spec, version), JoinConfiguration: joinData})
}

// join completes a machine's discovery as the bootstrap provider does.
func join(cluster *clusterv1.Cluster, config bootstrapv1.JoinConfiguration, certificates secret.Certificates, version semver.Version) (string, error) {
	hashes, err := certificates.GetByPurpose(secret.ClusterCA).Hashes()
	if err != nil {
		return "", err
	}
	config.Discovery.BootstrapToken = bootstrapv1.BootstrapTokenDiscovery{
		Token: BootstrapToken, APIServerEndpoint: cluster.Spec.ControlPlaneEndpoint.String(), CACertHashes: hashes,
	}
	return kubeadmtypes.MarshalJoinConfigurationForVersion(&config, version)
}

func base(spec bootstrapv1.KubeadmConfigSpec, version semver.Version) cloudinit.BaseUserData {
	return cloudinit.BaseUserData{
		AdditionalFiles:     slices.Clone(spec.Files),
		BootCommands:        spec.BootCommands,
		PreKubeadmCommands:  spec.PreKubeadmCommands,
		PostKubeadmCommands: spec.PostKubeadmCommands,
		Users:               spec.Users,
		Mounts:              spec.Mounts,
		KubernetesVersion:   version,
	}
}

// certificates of every cluster of a process: their keys take a while to find.
var certificates = sync.OnceValues(func() (secret.Certificates, error) {
	out := secret.NewCertificatesForInitialControlPlane(&bootstrapv1.ClusterConfiguration{})
	return out, out.Generate()
})

func fill(list secret.Certificates) error {
	known, err := certificates()
	if err != nil {
		return err
	}
	for _, c := range list {
		from := known.GetByPurpose(c.Purpose)
		if from == nil {
			return fmt.Errorf("there is no certificate for %q", c.Purpose)
		}
		c.KeyPair = from.KeyPair
	}
	return nil
}

// errLeak says that the infrastructure provider would print a value that it does
// not have.
var errLeak = errors.New("the user data names a value that the infrastructure provider does not set")

// provider runs user data through the infrastructure provider's engine with the
// values that it sets for a machine of that role:
// https://github.com/kubernetes-retired/cluster-api-provider-packet/blob/v0.9.0/pkg/cloud/packet/client.go.
func (c Cluster) provider(data []byte, controlPlane bool) ([]byte, error) {
	controlPlaneObject := &controlplanev1.KubeadmControlPlane{}
	if err := c.decode("KubeadmControlPlane", "", controlPlaneObject); err != nil {
		return nil, err
	}
	values := map[string]any{"kubernetesVersion": controlPlaneObject.Spec.Version}
	if controlPlane {
		values["apiKey"] = c.APIKey
		values["controlPlaneEndpoint"] = c.Endpoint
		if c.BalancerID != "" {
			values["emlbID"] = c.BalancerID
			values["cpemConfig"] = "emlb:///da"
		}
	}
	parsed, err := template.New("user-data").Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("the infrastructure provider cannot parse the user data: %w", err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("the infrastructure provider cannot render the user data: %w", err)
	}
	if strings.Contains(out.String(), "<no value>") {
		return nil, errLeak
	}
	return out.Bytes(), nil
}
