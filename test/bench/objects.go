package main

import (
	"fmt"

	"github.com/google/uuid"
)

// Everything in this world happened at one time.
const then = "2026-01-02T12:00:00Z"

const namespace = "team-a"

// composite of a cluster whose machines all sit on all networks.
func composite(s size) map[string]any {
	var networks, attached []any
	for i := range s.networks {
		name := fmt.Sprintf("net-%d", i)
		networks = append(networks, map[string]any{
			"name":        name,
			"vxlan":       1000 + i,
			"ipAddresses": []any{fmt.Sprintf("10.%d.0.0/16", 60+i)},
			"gateway":     fmt.Sprintf("10.%d.0.1", 60+i),
		})
		attached = append(attached, map[string]any{"name": name})
	}
	pool := func(extra map[string]any) map[string]any {
		extra["machineType"] = "c3.small.x86"
		extra["os"] = "ubuntu_22_04"
		extra["ports"] = []any{map[string]any{"name": "bond0", "networks": attached}}
		return extra
	}
	return map[string]any{
		"apiVersion": "l2cluster.io/v1alpha1",
		"kind":       "XL2Cluster",
		"metadata": map[string]any{
			"name": "edge-x7k2p", "uid": id("composite"), "creationTimestamp": then, "generation": 1, "resourceVersion": "100",
			"labels": map[string]any{
				"crossplane.io/claim-name": "edge", "crossplane.io/claim-namespace": namespace, "crossplane.io/composite": "edge-x7k2p",
			},
		},
		"spec": map[string]any{
			"claimRef":          map[string]any{"apiVersion": "l2cluster.io/v1alpha1", "kind": "L2Cluster", "name": "edge", "namespace": namespace},
			"kubernetesVersion": "v1.34.2",
			"projectID":         id("project"),
			"metro":             "da",
			"networks":          networks,
			"controlPlane":      pool(map[string]any{"replicas": s.controlPlane}),
			"workers":           []any{pool(map[string]any{"name": "general", "replicas": s.workers})},
		},
	}
}

// id is a UUID that is always the same for a name.
func id(name string) string { return uuid.NewSHA1(uuid.Nil, []byte(name)).String() }

// machine of the cluster.
type machine struct {
	name, pool string
	index      int
}

func machines(s size) []machine {
	var out []machine
	for i := range s.controlPlane {
		out = append(out, machine{name: "edge-control-plane-" + suffix(i), pool: "control-plane", index: i})
	}
	for i := range s.workers {
		out = append(out, machine{name: "edge-general-7c9fd-" + suffix(i), pool: "general", index: s.controlPlane + i})
	}
	return out
}

// suffix of a generated name: five characters, as Kubernetes makes them.
func suffix(i int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	out := make([]byte, 5)
	for j := range out {
		out[j] = letters[i%len(letters)]
		i = i/len(letters) + j + 1
	}
	return string(out)
}

func ports(all []machine) map[string]any {
	out := map[string]any{}
	for _, m := range all {
		out[m.name] = map[string]any{"bond0": id(m.name + "bond0"), "eth0": id(m.name + "eth0"), "eth1": id(m.name + "eth1")}
	}
	return out
}

func (m machine) labels(cluster string) map[string]any {
	out := map[string]any{"cluster.x-k8s.io/cluster-name": cluster, "l2cluster.io/pool": m.pool}
	if m.pool == "control-plane" {
		out["cluster.x-k8s.io/control-plane"] = ""
		out["cluster.x-k8s.io/control-plane-name"] = cluster + "-control-plane"
		return out
	}
	out["cluster.x-k8s.io/deployment-name"] = cluster + "-" + m.pool
	out["cluster.x-k8s.io/set-name"] = cluster + "-" + m.pool + "-7c9fd"
	out["machine-template-hash"] = "3471829-7c9fd"
	return out
}

// metadata as an API server keeps it.
func metadata(name string, labels, owner map[string]any) map[string]any {
	return map[string]any{
		"name": name, "namespace": namespace, "uid": id(name), "resourceVersion": "4711", "generation": 1,
		"creationTimestamp": then, "labels": labels, "ownerReferences": []any{owner},
	}
}

func owner(apiVersion, kind, name string) map[string]any {
	return map[string]any{
		"apiVersion": apiVersion, "kind": kind, "name": name, "uid": id(kind + name), "controller": true, "blockOwnerDeletion": true,
	}
}

func (m machine) addresses() []any {
	at := func(kind string, first int) any {
		return map[string]any{"type": kind, "address": fmt.Sprintf("%d.%d.%d.%d", first, 64, m.index/250, m.index%250+2)}
	}
	return []any{at("ExternalIP", 147), at("InternalIP", 10), map[string]any{"type": "Hostname", "address": m.name}}
}

// clusterAPI is the Machine.
func (m machine) clusterAPI(cluster string) map[string]any {
	obj := map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
		"metadata": metadata(m.name, m.labels(cluster), owner("cluster.x-k8s.io/v1beta2", "MachineSet", cluster+"-"+m.pool+"-7c9fd")),
		"spec": map[string]any{
			"clusterName": cluster, "version": "v1.34.2", "providerID": m.providerID(),
			"bootstrap": map[string]any{
				"configRef":      map[string]any{"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": m.name},
				"dataSecretName": m.name,
			},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "PacketMachine", "name": m.name},
			"deletion":          map[string]any{"nodeDeletionTimeoutSeconds": 10},
		},
		"status": map[string]any{
			"phase": "Running", "observedGeneration": 1, "lastUpdated": then, "certificatesExpiryDate": "2027-01-02T12:00:00Z",
			"addresses":      m.addresses(),
			"conditions":     conditions("Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy", "NodeReady", "Deleting", "Paused"),
			"initialization": map[string]any{"bootstrapDataSecretCreated": true, "infrastructureProvisioned": true},
			"nodeRef":        map[string]any{"name": m.name},
			"nodeInfo": map[string]any{
				"architecture": "amd64", "bootID": id("boot" + m.name), "containerRuntimeVersion": "containerd://1.7.28", "kernelVersion": "5.15.0-151-generic",
				"kubeProxyVersion": "", "kubeletVersion": "v1.34.2", "machineID": id("machine" + m.name), "operatingSystem": "linux", "osImage": "Ubuntu 22.04.5 LTS", "systemUUID": id("system" + m.name),
			},
		},
	}
	obj["metadata"].(map[string]any)["managedFields"] = managed(obj)
	return obj
}

func (m machine) providerID() string { return "equinixmetal://" + id("device"+m.name) }

// packet is the PacketMachine.
func (m machine) packet(cluster, from string) map[string]any {
	obj := map[string]any{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PacketMachine",
		"metadata": metadata(m.name, m.labels(cluster), owner("cluster.x-k8s.io/v1beta2", "Machine", m.name)),
		"spec": map[string]any{
			"billingCycle": "hourly", "machineType": "c3.small.x86", "os": "ubuntu_22_04", "providerID": m.providerID(),
			"sshKeys": []any{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGf3DpnUZ6HjGJLJgcTJFFUY+kVDlF0VzQzPy8mQeK1a ops"},
		},
		"status": map[string]any{
			"ready": true, "instanceState": "active", "addresses": m.addresses(), "conditions": conditions("InstanceReady"),
		},
	}
	meta := obj["metadata"].(map[string]any)
	meta["ownerReferences"].([]any)[0].(map[string]any)["name"] = m.name
	meta["annotations"] = map[string]any{
		"cluster.x-k8s.io/cloned-from-name": from, "cluster.x-k8s.io/cloned-from-groupkind": "PacketMachineTemplate.infrastructure.cluster.x-k8s.io",
	}
	meta["managedFields"] = managed(obj)
	return obj
}

func machineSet(cluster string, replicas int, template map[string]any) map[string]any {
	m := machine{pool: "general"}
	return map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
		"metadata": metadata(cluster+"-general-7c9fd", m.labels(cluster), owner("cluster.x-k8s.io/v1beta2", "MachineDeployment", cluster+"-general")),
		"spec":     map[string]any{"clusterName": cluster, "replicas": replicas, "template": template},
		"status":   map[string]any{"replicas": replicas, "readyReplicas": replicas, "upToDateReplicas": replicas, "availableReplicas": replicas, "observedGeneration": 1},
	}
}

func kubeconfig(cluster string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
		"metadata": metadata(cluster+"-kubeconfig", map[string]any{"cluster.x-k8s.io/cluster-name": cluster}, owner("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", cluster+"-control-plane")),
		"data":     map[string]any{"value": "YXBpVmVyc2lvbjogdjEKa2luZDogQ29uZmlnCg=="},
	}
}

// conditions of those types, all as they are in a healthy object.
func conditions(types ...string) []any {
	var out []any
	for _, t := range types {
		status := "True"
		if t == "Deleting" || t == "Paused" {
			status = "False"
		}
		out = append(out, map[string]any{"type": t, "status": status, "reason": t, "lastTransitionTime": then, "observedGeneration": 1, "message": ""})
	}
	return out
}
