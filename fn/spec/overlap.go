package spec

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// span is a block with the words for it.
type span struct {
	block

	what string
}

// validateOverlaps checks that no address means two things: networks, pods,
// services and the platform's own blocks lie apart. A route that leads into pods
// or services is only warned of, since the pod network may know better.
func (c claim) validateOverlaps() (field.ErrorList, []string) {
	pods, services := spans(c.pods, "clusterNetwork.pods"), spans(c.services, "clusterNetwork.services")
	platform := c.platformBlocks()
	errs := overlaps(services, pods)
	errs = append(errs, overlaps(pods, platform)...)
	errs = append(errs, overlaps(services, platform)...)
	var earlier []span
	for _, n := range c.networks {
		own := spans(n.blocks, fmt.Sprintf("network %q", n.Name))
		for _, others := range [][]span{earlier, pods, services, platform} {
			errs = append(errs, overlaps(own, others)...)
		}
		earlier = append(earlier, own...)
	}
	return errs, c.routeOverlaps(append(pods, services...))
}

func spans(blocks []block, what string) []span {
	out := make([]span, 0, len(blocks))
	for _, b := range blocks {
		if b.prefix.IsValid() {
			out = append(out, span{block: b, what: what})
		}
	}
	return out
}

// platformBlocks are those that the platform gave to the project. Validation of
// the input says so where one cannot be read.
func (c claim) platformBlocks() []span {
	var out []span
	for _, text := range c.in.Equinix.Blocks {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, span{block: block{prefix: p.Masked()}, what: "the project's own block"})
		}
	}
	return out
}

func overlaps(own, others []span) field.ErrorList {
	var errs field.ErrorList
	for _, a := range own {
		for _, b := range others {
			if a.prefix.Overlaps(b.prefix) {
				errs = append(errs, field.Invalid(a.path, a.prefix.String(),
					fmt.Sprintf("%s overlaps %s %s; use blocks that lie apart", a.what, b.what, b.prefix)))
			}
		}
	}
	return errs
}

func (c claim) routeOverlaps(cluster []span) []string {
	var warnings []string
	for _, n := range c.networks {
		for i, r := range n.Routes {
			d, err := netip.ParsePrefix(r.Destination)
			if err != nil || d.Bits() == 0 {
				continue
			}
			for _, b := range cluster {
				if d.Overlaps(b.prefix) {
					warnings = append(warnings, fmt.Sprintf("%s: the route to %s overlaps %s %s; whether servers reach what is behind it depends on the pod network",
						n.path.Child("routes").Index(i), d, b.what, b.prefix))
				}
			}
		}
	}
	return warnings
}
