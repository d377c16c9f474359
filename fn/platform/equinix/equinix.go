// Package equinix is the Equinix Metal half of a cluster: the infrastructure
// provider's cluster and machine templates, VLANs, gateways, ports and the
// custom data of servers.
package equinix

import (
	"github.com/l2cluster/function-l2cluster/fn/infra"
)

// Name of the platform in the function's input.
const Name = "equinix"

// Platform is Equinix Metal.
type Platform struct{}

// Compose the objects of a cluster on Equinix Metal.
func (Platform) Compose(c infra.Cluster) (infra.Infrastructure, error) {
	return infra.Infrastructure{}, nil
}
