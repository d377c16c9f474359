package equinix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// packetMachines is the name of the requirement for the cluster's servers.
const packetMachines = "packet-machines"

// Labels that machines carry:
// https://cluster-api.sigs.k8s.io/reference/api/labels-and-annotations.
const (
	clusterLabel      = "cluster.x-k8s.io/cluster-name"
	deploymentLabel   = "cluster.x-k8s.io/deployment-name"
	controlPlaneLabel = "cluster.x-k8s.io/control-plane"
)

// clonedFrom is the annotation by which Cluster API says which template an object
// was made from:
// https://cluster-api.sigs.k8s.io/reference/api/labels-and-annotations.
const clonedFrom = "cluster.x-k8s.io/cloned-from-name"

// Labels that tell whose a composed object is.
const (
	machineLabel = "l2cluster.io/machine"
	portLabel    = "l2cluster.io/port"
)

// How the composite's status says that a machine's network came up as wanted,
// or did not.
const (
	verifiedWord = "Verified"
	failedWord   = "Failed"
)

// Requirements are the servers of the cluster, as the infrastructure provider
// has them.
func (Platform) Requirements(cluster, namespace string) map[string]object.Selector {
	return map[string]object.Selector{packetMachines: {
		APIVersion: infrastructureAPI, Kind: "PacketMachine", Namespace: namespace,
		Labels: map[string]string{clusterLabel: cluster},
	}}
}

// Facts are what the world has decided: which machines there are, which VLANs,
// which ports, and whether networks came up. It asks the Metal API only with
// credentials and only for what is not on record. What cannot be read stays
// unknown. It returns an error for a claim that cannot be right, and for lists
// that cannot be.
func (Platform) Facts(ctx context.Context, s infra.Sources) (infra.Facts, error) {
	servers, machines := s.Required[packetMachines], s.Required[infra.CAPIMachines]
	delivered := deliveredOf(s.Cluster.Observed)
	if err := errors.Join(projectStays(s.Cluster), vlansStay(s, delivered), machinesListed(s.Cluster, servers, machines)); err != nil {
		return infra.Facts{}, err
	}
	out := infra.Facts{
		MachinesKnown: servers.Fetched && machines.Fetched,
		Machines:      machinesOf(servers.Items, machines.Items, deploymentPools(s.Cluster.Observed)),
		Delivered:     delivered,
	}
	var warnings []string
	out.VLANs, warnings = vlansOf(s.Cluster)
	out.Warnings = append(out.Warnings, warnings...)
	remember(out.Machines, s)
	warnings, out.Unheard = lookUp(ctx, s, out.Machines)
	out.Warnings = append(out.Warnings, warnings...)
	return out, nil
}

// machinesListed refuses lists without machines while a controller counts some:
// restored or relabelled objects, or a wrong permission, would else take the
// addresses and the VLANs of every running server away.
func machinesListed(c infra.Cluster, servers, machines object.Required) error {
	if !servers.Fetched || !machines.Fetched || len(servers.Items)+len(machines.Items) > 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(c.Observed)) {
		v := c.Observed[key]
		kind, count := v.String("kind"), v.Int("status", "replicas")
		if (kind == "KubeadmControlPlane" || kind == "MachineDeployment") && count > 0 {
			return fmt.Errorf("cannot list the machines of cluster %q: there is no Machine and no PacketMachine with the label %s=%s in namespace %q, "+
				"but %s %q counts %d; nothing is changed until they can be seen, or it counts none",
				c.Name, clusterLabel, c.Name, c.Namespace, kind, v.String("metadata", "name"), count)
		}
	}
	return nil
}

// deploymentPools are the pools of machine deployments by name.
func deploymentPools(observed map[string]object.View) map[string]string {
	out := map[string]string{}
	for _, v := range observed {
		if v.String("kind") == "MachineDeployment" {
			out[v.String("metadata", "name")] = v.String("metadata", "labels", keep.PoolLabel)
		}
	}
	return out
}

// machinesOf joins what the infrastructure provider and Cluster API know. A
// machine exists as long as either has it. Deployments are their pools by name.
func machinesOf(servers, machines []object.View, deployments map[string]string) []infra.Machine {
	byName := map[string]infra.Machine{}
	for _, v := range machines {
		m := infra.Machine{Name: v.String("metadata", "name")}
		m.Joined = v.String("status", "nodeRef", "name") != ""
		byName[m.Name] = withView(m, v, deployments)
	}
	for _, v := range servers {
		name := machineOf(v)
		m := byName[name]
		m.Name, m.Template = name, v.String("metadata", "annotations", clonedFrom)
		byName[name] = withView(m, v, deployments)
	}
	delete(byName, "")
	return slices.SortedFunc(maps.Values(byName), func(a, b infra.Machine) int { return cmp.Compare(a.Name, b.Name) })
}

// machineOf is the name of the machine that a server is made for.
func machineOf(server object.View) string {
	for _, owner := range server.Views("metadata", "ownerReferences") {
		if owner.String("kind") == "Machine" {
			return owner.String("name")
		}
	}
	return server.String("metadata", "name")
}

// withView adds what a Machine or PacketMachine says of the machine. Where its own
// label for the pool was lost, Cluster API's still names its deployment.
func withView(m infra.Machine, v object.View, deployments map[string]string) infra.Machine {
	m.Deleting = m.Deleting || v.Has("metadata", "deletionTimestamp")
	if m.Device == "" {
		m.Device = deviceOf(v.String("spec", "providerID"))
	}
	if m.Pool == "" {
		m.Pool = v.String("metadata", "labels", keep.PoolLabel)
	}
	if m.Pool == "" {
		m.Pool = deployments[v.String("metadata", "labels", deploymentLabel)]
	}
	if m.Pool == "" && v.Has("metadata", "labels", controlPlaneLabel) {
		m.Pool = plan.ControlPlanePool
	}
	return m
}

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// deviceOf is the UUID in a provider ID, or "" without one.
func deviceOf(providerID string) string {
	id, ours := strings.CutPrefix(providerID, "equinixmetal://")
	if !ours || !uuidPattern.MatchString(id) {
		return ""
	}
	return id
}

// vlansOf are the UUIDs of the VLANs that exist. An adopted VLAN must be the one
// that the claim says, or servers would tag frames for another; after an edit the
// status still has the one before.
func vlansOf(c infra.Cluster) (map[string]string, []string) {
	out := map[string]string{}
	var warnings []string
	for _, n := range byVLAN(c.Spec.Networks) {
		m := vlan(c, n)
		seen, exists := c.Observed[m.key]
		if !exists {
			continue
		}
		id := seen.String("status", "atProvider", "id")
		if id == "" || id == m.seed(c) || m.adopts != "" && id != m.adopts {
			continue
		}
		if vxlan := seen.Int("status", "atProvider", "vxlan"); vxlan != 0 && vxlan != int64(n.VXLAN) {
			warnings = append(warnings, fmt.Sprintf("VLAN %s of network %q has VLAN id %d, not %d: "+
				"no port is attached to it until vlanID or vxlan is corrected", id, n.Name, vxlan, n.VXLAN))
			continue
		}
		out[n.Name] = id
	}
	return out, warnings
}

// vlansStay refuses another VLAN id for what is on the ports of machines: Vlan
// objects have no network's name, so the old one would go, and every machine
// would be off its network at once, since what is new is set up only on others.
func vlansStay(s infra.Sources, delivered map[string]map[string]string) error {
	for _, moved := range append(movedByName(s), movedByAddress(s.Cluster, delivered)...) {
		if port := carrier(s.Cluster.Observed, moved.id); port != "" {
			return &spec.RefusedError{Field: spec.NetworkField(moved.network, "vxlan"), Value: moved.to, Why: fmt.Sprintf(
				"cannot change the VLAN of %s from %d to %d: port %q carries it, and its machine would be off the network at once; "+
					"put %d back and add a network of another name, with VLAN %d and other addresses, which replaces the machines, and take this one out when they are",
				moved.what, moved.from, moved.to, port, moved.from, moved.to)}
		}
	}
	return nil
}

// moved is what had one VLAN and is to have another, by their ids.
type moved struct {
	// what moves, and the network that it is or belongs to.
	what, network string

	from, to int64
	// id is the UUID of the VLAN that it had.
	id string
}

// movedByName are networks that have another VLAN id than the status says, and
// whose VLAN no network has any more. A network that is only called otherwise is
// none of that.
func movedByName(s infra.Sources) []moved {
	now, used := map[string]int64{}, vxlansOf(s.Cluster.Spec.Networks)
	for _, n := range s.Cluster.Spec.Networks {
		now[n.Name] = int64(n.VXLAN)
	}
	var out []moved
	for _, was := range s.Status.Views("networks") {
		name, vxlan, id := was.String("name"), was.Int("vxlan"), was.String("vlanID")
		if to, named := now[name]; named && to != vxlan && !used[vxlan] && id != "" {
			out = append(out, moved{what: fmt.Sprintf("network %q", name), network: name, from: vxlan, to: to, id: id})
		}
	}
	return out
}

// movedByAddress are addresses that machines were sent for a VLAN that no network
// has any more, and that are in a network of another VLAN now, whatever its name
// is and whatever the status has forgotten.
func movedByAddress(c infra.Cluster, delivered map[string]map[string]string) []moved {
	used, had := vxlansOf(c.Spec.Networks), map[netip.Addr]int64{}
	for _, addresses := range delivered {
		for key, text := range addresses {
			vxlan, ours := plan.VLANOfAddressKey(key)
			address, err := netip.ParsePrefix(text)
			if ours && err == nil && !used[int64(vxlan)] {
				had[address.Addr()] = int64(vxlan)
			}
		}
	}
	var out []moved
	for _, address := range slices.SortedFunc(maps.Keys(had), netip.Addr.Compare) {
		vlan, exists := c.Observed[fmt.Sprintf("vlan-%d", had[address])]
		n, elsewhere := networkOf(c.Spec.Networks, address)
		if exists && elsewhere {
			out = append(out, moved{
				what: fmt.Sprintf("address %s, now of network %q,", address, n.Name), network: n.Name,
				from: had[address], to: int64(n.VXLAN), id: vlan.String("status", "atProvider", "id"),
			})
		}
	}
	return out
}

func vxlansOf(networks []spec.Network) map[int64]bool {
	out := map[int64]bool{}
	for _, n := range networks {
		out[int64(n.VXLAN)] = true
	}
	return out
}

// networkOf is the network whose blocks have an address.
func networkOf(networks []spec.Network, address netip.Addr) (spec.Network, bool) {
	for _, n := range networks {
		for _, text := range n.IPAddresses {
			if block, err := netip.ParsePrefix(text); err == nil && block.Contains(address) {
				return n, true
			}
		}
	}
	return spec.Network{}, false
}

// carrier is the name of a port that carries a VLAN or is to, or "".
func carrier(observed map[string]object.View, vlan string) string {
	if vlan == "" {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(observed)) {
		v := observed[key]
		if v.String("kind") != portKind {
			continue
		}
		on := slices.Concat(v.Strings("spec", "forProvider", "vlanIds"), v.Strings("status", "atProvider", "vlanIds"))
		if slices.Contains(on, vlan) {
			return v.String("metadata", "name")
		}
	}
	return ""
}

// deliveredOf are the addresses in the observed custom data requests.
func deliveredOf(observed map[string]object.View) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, v := range observed {
		machine := v.String("metadata", "labels", machineLabel)
		if v.String("kind") != requestKind || machine == "" {
			continue
		}
		if addresses := addressesIn(v.String("spec", "forProvider", "payload", "body")); len(addresses) > 0 {
			out[machine] = addresses
		}
	}
	return out
}

// addressesIn are the addresses in a custom data payload. What is no payload of
// ours holds none.
func addressesIn(payload string) map[string]string {
	var data map[string]map[string]string
	if err := json.Unmarshal([]byte(payload), &data); err != nil {
		return nil
	}
	return data[node.CustomDataKey]
}

// remember adds what earlier runs found out and wrote into the status: the ports
// of machines, and which networks came up and which did not. Where servers cannot
// be asked, a node that has joined since speaks against a failure.
func remember(machines []infra.Machine, s infra.Sources) {
	ports := recordedPorts(s)
	asks := tokenOf(s) != ""
	told := map[string]object.View{}
	for _, v := range s.Status.Views("machines") {
		told[v.String("name")] = v
	}
	for i, m := range machines {
		machines[i].Ports = ports[m.Name]
		v, known := told[m.Name]
		switch {
		case known && v.String("network") == verifiedWord:
			machines[i].Network = infra.NetworkVerified
		case known && v.String("network") == failedWord && (asks || !m.Joined):
			machines[i].Network, machines[i].Message = infra.NetworkFailed, v.String("message")
		}
	}
}

func recordedPorts(s infra.Sources) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, machine := range s.Status.Keys("ports") {
		ports := s.Status.At("ports", machine)
		for _, port := range ports.Keys() {
			if out[machine] == nil {
				out[machine] = map[string]string{}
			}
			out[machine][port] = ports.String(port)
		}
	}
	return out
}
