package spec

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Mode is how the ports of a machine are joined, in the platform's words:
// https://deploy.equinix.com/developers/docs/metal/layer2-networking/overview/.
type Mode string

// The modes.
const (
	// Layer3 has no VLANs.
	Layer3 Mode = "layer3"
	// HybridBonded has VLANs beside the platform's addresses on a bond.
	HybridBonded Mode = "hybrid-bonded"
	// Hybrid has VLANs on ports outside the bond.
	Hybrid Mode = "hybrid"
	// Layer2Bonded has only VLANs, on the bond.
	Layer2Bonded Mode = "layer2-bonded"
	// Layer2Individual has only VLANs, on ports outside the bond.
	Layer2Individual Mode = "layer2-individual"
)

// PureLayer2 says whether a machine in the mode loses the platform's own
// addresses, and with them its default route and the metadata service.
func (m Mode) PureLayer2() bool { return m == Layer2Bonded || m == Layer2Individual }

// IsBond says whether the port is a bond and not a member of one.
func (p Port) IsBond() bool { return strings.HasPrefix(p.Name, "bond") }

// IsBonded says whether the port is in its bond, or is a working bond.
func (p Port) IsBonded() bool { return p.Bonded == nil || *p.Bonded }

// ModeOf returns the mode that follows from a pool's ports, or why no mode of
// the platform fits them.
func ModeOf(ports []Port, path *field.Path) (Mode, field.ErrorList) {
	var errs field.ErrorList
	for i, p := range ports {
		if p.IsBond() {
			errs = append(errs, validateBond(p, path.Index(i))...)
			continue
		}
		errs = append(errs, validateMember(p, path.Index(i))...)
	}
	if len(errs) > 0 {
		return "", errs
	}
	mode := modeOf(ports)
	return mode, validateMode(mode, ports, path)
}

func validateBond(p Port, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !p.IsBonded() && !p.Layer2 {
		errs = append(errs, field.Invalid(path.Child("bonded"), false,
			"a bond is dissolved only together with layer2: true; to take one port out of the bond, set bonded: false on that port, for example eth1"))
	}
	if !p.IsBonded() && len(p.Networks) > 0 {
		errs = append(errs, field.Invalid(path.Child("networks"), len(p.Networks),
			"a dissolved bond carries no networks; name them on its ports, for example eth1"))
	}
	if p.IsBonded() && p.Layer2 && len(p.Networks) == 0 {
		errs = append(errs, field.Required(path.Child("networks"), "a layer-2 bond without networks would cut the server off"))
	}
	if p.NativeNetwork != "" {
		errs = append(errs, field.Invalid(path.Child("nativeNetwork"), p.NativeNetwork,
			"a bond has no native VLAN: every VLAN on it is tagged"))
	}
	return errs
}

func validateMember(p Port, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Layer2 {
		errs = append(errs, field.Invalid(path.Child("layer2"), true, "layer2 can be set on a bond port only, for example bond0"))
	}
	if p.IsBonded() && len(p.Networks) > 0 {
		errs = append(errs, field.Invalid(path.Child("bonded"), true,
			"a port inside its bond carries no networks of its own; set bonded: false, or name the networks on the bond"))
	}
	if p.NativeNetwork != "" && !hasNetwork(p, p.NativeNetwork) {
		errs = append(errs, field.Invalid(path.Child("nativeNetwork"), p.NativeNetwork, "must be one of the port's networks"))
	}
	return errs
}

func hasNetwork(p Port, name string) bool {
	for _, n := range p.Networks {
		if n.Name == name {
			return true
		}
	}
	return false
}

// modeOf follows bond0, which carries the platform's own addresses; the second
// bond of a server with four ports may be in layer 2 beside it.
func modeOf(ports []Port) Mode {
	mode := Layer3
	for _, p := range ports {
		switch {
		case p.Name == "bond0" && p.Layer2 && p.IsBonded():
			return Layer2Bonded
		case p.Name == "bond0" && p.Layer2:
			return Layer2Individual
		case !p.IsBond() && !p.IsBonded():
			mode = Hybrid
		case p.IsBond() && len(p.Networks) > 0 && mode != Hybrid:
			mode = HybridBonded
		}
	}
	return mode
}

func validateMode(mode Mode, ports []Port, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	unbonded := map[string]int{}
	networks := 0
	for i, p := range ports {
		networks += len(p.Networks)
		if !p.IsBond() && !p.IsBonded() {
			unbonded[p.Name] = i
		}
	}
	if mode == Layer2Bonded && len(unbonded) > 0 {
		errs = append(errs, field.Invalid(path, "bond0 in layer 2 and ports outside the bond",
			"no mode of the platform: use layer2-bonded (networks on bond0) or layer2-individual (bond0 with bonded: false, networks on eth0 and eth1)"))
	}
	if mode == Layer2Individual {
		errs = append(errs, validateIndividual(ports, networks, path)...)
	}
	if mode == Hybrid {
		errs = append(errs, validateHybrid(ports, unbonded, path)...)
	}
	return errs
}

// validateIndividual: the ports of a dissolved bond are outside of it, all of
// them.
func validateIndividual(ports []Port, networks int, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if networks == 0 {
		errs = append(errs, field.Required(path, "a server in layer2-individual needs at least one network on one of its ports"))
	}
	for i, p := range ports {
		if !p.IsBond() && p.IsBonded() {
			errs = append(errs, field.Invalid(path.Index(i).Child("bonded"), true,
				"in layer2-individual the bond is dissolved; set bonded: false, or leave the port out"))
		}
	}
	return errs
}

// validateHybrid keeps eth0 in the bond, where it carries the platform's own
// addresses.
func validateHybrid(ports []Port, unbonded map[string]int, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for name, i := range unbonded {
		if name != "eth1" && name != "eth3" {
			errs = append(errs, field.Invalid(path.Index(i).Child("bonded"), false,
				"in hybrid mode eth1, or eth1 and eth3, leave the bond; "+name+" stays in it and carries the platform's own addresses"))
		}
		if len(ports[i].Networks) == 0 {
			errs = append(errs, field.Required(path.Index(i).Child("networks"), "a port outside the bond needs at least one network"))
		}
	}
	if i, only := unbonded["eth3"]; only {
		if _, both := unbonded["eth1"]; !both {
			errs = append(errs, field.Invalid(path.Index(i).Child("bonded"), false, "eth3 leaves the bond only together with eth1"))
		}
	}
	return errs
}
