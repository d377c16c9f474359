package assign

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"go4.org/netipx"

	"github.com/l2cluster/function-l2cluster/fn/ipam"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// other is another composite with VLANs in our scope.
type other struct {
	name   string
	older  bool
	view   object.View
	record ipam.Record
}

// readOthers reads the composites that share project and metro with ours, and
// says of which of them the record of our VLANs cannot be read.
func readOthers(in Input) (others []other, unreadable []string) {
	ours := in.shared()
	for _, v := range in.Others.Items {
		if v.String("metadata", "uid") == in.Self.UID ||
			v.String("spec", "projectID") != in.Scope.Project || v.String("spec", "metro") != in.Scope.Metro {
			continue
		}
		o := other{name: knownAs(v), older: older(v, in.Self), view: v}
		var err error
		if o.record, err = readRecord(v.At("status"), ours.concerns); err == nil {
			others = append(others, o)
			continue
		}
		if ours.touchedBy(v) {
			unreadable = append(unreadable, fmt.Sprintf("%s: %v", o.name, err))
		}
	}
	return others, unreadable
}

// knownAs is what users know a composite by.
func knownAs(v object.View) string {
	if name := v.String("spec", "claimRef", "name"); name != "" {
		return v.String("spec", "claimRef", "namespace") + "/" + name
	}
	return v.String("metadata", "name")
}

// older orders composites by creation and then by UID, so that any two of them
// agree on who goes first without talking to each other.
func older(v object.View, self Self) bool {
	created, err := time.Parse(time.RFC3339, v.String("metadata", "creationTimestamp"))
	if err != nil {
		created = time.Time{}
	}
	return cmp.Or(created.Compare(self.Created), cmp.Compare(v.String("metadata", "uid"), self.UID)) < 0
}

// foreign is what the other composites have to do with one subnet of a VLAN.
func foreign(vlan int, subnet netip.Prefix, others []other) []ipam.Foreign {
	var out []ipam.Foreign
	for _, o := range others {
		f := ipam.Foreign{Claim: o.name, Older: o.older, Ranges: o.ranges(vlan, subnet), Record: o.held(vlan, subnet)}
		if f.Ranges == nil && len(f.Record.Held) == 0 && len(f.Record.Released) == 0 {
			continue
		}
		out = append(out, f)
	}
	return out
}

// held is the other's record of everything on the VLAN that meets the subnet.
func (o other) held(vlan int, subnet netip.Prefix) ipam.PoolRecord {
	out := ipam.PoolRecord{Held: map[string]netip.Prefix{}}
	for key, r := range o.record {
		id, prefix, ok := parsePoolKey(key)
		if !ok || id != vlan || !prefix.Overlaps(subnet) {
			continue
		}
		maps.Copy(out.Held, r.Held)
		out.Pending = append(out.Pending, r.Pending...)
		out.Released = append(out.Released, r.Released...)
	}
	return out
}

// parsePoolKey reads VLAN id and subnet back from the key of a pool.
func parsePoolKey(key string) (vlan int, subnet netip.Prefix, ok bool) {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) != 4 {
		return 0, netip.Prefix{}, false
	}
	vlan, err := strconv.Atoi(parts[2])
	if err != nil {
		return 0, netip.Prefix{}, false
	}
	subnet, err = netip.ParsePrefix(parts[3])
	return vlan, subnet, err == nil
}

// routers are the addresses that the other says routers on the VLAN have. In a
// VRF, the Metal Gateway takes the first address of the block.
func (o other) routers(vlan int) []netip.Addr {
	var out []netip.Addr
	add := func(text string) {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	for _, n := range o.view.Views("spec", "networks") {
		if n.Int("vxlan") != int64(vlan) {
			continue
		}
		add(n.String("gateway"))
		add(n.String("gatewayIPv6"))
		for _, r := range n.Views("routes") {
			add(r.String("gateway"))
		}
		if n.String("metalGateway", "vrf") == "" {
			continue
		}
		for _, text := range n.Strings("ipAddresses") {
			if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is4() {
				out = append(out, p.Masked().Addr().Next())
			}
		}
	}
	return out
}

// ranges are the addresses that the other may give out on the VLAN, or nil. A
// part of its claim that cannot be parsed gives out nothing: its own run fails
// on it. What the other excludes says nothing about anybody else: two claims may
// share a subnet by excluding each other's half of it.
func (o other) ranges(vlan int, subnet netip.Prefix) *netipx.IPSet {
	var b netipx.IPSetBuilder
	some := false
	for _, n := range o.view.Views("spec", "networks") {
		if n.Int("vxlan") != int64(vlan) || !givesOut(n.String("assignment")) {
			continue
		}
		for _, r := range o.rangesOf(n, subnet) {
			b.AddRange(r)
			some = true
		}
	}
	set, err := b.IPSet()
	if !some || err != nil {
		return nil
	}
	return set
}

func givesOut(assignment string) bool {
	return assignment == "" || assignment == string(spec.AssignClusterAPI)
}

// rangesOf are the ranges of a network that meet the subnet: those that it
// states, the whole of a block without any, and those of its ports.
func (o other) rangesOf(n object.View, subnet netip.Prefix) []netipx.IPRange {
	stated := n.Strings("assignmentRanges")
	texts := slices.Concat(stated, wholeBlocks(n.Strings("ipAddresses"), stated), o.portRanges(n.String("name")))
	whole := netipx.RangeOfPrefix(subnet)
	var out []netipx.IPRange
	for _, text := range texts {
		r, err := ipam.ParseRange(text)
		if err == nil && r.Overlaps(whole) {
			out = append(out, r)
		}
	}
	return out
}

// wholeBlocks are the blocks in which no range is stated: a machine may get any
// address of them. A range that cannot be parsed could lie in each.
func wholeBlocks(blocks, stated []string) []string {
	return slices.DeleteFunc(blocks, func(block string) bool {
		prefix, err := netip.ParsePrefix(block)
		return err != nil || slices.ContainsFunc(stated, func(text string) bool {
			r, err := ipam.ParseRange(text)
			return err != nil || prefix.Contains(r.From())
		})
	})
}

func (o other) portRanges(network string) []string {
	pools := append(o.view.Views("spec", "workers"), o.view.At("spec", "controlPlane"))
	var out []string
	for _, p := range pools {
		for _, port := range p.Views("ports") {
			for _, n := range port.Views("networks") {
				if n.String("name") == network && n.String("assignmentRange") != "" {
					out = append(out, n.String("assignmentRange"))
				}
			}
		}
	}
	return out
}
