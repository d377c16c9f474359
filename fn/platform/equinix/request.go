package equinix

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

// httpAPI is the version of provider-http's cluster-scoped kinds. Its requests
// can name any Secret, so claim users must not be able to make one:
// https://github.com/crossplane-contrib/provider-http.
const httpAPI = "http.crossplane.io/v1alpha2"

const requestKind = "Request"

// Questions and answers of a custom data request, in provider-http's jq.
const (
	customDataURL = `.payload.baseUrl + "/customdata"`
	serverURL     = `.payload.baseUrl`
	// customDataBody keeps what others wrote into the custom data. An answer that is
	// no success says nothing of them, and provider-http would write its body back
	// as if it did; an error ends the update, and the next good answer mends it.
	customDataBody = `if (.response.statusCode // 0) >= 200 and (.response.statusCode // 0) < 300 ` +
		`then {customdata: ((.response.body // {}) + .payload.body)} ` +
		`else error("the custom data could not be read") end`
	customDataCheck = `.response.body.` + node.CustomDataKey + ` == .payload.body.` + node.CustomDataKey
)

// requests deliver addresses to the servers that exist. What was delivered stays
// as it is while nothing is known about it.
func requests(c infra.Cluster, f infra.Facts, d infra.Delivery) ([]object.Object, []string, error) {
	var out []object.Object
	var stay []string
	r := newRecipe(c)
	for _, m := range f.Machines {
		key := object.CustomDataKey(m.Name)
		_, exists := c.Observed[key]
		switch {
		case m.Device != "" && len(d[m.Name]) > 0:
			o, err := r.request(c, m, d[m.Name])
			if err != nil {
				return nil, nil, fmt.Errorf("cannot deliver the addresses of machine %q: %w", m.Name, err)
			}
			out = append(out, o)
		case exists:
			stay = append(stay, key)
		}
	}
	return out, stay, nil
}

// recipe is what all requests have in common. They share it, so nobody may
// change it.
type recipe struct {
	policies []any
	headers  map[string]any
	mappings []any
	check    map[string]any
	devices  string
}

func newRecipe(c infra.Cluster) recipe {
	secret := c.Input.Equinix.TokenSecret
	token := fmt.Sprintf("{{ %s:%s:%s }}", secret.Name, secret.Namespace, secret.Key)
	write := mapping("UPDATE", "PUT", serverURL)
	write["body"] = customDataBody
	return recipe{
		// The custom data go with the server, so there is nothing to delete.
		policies: []any{"Observe", "Create", "Update"},
		headers:  map[string]any{"X-Auth-Token": []any{token}},
		mappings: []any{
			mapping("OBSERVE", "GET", customDataURL),
			// The first call comes before anything was observed, so it only
			// looks.
			mapping("CREATE", "GET", customDataURL),
			write,
		},
		check:   map[string]any{"type": "CUSTOM", "logic": customDataCheck},
		devices: strings.TrimRight(c.Input.Equinix.APIURL, "/") + "/devices/",
	}
}

// request writes a machine's addresses into the custom data of its server and
// keeps them there. It reads nothing but the custom data: the server itself
// holds the root password, which the status would keep.
func (r recipe) request(c infra.Cluster, m infra.Machine, addresses map[string]string) (object.Object, error) {
	payload, err := json.Marshal(map[string]map[string]string{node.CustomDataKey: addresses})
	if err != nil {
		return object.Object{}, err
	}
	name := object.Name(object.LabelLimit, m.Name, "custom-data")
	metadata := named(name)
	metadata["labels"] = map[string]any{machineLabel: m.Name}
	o := object.Object{Key: object.CustomDataKey(m.Name), Part: object.PartDelivery, Body: body(httpAPI, requestKind, metadata, map[string]any{
		"managementPolicies": r.policies,
		"providerConfigRef":  named(c.Input.Equinix.HTTPProviderConfig),
		"forProvider": map[string]any{
			"headers":               r.headers,
			"payload":               map[string]any{"baseUrl": r.devices + m.Device, "body": string(payload)},
			"mappings":              r.mappings,
			"expectedResponseCheck": r.check,
		},
	})}
	seen, exists := c.Observed[o.Key]
	o.Ready, o.Why = managedReadiness(requestKind, name, seen, exists)
	return o, nil
}

func mapping(action, method, url string) map[string]any {
	return map[string]any{"action": action, "method": method, "url": url}
}
