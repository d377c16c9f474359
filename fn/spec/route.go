package spec

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

const (
	maxRoutes = 64
	maxMetric = 4294967295
)

// platformRoute is what servers with the platform's own addresses reach through
// their private gateway. A route that is as wide would take its place; a longer
// one goes beside it:
// https://deploy.equinix.com/developers/docs/metal/networking/ip-addresses/.
func platformRoute() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, 0}), 8)
}

// validateNetworkRoutes checks a network's routes by themselves.
func validateNetworkRoutes(n network) field.ErrorList {
	path := n.path.Child("routes")
	errs := rule.AtMostItems(path, len(n.Routes), maxRoutes)
	seen := rule.Seen[string]{}
	for i, r := range n.Routes {
		p := path.Index(i)
		if r.Metric != 0 {
			errs = append(errs, rule.Between(p.Child("metric"), r.Metric, 1, maxMetric)...)
		}
		destination, e := n.validateDestination(p.Child("destination"), r.Destination)
		errs = append(errs, e...)
		if len(e) == 0 {
			errs = append(errs, seen.Add(p.Child("destination"), destination.String())...)
		}
		errs = append(errs, n.validateRouteGateway(p.Child("gateway"), r.Gateway, destination)...)
	}
	return errs
}

func (n network) validateDestination(path *field.Path, value string) (netip.Prefix, field.ErrorList) {
	if d, err := netip.ParsePrefix(value); err == nil && d.Bits() == 0 {
		return d, field.ErrorList{field.Invalid(path, value, "is a default route; use defaultRoute: true, which takes effect on servers that have no other")}
	}
	destination, errs := rule.Block(path, value)
	if len(errs) > 0 {
		return destination, errs
	}
	for _, b := range n.blocks {
		if b.prefix == destination {
			return destination, field.ErrorList{field.Invalid(path, value, "is the network's own subnet, which is reached without a route; leave it out")}
		}
	}
	return destination, nil
}

// validateRouteGateway checks that a route's gateway is a neighbour of the
// family that the route is for.
func (n network) validateRouteGateway(path *field.Path, value string, destination netip.Prefix) field.ErrorList {
	addr, errs := rule.Address(path, value)
	if len(errs) > 0 {
		return errs
	}
	if destination.IsValid() && addr.Is4() != destination.Addr().Is4() {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be %s, as the destination %s is", rule.Family(destination.Addr()), destination))}
	}
	return n.validateGateway(path, value)
}

// validateNeighbours checks that no route takes the place of the subnet of another
// network on the same servers. Source routing keeps them apart no more than a
// metric does: a network's own table has nothing but its default route.
func validateNeighbours(links []link) field.ErrorList {
	var errs field.ErrorList
	for _, l := range links {
		for _, other := range links {
			if other.network.Name != l.network.Name && other.network.Assignment != AssignNone {
				errs = append(errs, l.network.validateReached(spans(other.network.blocks, fmt.Sprintf("network %q", other.network.Name)))...)
			}
		}
	}
	return errs
}

// validateReached checks that none of the network's routes leads into what its
// servers reach anyway. A wider one may go around it: the longer prefix wins.
func (n network) validateReached(reached []span) field.ErrorList {
	var errs field.ErrorList
	for _, d := range n.destinations() {
		for _, r := range reached {
			if r.prefix.Bits() <= d.prefix.Bits() && r.prefix.Overlaps(d.prefix) {
				errs = append(errs, field.Invalid(d.path, d.prefix.String(),
					fmt.Sprintf("leads into %s %s, which the same servers reach without a route; take it out, or give it a wider destination", r.what, r.prefix)))
			}
		}
	}
	return errs
}

// destinations of the network's routes, without default routes and those that
// cannot be read, which are refused by themselves.
func (n network) destinations() []block {
	var out []block
	for i, r := range n.Routes {
		d, err := netip.ParsePrefix(r.Destination)
		if err == nil && d.Bits() > 0 {
			out = append(out, block{prefix: d.Masked(), path: n.path.Child("routes").Index(i).Child("destination")})
		}
	}
	return out
}

// validatePlatformRoutes checks, for the networks of servers that keep the
// platform's own addresses, that neither a subnet nor a route takes the place of
// the platform's route, and no route that of the project's own blocks.
func (c claim) validatePlatformRoutes(links []link) field.ErrorList {
	var errs field.ErrorList
	for _, l := range links {
		errs = append(errs, validatePlatformRoute(*l.network)...)
		errs = append(errs, l.network.validateReached(c.platformBlocks())...)
	}
	return errs
}

func validatePlatformRoute(n network) field.ErrorList {
	var errs field.ErrorList
	for _, b := range n.blocks {
		if coversPlatformRoute(b.prefix) {
			errs = append(errs, field.Invalid(b.path, b.prefix.String(), platformRouteDetail))
		}
	}
	for _, d := range n.destinations() {
		if coversPlatformRoute(d.prefix) {
			errs = append(errs, field.Invalid(d.path, d.prefix.String(), platformRouteDetail))
		}
	}
	return errs
}

const platformRouteDetail = "covers 10.0.0.0/8, which servers in layer3 and hybrid modes reach through the platform's private gateway; use longer prefixes"

func coversPlatformRoute(p netip.Prefix) bool {
	platform := platformRoute()
	return p.IsValid() && p.Bits() <= platform.Bits() && p.Overlaps(platform)
}
