package spec

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

const maxPortNetworks = 64

// link is a network on a port of a pool.
type link struct {
	PortNetwork

	path    *field.Path
	network *network
	port    Port
}

// links of a pool to networks that exist, in the claim's order.
func (c claim) links(p pool) []link {
	var out []link
	for i, port := range p.Ports {
		for j, pn := range port.Networks {
			n := c.network(pn.Name)
			if n == nil {
				continue
			}
			path := p.path.Child("ports").Index(i).Child("networks").Index(j)
			out = append(out, link{PortNetwork: pn, path: path, network: n, port: port})
		}
	}
	return out
}

// validateLinks checks the ports of all pools and what meets on a server.
func (c claim) validateLinks() (field.ErrorList, []string) {
	var errs field.ErrorList
	for _, p := range c.pools {
		errs = append(errs, c.validatePorts(p)...)
		links := c.links(p)
		for _, l := range links {
			errs = append(errs, l.validateAssignmentRange()...)
			errs = append(errs, l.validateDHCP()...)
		}
		errs = append(errs, c.validateNodeIPs(links)...)
		errs = append(errs, validateDestinations(links)...)
		errs = append(errs, validateNeighbours(links)...)
		if len(p.modeErr) == 0 {
			errs = append(errs, c.validateMachineMode(p, links)...)
		}
	}
	return errs, append(c.defaultRouteWarnings(), c.nodeAddressWarnings()...)
}

// validatePorts checks each port by itself, and that no port and no network is
// there twice.
func (c claim) validatePorts(p pool) field.ErrorList {
	path := p.path.Child("ports")
	errs := append(rule.AtMostItems(path, len(p.Ports), maxPorts), p.modeErr...)
	ports, networks := rule.Seen[string]{}, rule.Seen[string]{}
	for i, port := range p.Ports {
		at := path.Index(i)
		errs = append(errs, portPattern.Required(at.Child("name"), port.Name)...)
		errs = append(errs, ports.Add(at.Child("name"), port.Name)...)
		errs = append(errs, namePattern.Optional(at.Child("nativeNetwork"), port.NativeNetwork)...)
		errs = append(errs, rule.AtMostItems(at.Child("networks"), len(port.Networks), maxPortNetworks)...)
		for j, pn := range port.Networks {
			on := at.Child("networks").Index(j)
			errs = append(errs, c.validatePortNetwork(pn, on)...)
			errs = append(errs, networks.Add(on.Child("name"), pn.Name)...)
		}
	}
	return errs
}

func (c claim) validatePortNetwork(pn PortNetwork, path *field.Path) field.ErrorList {
	errs := namePattern.Required(path.Child("name"), pn.Name)
	if len(errs) == 0 && c.network(pn.Name) == nil {
		errs = append(errs, notFound(path.Child("name"), pn.Name, "must name one of spec.networks", c.networkNames()))
	}
	errs = append(errs, rangePattern.Optional(path.Child("assignmentRange"), pn.AssignmentRange)...)
	return append(errs, rule.OneOf(path.Child("addressType"), pn.AddressType, AddressInternal, AddressExternal)...)
}

func (c claim) networkNames() []string {
	out := make([]string, 0, len(c.networks))
	for _, n := range c.networks {
		out = append(out, n.Name)
	}
	return out
}

func (l link) validateAssignmentRange() field.ErrorList {
	if l.AssignmentRange == "" {
		return nil
	}
	path := l.path.Child("assignmentRange")
	if l.network.Assignment != AssignClusterAPI {
		return field.ErrorList{field.Invalid(path, l.AssignmentRange,
			fmt.Sprintf("network %q has assignment: %s, and only cluster-api chooses addresses; leave it out", l.network.Name, l.network.Assignment))}
	}
	return l.network.validateRange(path, l.AssignmentRange)
}

// validateDHCP refuses to wait for an address from a network that the server is
// connected to only after it has reported that its network is up: a port is
// taken out of its bond, and a bond is converted to layer 2, when nothing can be
// lost by it any more.
func (l link) validateDHCP() field.ErrorList {
	if l.network.Assignment != AssignDHCP || l.port.IsBonded() && !l.port.Layer2 {
		return nil
	}
	return field.ErrorList{field.Invalid(l.path.Child("name"), l.Name,
		fmt.Sprintf("network %q has assignment: dhcp, and port %s is connected only after the server's network is up; use cluster-api or ipam here, or put the network on a bond in layer 3", l.Name, l.port.Name))}
}

// validateNodeIPs checks that a node's own address is one of each family at
// most, that it is known before the kubelet starts, and that no cloud
// controller refuses it: with an external cloud provider a node waits until
// the provider confirms the address that its kubelet insists on
// (https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/).
func (c claim) validateNodeIPs(links []link) field.ErrorList {
	var errs field.ErrorList
	first := map[string]string{}
	for _, l := range links {
		if !l.NodeIP {
			continue
		}
		path := l.path.Child("nodeIP")
		if c.in.Equinix.CloudController.Kind == v1beta1.CloudControllerCPEM {
			errs = append(errs, field.Invalid(path, true,
				"the cloud controller (CPEM) confirms only addresses of the platform, so a node with an address of a network would never be initialized; leave nodeIP out, or ask the platform team for cloudController.kind: None"))
		}
		if l.network.Assignment == AssignNone || l.network.Assignment == AssignDHCP {
			errs = append(errs, field.Invalid(path, true,
				fmt.Sprintf("network %q has assignment: %s, which gives a machine no address that stays its own; use cluster-api or ipam", l.network.Name, l.network.Assignment)))
		}
		for _, family := range l.network.families() {
			if other, again := first[family]; again {
				errs = append(errs, field.Invalid(path, true, fmt.Sprintf("network %q gives the node its %s address already; set nodeIP on one network of a family", other, family)))
				continue
			}
			first[family] = l.network.Name
		}
	}
	return errs
}

// families of the network's blocks.
func (n network) families() []string {
	var out []string
	for _, b := range n.blocks {
		if b.prefix.IsValid() && !slices.Contains(out, rule.Family(b.prefix.Addr())) {
			out = append(out, rule.Family(b.prefix.Addr()))
		}
	}
	return out
}

// way to a destination.
type way struct {
	network *network
	metric  int64
}

// validateDestinations checks that servers have one way to a destination. Two
// are fine where each network answers through a routing table of its own and
// the routes differ in metric: of two with one metric the kernel keeps one.
func validateDestinations(links []link) field.ErrorList {
	var errs field.ErrorList
	ways := map[netip.Prefix][]way{}
	for _, l := range links {
		for i, r := range l.network.Routes {
			d, err := netip.ParsePrefix(r.Destination)
			if err != nil {
				continue
			}
			w := way{network: l.network, metric: metric(d, r.Metric)}
			if other := meets(w, ways[d.Masked()]); other != nil {
				errs = append(errs, field.Invalid(l.network.path.Child("routes").Index(i).Child("destination"), r.Destination,
					fmt.Sprintf("network %q on the same servers has a route there already; take one out, or give both networks sourceRouting: true and the routes different metrics", other.Name)))
			}
			ways[d.Masked()] = append(ways[d.Masked()], w)
		}
	}
	return errs
}

// meets returns another network whose way a server cannot have beside this one.
func meets(w way, others []way) *network {
	for _, o := range others {
		apart := o.network.SourceRouting && w.network.SourceRouting && o.metric != w.metric
		if o.network.Name != w.network.Name && !apart {
			return o.network
		}
	}
	return nil
}

// metric that the kernel gives a route: without one 0, and in IPv6 1024.
func metric(destination netip.Prefix, value int64) int64 {
	if value == 0 && destination.Addr().Is6() {
		return 1024
	}
	return value
}

// validateMachineMode checks what the mode of a pool's ports asks of its
// networks.
func (c claim) validateMachineMode(p pool, links []link) field.ErrorList {
	path := p.path.Child("ports")
	if !p.mode.PureLayer2() {
		return c.validatePlatformRoutes(links)
	}
	if !p.worker {
		return field.ErrorList{field.Invalid(path, string(p.mode),
			"the control plane cannot be in a pure layer-2 mode: the infrastructure provider puts its endpoint on an elastic address of the platform, which such servers do not have; use bond0 without layer2, or eth1 outside the bond")}
	}
	for _, l := range links {
		if l.network.DefaultRoute {
			return nil
		}
	}
	return field.ErrorList{field.Required(path,
		fmt.Sprintf("in mode %s servers have no route of the platform's: put the network that has defaultRoute: true, with a gateway that does NAT, on one of the ports", p.mode))}
}

// defaultRouteWarnings say where defaultRoute has no effect: on servers that
// keep the platform's own default route.
func (c claim) defaultRouteWarnings() []string {
	used := map[string]bool{}
	for _, p := range c.pools {
		for _, l := range c.links(p) {
			used[l.network.Name] = used[l.network.Name] || p.mode.PureLayer2() || len(p.modeErr) > 0
		}
	}
	var warnings []string
	for _, n := range c.networks {
		if n.DefaultRoute && !used[n.Name] {
			warnings = append(warnings, fmt.Sprintf("%s has no effect: no pool in a pure layer-2 mode is on network %q, and other servers keep the platform's default route", n.path.Child("defaultRoute"), n.Name))
		}
	}
	return warnings
}

// nodeAddressWarnings say where nodes keep an InternalIP that nothing answers for:
// the cloud controller reports only addresses of the platform, fails for a server
// that has none any more, and so leaves a node what it had
// (https://github.com/kubernetes-sigs/cloud-provider-equinix-metal/blob/main/metal/devices.go).
func (c claim) nodeAddressWarnings() []string {
	if c.in.Equinix.CloudController.Kind != v1beta1.CloudControllerCPEM {
		return nil
	}
	var warnings []string
	for _, p := range c.pools {
		if p.worker && len(p.modeErr) == 0 && p.mode.PureLayer2() {
			warnings = append(warnings, fmt.Sprintf("%s: in mode %s the InternalIP of nodes stays the platform's address, which is gone once their ports are converted, since the cloud controller (CPEM) knows no other: logs, exec and network plugins that go by it do not reach them. Ask the platform team for cloudController.kind: None, which needs vipManager: KUBE_VIP, and set nodeIP on one of the pool's networks", p.path.Child("ports"), p.mode))
		}
	}
	return warnings
}
