// Package equinix is the Equinix Metal half of a cluster: the infrastructure
// provider's cluster and machine templates, VLANs, gateways, ports and the
// custom data of servers.
package equinix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
)

// Name of the platform in the function's input.
const Name = "equinix"

// Platform is Equinix Metal.
type Platform struct{}

// Compose the objects of a cluster on Equinix Metal. It returns an error for
// what cannot be: an edit that cannot be carried out on what exists, or a port
// that a server does not have.
func (Platform) Compose(c infra.Cluster, f infra.Facts, d infra.Delivery) (infra.Infrastructure, error) {
	out, err := static(c)
	if err != nil {
		return infra.Infrastructure{}, err
	}
	delivered, keptRequests, err := requests(c, f, d)
	if err != nil {
		return infra.Infrastructure{}, err
	}
	attached, err := ports(c, f)
	if err != nil {
		return infra.Infrastructure{}, err
	}
	out.Objects = slices.Concat(out.Objects, delivered, attached.objects)
	stay := slices.Concat(keptRequests, attached.kept, ofUnknownMachines(c.Observed, f))
	out.Kept = kept(c.Observed, out.Objects, stay)
	return out, nil
}

// Foundation of a cluster on Equinix Metal: its PacketCluster, a machine template
// for each pool, and what the servers do before they are nodes.
func (Platform) Foundation(c infra.Cluster) (infra.Foundation, error) {
	templates, err := machineTemplates(c)
	if err != nil {
		return infra.Foundation{}, err
	}
	boot, err := bootstraps(c)
	if err != nil {
		return infra.Foundation{}, err
	}
	out := infra.Foundation{Cluster: packetClusterReference(c), Machines: map[string]object.Reference{}, Bootstrap: boot}
	for _, t := range templates {
		out.Machines[t.pool] = t.reference
	}
	return out, nil
}

// static is what does not depend on machines.
func static(c infra.Cluster) (infra.Infrastructure, error) {
	templates, err := machineTemplates(c)
	if err != nil {
		return infra.Infrastructure{}, err
	}
	networks, err := networkObjects(c)
	if err != nil {
		return infra.Infrastructure{}, err
	}
	out := infra.Infrastructure{Objects: []object.Object{packetCluster(c)}, LeftBehind: leftBehind(c), Warnings: warnings(c)}
	for _, t := range templates {
		out.Objects = append(out.Objects, t.object)
	}
	out.Objects = append(out.Objects, networks...)
	return out, nil
}

func bootstraps(c infra.Cluster) (map[string]bootstrap.Bootstrap, error) {
	out := make(map[string]bootstrap.Bootstrap, len(c.Plan.Pools))
	for _, pool := range c.Plan.Pools {
		b, err := nodeBootstrap(c, pool.Role)
		if err != nil {
			return nil, fmt.Errorf("cannot prepare the servers of pool %q: %w", pool.Name, err)
		}
		out[pool.Name] = b
	}
	return out, nil
}

// ofUnknownMachines are the keys of observed ports and requests of which nobody
// can tell that their machine is gone.
func ofUnknownMachines(observed map[string]object.View, f infra.Facts) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(observed)) {
		v := observed[key]
		if kind := v.String("kind"); kind != portKind && kind != requestKind {
			continue
		}
		if !f.MachinesKnown || v.String("metadata", "labels", machineLabel) == "" {
			out = append(out, key)
		}
	}
	return out
}
