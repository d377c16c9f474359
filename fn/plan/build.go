package plan

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// Build the plan of a claim that has been validated. It returns an error for a
// value that validation should have refused.
func Build(s *spec.Spec) (Plan, error) {
	b := builder{networks: map[string]spec.Network{}, subnets: map[string][]Subnet{}}
	for _, n := range s.Networks {
		subnets, err := buildSubnets(n)
		if err != nil {
			return Plan{}, fmt.Errorf("cannot plan network %q: %w", n.Name, err)
		}
		b.networks[n.Name], b.subnets[n.Name] = n, subnets
	}
	pools, err := b.pools(s)
	if err != nil {
		return Plan{}, err
	}
	return Plan{Networks: b.plannedNetworks(pools), Pools: pools}, nil
}

type builder struct {
	networks map[string]spec.Network
	subnets  map[string][]Subnet
}

func (b builder) pools(s *spec.Spec) ([]Pool, error) {
	cp := Pool{
		Name: ControlPlanePool, Role: ControlPlane, OS: s.ControlPlane.OS,
		Replicas: int(s.ControlPlane.Replicas), Surge: controlPlaneSurge(s.ControlPlane),
	}
	if err := b.connect(&cp, s.ControlPlane.Ports); err != nil {
		return nil, err
	}
	pools := make([]Pool, 0, len(s.Workers)+1)
	for _, w := range s.Workers {
		p := Pool{Name: w.Name, Role: Worker, OS: w.OS, Replicas: workerReplicas(w), Surge: workerSurge(w)}
		if err := b.connect(&p, w.Ports); err != nil {
			return nil, err
		}
		pools = append(pools, p)
	}
	slices.SortFunc(pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return append([]Pool{cp}, pools...), nil
}

func controlPlaneSurge(c spec.ControlPlane) int {
	if c.Rollout != nil && c.Rollout.MaxSurge != nil {
		return int(*c.Rollout.MaxSurge)
	}
	return 1
}

func workerReplicas(w spec.WorkerPool) int {
	switch {
	case w.Autoscaling != nil:
		return int(w.Autoscaling.Max)
	case w.Replicas != nil:
		return int(*w.Replicas)
	default:
		return 1
	}
}

func workerSurge(w spec.WorkerPool) int {
	switch {
	case workerReplicas(w) == 0:
		return 0
	case w.Rollout != nil && w.Rollout.MaxSurge != nil:
		return int(*w.Rollout.MaxSurge)
	default:
		return 1
	}
}

// connect gives a pool its mode, ports and links.
func (b builder) connect(p *Pool, ports []spec.Port) error {
	mode, errs := spec.ModeOf(ports, nil)
	if len(errs) > 0 {
		return fmt.Errorf("cannot plan pool %q: %w", p.Name, errs.ToAggregate())
	}
	p.Mode = mode
	for _, port := range ports {
		links, err := b.links(port, mode)
		if err != nil {
			return fmt.Errorf("cannot plan port %q of pool %q: %w", port.Name, p.Name, err)
		}
		p.Links = append(p.Links, links...)
		p.Ports = append(p.Ports, buildPort(port, links))
	}
	slices.SortFunc(p.Links, func(a, b Link) int { return cmp.Compare(a.Network, b.Network) })
	slices.SortFunc(p.Ports, func(a, b Port) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func buildPort(port spec.Port, links []Link) Port {
	out := Port{Name: port.Name, Bonded: port.IsBonded(), Layer2: port.Layer2, Native: port.NativeNetwork}
	for _, n := range port.Networks {
		out.Networks = append(out.Networks, n.Name)
	}
	slices.Sort(out.Networks)
	for _, l := range links {
		out.MTU = max(out.MTU, l.MTU)
	}
	if out.MTU <= defaultMTU {
		out.MTU = 0
	}
	return out
}

// defaultMTU is what every port of a new server has, in bytes.
const defaultMTU = 1500

// links of one port. A link states its MTU when the claim does, and as soon as
// a neighbour on the same port asks for more than the default: raising the port
// would raise it too.
func (b builder) links(port spec.Port, mode spec.Mode) ([]Link, error) {
	raised := false
	for _, pn := range port.Networks {
		raised = raised || b.networks[pn.Name].MTU > defaultMTU
	}
	links := make([]Link, 0, len(port.Networks))
	for _, pn := range port.Networks {
		n, known := b.networks[pn.Name]
		if !known {
			return nil, fmt.Errorf("unknown network %q", pn.Name)
		}
		l, err := b.link(n, pn, mode)
		if err != nil {
			return nil, err
		}
		l.Port = port.Name
		if raised && l.MTU == 0 {
			l.MTU = defaultMTU
		}
		if untagged(port, pn.Name) {
			l.VLAN, l.Interface = 0, ""
		}
		links = append(links, l)
	}
	return links, nil
}

// untagged says whether a network arrives on a port without a tag: an unbonded
// port carries its only VLAN, and its native one, untagged.
func untagged(port spec.Port, network string) bool {
	if port.IsBond() {
		return false
	}
	return len(port.Networks) == 1 || port.NativeNetwork == network
}

func (b builder) link(n spec.Network, pn spec.PortNetwork, mode spec.Mode) (Link, error) {
	l := Link{
		Network: n.Name, ID: int(n.VXLAN), VLAN: int(n.VXLAN), Interface: n.Interface(), MTU: int(n.MTU),
		Assignment: assignment(n), NodeIP: pn.NodeIP, External: pn.AddressType == spec.AddressExternal,
	}
	if n.SourceRouting {
		l.Table = RouteTable(l.ID)
	}
	narrow, err := assignmentRange(pn)
	if err != nil {
		return Link{}, err
	}
	for _, s := range b.subnets[n.Name] {
		ls := LinkSubnet{
			Key: AddressKey(int(n.VXLAN), s.Prefix), Prefix: s.Prefix, Gateway: s.Gateway,
			Default: n.DefaultRoute && mode.PureLayer2() && s.Gateway.IsValid(),
		}
		if narrow.IsValid() && s.Prefix.Contains(narrow.From()) {
			ls.Range = narrow
		}
		l.Subnets = append(l.Subnets, ls)
	}
	l.Routes, err = buildRoutes(n)
	return l, err
}

func assignmentRange(pn spec.PortNetwork) (netipx.IPRange, error) {
	if pn.AssignmentRange == "" {
		return netipx.IPRange{}, nil
	}
	return ipam.ParseRange(pn.AssignmentRange)
}

// AddressKey names an address of a machine by VLAN id and family, for example
// vlan1000.ipv4. It does not depend on the network's name, which may change
// without anything changing on a machine.
func AddressKey(vlan int, subnet netip.Prefix) string {
	if subnet.Addr().Is4() {
		return fmt.Sprintf("vlan%d.ipv4", vlan)
	}
	return fmt.Sprintf("vlan%d.ipv6", vlan)
}

// VLANOfAddressKey is the VLAN id in a key from AddressKey.
func VLANOfAddressKey(key string) (vlan int, ok bool) {
	var family int
	n, err := fmt.Sscanf(key, "vlan%d.ipv%d", &vlan, &family)
	return vlan, err == nil && n == 2
}

func assignment(n spec.Network) Assignment {
	switch n.Assignment {
	case spec.AssignClusterAPI:
		return AssignStatic
	case spec.AssignIPAM:
		return AssignPool
	case spec.AssignDHCP:
		return AssignDHCP
	default:
		return AssignNone
	}
}

func buildRoutes(n spec.Network) ([]Route, error) {
	var out []Route
	for _, r := range n.Routes {
		destination, err := netip.ParsePrefix(r.Destination)
		if err != nil {
			return nil, err
		}
		gateway, err := netip.ParseAddr(r.Gateway)
		if err != nil {
			return nil, err
		}
		metric, err := routeMetric(r.Metric)
		if err != nil {
			return nil, err
		}
		out = append(out, Route{Destination: destination.Masked(), Gateway: gateway, Metric: metric})
	}
	slices.SortFunc(out, func(a, b Route) int {
		return cmp.Or(a.Destination.Addr().Compare(b.Destination.Addr()),
			cmp.Compare(a.Destination.Bits(), b.Destination.Bits()), a.Gateway.Compare(b.Gateway))
	})
	return out, nil
}

func routeMetric(metric int64) (uint32, error) {
	if metric < 0 || metric > math.MaxUint32 {
		return 0, fmt.Errorf("metric %d does not fit into 32 bits", metric)
	}
	return uint32(metric), nil
}

func buildSubnets(n spec.Network) ([]Subnet, error) {
	ranges, err := parseRanges(n.AssignmentRanges)
	if err != nil {
		return nil, err
	}
	exclude, err := parseRanges(n.Exclude)
	if err != nil {
		return nil, err
	}
	var out []Subnet
	for _, text := range n.IPAddresses {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		s := Subnet{Prefix: prefix.Masked(), Ranges: within(ranges, prefix), Exclude: within(exclude, prefix)}
		if s.Gateway, err = gatewayIn(n, prefix); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Subnet) int { return a.Prefix.Addr().Compare(b.Prefix.Addr()) })
	return out, nil
}

// gatewayIn is the network's gateway inside a block. The gateway of a block in
// a VRF is its first usable address, which the Metal Gateway takes:
// https://deploy.equinix.com/developers/docs/metal/layer2-networking/vrf/.
func gatewayIn(n spec.Network, prefix netip.Prefix) (netip.Addr, error) {
	for _, text := range []string{n.Gateway, n.GatewayIPv6} {
		if text == "" {
			continue
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Addr{}, err
		}
		if prefix.Contains(addr) {
			return addr, nil
		}
	}
	if n.MetalGateway != nil && n.MetalGateway.VRF != "" && prefix.Addr().Is4() {
		return prefix.Masked().Addr().Next(), nil
	}
	return netip.Addr{}, nil
}

func (b builder) plannedNetworks(pools []Pool) []Network {
	needed := map[string]int{}
	linked := map[string]bool{}
	for _, p := range pools {
		for _, l := range p.Links {
			needed[l.Network] += p.Replicas + p.Surge
			linked[l.Network] = true
		}
	}
	out := make([]Network, 0, len(b.networks))
	for name, n := range b.networks {
		out = append(out, Network{
			Name: name, VLAN: int(n.VXLAN), Subnets: b.subnets[name],
			Assignment: assignment(n), Links: linked[name], Needed: needed[name],
		})
	}
	slices.SortFunc(out, func(a, b Network) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func parseRanges(texts []string) ([]netipx.IPRange, error) {
	out := make([]netipx.IPRange, 0, len(texts))
	for _, text := range texts {
		r, err := ipam.ParseRange(text)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b netipx.IPRange) int {
		return cmp.Or(a.From().Compare(b.From()), a.To().Compare(b.To()))
	})
	return out, nil
}

// within are the ranges inside a block. A network's other family has ranges of
// its own, or none.
func within(ranges []netipx.IPRange, prefix netip.Prefix) []netipx.IPRange {
	var out []netipx.IPRange
	for _, r := range ranges {
		if prefix.Contains(r.From()) {
			out = append(out, r)
		}
	}
	return out
}
