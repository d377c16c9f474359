package equinix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
)

// kind is how one kind of resource is handled.
type kind struct {
	// observe returns what goes to status.atProvider, or nil if there is none.
	observe func(ctx context.Context, r resource) (map[string]any, error)
	// create returns the UUID of what it created.
	create func(ctx context.Context, r resource) (string, error)
	// same tells whether what was observed is what is asked for.
	same   func(r resource, seen map[string]any) bool
	update func(ctx context.Context, r resource) error
	// remove tells whether it is gone.
	remove func(ctx context.Context, r resource) (bool, error)
}

var kinds = map[string]kind{
	"Vlan": simple("/virtual-networks/", "/virtual-networks", func(r resource) map[string]any {
		return map[string]any{"metro": r.text("metro"), "vxlan": r.value("vxlan"), "description": r.text("description")}
	}, map[string]string{"id": "id", "vxlan": "vxlan", "description": "description", "metro": "metro_code"}),
	"Vrf": simple("/vrfs/", "/vrfs", func(r resource) map[string]any {
		return map[string]any{
			"metro": r.text("metro"), "name": r.text("name"), "local_asn": r.value("localAsn"), "ip_ranges": r.value("ipRanges"),
		}
	}, map[string]string{"id": "id", "name": "name", "localAsn": "local_asn", "ipRanges": "ip_ranges"}),
	"ReservedIPBlock": simple("/ips/", "/ips", func(r resource) map[string]any {
		return map[string]any{
			"type": r.text("type"), "network": r.text("network"), "cidr": r.value("cidr"), "vrf_id": r.text("vrfId"), "metro": r.text("metro"),
		}
	}, map[string]string{"id": "id", "network": "network", "cidr": "cidr"}),
	"Gateway": simple("/metal-gateways/", "/metal-gateways", func(r resource) map[string]any {
		body := map[string]any{"virtual_network_id": r.text("vlanId")}
		if size := r.value("privateIpv4SubnetSize"); size != nil {
			body["private_ipv4_subnet_size"] = size
			return body
		}
		body["ip_reservation_id"] = r.text("ipReservationId")
		return body
	}, map[string]string{"id": "id", "state": "state"}),
	"Port": {observe: observePort, create: createPort, same: samePort, update: configure, remove: resetPort},
}

// simple is a kind that is created in a project and never changed.
func simple(path, collection string, body func(resource) map[string]any, fields map[string]string) kind {
	return kind{
		observe: func(ctx context.Context, r resource) (map[string]any, error) {
			got, err := r.api.do(ctx, http.MethodGet, path+r.external(), nil)
			if isStatus(err, http.StatusNotFound) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			out := map[string]any{}
			for name, field := range fields {
				if v := got[field]; v != nil {
					out[name] = v
				}
			}
			return out, nil
		},
		create: func(ctx context.Context, r resource) (string, error) {
			got, err := r.api.do(ctx, http.MethodPost, "/projects/"+r.text("projectId")+collection, body(r))
			if err != nil {
				return "", fmt.Errorf("async create failed: %w", err)
			}
			id, _ := got["id"].(string)
			return id, nil
		},
		remove: func(ctx context.Context, r resource) (bool, error) {
			_, err := r.api.do(ctx, http.MethodDelete, path+r.external(), nil)
			if err != nil && !isStatus(err, http.StatusNotFound) {
				return false, fmt.Errorf("async delete failed: %w", err)
			}
			_, err = r.api.do(ctx, http.MethodGet, path+r.external(), nil)
			return isStatus(err, http.StatusNotFound), nil
		},
	}
}

// references to other resources by name, and the field that their UUID goes to.
// What is resolved stays, unless the reference's policy asks for it anew each time.
var references = map[string]struct{ kind, field string }{
	"vlanIdRef": {"Vlan", "vlanId"}, "vrfIdRef": {"Vrf", "vrfId"}, "ipReservationIdRef": {"ReservedIPBlock", "ipReservationId"},
}

// resolve references: the other's external-name is taken for its UUID.
func (r resource) resolve(ctx context.Context) error {
	found := map[string]any{}
	for field, ref := range references {
		name := r.text(field, "name")
		if name == "" || r.text(ref.field) != "" && r.text(field, "policy", "resolve") != "Always" {
			continue
		}
		other, err := r.p.client.Get(ctx, stack.Ref{APIVersion: apiVersion, Kind: ref.kind, Name: name})
		if err != nil {
			return err
		}
		if other == nil || other.GetAnnotations()[externalName] == "" {
			return fmt.Errorf("cannot resolve references: %s %q is not there yet", ref.kind, name)
		}
		if id := other.GetAnnotations()[externalName]; id != r.text(ref.field) {
			found[ref.field] = id
			if err := unstructured.SetNestedField(r.Object.Object, id, "spec", "forProvider", ref.field); err != nil {
				return err
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return r.p.client.Patch(ctx, stack.RefOf(r.Object), map[string]any{"spec": map[string]any{"forProvider": found}})
}

// unchanged tells whether a status says what the object says already, times
// apart.
func (r resource) unchanged(status map[string]any) bool {
	was, _, _ := unstructured.NestedMap(r.Object.Object, "status")
	return status["atProvider"] != nil && reflect.DeepEqual(numbers(was["atProvider"]), numbers(status["atProvider"])) && sameConditions(was, status) ||
		status["atProvider"] == nil && sameConditions(was, status)
}

func sameConditions(a, b map[string]any) bool {
	words := func(status map[string]any) []string {
		var out []string
		list, _ := status["conditions"].([]any)
		for _, raw := range list {
			c, _ := raw.(map[string]any)
			out = append(out, fmt.Sprint(c["type"], c["status"], c["reason"], c["message"]))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(words(a), words(b))
}

// numbers makes all numbers of a JSON value floats.
func numbers(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = numbers(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = numbers(e)
		}
		return out
	}
	return v
}

var errNoPort = errors.New("a port cannot be created")

// createPort only looks whether the port is there: a port belongs to its
// server.
func createPort(ctx context.Context, r resource) (string, error) {
	got, err := r.api.do(ctx, http.MethodGet, "/ports/"+r.text("portId"), nil)
	if err != nil {
		return "", errors.Join(errNoPort, err)
	}
	id, _ := got["id"].(string)
	return id, configure(ctx, r)
}
