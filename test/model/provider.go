package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

// tickVLAN is one step of the provider for a Vlan. It works in the background:
// what it has done is written down a step later.
func (w *World) tickVLAN(o *composed) {
	metro, vxlan := text(o.body, "spec", "forProvider", "metro"), number(o.body, "spec", "forProvider", "vxlan")
	v := w.cloud.vlans[o.external]
	observeOnly := slices.Equal(texts(o.body, "spec", "managementPolicies"), []string{"Observe"})
	switch {
	case !o.deleted.IsZero() && (v == nil || observeOnly):
		w.forget(o)
	case !o.deleted.IsZero() && w.cloud.carried(v.id):
		w.note("VLAN in use not deleted")
		w.setStatus(o, withConditions(o, condition("LastAsyncOperation", false, "422: the VLAN is in use"), condition("Ready", false, "")))
	case !o.deleted.IsZero():
		delete(w.cloud.vlans, v.id)
		w.forget(o)
	case v != nil:
		w.setStatus(o, fields{
			"atProvider": fields{"id": v.id, "vxlan": v.vxlan}, "conditions": []fields{condition("Ready", true, "")},
		})
	case observeOnly:
		w.setStatus(o, fields{"conditions": []fields{condition("Synced", false, "404: not found")}})
	case o.outside != "":
		o.external, o.outside, o.view = o.outside, "", nil
		w.setStatus(o, fields{
			"atProvider": fields{"id": o.external, "vxlan": vxlan}, "conditions": []fields{condition("Ready", false, "creating")},
		})
	case w.cloud.findVLAN(metro, vxlan) != nil:
		w.setStatus(o, withConditions(o, condition("LastAsyncOperation", false, "422: the VLAN exists"), condition("Ready", false, "")))
	default:
		o.outside = w.cloud.newVLAN(metro, vxlan).id
	}
}

// withConditions is an object's status with other conditions.
func withConditions(o *composed, conditions ...fields) fields {
	out := fields{"conditions": conditions}
	if p := object(o.status, "atProvider"); p != nil {
		out["atProvider"] = p
	}
	return out
}

// tickPort is one step of the provider for a Port.
func (w *World) tickPort(o *composed) {
	p := w.cloud.ports[text(o.body, "spec", "forProvider", "portId")]
	switch {
	case p == nil && !o.deleted.IsZero():
		w.forget(o)
	case p == nil:
		w.setStatus(o, withConditions(o, condition("Synced", false, "404: not found"), condition("Ready", false, "")))
	case !o.deleted.IsZero():
		// resetOnDelete: the port is as on a new server.
		p.vlans, p.native, p.bonded, p.layer2 = nil, "", true, false
		w.forget(o)
	case o.outside == "":
		if why := w.cloud.configure(p, o); why != "" {
			w.setStatus(o, withConditions(o, condition("LastAsyncOperation", false, why), condition("Ready", true, "")))
			return
		}
		o.outside = "done"
	default:
		o.outside = ""
		w.setStatus(o, fields{
			"atProvider": fields{
				"bonded": p.bonded, "layer2": p.layer2, "vlanIds": slices.Sorted(slices.Values(p.vlans)),
				"nativeVlanId": p.native, "name": p.name,
			},
			"conditions": []fields{condition("Ready", true, "")},
		})
	}
}

// configure a port as asked, or say why the platform refuses to.
func (c *cloud) configure(p *cloudPort, o *composed) string {
	asked := object(o.body, "spec", "forProvider")
	vlans, bonded := texts(asked, "vlanIds"), at(asked, "bonded").GetBoolValue()
	for _, id := range vlans {
		if c.vlans[id] == nil {
			return "404: no VLAN " + id
		}
		for _, other := range p.server.ports {
			if other != p && slices.Contains(other.vlans, id) {
				return "422: " + other.name + " has VLAN " + id
			}
		}
	}
	if bonded && !p.bonded && len(p.vlans) > 0 {
		return "422: the port has VLANs"
	}
	if p.bonded == bonded && slices.Equal(p.vlans, vlans) {
		return ""
	}
	p.vlans, p.bonded, p.layer2 = vlans, bonded, at(asked, "layer2").GetBoolValue()
	p.native = text(asked, "nativeVlanId")
	c.w.changed()
	return ""
}

// tickRequest is one step of provider-http for a Request. The first call only
// looks; the second one writes.
func (w *World) tickRequest(o *composed) {
	if !o.deleted.IsZero() {
		w.forget(o)
		return
	}
	url := text(o.body, "spec", "forProvider", "payload", "baseUrl")
	s := w.cloud.server(url[strings.LastIndex(url, "/")+1:])
	if s == nil {
		w.setStatus(o, fields{"conditions": []fields{condition("Synced", false, "404: not found"), condition("Ready", false, "")}})
		return
	}
	if o.status == nil {
		w.setStatus(o, fields{"conditions": []fields{condition("Synced", true, ""), condition("Ready", false, "")}})
		return
	}
	w.cloud.deliver(s, payloadOf(o.body))
	w.setStatus(o, fields{
		"response":   fields{"statusCode": 200, "body": text(o.body, "spec", "forProvider", "payload", "body")},
		"conditions": []fields{condition("Synced", true, ""), condition("Ready", true, "")},
	})
}

// payloadOf are the addresses in a Request.
func payloadOf(body *structpb.Struct) map[string]string {
	var out map[string]map[string]string
	if err := json.Unmarshal([]byte(text(body, "spec", "forProvider", "payload", "body")), &out); err != nil {
		return nil
	}
	return out["l2cluster"]
}

// addressPools are the pools of an outside IPAM provider by name.
type addressPools map[string]*addressPool

// addressPool gives out an address again only when it has cooled down: that is
// the pool's own business, and a good one does.
type addressPool struct {
	next    int
	objects map[string]*structpb.Struct // by the name of the claim
	hosts   map[string]int              // likewise
	freed   []freed                     // oldest first
}

type freed struct {
	host int
	at   time.Time
}

// take the next host, or 0 when there is none now.
func (p *addressPool) take(now time.Time) int {
	if p.next <= lastHostIPv4 {
		p.next++
		return p.next - 1
	}
	if len(p.freed) == 0 || now.Before(p.freed[0].at.Add(2*CoolDown)) {
		return 0
	}
	host := p.freed[0].host
	p.freed = p.freed[1:]
	return host
}

// tickAddressClaim is one step of the IPAM provider.
func (w *World) tickAddressClaim(o *composed) {
	name := text(o.body, "spec", "poolRef", "name")
	p := w.pools[name]
	if p == nil {
		p = &addressPool{next: 1, objects: map[string]*structpb.Struct{}, hosts: map[string]int{}}
		w.pools[name] = p
	}
	if !o.deleted.IsZero() {
		if host := p.hosts[o.name]; host > 0 {
			p.freed = append(p.freed, freed{host: host, at: w.now})
		}
		delete(p.objects, o.name)
		delete(p.hosts, o.name)
		w.forget(o)
		return
	}
	if p.objects[o.name] == nil {
		var vxlan int
		if _, err := fmt.Sscanf(name, "pool-%d", &vxlan); err != nil {
			return
		}
		host := p.take(w.now)
		if host == 0 {
			return
		}
		p.hosts[o.name] = host
		p.objects[o.name] = structOf(fields{
			"apiVersion": ipamAPI, "kind": "IPAddress",
			"metadata": fields{"name": o.name, "namespace": o.namespace},
			"spec": fields{
				"address": bare(vxlan, host, false), "prefix": 28, "claimRef": fields{"name": o.name}, "poolRef": fields{"name": name},
			},
		})
		w.changed()
	}
	w.setStatus(o, fields{"addressRef": fields{"name": o.name}})
}

// bound are the addresses that pools gave, in the order of their claims.
func (p addressPools) bound() []*structpb.Struct {
	var out []*structpb.Struct
	for _, name := range slices.Sorted(maps.Keys(p)) {
		for _, claim := range slices.Sorted(maps.Keys(p[name].objects)) {
			out = append(out, p[name].objects[claim])
		}
	}
	return out
}
