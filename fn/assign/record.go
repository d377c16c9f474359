package assign

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// allocations is the field of a composite's status that has the record.
const allocations = "allocations"

// readRecord reads those pools of a composite's record that somebody wants. Its
// errors begin with the path of the broken field.
func readRecord(status object.View, wanted func(key string) bool) (ipam.Record, error) {
	pools := status.Object(allocations)
	if pools == nil && status.Has(allocations) {
		return nil, fmt.Errorf("status.%s is not an object", allocations)
	}
	maps.DeleteFunc(pools, func(key string, _ any) bool { return !wanted(key) })
	b, err := json.Marshal(pools)
	if err != nil {
		return nil, fmt.Errorf("status.%s: %w", allocations, err)
	}
	record, err := ipam.Decode(b)
	if err != nil {
		return nil, fmt.Errorf("status.%s%w", allocations, err)
	}
	return record, nil
}

// vlans are VLAN ids.
type vlans map[int]bool

// shared are the VLANs on which the cluster must know what others use: those on
// which its machines are given addresses.
func (in Input) shared() vlans {
	out := vlans{}
	for _, n := range in.Plan.Networks {
		if n.Assignment == plan.AssignStatic || n.Assignment == plan.AssignPool {
			out[n.VLAN] = true
		}
	}
	return out
}

// concerns says whether a pool of a record is, or may be, of one of the VLANs.
func (v vlans) concerns(key string) bool {
	vlan, _, ok := parsePoolKey(key)
	return !ok || v[vlan]
}

// touchedBy says whether a composite whose record cannot be read has, or may
// have, addresses on one of the VLANs. Its record says so by the key of a pool,
// or else its spec. Where neither can be read, it may.
func (v vlans) touchedBy(composite object.View) bool {
	for _, key := range composite.Keys("status", allocations) {
		if vlan, _, ok := parsePoolKey(key); ok && v[vlan] {
			return true
		}
	}
	if !composite.Has("spec", "networks") {
		return false
	}
	list, isList := composite.Any("spec", "networks").([]any)
	networks := composite.Views("spec", "networks")
	if !isList || len(networks) != len(list) {
		return true
	}
	for _, n := range networks {
		if id := int(n.Int("vxlan")); id == 0 || v[id] {
			return true
		}
	}
	return false
}
