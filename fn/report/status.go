package report

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// status of the composite. It replaces what it was, so everything that is to
// stay is in it every time.
func (r reporter) status(conditions []xr.Condition) map[string]any {
	out := map[string]any{
		"phase":       r.phase(conditions),
		"clusterName": r.Cluster.Name,
		"summary":     r.summary(),
	}
	if endpoint := r.endpoint(); endpoint != "" {
		out["controlPlaneEndpoint"] = endpoint
	}
	if len(r.Kubeconfig.Items) > 0 {
		out["kubeconfigSecret"] = r.Kubeconfig.Items[0].String("metadata", "name")
	}
	if len(r.LeftBehind) > 0 {
		left := make([]any, 0, len(r.LeftBehind))
		for _, what := range r.LeftBehind {
			left = append(left, what)
		}
		out["leftBehind"] = left
	}
	if networks := r.networks(); len(networks) > 0 {
		out["networks"] = networks
	}
	if len(r.Addresses.Record) > 0 {
		out["allocations"] = r.Addresses.Record
	}
	r.machineStatus(out)
	return out
}

// machineStatus tells of every machine. While the machines were not read, what
// was told of them stays.
func (r reporter) machineStatus(out map[string]any) {
	if !r.Facts.MachinesKnown {
		for _, name := range []string{"machines", "ports"} {
			if r.Status.Has(name) {
				out[name] = r.Status.Any(name)
			}
		}
		return
	}
	machines, ports := []any{}, map[string]any{}
	for _, m := range r.Facts.Machines {
		machines = append(machines, r.machine(m))
		if len(m.Ports) > 0 {
			known := make(map[string]any, len(m.Ports))
			for name, id := range m.Ports {
				known[name] = id
			}
			ports[m.Name] = known
		}
	}
	if len(machines) > 0 {
		out["machines"] = machines
	}
	if len(ports) > 0 {
		out["ports"] = ports
	}
}

// The phases of a cluster.
const (
	phasePending      = "Pending"
	phaseProvisioning = "Provisioning"
	phaseFailed       = "Failed"
	phaseReady        = "Ready"
)

func (r reporter) phase(conditions []xr.Condition) string {
	phase := phaseReady
	for _, c := range conditions {
		if c.Status != xr.True {
			phase = phaseProvisioning
		}
	}
	for _, m := range r.machines() {
		if m.Network == infra.NetworkFailed {
			return phaseFailed
		}
	}
	if phase == phaseProvisioning && len(r.Facts.Machines) == 0 {
		return phasePending
	}
	return phase
}

func (r reporter) summary() map[string]any {
	verified := 0
	for _, m := range r.machines() {
		if m.Network == infra.NetworkVerified {
			verified++
		}
	}
	out := map[string]any{"machines": fmt.Sprintf("%d/%d", verified, r.allWanted())}
	var used, total int64
	for _, n := range r.Cluster.Plan.Networks {
		if c, ok := r.capacity(n); ok {
			used, total = used+c.Used, add(total, c.Total)
		}
	}
	if total > 0 {
		out["addresses"] = fmt.Sprintf("%d/%d", used, total)
	}
	return out
}

// add saturates: a few /64 together are more than an int64 can count.
func add(a, b int64) int64 {
	if a > ipam.MaxCount-b {
		return ipam.MaxCount
	}
	return a + b
}

func (r reporter) endpoint() string {
	for _, v := range r.Cluster.Observed {
		if v.String("kind") != "Cluster" {
			continue
		}
		if host := v.String("spec", "controlPlaneEndpoint", "host"); host != "" {
			if a, err := netip.ParseAddr(host); err == nil && a.Is6() {
				host = "[" + host + "]"
			}
			return fmt.Sprintf("%s:%d", host, v.Int("spec", "controlPlaneEndpoint", "port"))
		}
	}
	return ""
}

func (r reporter) networks() []any {
	var out []any
	for _, n := range r.Cluster.Plan.Networks {
		status := map[string]any{"name": n.Name, "vxlan": int64(n.VLAN)}
		if id := r.Facts.VLANs[n.Name]; id != "" {
			status["vlanID"] = id
		}
		if c, ok := r.capacity(n); ok {
			status["capacity"] = map[string]any{"used": c.Used, "total": c.Total, "needed": c.Wanted}
		}
		out = append(out, status)
	}
	return out
}

// capacity of a network that machines get addresses on from us. Every machine
// needs an address of each family, so the block with the fewest counts.
func (r reporter) capacity(n plan.Network) (ipam.Capacity, bool) {
	blocks := map[string]ipam.Capacity{}
	for _, c := range r.Addresses.Book.Capacity {
		if r.networkOf(c.Pool) == n.Name && n.Assignment == plan.AssignStatic {
			b := blocks[c.Pool]
			blocks[c.Pool] = ipam.Capacity{Pool: c.Pool, Used: b.Used + c.Used, Total: add(b.Total, c.Total), Wanted: b.Wanted + c.Wanted}
		}
	}
	if len(blocks) == 0 {
		return ipam.Capacity{}, false
	}
	return slices.MinFunc(slices.Collect(maps.Values(blocks)), func(a, b ipam.Capacity) int {
		return cmp.Or(cmp.Compare(a.Total, b.Total), cmp.Compare(a.Pool, b.Pool))
	}), true
}

// networkOf is the name of the network that a pool of the allocator is for.
func (r reporter) networkOf(pool string) string {
	parts := strings.SplitN(pool, "/", 4)
	for _, n := range r.Cluster.Plan.Networks {
		if len(parts) == 4 && fmt.Sprint(n.VLAN) == parts[2] {
			return n.Name
		}
	}
	return pool
}

// network says in one word how far a machine's network is.
func (r reporter) network(m infra.Machine) string {
	switch {
	case m.Network == infra.NetworkFailed:
		return "Failed"
	case m.Network == infra.NetworkVerified:
		return "Verified"
	case m.Device == "":
		return reasonWaiting
	case r.attached(m):
		return "Attached"
	case len(r.Facts.Delivered[m.Name]) > 0:
		return "Delivered"
	default:
		return reasonWaiting
	}
}

func (r reporter) attached(m infra.Machine) bool {
	ports := changedPorts(r.pools[m.Pool])
	for _, name := range ports {
		if r.objects[object.PortKey(m.Name, name)].Ready != object.IsReady {
			return false
		}
	}
	return len(ports) > 0
}

func (r reporter) machine(m infra.Machine) map[string]any {
	out := map[string]any{"name": m.Name, "network": r.network(m)}
	if m.Pool != "" {
		out["pool"] = m.Pool
	}
	if m.Message != "" {
		out["message"] = m.Message
	}
	addresses := map[string]any{}
	var external []any
	for _, l := range r.pools[m.Pool].Links {
		var held []string
		for _, s := range l.Subnets {
			if a := r.Addresses.Addresses[m.Name][s.Key]; a != "" {
				held = append(held, a)
			}
		}
		if len(held) > 0 {
			addresses[l.Network] = strings.Join(held, ",")
			if l.External {
				external = append(external, l.Network)
			}
		}
	}
	if len(addresses) > 0 {
		out["addresses"] = addresses
	}
	if len(external) > 0 {
		out["externalNetworks"] = external
	}
	return out
}
