package osnet

import (
	"fmt"
	"strings"
)

// Backend is what configures a machine's network.
type Backend string

// The back ends.
const (
	// Ifupdown reads /etc/network/interfaces.
	Ifupdown Backend = "ifupdown"
	// Netplan writes the configuration of systemd-networkd.
	Netplan Backend = "netplan"
	// Networkd is systemd-networkd.
	Networkd Backend = "networkd"
	// NetworkManager reads keyfiles.
	NetworkManager Backend = "networkmanager"
)

// Backends that there are.
func Backends() []Backend { return []Backend{Ifupdown, Netplan, Networkd, NetworkManager} }

func backendNames() string {
	names := make([]string, 0, len(Backends()))
	for _, b := range Backends() {
		names = append(names, string(b))
	}
	return strings.Join(names, ", ")
}

// Override chooses the back end of operating systems.
type Override struct {
	// OSPrefix is the beginning of the operating system's slug.
	OSPrefix string
	// Backend of those.
	Backend Backend
}

// images are the back ends of the platform's own images:
// https://deploy.equinix.com/developers/docs/metal/operating-systems/supported/.
func images() []Override {
	return []Override{
		{"ubuntu", Ifupdown},
		{"debian", Ifupdown},
		{"rocky", NetworkManager},
		{"alma", NetworkManager},
		{"rhel", NetworkManager},
		{"centos", NetworkManager},
		{"flatcar", Networkd},
	}
}

// BackendFor returns the back end of an operating system: that of the override
// with the longest fitting prefix, else what the platform's image of it uses. It
// returns an error that says how to choose one when neither knows the system.
func BackendFor(os string, overrides ...Override) (Backend, error) {
	if o, found := longest(os, overrides); found {
		return o.Backend, nil
	}
	if o, found := longest(os, images()); found {
		return o.Backend, nil
	}
	return "", fmt.Errorf("cannot choose what configures the network of operating system %q: "+
		"name it in network.backends of the function's Input, for example {osPrefix: %s, name: %s} (one of %s)",
		os, prefixOf(os), Ifupdown, backendNames())
}

func longest(os string, overrides []Override) (Override, bool) {
	var best Override
	found := false
	for _, o := range overrides {
		if strings.HasPrefix(os, o.OSPrefix) && (!found || len(o.OSPrefix) > len(best.OSPrefix)) {
			best, found = o, true
		}
	}
	return best, found
}

// prefixOf is the family in a slug such as ubuntu_22_04.
func prefixOf(os string) string {
	family, _, _ := strings.Cut(os, "_")
	return family
}
