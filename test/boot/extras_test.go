package boot_test

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/test/boot/lab"
)

// both families, source routing, a larger MTU and DHCP at once, since every boot
// takes a minute.
func everything() cell {
	leases := lab.Router{
		On: "sw0", VLAN: 1005, Addresses: []string{"10.60.50.1/24"},
		DHCP: []string{"--dhcp-range=10.60.50.77,10.60.50.77,255.255.255.0,1h", "--dhcp-option=option:router,10.60.50.1", "--dhcp-option=option:dns-server,10.60.50.1"},
	}
	return cell{
		ports: twoPorts,
		networks: `
  - {name: both, vxlan: 1003, ipAddresses: [10.60.30.0/24, "2001:db8:0:2::/64"], gateway: 10.60.30.1, gatewayIPv6: "2001:db8:0:2::1", sourceRouting: true}
  - {name: jumbo, vxlan: 1000, ipAddresses: [10.60.10.0/24], mtu: 9000}
  - {name: leased, vxlan: 1005, ipAddresses: [10.60.50.0/24], assignment: dhcp}`,
		claimPorts: "[{name: bond0, networks: [{name: both}, {name: jumbo}, {name: leased}]}]",
		customData: map[string]any{"vlan1003.ipv4": "10.60.30.2/24", "vlan1003.ipv6": "2001:db8:0:2::2/64", "vlan1000.ipv4": "10.60.10.2/24"},
		after: whole(
			router("sw0", 1003, "10.60.30.1/24", "2001:db8:0:2::1/64"), router("sw0", 1000, "10.60.10.1/24"), leases),
		leased:  "for n in $(seq 60); do ip -4 -brief address show dev vlan1005 | grep -q 10.60.50.77 && break; sleep 1; done",
		reaches: []string{"10.60.30.1", "2001:db8:0:2::1", "10.60.10.1", "10.60.50.1"},
		want: wants(platform(9000, "enp193s0f0np0", "enp193s0f1np1"), []string{
			"link vlan1000 vlan 1000 on bond0 mtu 9000: 10.60.10.2/24",
			"link vlan1003 vlan 1003 on bond0 mtu 1500: 10.60.30.2/24 2001:db8:0:2::2/64",
			"link vlan1005 vlan 1005 on bond0 mtu 1500: 10.60.50.77/24",
			"route4 default via 10.60.30.1 dev vlan1003 table 11003",
			"route6 default via 2001:db8:0:2::1 dev vlan1003 table 11003",
			"rule4 11003 from 10.60.30.2 to 11003",
			"rule4 9999 from all to main suppress 0",
			"rule6 11003 from 2001:db8:0:2::2 to 11003",
			"rule6 9999 from all to main suppress 0",
		}),
	}
}

// The VLANs of a bond are attached as soon as the port is known, so the DHCP
// server answers from the start.
func (c cell) attached() lab.Lab {
	l := c.lab()
	l.Before, l.After = c.after, nil
	return l
}

func TestEverything(t *testing.T) {
	t.Parallel()
	for _, backend := range osnet.Backends() {
		t.Run(string(backend), func(t *testing.T) {
			t.Parallel()
			c := everything()
			c.runIn(t, backend, c.attached())
		})
	}
}

// A server with four ports: eth1 and eth3 leave the second bond, whose own
// names on the machine are others.
func TestFourPorts(t *testing.T) {
	t.Parallel()
	c := cell{
		ports: fourPorts, networks: twoNetworks, customData: twoAddresses(),
		claimPorts: "[{name: bond0, networks: [{name: data}]}, {name: eth1, bonded: false, networks: [{name: storage}]}, {name: eth3, bonded: false, networks: [{name: data2}]}]",
		after: lab.Switch{
			Bonds: map[string][]string{"sw0": {"eth0", "eth2"}}, Ports: []string{"eth1", "eth3"},
			Addresses: []lab.Router{
				lab.Platform("sw0"), router("sw0", 1001, "10.60.20.1/24"), router("sw-eth1", 0, "10.60.10.1/24"), router("sw-eth3", 0, "10.60.30.1/24"),
			},
		},
		reaches: []string{"10.60.10.1", "10.60.20.1", "10.60.30.1"},
		want: wants(platform(1500, "enp193s0f0np0", "eth1"), []string{
			"link bond1 bond mtu 1500",
			"link eno2 mtu 1500: 10.60.10.2/24",
			"link eth10 mtu 1500: 10.60.30.2/24",
			"link vlan1001 vlan 1001 on bond0 mtu 1500: 10.60.20.2/24",
			"route4 10.61.0.0/16 via 10.60.10.1 dev eno2",
		}),
	}
	c.networks += "\n  - {name: data2, vxlan: 1002, ipAddresses: [10.60.30.0/24]}"
	c.customData["vlan1002.ipv4"] = "10.60.30.2/24"
	c.run(t, osnet.Ifupdown)
}

// The image's file includes others first, so our stanzas are read before the
// bond's.
func TestIncludedFirst(t *testing.T) {
	t.Parallel()
	c := modes()["HybridNative"]
	c.image = func(m *lab.Machine, ports []lab.Port) error { return m.IfupdownIncluding(ports) }
	c.run(t, osnet.Ifupdown)
}

// The three most important machines.
func TestQuick(t *testing.T) {
	t.Parallel()
	t.Run("HybridBonded", func(t *testing.T) {
		t.Parallel()
		modes()["HybridBonded"].first(t, osnet.Ifupdown)
	})
	t.Run("Layer2Bonded", func(t *testing.T) {
		t.Parallel()
		modes()["Layer2Bonded"].first(t, osnet.Ifupdown)
	})
	t.Run("NetworkManager", func(t *testing.T) {
		t.Parallel()
		modes()["HybridUntagged"].first(t, osnet.NetworkManager)
	})
}
