package function_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/l2cluster/function-l2cluster/fn/render"
)

// crowded is the base claim with that many networks, with four routes each, on
// the machines of one pool.
func crowded(t *testing.T, networks int, pool func(spec object) object) object {
	t.Helper()
	claim := parse(t, base)
	list := specOf(claim)["networks"].([]any)
	var on []any
	for i := range networks {
		name := fmt.Sprintf("net-%d", i)
		var routes []any
		for r := range 4 {
			routes = append(routes, object{"destination": fmt.Sprintf("172.%d.%d.0/24", 16+r, i), "gateway": fmt.Sprintf("10.70.%d.1", i)})
		}
		list = append(list, object{"name": name, "vxlan": 2000 + i, "ipAddresses": []any{fmt.Sprintf("10.70.%d.0/24", i)}, "routes": routes})
		on = append(on, object{"name": name})
	}
	specOf(claim)["networks"] = list
	specOf(claim)["clusterNetwork"] = object{"services": object{"cidrBlocks": []any{"192.169.0.0/16"}}}
	pool(specOf(claim))["ports"] = []any{object{"name": "bond0", "networks": on}}
	return claim
}

// TestUserDataBudget says that a pool whose machines would get too much user data
// is refused before anything is created.
func TestUserDataBudget(t *testing.T) {
	worker := func(spec object) object { return spec["workers"].([]any)[0].(object) }
	controlPlane := func(spec object) object { return spec["controlPlane"].(object) }
	cases := map[string]struct {
		reason string
		claim  object
		input  object
		want   []string
		not    string
	}{
		"Worker": {
			reason: "The claim must ask for less.", claim: crowded(t, 60, worker),
			want: []string{"L2Cluster team-a/demo is invalid: spec.workers[0]: ", `the user data of pool "a" takes `, "the budget is 16384", "fewer networks or routes"},
			not:  "AddOn",
		},
		"ControlPlane": {
			reason: "The cloud controller can take another way.", claim: crowded(t, 60, controlPlane),
			want: []string{"spec.controlPlane: ", `the user data of pool "control-plane" takes `, "the budget is 16384", "fewer networks or routes", "equinix.cloudController.delivery: AddOn"},
		},
		"AddOn": {
			reason: "Where it has taken it, that is no remedy.", claim: crowded(t, 60, controlPlane),
			input: object{"equinix": object{"cloudController": object{"delivery": "AddOn"}}},
			want:  []string{"spec.controlPlane: ", "fewer networks or routes"}, not: "AddOn",
		},
		"NoController": {
			reason: "Without a cloud controller neither.", claim: crowded(t, 60, func(spec object) object {
				spec["vipManager"] = "KUBE_VIP"
				return controlPlane(spec)
			}),
			input: object{"equinix": object{"cloudController": object{"kind": "None"}}},
			want:  []string{"spec.controlPlane: ", "fewer networks or routes"}, not: "AddOn",
		},
		"Enough": {reason: "Eight networks are no problem.", claim: crowded(t, 8, controlPlane)},
		"Custom": {
			reason: "What the platform team adds is its own affair.", claim: parse(t, base),
			input: object{"bootstrap": object{"files": []any{
				object{"path": "/opt/a", "content": strings.Repeat("a", 7000)}, object{"path": "/opt/b", "content": strings.Repeat("b", 7000)},
			}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out := run(t, render.Input{Composite: tc.claim, Composition: composition(tc.input)})
			got := fatal(out.Response)
			if (got != "") != (len(tc.want) > 0) {
				t.Fatalf("%s\ngot the fatal result %q, want one: %t", tc.reason, got, len(tc.want) > 0)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\nwant %q in %q", tc.reason, want, got)
				}
			}
			if tc.not != "" && strings.Contains(got, tc.not) {
				t.Errorf("%s\nwant no %q in %q", tc.reason, tc.not, got)
			}
			if len(tc.want) == 0 {
				return
			}
			if n := len(out.Response.GetDesired().GetResources()); n > 0 {
				t.Errorf("%s\n%d objects would be created", tc.reason, n)
			}
			if c := conditionOf(out.Response, "InputValid"); c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE {
				t.Errorf("%s\nInputValid: got %v, want false", tc.reason, c)
			}
		})
	}
}
