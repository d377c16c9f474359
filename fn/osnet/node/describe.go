package node

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// mainTable is the kernel's number of the main routing table.
const mainTable = 254

// Renderer renders the files of a back end.
type Renderer struct {
	// Port renders the files of a port.
	Port func(Port) ([]Template, error)
	// Link renders the files of a link.
	Link func(Link) ([]Template, error)
	// Machine renders the files that belong to no single port or link.
	Machine func(Layout) ([]Template, error)
}

// Describe a layout and its files, but for who configures and reports it. The
// error is the renderer's.
func (l Layout) Describe(r Renderer) (Description, error) {
	files, err := r.Machine(l)
	if err != nil {
		return Description{}, err
	}
	out := Description{
		CustomDataKey:  CustomDataKey,
		State:          StatePath,
		Handover:       l.Handover,
		Events:         Events{Started: Started(), Succeeded: Succeeded(), Failed: Failed()},
		RulePriorities: [2]int{SharedRule, lastRule},
		Rules:          l.rules(),
		Files:          append(files, l.common()...),
	}
	for _, p := range l.Ports {
		state := PortState{
			Name: p.Name, Stage: p.Stage, Released: p.Released, MTU: p.MTU,
			Bare: p.Released && !p.Untagged, Cleared: p.Cleared,
		}
		if state.Files, err = r.Port(p); err != nil {
			return Description{}, fmt.Errorf("cannot render port %q: %w", p.Name, err)
		}
		out.Ports = append(out.Ports, state)
	}
	for _, link := range l.Links {
		state := link.describe()
		if state.Files, err = r.Link(link); err != nil {
			return Description{}, fmt.Errorf("cannot render network %q: %w", link.Network, err)
		}
		out.Links = append(out.Links, state)
		if link.NodeIP {
			out.Kubeadm = &Kubeadm{Files: KubeadmConfigs, IP: NodeIPPlaceholder, IPs: NodeIPsPlaceholder}
		}
	}
	return out, nil
}

func (l Link) describe() LinkState {
	out := LinkState{
		Network: l.Network, Stage: l.Stage, Port: l.Port, Interface: l.Interface, VLAN: l.VLAN,
		MTU: l.MTU, Dynamic: l.Dynamic(), Later: l.Later, NodeIP: l.NodeIP,
	}
	if l.Assignment != plan.AssignNone {
		for _, s := range l.Subnets {
			out.Subnets = append(out.Subnets, SubnetState{Key: s.Key, Prefix: s.Prefix})
		}
	}
	for _, r := range l.Routes {
		out.Routes = append(out.Routes, Route{To: r.Destination, Via: r.Gateway, Metric: r.Metric})
	}
	for _, s := range l.Sourced() {
		out.Routes = append(out.Routes, Route{To: Everything(s.Gateway), Via: s.Gateway, Table: l.Table})
	}
	for _, g := range l.Defaults() {
		out.Routes = append(out.Routes, Route{To: Everything(g), Via: g, Stage: After})
	}
	return out
}

// Everything is the destination of a default route of the gateway's family.
func Everything(gateway netip.Addr) netip.Prefix {
	if gateway.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

func (l Layout) rules() []Rule {
	var out []Rule
	families := map[bool]bool{}
	for _, link := range l.Links {
		for _, s := range link.Sourced() {
			six := s.Prefix.Addr().Is6()
			families[six] = true
			out = append(out, Rule{From: s.Key, IPv6: six, Priority: link.Table, Table: link.Table})
		}
	}
	for _, six := range []bool{false, true} {
		if families[six] {
			out = append(out, Rule{IPv6: six, Priority: SharedRule, Table: mainTable, Specific: true})
		}
	}
	return out
}

// common are the files that every back end needs.
func (l Layout) common() []Template {
	var out []Template
	if slices.ContainsFunc(l.Links, func(link Link) bool { return link.VLAN != 0 }) {
		out = append(out, Template{Path: "/etc/modules-load.d/l2cluster-network.conf", Mode: "0644", Content: "8021q\n"})
	}
	if l.Handover {
		out = append(out, Template{Path: handoverPath, Mode: "0644", Stage: Before, Content: handoverUnit})
	}
	return out
}

const handoverPath = "/etc/systemd/system/l2cluster-handover.service"

// handoverUnit waits for the end of the platform's own network, across reboots.
const handoverUnit = `[Unit]
Description=Finish the network when the platform's own is gone
After=network.target

[Service]
ExecStart=` + ScriptPath + ` --handover
Restart=on-failure
RestartSec=10

[Install]
WantedBy=multi-user.target
`
