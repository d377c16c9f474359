package spec

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

// Limits of VRFs: https://deploy.equinix.com/developers/docs/metal/layer2-networking/vrf/.
const (
	maxVRFs     = 16
	maxIPRanges = 16
	maxASN      = 4294967294
	vrfShortest = 8
	vrfLongest  = 29
)

func (c claim) validateVRFs() (field.ErrorList, []string) {
	path := c.path.Child("vrfs")
	errs := rule.AtMostItems(path, len(c.spec.VRFs), maxVRFs)
	names, ids := rule.Seen[string]{}, rule.Seen[string]{}
	var warnings []string
	for i, v := range c.spec.VRFs {
		p := path.Index(i)
		errs = append(errs, validateVRF(v, p)...)
		errs = append(errs, names.Add(p.Child("name"), v.Name)...)
		if v.VRFID != "" {
			errs = append(errs, ids.Add(p.Child("vrfID"), v.VRFID)...)
		}
		if !c.usesVRF(v.Name) {
			warnings = append(warnings, fmt.Sprintf("%s: no network has metalGateway.vrf: %s, so this VRF has no effect", p, v.Name))
		}
	}
	return errs, warnings
}

func (c claim) usesVRF(name string) bool {
	for _, n := range c.spec.Networks {
		if n.MetalGateway != nil && n.MetalGateway.VRF == name {
			return true
		}
	}
	return false
}

func validateVRF(v VRF, path *field.Path) field.ErrorList {
	errs := namePattern.Required(path.Child("name"), v.Name)
	errs = append(errs, rule.AtMostCharacters(path.Child("description"), v.Description, descriptionLimit)...)
	errs = append(errs, uuidPattern.Optional(path.Child("vrfID"), v.VRFID)...)
	if v.LocalASN != 0 {
		errs = append(errs, rule.Between(path.Child("localASN"), v.LocalASN, 1, maxASN)...)
	}
	if v.VRFID != "" {
		return append(errs, validateObservedVRF(v, path)...)
	}
	return append(errs, validateCreatedVRF(v, path)...)
}

func validateObservedVRF(v VRF, path *field.Path) field.ErrorList {
	const why = "a VRF with vrfID is only observed: this belongs to its owner; leave it out"
	var errs field.ErrorList
	if v.LocalASN != 0 {
		errs = append(errs, field.Invalid(path.Child("localASN"), v.LocalASN, why))
	}
	if v.IPRanges != nil {
		errs = append(errs, field.Invalid(path.Child("ipRanges"), v.IPRanges, why))
		errs = append(errs, validateIPRanges(v.IPRanges, path.Child("ipRanges"))...)
	}
	return errs
}

func validateCreatedVRF(v VRF, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v.LocalASN == 0 {
		errs = append(errs, field.Required(path.Child("localASN"), "give localASN and ipRanges for a VRF to be created, or vrfID for one that exists"))
	}
	if len(v.IPRanges) == 0 {
		return append(errs, field.Required(path.Child("ipRanges"), "give localASN and ipRanges for a VRF to be created, or vrfID for one that exists"))
	}
	return append(errs, validateIPRanges(v.IPRanges, path.Child("ipRanges"))...)
}

func validateIPRanges(ranges []string, path *field.Path) field.ErrorList {
	if len(ranges) == 0 {
		return field.ErrorList{field.Required(path, "give at least one block, for example 10.60.0.0/16")}
	}
	var earlier []block
	return rule.Set(path, ranges, maxIPRanges, func(p *field.Path, value string) field.ErrorList {
		prefix, errs := rule.Block(p, value)
		if len(errs) > 0 {
			return errs
		}
		if prefix.Addr().Is4() && (prefix.Bits() < vrfShortest || prefix.Bits() > vrfLongest) {
			errs = append(errs, field.Invalid(p, value, fmt.Sprintf("an IPv4 block of a VRF is from /%d to /%d", vrfShortest, vrfLongest)))
		}
		for _, other := range earlier {
			if other.prefix != prefix && other.prefix.Overlaps(prefix) {
				errs = append(errs, field.Invalid(p, value, fmt.Sprintf("overlaps %s (%s)", other.path, other.prefix)))
			}
		}
		earlier = append(earlier, block{prefix: prefix, path: p})
		return errs
	})
}

func (c claim) vrf(name string) *VRF {
	for i := range c.spec.VRFs {
		if c.spec.VRFs[i].Name == name {
			return &c.spec.VRFs[i]
		}
	}
	return nil
}

func vrfNames(vrfs []VRF) []string {
	out := make([]string, 0, len(vrfs))
	for _, v := range vrfs {
		out = append(out, v.Name)
	}
	return out
}
