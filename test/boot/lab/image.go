package lab

import (
	"fmt"
	"strings"
)

// The platform's own network, on the bond of every new server.
const (
	publicAddress  = "198.51.100.11"
	publicGateway  = "198.51.100.10"
	privateAddress = "10.51.43.129"
	privateGateway = "10.51.43.128"
	sixAddress     = "2001:db8:ffff::1"
	sixGateway     = "2001:db8:ffff::"
	// MetadataAddress is the metadata service's.
	MetadataAddress = "192.0.2.53"
)

// Platform are the router's addresses of the platform's own network.
func Platform(bond string) Router {
	return Router{On: bond, Addresses: []string{publicGateway + "/31", privateGateway + "/31", sixGateway + "/127"}}
}

// Metadata of a server with these ports.
func Metadata(ports []Port) map[string]any {
	var interfaces []any
	for _, p := range ports {
		interfaces = append(interfaces, map[string]any{"name": p.Port, "mac": p.MAC, "bond": p.Bond})
	}
	return map[string]any{
		"id": "11111111-1111-4111-8111-111111111111", "hostname": "general-0",
		"network":        map[string]any{"interfaces": interfaces},
		"user_state_url": "https://metadata.platformequinix.com/userstate",
	}
}

// bonds of ports, in the order of the ports.
func bonds(ports []Port) ([]string, map[string][]string) {
	var names []string
	members := map[string][]string{}
	for _, p := range ports {
		if members[p.Bond] == nil {
			names = append(names, p.Bond)
		}
		members[p.Bond] = append(members[p.Bond], p.Name)
	}
	return names, members
}

// Ifupdown configures the platform's own network as Ubuntu's image does:
// members first, then bonds, in one file that includes no other.
func (m *Machine) Ifupdown(ports []Port) error {
	var b strings.Builder
	b.WriteString("auto lo\niface lo inet loopback\n")
	names, members := bonds(ports)
	for i, p := range ports {
		fmt.Fprintf(&b, "\nauto %[1]s\niface %[1]s inet manual\n", p.Name)
		if i > 0 {
			b.WriteString("    pre-up sleep 1\n")
		}
		fmt.Fprintf(&b, "    bond-master %s\n", p.Bond)
	}
	for _, bond := range names {
		b.WriteString(ifupdownBond(bond, members[bond]))
	}
	if err := m.Write("/etc/network/interfaces", "0644", b.String()); err != nil {
		return err
	}
	return m.Enable("networking.service", "multi-user.target")
}

// IfupdownIncluding configures it as Debian's image does, whose bond enslaves
// its members itself, in a file that includes others before anything else.
func (m *Machine) IfupdownIncluding(ports []Port) error {
	var b strings.Builder
	b.WriteString("source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n")
	names, members := bonds(ports)
	for _, bond := range names {
		b.WriteString(ifupdownBond(bond, members[bond]))
	}
	if err := m.Write("/etc/network/interfaces", "0644", b.String()); err != nil {
		return err
	}
	return m.Enable("networking.service", "multi-user.target")
}

func ifupdownBond(bond string, members []string) string {
	options := fmt.Sprintf(`    bond-downdelay 200
    bond-miimon 100
    bond-mode 4
    bond-updelay 200
    bond-xmit_hash_policy layer3+4
    bond-lacp-rate 1
    bond-slaves %s
`, strings.Join(members, " "))
	if bond != "bond0" {
		return fmt.Sprintf("\nauto %[1]s\niface %[1]s inet manual\n%[2]s", bond, options)
	}
	return fmt.Sprintf(`
auto bond0
iface bond0 inet static
    address %s
    netmask 255.255.255.254
    gateway %s

%s
iface bond0 inet6 static
    address %s
    netmask 127
    gateway %s
    dad-attempts 0

auto bond0:0
iface bond0:0 inet static
    address %s
    netmask 255.255.255.254
    post-up ip route add 10.0.0.0/8 via %[7]s
    post-down ip route del 10.0.0.0/8 via %[7]s
`, publicAddress, publicGateway, options, sixAddress, sixGateway, privateAddress, privateGateway)
}

// Networkd configures the platform's own network for systemd-networkd.
func (m *Machine) Networkd(ports []Port) error {
	names, members := bonds(ports)
	files := map[string]string{}
	for _, bond := range names {
		files["10-"+bond+".netdev"] = fmt.Sprintf("[NetDev]\nName=%s\nKind=bond\n\n[Bond]\nMode=802.3ad\nTransmitHashPolicy=layer3+4\n"+
			"MIIMonitorSec=.1\nUpDelaySec=.2\nDownDelaySec=.2\nLACPTransmitRate=fast\n", bond)
		for _, member := range members[bond] {
			files["05-"+member+".network"] = fmt.Sprintf("[Match]\nName=%s\n\n[Network]\nBond=%s\n", member, bond)
		}
		files["20-"+bond+".network"] = fmt.Sprintf("[Match]\nName=%s\n\n[Network]\nLinkLocalAddressing=ipv6\nIPv6AcceptRA=no\n", bond)
	}
	files["20-bond0.network"] += fmt.Sprintf("Address=%s/31\nAddress=%s/31\nAddress=%s/127\nGateway=%s\nGateway=%s\n\n[Route]\nDestination=10.0.0.0/8\nGateway=%s\n",
		publicAddress, privateAddress, sixAddress, publicGateway, sixGateway, privateGateway)
	for name, content := range files {
		if err := m.Write("/etc/systemd/network/"+name, "0644", content); err != nil {
			return err
		}
	}
	return m.Enable("systemd-networkd.service", "multi-user.target")
}

// NetworkManager configures the platform's own network for NetworkManager.
func (m *Machine) NetworkManager(ports []Port) error {
	names, members := bonds(ports)
	files := map[string]string{}
	for _, bond := range names {
		addresses := "[ipv4]\nmethod=disabled\n\n[ipv6]\nmethod=disabled\n"
		if bond == "bond0" {
			addresses = fmt.Sprintf("[ipv4]\nmethod=manual\naddress1=%s/31,%s\naddress2=%s/31\nroute1=10.0.0.0/8,%s\n\n[ipv6]\nmethod=manual\naddress1=%s/127,%s\n",
				publicAddress, publicGateway, privateAddress, privateGateway, sixAddress, sixGateway)
		}
		files[bond] = fmt.Sprintf("[connection]\nid=System %[1]s\nuuid=ad33d8b0-1f7b-cab9-9447-ba07f855b1%02[3]d\ntype=bond\ninterface-name=%[1]s\n\n"+
			"[bond]\nmode=802.3ad\nmiimon=100\nupdelay=200\ndowndelay=200\nlacp_rate=fast\nxmit_hash_policy=layer3+4\n\n%[2]s", bond, addresses, len(files))
		for _, member := range members[bond] {
			files[member] = fmt.Sprintf("[connection]\nid=System %[1]s\nuuid=ad33d8b0-1f7b-cab9-9447-ba07f855b2%02[3]d\ntype=ethernet\ninterface-name=%[1]s\nmaster=%[2]s\nslave-type=bond\n",
				member, bond, len(files))
		}
	}
	for name, content := range files {
		if err := m.Write("/etc/NetworkManager/system-connections/"+name+".nmconnection", "0600", content); err != nil {
			return err
		}
	}
	// NetworkManager leaves interfaces of containers alone, which ours look like.
	if err := m.Write("/etc/udev/rules.d/90-lab.rules", "0644",
		"SUBSYSTEM==\"net\", ENV{ID_NET_DRIVER}==\"veth\", ENV{NM_UNMANAGED}=\"0\"\n"); err != nil {
		return err
	}
	// What only takes time: plug-ins, asking for a name, services that are not
	// there, and as Rocky's and RHEL's it reads keyfiles alone.
	if err := m.Write("/etc/NetworkManager/NetworkManager.conf", "0644", "[main]\nplugins=keyfile\nhostname-mode=none\n"); err != nil {
		return err
	}
	for _, service := range []string{"hostname1", "PolicyKit1"} {
		if err := m.Write("/usr/share/dbus-1/system-services/org.freedesktop."+service+".service", "0644", ""); err != nil {
			return err
		}
	}
	// The script is for Debian's own interfaces, which Rocky and RHEL have not.
	for _, name := range []string{
		"/usr/lib/x86_64-linux-gnu/NetworkManager", "/etc/NetworkManager/dispatcher.d/01-ifupdown",
	} {
		if err := m.Remove(name); err != nil {
			return err
		}
	}
	if err := m.link("/lib/systemd/system/NetworkManager-dispatcher.service", "/etc/systemd/system/dbus-org.freedesktop.nm-dispatcher.service"); err != nil {
		return err
	}
	return m.Enable("NetworkManager.service", "multi-user.target")
}

// CloudInit configures the platform's own network by cloud-init, which writes
// netplan's file anew at every boot. It returns cloud-init's network
// configuration.
func (m *Machine) CloudInit(ports []Port) (string, error) {
	var b strings.Builder
	b.WriteString("version: 2\nethernets:\n")
	for _, p := range ports {
		// Not by MAC addresses: netplan means permanent ones, which ours have not.
		fmt.Fprintf(&b, "  %s: {dhcp4: false}\n", p.Name)
	}
	b.WriteString("bonds:\n")
	names, members := bonds(ports)
	for _, bond := range names {
		fmt.Fprintf(&b, "  %s:\n    interfaces: [%s]\n    parameters: {mode: 802.3ad, mii-monitor-interval: 100, lacp-rate: fast, transmit-hash-policy: layer3+4}\n",
			bond, strings.Join(members[bond], ", "))
		if bond == "bond0" {
			fmt.Fprintf(&b, "    addresses: [%s/31, %s/31, \"%s/127\"]\n    routes:\n    - {to: 0.0.0.0/0, via: %s}\n    - {to: \"::/0\", via: \"%s\"}\n    - {to: 10.0.0.0/8, via: %s}\n",
				publicAddress, privateAddress, sixAddress, publicGateway, sixGateway, privateGateway)
		}
	}
	if err := m.Write("/etc/cloud/cloud.cfg.d/98-lab-network.cfg", "0644",
		"system_info: {network: {renderers: [netplan]}}\nupdates: {network: {when: [boot]}}\n"); err != nil {
		return "", err
	}
	return b.String(), m.Enable("systemd-networkd.service", "multi-user.target")
}

// modules are those of cloud-init that Cluster API's user data needs; others,
// such as making locales, take longer than the boot.
const modules = `datasource_list: [NoCloud]
cloud_init_modules: [bootcmd, write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-user]
`

// Seed the machine's user data, and cloud-init's network configuration; "" when
// cloud-init leaves the network alone.
func (m *Machine) Seed(userData []byte, network string) error {
	files := map[string]string{
		"/var/lib/cloud/seed/nocloud/meta-data": "instance-id: 11111111-1111-4111-8111-111111111111\nlocal-hostname: general-0\n",
		"/var/lib/cloud/seed/nocloud/user-data": string(userData),
		"/etc/cloud/cloud.cfg.d/99-lab.cfg":     modules + "network: {config: disabled}\n",
	}
	if network != "" {
		files["/var/lib/cloud/seed/nocloud/network-config"] = network
		files["/etc/cloud/cloud.cfg.d/99-lab.cfg"] = modules
	}
	for name, content := range files {
		if err := m.Write(name, "0644", content); err != nil {
			return err
		}
	}
	return nil
}
