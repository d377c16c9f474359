package main

import (
	"encoding/json"
	"maps"
)

// exists is a desired object as an API server has it once its controller is
// content: with identity, owner, managed fields and status.
func exists(key string, desired map[string]any) map[string]any {
	obj := maps.Clone(desired)
	meta := maps.Clone(obj["metadata"].(map[string]any))
	obj["metadata"] = meta
	annotations, _ := meta["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations["crossplane.io/composition-resource-name"] = key
	meta["annotations"] = annotations
	meta["uid"], meta["resourceVersion"], meta["generation"], meta["creationTimestamp"] = id(key), "4711", 1, then
	meta["ownerReferences"] = []any{owner("l2cluster.io/v1alpha1", "XL2Cluster", "edge-x7k2p")}
	obj["status"] = status(key, obj, annotations)
	meta["managedFields"] = managed(obj)
	return obj
}

// status of an object that works, by kind.
func status(key string, obj, annotations map[string]any) map[string]any {
	spec, _ := obj["spec"].(map[string]any)
	given, _ := spec["forProvider"].(map[string]any)
	switch obj["kind"] {
	case "Vlan", "Vrf", "Gateway", "ReservedIPBlock", "Port":
		// The provider keeps everything that it was given, and its own id.
		at := maps.Clone(given)
		at["id"] = id("real" + key)
		annotations["crossplane.io/external-name"] = at["id"]
		if obj["kind"] == "Port" {
			at["id"], at["name"], at["type"], at["networkType"], at["mac"] = given["portId"], "bond0", "NetworkBondPort", "hybrid-bonded", "0c:42:a1:00:00:01"
			at["bondId"], at["bondName"], at["disbondSupported"] = given["portId"], "bond0", true
			annotations["crossplane.io/external-name"] = given["portId"]
		}
		return map[string]any{"atProvider": at, "conditions": conditions("Synced", "Ready")}
	case "Request":
		payload, _ := given["payload"].(map[string]any)
		body, _ := payload["body"].(string)
		answer := map[string]any{"statusCode": 200, "body": body, "headers": map[string]any{"Content-Type": []any{"application/json; charset=utf-8"}}}
		return map[string]any{
			"conditions": conditions("Synced", "Ready"), "response": answer,
			"cache":          map[string]any{"lastUpdated": then, "response": answer},
			"requestDetails": map[string]any{"method": "GET", "url": payload["baseUrl"], "action": "OBSERVE"},
		}
	case "PacketCluster":
		return map[string]any{"ready": true, "conditions": conditions("NetworkInfrastructureReady")}
	case "KubeadmControlPlane", "MachineDeployment":
		n := spec["replicas"]
		return map[string]any{
			"observedGeneration": 1, "replicas": n, "readyReplicas": n, "upToDateReplicas": n, "availableReplicas": n, "conditions": conditions("Available"),
		}
	case "Cluster":
		return map[string]any{"observedGeneration": 1, "phase": "Provisioned", "conditions": conditions("Available", "InfrastructureReady", "ControlPlaneAvailable")}
	default:
		return map[string]any{"conditions": conditions("Ready")}
	}
}

// managed are the managed fields that an API server adds: who owns which field.
// They are about as large as the object itself, and Crossplane passes them on.
func managed(obj map[string]any) []any {
	rest := maps.Clone(obj)
	delete(rest, "status")
	out := []any{manager("apiextensions.crossplane.io/composed/0d9f3f0a7f6a", "Apply", "", rest)}
	if s, ok := obj["status"]; ok {
		out = append(out, manager("provider", "Update", "status", map[string]any{"status": s}))
	}
	return out
}

func manager(name, operation, subresource string, fields map[string]any) map[string]any {
	out := map[string]any{"manager": name, "operation": operation, "time": then, "fieldsType": "FieldsV1", "apiVersion": "v1", "fieldsV1": owned(fields)}
	if subresource != "" {
		out["subresource"] = subresource
	}
	return out
}

// owned are fields in the form of managed fields.
func owned(v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if name != "apiVersion" && name != "kind" {
				out["f:"+name] = owned(field)
			}
		}
	case []any:
		for _, item := range v {
			m, ok := item.(map[string]any)
			if !ok {
				return out
			}
			out["k:"+listKey(m)] = owned(m)
		}
	}
	return out
}

// listKey of an item, as JSON of what identifies it.
func listKey(item map[string]any) string {
	key := map[string]any{}
	for _, name := range []string{"name", "type", "uid"} {
		if v, ok := item[name]; ok {
			key[name] = v
			break
		}
	}
	b, err := json.Marshal(key)
	if err != nil {
		return "{}"
	}
	return string(b)
}
