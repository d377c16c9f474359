package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// machineLabel on a port names the machine that has it.
const machineLabel = "l2cluster.io/machine"

// detached is a VLAN that an edit takes from ports of servers that run.
type detached struct {
	// vlan is its UUID.
	vlan string
	// pool of the servers.
	pool string
	when When
}

// detachments are sentences about the VLANs that the edit takes from ports of
// servers that run, one for each VLAN and pool. What a port would lose without the
// edit as well is not among them.
func detachments(in Input) []string {
	pools := poolsOfMachines(in.Now.Before.Status)
	machines := map[detached]map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(in.Observed)) {
		port := in.Observed[key]
		if text(port, "kind") != "Port" {
			continue
		}
		machine := text(port, "metadata", "labels", machineLabel)
		for vlan := range carried(port) {
			when := taken(in, key, vlan)
			if when == "" {
				continue
			}
			d := detached{vlan: vlan, pool: pools[machine], when: when}
			if machines[d] == nil {
				machines[d] = map[string]bool{}
			}
			machines[d][machine] = true
		}
	}
	out := []string{}
	names := namesOfVLANs(in)
	for _, d := range slices.SortedFunc(maps.Keys(machines), func(a, b detached) int {
		return cmp.Or(cmp.Compare(names[a.vlan], names[b.vlan]), cmp.Compare(a.vlan, b.vlan),
			cmp.Compare(a.pool, b.pool), -cmp.Compare(a.when, b.when))
	}) {
		out = append(out, d.sentence(cmp.Or(names[d.vlan], "VLAN "+d.vlan), int64(len(machines[d]))))
	}
	return out
}

// taken says when the edit takes a VLAN from an observed port; "" when it does not.
func taken(in Input, key, vlan string) When {
	for _, step := range []struct {
		edit Edit
		when When
	}{{in.Now, Now}, {in.Then, Later}} {
		before, after := step.edit.Before.Objects, step.edit.After.Objects
		if len(after) > 0 && carried(before[key])[vlan] && !carried(after[key])[vlan] {
			return step.when
		}
	}
	return ""
}

// carried are the UUIDs of the VLANs that a port is to carry.
func carried(port map[string]any) map[string]bool {
	out := map[string]bool{}
	fields, _ := port["spec"].(map[string]any)
	fields, _ = fields["forProvider"].(map[string]any)
	list, _ := fields["vlanIds"].([]any)
	for _, id := range list {
		if id, ok := id.(string); ok {
			out[id] = true
		}
	}
	return out
}

// namesOfVLANs are what people call the VLANs, by UUID.
func namesOfVLANs(in Input) map[string]string {
	out := map[string]string{}
	for _, o := range in.Observed {
		vxlan, known := number(o, "spec", "forProvider", "vxlan")
		if id := text(o, "status", "atProvider", "id"); known && id != "" && text(o, "kind") == "Vlan" {
			out[id] = fmt.Sprintf("VLAN %d", vxlan)
		}
	}
	networks, _ := in.Now.Before.Status["networks"].([]any)
	for _, n := range networks {
		network, _ := n.(map[string]any)
		if vxlan, known := number(network, "vxlan"); known {
			out[text(network, "vlanID")] = fmt.Sprintf("VLAN %d (network %q)", vxlan, text(network, "name"))
		}
	}
	return out
}

func (d detached) sentence(vlan string, servers int64) string {
	of := fmt.Sprintf("pool %q", d.pool)
	if d.pool == plan.ControlPlanePool {
		of = "the control plane"
	}
	later := ""
	if d.when == Later {
		later = " later"
	}
	return fmt.Sprintf("%s is detached%s from ports of %s of %s while they run", vlan, later, plural(servers, "server"), of)
}
