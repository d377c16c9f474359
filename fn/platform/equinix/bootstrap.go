package equinix

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

//go:generate go run ../../bootstrap/internal/pack node/ssh-keys.sh
//go:generate go run ../../bootstrap/internal/pack node/endpoint.sh
//go:generate go run ../../bootstrap/internal/pack node/cloud-controller.sh
//go:generate go run ../../bootstrap/internal/pack node/kube-vip.py

// The programs that servers run, and the same compressed for their user data.
var (
	//go:embed node/ssh-keys.sh
	sshKeysScript string
	//go:embed node/ssh-keys.sh.gz
	sshKeysPacked []byte
	//go:embed node/endpoint.sh
	endpointScript string
	//go:embed node/endpoint.sh.gz
	endpointPacked []byte
	//go:embed node/endpoint.service
	endpointUnit string
	//go:embed node/cloud-controller.sh
	cloudControllerScript string
	//go:embed node/cloud-controller.sh.gz
	cloudControllerPacked []byte
	//go:embed node/kube-vip.py
	kubeVIPScript string
	//go:embed node/kube-vip.py.gz
	kubeVIPPacked []byte
	//go:embed node/bgp-routes.service
	bgpRoutesUnit string
)

// Where the programs lie on a server.
const (
	sshKeysPath         = "/usr/local/sbin/l2cluster-ssh-keys"
	endpointPath        = "/usr/local/sbin/l2cluster-endpoint"
	cloudControllerPath = "/usr/local/sbin/l2cluster-cloud-controller"
	kubeVIPPath         = "/usr/local/sbin/l2cluster-kube-vip"
)

// Placeholders that the infrastructure provider fills in the user data of
// control plane servers and of no others:
// https://github.com/kubernetes-retired/cluster-api-provider-packet/blob/v0.9.0/pkg/cloud/packet/client.go.
const (
	endpointPlaceholder = "{{ .controlPlaneEndpoint }}"
	tokenPlaceholder    = "{{ .apiKey }}"
)

// providerID of a server. The infrastructure provider's engine prints the inner
// braces, and cloud-init's fills in the server's UUID.
const providerID = "equinixmetal://{{ `{{ v1.instance_id }}` }}"

// Values of Input.Equinix.CloudController.
const (
	cloudControllerCPEM = "CPEM"
	deliveryUserData    = "UserData"
)

// nodeBootstrap is what servers of a role need on this platform.
func nodeBootstrap(c infra.Cluster, role plan.Role) (bootstrap.Bootstrap, error) {
	out := bootstrap.Join(kubelet(c), sshKeys(c.Spec.SSHKeys))
	if role != plan.ControlPlane {
		return out, nil
	}
	vip, err := endpointBootstrap(c)
	if err != nil {
		return bootstrap.Bootstrap{}, err
	}
	controller, err := cloudController(c)
	if err != nil {
		return bootstrap.Bootstrap{}, err
	}
	return bootstrap.Join(out, vip, controller), nil
}

func hasCloudController(c infra.Cluster) bool {
	return c.Input.Equinix.CloudController.Kind == cloudControllerCPEM
}

func kubelet(c infra.Cluster) bootstrap.Bootstrap {
	out := bootstrap.Bootstrap{}
	if hasCloudController(c) {
		out.KubeletArgs = append(out.KubeletArgs, bootstrap.Arg{Name: "cloud-provider", Value: "external"})
	}
	out.KubeletArgs = append(out.KubeletArgs, bootstrap.Arg{Name: "provider-id", Value: providerID})
	return out
}

// sshKeys lets the claim's keys in. The infrastructure provider has a field for
// them and, up to v0.9.0, never sends it.
func sshKeys(keys []string) bootstrap.Bootstrap {
	if len(keys) == 0 {
		return bootstrap.Bootstrap{}
	}
	var text strings.Builder
	for _, key := range set(keys) {
		fmt.Fprintln(&text, key)
	}
	return bootstrap.Bootstrap{
		Files: []osnet.File{
			{Path: "/etc/l2cluster/authorized_keys", Permissions: "0600", Content: text.String()},
			{Path: sshKeysPath, Permissions: "0755", Content: sshKeysScript, Gzip: sshKeysPacked},
		},
		PreKubeadm: []string{sshKeysPath},
	}
}

// endpointFile is the control plane's address, as the infrastructure provider
// reserved it.
func endpointFile() osnet.File {
	return osnet.File{
		Path: "/etc/l2cluster/endpoint", Permissions: "0644",
		Content: endpointPlaceholder + "\n", Live: true,
	}
}

// endpointBootstrap makes a control plane server answer at the control plane's
// address, in the way of the cluster's VIP manager.
func endpointBootstrap(c infra.Cluster) (bootstrap.Bootstrap, error) {
	script := osnet.File{Path: endpointPath, Permissions: "0755", Content: endpointScript, Gzip: endpointPacked}
	switch c.Spec.VIPManager {
	case spec.CPEM:
		unit := osnet.File{
			Path: "/etc/systemd/system/l2cluster-endpoint.service", Permissions: "0644", Content: endpointUnit,
		}
		return bootstrap.Bootstrap{
			Files:       []osnet.File{endpointFile(), script, unit},
			PreKubeadm:  []string{endpointPath + " first || exit 1"},
			PostKubeadm: []string{endpointPath + " keep"},
		}, nil
	case spec.EMLB:
		return bootstrap.Bootstrap{
			Files:       []osnet.File{endpointFile(), script},
			PreKubeadm:  []string{endpointPath + " first || exit 1"},
			PostKubeadm: []string{endpointPath + " release"},
		}, nil
	case spec.KubeVIP:
		return kubeVIP(c)
	default:
		return bootstrap.Bootstrap{}, fmt.Errorf("unknown VIP manager %q", c.Spec.VIPManager)
	}
}

func kubeVIP(c infra.Cluster) (bootstrap.Bootstrap, error) {
	config, err := json.Marshal(struct {
		Image    string `json:"image"`
		Metadata string `json:"metadata"`
	}{
		Image:    c.Input.Equinix.KubeVIP.Image,
		Metadata: strings.TrimRight(c.Input.Equinix.MetadataURL, "/") + "/metadata",
	})
	if err != nil {
		return bootstrap.Bootstrap{}, fmt.Errorf("cannot write kube-vip's settings: %w", err)
	}
	return bootstrap.Bootstrap{
		Files: []osnet.File{
			endpointFile(),
			{Path: "/etc/l2cluster/kube-vip.json", Permissions: "0644", Content: string(config) + "\n"},
			{Path: kubeVIPPath, Permissions: "0755", Content: kubeVIPScript, Gzip: kubeVIPPacked},
			{Path: "/etc/systemd/system/l2cluster-bgp-routes.service", Permissions: "0644", Content: bgpRoutesUnit},
		},
		PreKubeadm:  []string{kubeVIPPath + " first || exit 1"},
		PostKubeadm: []string{kubeVIPPath + " keep"},
	}, nil
}

// cloudController puts CPEM on the first control plane server, and applies
// nothing where the platform team delivers it otherwise.
func cloudController(c infra.Cluster) (bootstrap.Bootstrap, error) {
	if !hasCloudController(c) {
		return bootstrap.Bootstrap{}, nil
	}
	out := bootstrap.Bootstrap{
		ControllerManagerArgs: []bootstrap.Arg{{Name: "cloud-provider", Value: "external"}},
	}
	if c.Input.Equinix.CloudController.Delivery != deliveryUserData {
		return out, nil
	}
	secret, err := cloudControllerSecret(c)
	if err != nil {
		return bootstrap.Bootstrap{}, err
	}
	out.Files = []osnet.File{
		{Path: "/etc/l2cluster/cloud-controller-secret.yaml", Permissions: "0600", Content: secret, Live: true},
		{Path: cloudControllerPath, Permissions: "0755", Content: cloudControllerScript, Gzip: cloudControllerPacked},
	}
	out.PostKubeadm = []string{cloudControllerPath + " '" + c.Input.Equinix.CloudController.ManifestURL + "'"}
	return out, nil
}

// defaultAPIURL is where CPEM looks by itself.
const defaultAPIURL = "https://api.equinix.com/metal/v1"

// cloudControllerSecret holds CPEM's configuration:
// https://github.com/kubernetes-sigs/cloud-provider-equinix-metal#configuration.
func cloudControllerSecret(c infra.Cluster) (string, error) {
	config := map[string]any{"apiKey": tokenPlaceholder, "projectID": c.Spec.ProjectID}
	if url := strings.TrimRight(c.Input.Equinix.APIURL, "/"); url != defaultAPIURL {
		config["base-url"] = url
	}
	if c.Spec.VIPManager == spec.CPEM {
		// The address that CPEM moves between control plane servers. It asks a
		// server for its health at its own address, not at the one that every
		// server has on its loopback interface.
		config["eipTag"] = "cluster-api-provider-packet:cluster-id:" + c.Name
		config["eipHealthCheckUseHostIP"] = true
	}
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("cannot write the cloud controller's configuration: %w", err)
	}
	return `apiVersion: v1
kind: Secret
metadata:
  name: metal-cloud-config
  namespace: kube-system
stringData:
  cloud-sa.json: |
    ` + string(text) + "\n", nil
}

// warnings are what a user must know of the platform's limits.
func warnings(c infra.Cluster) []string {
	var out []string
	if c.Spec.VIPManager == spec.CPEM && !hasCloudController(c) {
		out = append(out, "vipManager CPEM needs the cloud controller, which the function's input turns off: "+
			"the control plane's address stays with its first server when that one fails; use vipManager KUBE_VIP or EMLB")
	}
	return out
}
