package boot_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/test/boot/lab"
)

// The ports of servers, with names as awkward as real ones: 13 characters.
var (
	twoPorts = []lab.Port{
		{Name: "enp193s0f0np0", MAC: "0c:42:a1:00:00:10", Port: "eth0", Bond: "bond0"},
		{Name: "enp193s0f1np1", MAC: "0c:42:a1:00:00:11", Port: "eth1", Bond: "bond0"},
	}
	fourPorts = []lab.Port{
		{Name: "enp193s0f0np0", MAC: "0c:42:a1:00:00:10", Port: "eth0", Bond: "bond0"},
		{Name: "eno2", MAC: "0c:42:a1:00:00:11", Port: "eth1", Bond: "bond1"},
		{Name: "eth1", MAC: "0c:42:a1:00:00:12", Port: "eth2", Bond: "bond0"},
		{Name: "eth10", MAC: "0c:42:a1:00:00:13", Port: "eth3", Bond: "bond1"},
	}
)

// cell is one machine of the matrix.
type cell struct {
	// ports of the server.
	ports []lab.Port
	// networks of the claim, and what the pool has on its ports, in YAML.
	networks, claimPorts string
	// customData are the machine's addresses.
	customData map[string]any
	// after is what the platform makes of the ports.
	after lab.Switch
	// reaches are addresses that answer once the ports are changed.
	reaches []string
	// leased is a command that waits for what a DHCP server gives.
	leased string
	// image configures the platform's own network; nil for what is usual with
	// the back end.
	image func(*lab.Machine, []lab.Port) error
	// want is the whole state in the end.
	want []string
}

// platform is what the image has on bond0, with these members.
func platform(mtu int, members ...string) []string {
	out := []string{
		fmt.Sprintf("link bond0 bond mtu %d: 10.51.43.129/31 198.51.100.11/31 2001:db8:ffff::1/127", mtu),
		"route4 default via 198.51.100.10 dev bond0",
		"route4 10.0.0.0/8 via 10.51.43.128 dev bond0",
		"route6 default via 2001:db8:ffff:: dev bond0",
	}
	for _, m := range members {
		out = append(out, fmt.Sprintf("link %s in bond0 mtu %d", m, mtu))
	}
	return out
}

func wants(lists ...[]string) []string {
	out := slices.Concat(lists...)
	slices.Sort(out)
	return out
}

const twoNetworks = `
  - {name: data, vxlan: 1001, ipAddresses: [10.60.20.0/24]}
  - {name: storage, vxlan: 1000, ipAddresses: [10.60.10.0/24], gateway: 10.60.10.1, routes: [{destination: 10.61.0.0/16, gateway: 10.60.10.1}]}`

func twoAddresses() map[string]any {
	return map[string]any{"vlan1000.ipv4": "10.60.10.2/24", "vlan1001.ipv4": "10.60.20.2/24"}
}

// whole is the switch with both ports in their bond, as it is for a new server.
func whole(routers ...lab.Router) lab.Switch {
	return lab.Switch{Bonds: map[string][]string{"sw0": {"eth0", "eth1"}}, Addresses: append([]lab.Router{lab.Platform("sw0")}, routers...)}
}

// split is the switch with eth1 outside the bond.
func split(routers ...lab.Router) lab.Switch {
	return lab.Switch{
		Bonds: map[string][]string{"sw0": {"eth0"}}, Ports: []string{"eth1"},
		Addresses: append([]lab.Router{lab.Platform("sw0")}, routers...),
	}
}

func router(on string, vlan int, addresses ...string) lab.Router {
	return lab.Router{On: on, VLAN: vlan, Addresses: addresses}
}

// modes are the cells that every back end has.
func modes() map[string]cell {
	return map[string]cell{
		"HybridBonded": {
			ports: twoPorts, networks: twoNetworks, customData: twoAddresses(),
			claimPorts: "[{name: bond0, networks: [{name: storage}, {name: data}]}]",
			after:      whole(router("sw0", 1000, "10.60.10.1/24"), router("sw0", 1001, "10.60.20.1/24")),
			reaches:    []string{"10.60.10.1", "10.60.20.1", "198.51.100.10"},
			want: wants(platform(1500, "enp193s0f0np0", "enp193s0f1np1"), []string{
				"link vlan1000 vlan 1000 on bond0 mtu 1500: 10.60.10.2/24",
				"link vlan1001 vlan 1001 on bond0 mtu 1500: 10.60.20.2/24",
				"route4 10.61.0.0/16 via 10.60.10.1 dev vlan1000",
			}),
		},
		"HybridUntagged": {
			ports: twoPorts, networks: twoNetworks, customData: twoAddresses(),
			claimPorts: "[{name: eth1, bonded: false, networks: [{name: storage}]}]",
			after:      split(router("sw-eth1", 0, "10.60.10.1/24")),
			reaches:    []string{"10.60.10.1", "198.51.100.10"},
			want: wants(platform(1500, "enp193s0f0np0"), []string{
				"link enp193s0f1np1 mtu 1500: 10.60.10.2/24",
				"route4 10.61.0.0/16 via 10.60.10.1 dev enp193s0f1np1",
			}),
		},
		"HybridNative": {
			ports: twoPorts, networks: twoNetworks, customData: twoAddresses(),
			claimPorts: "[{name: eth1, bonded: false, nativeNetwork: data, networks: [{name: storage}, {name: data}]}]",
			after:      split(router("sw-eth1", 0, "10.60.20.1/24"), router("sw-eth1", 1000, "10.60.10.1/24")),
			reaches:    []string{"10.60.10.1", "10.60.20.1", "198.51.100.10"},
			want: wants(platform(1500, "enp193s0f0np0"), []string{
				"link enp193s0f1np1 mtu 1500: 10.60.20.2/24",
				"link vlan1000 vlan 1000 on enp193s0f1np1 mtu 1500: 10.60.10.2/24",
				"route4 10.61.0.0/16 via 10.60.10.1 dev vlan1000",
			}),
		},
		"Layer2Bonded": {
			ports: twoPorts, networks: strings.Replace(twoNetworks, "name: storage,", "name: storage, defaultRoute: true,", 1), customData: twoAddresses(),
			claimPorts: "[{name: bond0, layer2: true, networks: [{name: storage}, {name: data}]}]",
			after: lab.Switch{
				Bonds:     map[string][]string{"sw0": {"eth0", "eth1"}},
				Addresses: []lab.Router{router("sw0", 1000, "10.60.10.1/24"), router("sw0", 1001, "10.60.20.1/24")},
			},
			reaches: []string{"10.60.10.1", "10.60.20.1", "192.0.2.53"},
			want: []string{
				"link bond0 bond mtu 1500",
				"link enp193s0f0np0 in bond0 mtu 1500",
				"link enp193s0f1np1 in bond0 mtu 1500",
				"link vlan1000 vlan 1000 on bond0 mtu 1500: 10.60.10.2/24",
				"link vlan1001 vlan 1001 on bond0 mtu 1500: 10.60.20.2/24",
				"route4 10.61.0.0/16 via 10.60.10.1 dev vlan1000",
				"route4 default via 10.60.10.1 dev vlan1000",
			},
		},
		"Layer2Individual": {
			ports: twoPorts, networks: strings.Replace(twoNetworks, "name: storage,", "name: storage, defaultRoute: true,", 1), customData: twoAddresses(),
			claimPorts: "[{name: bond0, layer2: true, bonded: false}, {name: eth0, bonded: false, networks: [{name: data}]}, {name: eth1, bonded: false, networks: [{name: storage}]}]",
			after: lab.Switch{
				Ports:     []string{"eth0", "eth1"},
				Addresses: []lab.Router{router("sw-eth1", 0, "10.60.10.1/24"), router("sw-eth0", 0, "10.60.20.1/24")},
			},
			reaches: []string{"10.60.10.1", "10.60.20.1", "192.0.2.53"},
			want: []string{
				"link bond0 bond mtu 1500",
				"link enp193s0f0np0 mtu 1500: 10.60.20.2/24",
				"link enp193s0f1np1 mtu 1500: 10.60.10.2/24",
				"route4 10.61.0.0/16 via 10.60.10.1 dev enp193s0f1np1",
				"route4 default via 10.60.10.1 dev enp193s0f1np1",
			},
		},
	}
}

// configure gives a new machine the operating system's own configuration, and
// returns cloud-init's.
func (c cell) configure(m *lab.Machine, backend osnet.Backend) (string, error) {
	switch {
	case c.image != nil:
		return "", c.image(m, c.ports)
	case backend == osnet.Netplan:
		return m.CloudInit(c.ports)
	case backend == osnet.Networkd:
		return "", m.Networkd(c.ports)
	case backend == osnet.NetworkManager:
		return "", m.NetworkManager(c.ports)
	default:
		return "", m.Ifupdown(c.ports)
	}
}
