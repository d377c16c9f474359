package equinix

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// baseClaim is a small cluster with one network on its bonds.
const baseClaim = `
kubernetesVersion: v1.34.2
projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11
metro: da
sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHb ops", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHa dev"]
networks:
- {name: storage, description: Storage network for VMs, vxlan: 1000, ipAddresses: [10.60.10.0/24]}
controlPlane:
  replicas: 3
  machineType: c3.small.x86
  os: ubuntu_22_04
  ports: [{name: bond0, networks: [{name: storage}]}]
workers:
- name: general
  replicas: 2
  machineType: c3.small.x86
  os: ubuntu_22_04
  tags: [team-blue, rack-2, team-blue]
  ports: [{name: bond0, networks: [{name: storage}]}]
`

const vrfClaim = `
kubernetesVersion: v1.34.2
projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11
metro: da
vrfs:
- {name: core, description: Routes between the VLANs, localASN: 4200000000, ipRanges: [10.60.20.0/22, 10.60.10.0/24]}
- {name: shared, vrfID: 7d1f0e6c-0000-4000-8000-000000000001}
networks:
- {name: front, vxlan: 1001, ipAddresses: [10.60.20.0/24], metalGateway: {vrf: core}}
- {name: back, vxlan: 1000, ipAddresses: ["2001:db8::/64", 10.60.10.0/25], metalGateway: {vrf: core}}
- {name: other, vxlan: 1002, ipAddresses: [10.60.30.0/24], metalGateway: {vrf: shared}}
- {name: own, vxlan: 1003, assignment: none, metalGateway: {privateSubnetSize: 16}}
controlPlane: {replicas: 1, machineType: c3.small.x86, os: ubuntu_22_04, ports: [{name: bond0, networks: [{name: front}, {name: back}]}]}
`

const adoptedClaim = `
kubernetesVersion: v1.34.2
projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11
metro: da
networks:
- {name: backup, description: not ours to write, vxlan: 1001, vlanID: 8f0b6c1e-0000-4000-8000-000000000001, ipAddresses: [10.60.20.0/24]}
controlPlane: {replicas: 1, machineType: c3.small.x86, os: ubuntu_22_04, ports: [{name: bond0, networks: [{name: backup}]}]}
`

// tb is what tests and property tests have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
}

// clusterOf is a cluster as the function's earlier steps would make it.
func clusterOf(t tb, claim, input string) infra.Cluster {
	t.Helper()
	s, in := &spec.Spec{}, &v1beta1.Input{}
	if err := yaml.UnmarshalStrict([]byte(claim), s); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(input), in); err != nil {
		t.Fatal(err)
	}
	spec.Default(s)
	v1beta1.Default(in)
	p, err := plan.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return infra.Cluster{
		Name: "edge-1a2b3c", Namespace: "team-a", Spec: s, Input: in, Plan: p,
		Observed: map[string]object.View{},
	}
}

func TestGolden(t *testing.T) {
	cases := map[string]struct {
		reason string
		claim  string
		input  string
	}{
		"HybridBonded":    {reason: "The smallest useful cluster, with defaults.", claim: baseClaim},
		"KubeVIP":         {reason: "kube-vip announces the endpoint; nothing of ours is on lo.", claim: baseClaim + "vipManager: KUBE_VIP\n"},
		"EMLB":            {reason: "A load balancer answers at the endpoint.", claim: baseClaim + "vipManager: EMLB\n"},
		"AddOnDelivery":   {reason: "No token in any user data.", claim: baseClaim, input: "equinix: {cloudController: {delivery: AddOn}}"},
		"NoController":    {reason: "Without a cloud controller nothing waits for one.", claim: baseClaim, input: "equinix: {cloudController: {kind: None}}"},
		"OtherAddress":    {reason: "An installation that answers elsewhere.", claim: baseClaim, input: "equinix: {apiURL: 'https://metal.example.org/metal/v1/', metadataURL: 'https://metadata.example.org/', providerConfig: edge}"},
		"RoutedNetworks":  {reason: "Gateways in VRFs and with a private block.", claim: vrfClaim},
		"AdoptedNetworks": {reason: "What is not ours is only observed.", claim: adoptedClaim},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			golden(t, tc.reason, name, document(t, compose(t, clusterOf(t, tc.claim, tc.input), infra.Facts{}, nil)))
		})
	}
}

func golden(t *testing.T, reason, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden.yaml")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s\n%s: -want, +got:\n%s", reason, path, diff)
	}
}

// document shows an infrastructure as a person would read it.
func document(t *testing.T, i whole) string {
	t.Helper()
	var out strings.Builder
	for _, o := range i.Objects {
		fmt.Fprintf(&out, "---\n# %s: %s\n%s", o.Key, readiness(o), text(t, o.Body))
	}
	for _, pool := range slices.Sorted(maps.Keys(i.Bootstrap)) {
		fmt.Fprintf(&out, "---\n# machines of pool %s are made from %s\n%s", pool, i.Machines[pool].Name, text(t, boot(i.Bootstrap[pool])))
	}
	fmt.Fprintf(&out, "---\n%s", text(t, map[string]any{"cluster": i.Cluster, "kept": i.Kept, "warnings": i.Warnings}))
	return out.String()
}

func readiness(o object.Object) string {
	if o.Ready == object.IsReady {
		return "ready"
	}
	return o.Why
}

// boot leaves out the content of programs, which are files of this package.
func boot(b bootstrap.Bootstrap) map[string]any {
	files := map[string]any{}
	for _, f := range b.Files {
		about := map[string]any{"permissions": f.Permissions}
		if f.Live {
			about["live"] = true
		}
		if f.Gzip == nil {
			about["content"] = f.Content
		}
		files[f.Path] = about
	}
	return map[string]any{
		"files": files, "pre": b.PreKubeadm, "post": b.PostKubeadm,
		"kubelet": b.KubeletArgs, "controllerManager": b.ControllerManagerArgs,
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The machines of a cluster on their way: one that has everything, one whose
// server is new, and one without a server.
func TestGoldenMachines(t *testing.T) {
	c := clusterOf(t, twoVLANs, "")
	first, second, third := worker("edge-general-aaaaa"), worker("edge-general-bbbbb"), worker("edge-general-ccccc")
	second.Device, second.Ports, third.Device = device2, nil, ""
	f, d := facts(first, second, third), infra.Delivery{}
	d.Set(first.Name, "vlan1000.ipv4", "10.60.10.2/24")
	d.Set(first.Name, "vlan1001.ipv4", "10.60.20.2/24")
	d.Set(second.Name, "vlan1000.ipv4", "10.60.10.3/24")
	d.Set(third.Name, "vlan1000.ipv4", "10.60.10.4/24")
	before := byKey(compose(t, c, f, d))
	for key, status := range map[string]map[string]any{
		"machine-edge-general-aaaaa-port-bond0": {
			"conditions": conditions("Ready"),
			"atProvider": map[string]any{"bonded": true, "layer2": false, "vlanIds": []any{vlanUUID, dataUUID}},
		},
		"machine-edge-general-aaaaa-custom-data": {"conditions": conditions("Ready")},
		"machine-edge-general-bbbbb-custom-data": {"conditions": conditions("!Ready")},
	} {
		c.Observed[key] = seen(before[key], status)
	}
	i := compose(t, c, f, d)
	i.Objects = slices.DeleteFunc(i.Objects, func(o object.Object) bool {
		return o.Part != object.PartPorts && o.Part != object.PartDelivery
	})
	i.Bootstrap = nil
	golden(t, "Ports and custom data of three machines.", "Machines", document(t, i))
}
