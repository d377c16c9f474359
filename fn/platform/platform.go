// Package platform is where servers, VLANs and ports come from: the small
// interface that the function needs of such a platform, and the one place that
// knows which platforms there are.
package platform

import (
	"fmt"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/platform/equinix"
)

// Platform that servers, VLANs and ports come from.
type Platform interface {
	// Compose the objects of a cluster's infrastructure.
	Compose(c infra.Cluster) (infra.Infrastructure, error)
}

// New returns the platform of that name, or an error that lists the names.
func New(name string) (Platform, error) {
	switch name {
	case equinix.Name:
		return equinix.Platform{}, nil
	default:
		return nil, fmt.Errorf("unknown platform %q: the only one is %q", name, equinix.Name)
	}
}
