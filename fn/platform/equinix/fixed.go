package equinix

import (
	"errors"
	"fmt"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// projectStays refuses another project, metro or VIP manager for a cluster that
// exists. The API server refuses such an edit of a claim already; a composite
// that is edited by itself, or rendered offline, has not met it.
func projectStays(c infra.Cluster) error {
	seen, exists := c.Observed[packetClusterKey]
	if !exists {
		return nil
	}
	var errs []error
	for _, f := range []struct{ name, now string }{
		{"projectID", c.Spec.ProjectID}, {"metro", c.Spec.Metro}, {"vipManager", string(c.Spec.VIPManager)},
	} {
		if was := seen.String("spec", f.name); was != "" && was != f.now {
			errs = append(errs, &spec.RefusedError{Field: "spec." + f.name, Value: f.now, Why: fmt.Sprintf(
				"cannot be changed from %s: servers, VLANs and the control plane's address are bound to it; put %s back, or make a new claim", was, was)})
		}
	}
	return errors.Join(errs...)
}
