package model

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// A network of the model has a /28, or a /28 and a /124: hosts 1 to 14 or 15.
const (
	firstHost    = 1
	lastHostIPv4 = 14
	lastHostIPv6 = 15
)

// Kinds of assignment.
const (
	static = "cluster-api"
	pooled = "ipam"
	dhcp   = "dhcp"
)

// span is a run of hosts.
type span struct{ from, to int }

// network of a claim.
type network struct {
	name        string
	vxlan       int
	adopted     string // UUID of a VLAN that exists
	dual        bool   // has an IPv6 block too
	ranges      []span
	exclude     []int
	gateway     int // 0 for none
	mtu         int
	description string
	assignment  string
}

// portNetwork is a network on a port.
type portNetwork struct {
	name   string
	narrow span // of no hosts for none
}

// port of a pool: bond0, or eth1 outside the bond.
type port struct {
	name     string
	networks []portNetwork
}

// pool of machines; the first one of a claim is its control plane.
type pool struct {
	name        string
	machineType string
	replicas    int
	surge       int
	unavailable int
	autoscaled  bool
	ports       []port
}

// spec of a claim. A spec that is part of a claim is never changed.
type spec struct {
	metro    string
	version  string
	networks []network
	pools    []pool
	// text is the spec as it was written, for a claim that the model has not
	// made up.
	text *structpb.Struct
	// number tells claims apart that make VLANs of their own.
	number int
	// broken says that the claim is meant to be refused.
	broken bool
}

const (
	projectID        = "00000000-0000-4000-8000-00000000000a"
	controlPlanePool = "control-plane"
)

// clone copies a spec for an edit.
func (s *spec) clone() *spec {
	out := *s
	out.networks = slices.Clone(s.networks)
	for i := range out.networks {
		out.networks[i].ranges = slices.Clone(s.networks[i].ranges)
		out.networks[i].exclude = slices.Clone(s.networks[i].exclude)
	}
	out.pools = slices.Clone(s.pools)
	for i := range out.pools {
		out.pools[i].ports = slices.Clone(s.pools[i].ports)
		for j := range out.pools[i].ports {
			out.pools[i].ports[j].networks = slices.Clone(s.pools[i].ports[j].networks)
		}
	}
	return &out
}

func (s *spec) network(name string) *network {
	for i := range s.networks {
		if s.networks[i].name == name {
			return &s.networks[i]
		}
	}
	return nil
}

func (s *spec) onVLAN(vxlan int) *network {
	for i := range s.networks {
		if s.networks[i].vxlan == vxlan {
			return &s.networks[i]
		}
	}
	return nil
}

func (s *spec) pool(name string) *pool {
	for i := range s.pools {
		if s.pools[i].name == name {
			return &s.pools[i]
		}
	}
	return nil
}

// port of a pool by name, or nil.
func (p *pool) port(name string) *port {
	for i := range p.ports {
		if p.ports[i].name == name {
			return &p.ports[i]
		}
	}
	return nil
}

// on is the network on the pool's ports, or nil.
func (p *pool) on(network string) *portNetwork {
	for i := range p.ports {
		for j := range p.ports[i].networks {
			if p.ports[i].networks[j].name == network {
				return &p.ports[i].networks[j]
			}
		}
	}
	return nil
}

func block(vxlan int) string { return fmt.Sprintf("10.%d.%d", 60+vxlan/250, vxlan%250) }

// address of a host on a VLAN, with prefix length.
func address(vxlan, host int, ipv6 bool) string {
	if ipv6 {
		return fmt.Sprintf("fd00:60:%x::%x/124", vxlan, host)
	}
	return fmt.Sprintf("%s.%d/28", block(vxlan), host)
}

func bare(vxlan, host int, ipv6 bool) string {
	a, _, _ := strings.Cut(address(vxlan, host, ipv6), "/")
	return a
}

// String is the spec in short.
func (s *spec) String() string { return fmt.Sprintf("%+v", *s) }

// key of a machine's address in its custom data.
func addressKey(vxlan int, ipv6 bool) string {
	if ipv6 {
		return fmt.Sprintf("vlan%d.ipv6", vxlan)
	}
	return fmt.Sprintf("vlan%d.ipv4", vxlan)
}

func (n *network) families() []bool {
	if n.dual {
		return []bool{false, true}
	}
	return []bool{false}
}

// usable says whether a machine of the pool may be given a host.
func (n *network) usable(p *pool, host int, ipv6 bool) bool {
	last := lastHostIPv4
	if ipv6 {
		last = lastHostIPv6
	}
	if host < firstHost || host > last || host == n.gateway && !ipv6 || !ipv6 && slices.Contains(n.exclude, host) {
		return false
	}
	ranges := n.ranges
	if ipv6 {
		ranges = nil
	}
	if on := p.on(n.name); on != nil && on.narrow.to > 0 && !ipv6 {
		ranges = []span{on.narrow}
	}
	for _, r := range ranges {
		if r.from <= host && host <= r.to {
			return true
		}
	}
	return len(ranges) == 0
}

// want is an address that a machine needs to boot.
type want struct {
	vxlan int
	ipv6  bool
}

// wants of a pool's machines.
func (s *spec) wants(p *pool) []want {
	var out []want
	for _, pt := range p.ports {
		for _, pn := range pt.networks {
			n := s.network(pn.name)
			if n.assignment == dhcp {
				continue
			}
			for _, ipv6 := range n.families() {
				out = append(out, want{vxlan: n.vxlan, ipv6: ipv6})
			}
		}
	}
	return out
}

// setup is what a machine's operating system knows when it boots.
type setup struct {
	// wants are the addresses that it waits for.
	wants []want
	// vlans are the VLAN ids on its ports, by port.
	vlans map[string][]int
}

// setup of a pool's machines.
func (s *spec) setup(p *pool) setup {
	out := setup{wants: s.wants(p), vlans: map[string][]int{}}
	for _, pt := range p.ports {
		out.vlans[pt.name] = []int{}
		for _, pn := range pt.networks {
			out.vlans[pt.name] = append(out.vlans[pt.name], s.network(pn.name).vxlan)
		}
	}
	return out
}

// fields of the spec in the composite.
func (s *spec) fields(c *Composite) *structpb.Struct {
	if s.text != nil {
		return s.text
	}
	networks := make([]any, 0, len(s.networks))
	for i := range s.networks {
		networks = append(networks, s.networks[i].fields())
	}
	controlPlane := s.pools[0].fields(s)
	controlPlane["replicas"] = s.pools[0].replicas
	controlPlane["rollout"] = fields{"maxSurge": s.pools[0].surge}
	if s.broken {
		controlPlane["replicas"] = 2
	}
	workers := make([]any, 0, len(s.pools))
	for i := range s.pools[1:] {
		workers = append(workers, s.pools[i+1].workerFields(s))
	}
	return structOf(fields{
		"claimRef":          fields{"apiVersion": "l2cluster.io/v1alpha1", "kind": "L2Cluster", "namespace": c.namespace, "name": c.name},
		"projectID":         projectID,
		"metro":             s.metro,
		"kubernetesVersion": s.version,
		"networks":          networks,
		"controlPlane":      controlPlane,
		"workers":           workers,
	})
}

func (n *network) fields() fields {
	out := fields{"name": n.name, "vxlan": n.vxlan, "assignment": n.assignment}
	blocks := []string{block(n.vxlan) + ".0/28"}
	if n.dual {
		blocks = append(blocks, fmt.Sprintf("fd00:60:%x::/124", n.vxlan))
	}
	out["ipAddresses"] = blocks
	if n.adopted != "" {
		out["vlanID"] = n.adopted
	}
	if n.description != "" {
		out["description"] = n.description
	}
	if n.mtu > 0 {
		out["mtu"] = n.mtu
	}
	if n.gateway > 0 {
		out["gateway"] = bare(n.vxlan, n.gateway, false)
	}
	if n.assignment == pooled {
		out["poolRef"] = fields{"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": n.name}
	}
	if len(n.ranges) > 0 {
		ranges := make([]string, 0, len(n.ranges))
		for _, r := range n.ranges {
			ranges = append(ranges, n.rangeText(r))
		}
		out["assignmentRanges"] = ranges
	}
	if len(n.exclude) > 0 {
		hosts := make([]string, 0, len(n.exclude))
		for _, h := range n.exclude {
			hosts = append(hosts, bare(n.vxlan, h, false))
		}
		out["exclude"] = hosts
	}
	return out
}

func (n *network) rangeText(r span) string {
	return bare(n.vxlan, r.from, false) + "-" + bare(n.vxlan, r.to, false)
}

func (p *pool) fields(s *spec) fields {
	ports := make([]any, 0, len(p.ports))
	for _, pt := range p.ports {
		networks := make([]any, 0, len(pt.networks))
		for _, pn := range pt.networks {
			on := fields{"name": pn.name}
			if pn.narrow.to > 0 {
				on["assignmentRange"] = s.network(pn.name).rangeText(pn.narrow)
			}
			networks = append(networks, on)
		}
		f := fields{"name": pt.name, "networks": networks}
		if pt.name != bond {
			f["bonded"] = false
		}
		ports = append(ports, f)
	}
	return fields{"machineType": p.machineType, "os": "ubuntu_22_04", "ports": ports}
}

func (p *pool) workerFields(s *spec) fields {
	out := p.fields(s)
	out["name"] = p.name
	out["rollout"] = fields{"maxSurge": p.surge, "maxUnavailable": p.unavailable}
	if p.autoscaled {
		out["autoscaling"] = fields{"min": 0, "max": maxAutoscaled}
		return out
	}
	out["replicas"] = p.replicas
	return out
}
