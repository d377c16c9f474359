package equinix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// packetMachines is the name of the requirement for the cluster's servers.
const packetMachines = "packet-machines"

// Labels that machines carry.
const (
	clusterLabel      = "cluster.x-k8s.io/cluster-name"
	controlPlaneLabel = "cluster.x-k8s.io/control-plane"
)

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
// unknown; the only error is a claim that cannot be right.
func (Platform) Facts(ctx context.Context, s infra.Sources) (infra.Facts, error) {
	if err := errors.Join(projectStays(s.Cluster), vlansStay(s)); err != nil {
		return infra.Facts{}, err
	}
	servers, machines := s.Required[packetMachines], s.Required[infra.CAPIMachines]
	out := infra.Facts{
		MachinesKnown: servers.Fetched && machines.Fetched,
		Machines:      machinesOf(servers.Items, machines.Items),
		Delivered:     deliveredOf(s.Cluster.Observed),
	}
	var warnings []string
	out.VLANs, warnings = vlansOf(s.Cluster)
	out.Warnings = append(out.Warnings, warnings...)
	remember(out.Machines, s)
	out.Warnings = append(out.Warnings, lookUp(ctx, s, out.Machines)...)
	for i, m := range out.Machines {
		// A machine whose network script fails never gets to join.
		if m.Joined && (m.Network == infra.NetworkUnknown || m.Network == infra.NetworkStarted) {
			out.Machines[i].Network = infra.NetworkVerified
		}
	}
	return out, nil
}

// machinesOf joins what the infrastructure provider and Cluster API know. A
// machine exists as long as either has it.
func machinesOf(servers, machines []object.View) []infra.Machine {
	byName := map[string]infra.Machine{}
	for _, v := range machines {
		m := infra.Machine{Name: v.String("metadata", "name")}
		m.Joined = v.String("status", "nodeRef", "name") != ""
		byName[m.Name] = withView(m, v)
	}
	for _, v := range servers {
		name := machineOf(v)
		m := byName[name]
		m.Name = name
		byName[name] = withView(m, v)
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

// withView adds what a Machine or PacketMachine says of the machine.
func withView(m infra.Machine, v object.View) infra.Machine {
	m.Deleting = m.Deleting || v.Has("metadata", "deletionTimestamp")
	if m.Device == "" {
		m.Device = deviceOf(v.String("spec", "providerID"))
	}
	if m.Pool == "" {
		m.Pool = v.String("metadata", "labels", keep.PoolLabel)
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
// that the claim says, or servers would tag frames for another.
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
		if id == "" || id == m.seed(c) {
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

// vlansStay refuses another VLAN id for a network whose VLAN is on the ports of
// machines: Vlan objects have no network's name, so the old one would go, and
// every machine would be off its network at once. A network that is only called
// otherwise is none of that.
func vlansStay(s infra.Sources) error {
	vxlans, used := map[string]int64{}, map[int64]bool{}
	for _, n := range s.Cluster.Spec.Networks {
		vxlans[n.Name], used[int64(n.VXLAN)] = int64(n.VXLAN), true
	}
	for _, was := range s.Status.Views("networks") {
		name, vxlan, id := was.String("name"), was.Int("vxlan"), was.String("vlanID")
		now, named := vxlans[name]
		if !named || now == vxlan || used[vxlan] || id == "" {
			continue
		}
		if port := carrier(s.Cluster.Observed, id); port != "" {
			return fmt.Errorf("cannot change the VLAN of network %q from %d to %d: port %q carries it, and its machine would be off the network at once; "+
				"put %d back and add a network of another name with VLAN %d, which replaces the machines, and take this one out when they are", name, vxlan, now, port, vxlan, now)
		}
	}
	return nil
}

// carrier is the name of a port that carries a VLAN or is to, or "".
func carrier(observed map[string]object.View, vlan string) string {
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
// of machines, and which networks came up and which did not. A node that has
// joined since speaks against a failure.
func remember(machines []infra.Machine, s infra.Sources) {
	ports := recordedPorts(s)
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
		case known && v.String("network") == failedWord && !m.Joined:
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
