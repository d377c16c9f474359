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

//go:generate go run -C ../../../test/tools/pack . -in fn/platform/equinix/node -plain assembled/endpoint.sh parts/control-plane.sh parts/endpoint.sh
//go:generate go run -C ../../../test/tools/pack . -in fn/platform/equinix/node -plain assembled/kube-vip.sh parts/control-plane.sh parts/kube-vip.sh
//go:generate go run -C ../../../test/tools/pack . -in fn/platform/equinix/node -plain assembled/cloud-controller.sh parts/cloud-controller.sh

// Orders that the node script of control plane servers obeys: those of the VIP
// manager, and the cloud controller's, which lean on what the former share.
var (
	//go:embed node/assembled/endpoint.sh
	endpointOrders string
	//go:embed node/assembled/kube-vip.sh
	kubeVIPOrders string
	//go:embed node/assembled/cloud-controller.sh
	cloudControllerOrders string
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
// them and, up to v0.9.0, never sends it. The claim's rules permit nothing in a
// key that a template engine reads, so keys travel as they are: in base64 they
// would take a third more.
func sshKeys(keys []string) bootstrap.Bootstrap {
	if len(keys) == 0 {
		return bootstrap.Bootstrap{}
	}
	var text strings.Builder
	for _, key := range set(keys) {
		fmt.Fprintln(&text, key)
	}
	return bootstrap.Bootstrap{Files: []osnet.File{
		{Path: bootstrap.AuthorizedKeysPath, Permissions: "0600", Content: text.String(), Live: true},
	}}
}

// endpointBootstrap makes a control plane server answer at the control plane's
// address, in the way of the cluster's VIP manager.
func endpointBootstrap(c infra.Cluster) (bootstrap.Bootstrap, error) {
	orders, arguments, then := endpointOrders, " '"+endpointPlaceholder+"'", "keep"
	switch c.Spec.VIPManager {
	case spec.CPEM:
	case spec.EMLB:
		then = "release"
	case spec.KubeVIP:
		orders = kubeVIPOrders
		arguments += fmt.Sprintf(" '%s/metadata' '%s'",
			strings.TrimRight(c.Input.Equinix.MetadataURL, "/"), c.Input.Equinix.KubeVIP.Image)
	default:
		return bootstrap.Bootstrap{}, fmt.Errorf("unknown VIP manager %q", c.Spec.VIPManager)
	}
	return bootstrap.Bootstrap{
		Orders:      []string{orders},
		PreKubeadm:  []string{bootstrap.NodeScriptPath + " first" + arguments + " || exit 1"},
		PostKubeadm: []string{bootstrap.NodeScriptPath + " " + then},
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
		{Path: "/etc/l2cluster/cpem.yaml", Permissions: "0600", Content: secret, Live: true},
	}
	out.Orders = []string{cloudControllerOrders}
	out.PostKubeadm = []string{bootstrap.NodeScriptPath + " controller '" + c.Input.Equinix.CloudController.ManifestURL + "'"}
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
		config["eipTag"] = elasticIPTag(c.Name)
		config["eipHealthCheckUseHostIP"] = true
	}
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("cannot write the cloud controller's configuration: %w", err)
	}
	return `apiVersion: v1
kind: Secret
metadata: {name: metal-cloud-config, namespace: kube-system}
stringData: {cloud-sa.json: '` + strings.ReplaceAll(string(text), "'", "''") + "'}\n", nil
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
