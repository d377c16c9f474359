// Package platform is where servers, VLANs and ports come from: the small
// interface that the function needs of such a platform, and the one place that
// knows which platforms there are.
package platform

import (
	"context"
	"fmt"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/platform/equinix"
)

// Platform that servers, VLANs and ports come from.
type Platform interface {
	// Requirements are the objects that Facts reads beside the composed ones,
	// by the name of the requirement.
	Requirements(cluster, namespace string) map[string]object.Selector
	// Facts are what the world has decided. What cannot be read becomes a
	// warning and stays unknown; an error means that a run cannot go on.
	Facts(ctx context.Context, s infra.Sources) (infra.Facts, error)
	// Foundation is what Cluster API's objects have to know of the platform. It
	// follows from the claim and the input alone.
	Foundation(c infra.Cluster) (infra.Foundation, error)
	// Compose the objects of a cluster's infrastructure.
	Compose(c infra.Cluster, f infra.Facts, d infra.Delivery) (infra.Infrastructure, error)
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
