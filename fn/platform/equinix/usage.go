package equinix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
)

// usageAPI is the version of Crossplane's protection against deletion:
// https://docs.crossplane.io/latest/managed-resources/usages/.
const usageAPI = "protection.crossplane.io/v1beta1"

const usageKind = "ClusterUsage"

// usage keeps a resource from being deleted before another one that uses it.
// Functions are not called when a claim is deleted, so the order must be on
// record before.
func usage(c infra.Cluster, of, by managed) object.Object {
	key := object.Name(object.LabelLimit, "usage", of.key, "by", by.key)
	name := object.Name(object.LabelLimit, c.Name, key)
	o := object.Object{Key: key, Part: object.PartNetworks, Body: body(usageAPI, usageKind, named(name), map[string]any{
		"of":             usageEnd(of),
		"by":             usageEnd(by),
		"reason":         fmt.Sprintf("%s %s uses it; Equinix Metal refuses to delete it before", by.kind, by.name),
		"replayDeletion": true,
	})}
	seen, exists := c.Observed[key]
	o.Ready, o.Why = managedReadiness(usageKind, name, seen, exists)
	return o
}

func usageEnd(m managed) map[string]any {
	return map[string]any{
		"apiVersion":  metalAPI,
		"kind":        m.kind,
		"resourceRef": named(m.name),
	}
}

// kept are the observed objects that are not composed anew and stay: those that
// were asked for, and those that something observed still uses. What uses
// another one goes first, and only when that is observed the other follows.
func kept(observed map[string]object.View, composed []object.Object, asked []string) []string {
	anew := make(map[string]bool, len(composed))
	for _, o := range composed {
		anew[o.Key] = true
	}
	stays := make(map[string]bool, len(asked))
	for _, key := range asked {
		stays[key] = true
	}
	used := usedBy(observed)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(observed)) {
		if v := observed[key]; !anew[key] && (stays[key] || inUse(v, used)) {
			out = append(out, key)
		}
	}
	return out
}

// uses is what observed objects use: names by kind, and UUIDs of VLANs. An
// object that exists counts as a use of itself under its kind and name, which
// is what a usage on behalf of it waits for.
type uses struct {
	names map[string]bool
	vlans map[string]bool
	exist map[string]bool
}

func usedBy(observed map[string]object.View) uses {
	u := uses{names: map[string]bool{}, vlans: map[string]bool{}, exist: map[string]bool{}}
	for _, v := range observed {
		if v.String("apiVersion") != metalAPI {
			continue
		}
		u.exist[v.String("kind")+"/"+v.String("metadata", "name")] = true
		for kind, field := range map[string]string{
			"Vlan": "vlanIdRef", "ReservedIPBlock": "ipReservationIdRef", "Vrf": "vrfIdRef",
		} {
			if name := v.String("spec", "forProvider", field, "name"); name != "" {
				u.names[kind+"/"+name] = true
			}
		}
		if v.String("kind") == "Port" {
			u.addVLANs(v)
		}
	}
	return u
}

// addVLANs counts what a port should carry and what it carries: it may be on
// its way from one to the other.
func (u uses) addVLANs(port object.View) {
	for _, part := range [][]string{{"spec", "forProvider", "vlanIds"}, {"status", "atProvider", "vlanIds"}} {
		for _, id := range port.Strings(part...) {
			u.vlans[id] = true
		}
	}
}

func inUse(v object.View, u uses) bool {
	switch v.String("apiVersion") {
	case usageAPI:
		return u.exist[v.String("spec", "by", "kind")+"/"+v.String("spec", "by", "resourceRef", "name")]
	case metalAPI:
		id := v.String("metadata", "annotations", externalName)
		return u.names[v.String("kind")+"/"+v.String("metadata", "name")] || id != "" && u.vlans[id]
	default:
		return false
	}
}
