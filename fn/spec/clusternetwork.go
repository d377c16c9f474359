package spec

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

const maxCIDRBlocks = 2

// sizes are the shortest and the longest prefix of a block, in bits.
type sizes struct {
	short, long int
}

// The sizes of pod blocks: kubeadm gives each node a /24 or a /64 of them, and
// numbers at most 65536 nodes. And of service blocks: kubeadm takes at most 20
// bits and needs at least ten addresses. See MaximumBitsForServiceSubnet and
// PodSubnetNodeMaskMaxDiff in
// https://github.com/kubernetes/kubernetes/blob/master/cmd/kubeadm/app/constants/constants.go.
var (
	podSizeTable     = map[string]sizes{"IPv4": {8, 24}, "IPv6": {48, 64}}
	serviceSizeTable = map[string]sizes{"IPv4": {12, 28}, "IPv6": {108, 124}}
)

// block of addresses of a claim and where it stands. A block that cannot be
// read has no valid prefix.
type block struct {
	prefix netip.Prefix
	path   *field.Path
}

// parseBlocks of a list, as many as there are. What is wrong with them is
// reported where the list is checked.
func parseBlocks(path *field.Path, values []string) []block {
	out := make([]block, 0, len(values))
	for i, v := range values {
		p, _ := rule.Block(path.Index(i), v)
		out = append(out, block{prefix: p, path: path.Index(i)})
	}
	return out
}

func prefixes(blocks []block) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, b.prefix)
	}
	return out
}

// validateBlocks checks the size of a list of blocks, and that there is at most
// one per address family.
func validateBlocks(path *field.Path, values []string, blocks []block) field.ErrorList {
	if len(values) == 0 {
		return field.ErrorList{field.Required(path, "give at least one block, for example 10.60.10.0/24")}
	}
	errs := rule.Items(path, values, maxCIDRBlocks, func(p *field.Path, v string) field.ErrorList {
		_, errs := rule.Block(p, v)
		return errs
	})
	return append(errs, rule.OnePerFamily(path, prefixes(blocks))...)
}

func (c claim) validateClusterNetwork() (field.ErrorList, []string) {
	n, path := c.spec.ClusterNetwork, c.path.Child("clusterNetwork")
	errs := validateBlocks(path.Child("pods", "cidrBlocks"), n.Pods.CIDRBlocks, c.pods)
	errs = append(errs, validateSizes(c.pods, podSizeTable, "pods")...)
	errs = append(errs, validateBlocks(path.Child("services", "cidrBlocks"), n.Services.CIDRBlocks, c.services)...)
	errs = append(errs, validateSizes(c.services, serviceSizeTable, "services")...)
	errs = append(errs, c.validateServiceFamilies()...)
	return append(errs, domainPattern.Optional(path.Child("serviceDomain"), n.ServiceDomain)...), nil
}

func validateSizes(blocks []block, limits map[string]sizes, what string) field.ErrorList {
	var errs field.ErrorList
	for _, b := range blocks {
		if !b.prefix.IsValid() {
			continue
		}
		family := rule.Family(b.prefix.Addr())
		limit := limits[family]
		if b.prefix.Bits() < limit.short || b.prefix.Bits() > limit.long {
			errs = append(errs, field.Invalid(b.path, b.prefix.String(),
				fmt.Sprintf("kubeadm takes %s blocks of %s from /%d to /%d", family, what, limit.short, limit.long)))
		}
	}
	return errs
}

// validateServiceFamilies: a service needs pods of its family behind it.
func (c claim) validateServiceFamilies() field.ErrorList {
	pods := map[string]bool{}
	for _, b := range c.pods {
		if !b.prefix.IsValid() {
			return nil
		}
		pods[rule.Family(b.prefix.Addr())] = true
	}
	var errs field.ErrorList
	for _, b := range c.services {
		if b.prefix.IsValid() && !pods[rule.Family(b.prefix.Addr())] {
			errs = append(errs, field.Invalid(b.path, b.prefix.String(),
				fmt.Sprintf("no block of clusterNetwork.pods is %s; give one, or take this one out", rule.Family(b.prefix.Addr()))))
		}
	}
	return errs
}
