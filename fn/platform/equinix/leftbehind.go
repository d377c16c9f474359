package equinix

import (
	"fmt"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// elasticIPTag is the tag by which the infrastructure provider finds a cluster's
// elastic address:
// https://github.com/kubernetes-retired/cluster-api-provider-packet/blob/v0.9.0/pkg/cloud/packet/client.go.
func elasticIPTag(cluster string) string { return "cluster-api-provider-packet:cluster-id:" + cluster }

// leftBehind is what stays in the project when the cluster is deleted. The
// infrastructure provider leaves the elastic address of the control plane to
// its user on purpose
// (https://github.com/kubernetes-retired/cluster-api-provider-packet/blob/v0.9.0/controllers/packetcluster_controller.go),
// and nobody is asked any more by then, so it is said before.
func leftBehind(c infra.Cluster) []string {
	var out []string
	if c.Spec.VIPManager != spec.EMLB {
		out = append(out, fmt.Sprintf("the elastic address of the control plane%s: delete the reservation with the tag %s by hand, or keep it for a cluster of the same name", endpointOf(c), elasticIPTag(c.Name)))
	}
	for _, n := range c.Spec.Networks {
		if n.VLANID != "" {
			out = append(out, fmt.Sprintf("VLAN %d (%s) of network %s, which was there before", n.VXLAN, n.VLANID, n.Name))
		}
	}
	for _, v := range c.Spec.VRFs {
		if v.VRFID != "" {
			out = append(out, fmt.Sprintf("VRF %s (%s), which was there before", v.Name, v.VRFID))
		}
	}
	slices.Sort(out)
	return out
}

func endpointOf(c infra.Cluster) string {
	seen, exists := c.Observed[packetClusterKey]
	if !exists {
		return ""
	}
	if host := seen.String("spec", "controlPlaneEndpoint", "host"); host != "" {
		return " (" + host + ")"
	}
	return ""
}
