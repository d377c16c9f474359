package equinix

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// networkObjects are the VLANs, VRFs, reservations and gateways of a cluster,
// and the usages that order their deletion.
func networkObjects(c infra.Cluster) ([]object.Object, error) {
	vrfs := map[string]spec.VRF{}
	var out []object.Object
	for _, v := range c.Spec.VRFs {
		vrfs[v.Name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(vrfs)) {
		if err := errors.Join(staysAdopted(c, vrfKey(name), vrfs[name].VRFID), staysTheSame(c, vrfKey(name), vrfs[name].VRFID)); err != nil {
			return nil, fmt.Errorf("cannot compose VRF %q: %w", name, err)
		}
		out = append(out, vrf(c, vrfs[name]).compose(c))
	}
	for _, n := range byVLAN(c.Spec.Networks) {
		if err := errors.Join(staysAdopted(c, vlanKey(n.VXLAN), n.VLANID), staysTheSame(c, vlanKey(n.VXLAN), n.VLANID)); err != nil {
			return nil, fmt.Errorf("cannot compose network %q: %w", n.Name, err)
		}
		out = append(out, vlan(c, n).compose(c))
		gateway, err := gatewayObjects(c, n, vrfs)
		if err != nil {
			return nil, fmt.Errorf("cannot compose the gateway of network %q: %w", n.Name, err)
		}
		out = append(out, gateway...)
	}
	return out, nil
}

// byVLAN sorts networks by what they are: a network's name is only a word for
// its VLAN.
func byVLAN(networks []spec.Network) []spec.Network {
	return slices.SortedFunc(slices.Values(networks), func(a, b spec.Network) int {
		return int(a.VXLAN) - int(b.VXLAN)
	})
}

// staysAdopted refuses to take over what the cluster was only allowed to look
// at: it would change and in the end delete what it did not create.
func staysAdopted(c infra.Cluster, key, adopts string) error {
	seen, exists := c.Observed[key]
	if !exists || adopts != "" {
		return nil
	}
	policies := seen.Strings("spec", "managementPolicies")
	if len(policies) != 1 || policies[0] != "Observe" {
		return nil
	}
	return fmt.Errorf("its ID %q was taken out of the claim, but the cluster did not create it and will not own it: "+
		"put the ID back, or remove the whole entry first", seen.String("metadata", "annotations", externalName))
}

// staysTheSame refuses another ID for what something else already uses: ports and
// gateways of running servers would all move to it at once.
func staysTheSame(c infra.Cluster, key, adopts string) error {
	seen, exists := c.Observed[key]
	if !exists || adopts == "" {
		return nil
	}
	id := seen.String("status", "atProvider", "id")
	user := cmp.Or(carrier(c.Observed, id), dependent(c.Observed, id))
	if id == adopts || user == "" {
		return nil
	}
	return fmt.Errorf("its ID cannot become %q while %q uses %q: put that ID back, or leave it out where the cluster created it; "+
		"another VLAN or VRF takes an entry of its own", adopts, user, id)
}

// dependent is the name of a reservation or gateway with the ID of a VRF or VLAN,
// or "".
func dependent(observed map[string]object.View, id string) string {
	for _, key := range slices.Sorted(maps.Keys(observed)) {
		at := observed[key].At("status", "atProvider")
		if id != "" && (at.String("vrfId") == id || at.String("vlanId") == id) {
			return observed[key].String("metadata", "name")
		}
	}
	return ""
}

const vlanKind = "Vlan"

func vlanKey(vxlan int32) string { return "vlan-" + strconv.Itoa(int(vxlan)) }

func vlanName(c infra.Cluster, vxlan int32) string {
	return object.Name(object.LabelLimit, c.Name, vlanKey(vxlan))
}

func vlan(c infra.Cluster, n spec.Network) managed {
	parameters := map[string]any{
		"projectId": c.Spec.ProjectID,
		"metro":     c.Spec.Metro,
		"vxlan":     int64(n.VXLAN),
	}
	if n.Description != "" && n.VLANID == "" {
		parameters["description"] = n.Description
	}
	return managed{
		key: vlanKey(n.VXLAN), kind: vlanKind, part: object.PartNetworks, name: vlanName(c, n.VXLAN),
		parameters: parameters, adopts: n.VLANID,
	}
}

func vrfKey(name string) string { return "vrf-" + name }

func vrfName(c infra.Cluster, name string) string {
	return object.Name(object.LabelLimit, c.Name, vrfKey(name))
}

func vrf(c infra.Cluster, v spec.VRF) managed {
	m := managed{
		key: vrfKey(v.Name), kind: "Vrf", part: object.PartNetworks, name: vrfName(c, v.Name), adopts: v.VRFID,
		parameters: map[string]any{"projectId": c.Spec.ProjectID, "metro": c.Spec.Metro},
	}
	if v.VRFID != "" {
		return m
	}
	m.parameters["name"] = object.Name(object.LabelLimit, c.Name, v.Name)
	m.parameters["localAsn"] = v.LocalASN
	m.parameters["ipRanges"] = set(v.IPRanges)
	if v.Description != "" {
		m.parameters["description"] = v.Description
	}
	return m
}

// gatewayObjects are the gateway of a network, its reservation if it is in a
// VRF, and the usages between them.
func gatewayObjects(c infra.Cluster, n spec.Network, vrfs map[string]spec.VRF) ([]object.Object, error) {
	if n.MetalGateway == nil {
		return nil, nil
	}
	if n.MetalGateway.VRF == "" {
		m := gateway(c, n, map[string]any{"privateIpv4SubnetSize": int64(n.MetalGateway.PrivateSubnetSize)})
		return []object.Object{m.compose(c), usage(c, vlan(c, n), m)}, nil
	}
	r, err := reservation(c, n, vrfs[n.MetalGateway.VRF])
	if err != nil {
		return nil, err
	}
	m := gateway(c, n, map[string]any{"ipReservationIdRef": reference(r.name)})
	out := []object.Object{r.compose(c), m.compose(c), usage(c, vlan(c, n), m), usage(c, r, m)}
	if v := vrf(c, vrfs[n.MetalGateway.VRF]); v.adopts == "" {
		out = append(out, usage(c, v, r))
	}
	return out, nil
}

// reference to another managed resource by name. It is resolved again and again
// because the provider takes the other's external-name for its UUID, and that
// one is replaced once the other exists; by default the first would stay.
func reference(name string) map[string]any {
	out := named(name)
	out["policy"] = map[string]any{"resolve": "Always"}
	return out
}

// reservation of a network's IPv4 block in a VRF. The block and the VRF of a
// reservation cannot be changed, so they are in its key and name.
func reservation(c infra.Cluster, n spec.Network, v spec.VRF) (managed, error) {
	block, err := ipv4Block(n)
	if err != nil {
		return managed{}, err
	}
	parameters := map[string]any{
		"projectId": c.Spec.ProjectID,
		"metro":     c.Spec.Metro,
		"type":      "vrf",
		"network":   block.Addr().String(),
		"cidr":      int64(block.Bits()),
	}
	if v.VRFID != "" {
		parameters["vrfId"] = v.VRFID
	} else {
		parameters["vrfIdRef"] = reference(vrfName(c, v.Name))
	}
	key := keyWith("reservation", n.VXLAN, block.String(), v.Name, v.VRFID)
	return managed{
		key: key, kind: "ReservedIPBlock", part: object.PartNetworks,
		name:       object.Name(object.LabelLimit, c.Name, key),
		parameters: parameters,
	}, nil
}

func ipv4Block(n spec.Network) (netip.Prefix, error) {
	for _, text := range n.IPAddresses {
		block, err := netip.ParsePrefix(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		if block.Addr().Is4() {
			return block.Masked(), nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("the network has no IPv4 block to reserve in VRF %q", n.MetalGateway.VRF)
}

// gateway on a network's VLAN. What it routes for cannot be changed, so it is
// in its key and name.
func gateway(c infra.Cluster, n spec.Network, block map[string]any) managed {
	identity := strconv.Itoa(int(n.MetalGateway.PrivateSubnetSize))
	if ref, ok := block["ipReservationIdRef"].(map[string]any); ok {
		identity, _ = ref["name"].(string)
	}
	parameters := map[string]any{
		"projectId": c.Spec.ProjectID,
		"vlanIdRef": reference(vlanName(c, n.VXLAN)),
	}
	maps.Copy(parameters, block)
	key := keyWith("gateway", n.VXLAN, identity)
	return managed{
		key: key, kind: "Gateway", part: object.PartNetworks,
		name:       object.Name(object.LabelLimit, c.Name, key),
		parameters: parameters,
	}
}

// keyWith is a key for something on a VLAN that is replaced, not changed.
func keyWith(what string, vxlan int32, identity ...string) string {
	return fmt.Sprintf("%s-%d-%s", what, vxlan, object.Hash(strings.Join(identity, "/")))
}
