package crds_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
	"sigs.k8s.io/yaml"
)

// TestCustomDataBody runs what a Request writes as provider-http does, by the same
// library: other people's custom data stay, and an answer that is no success never
// becomes custom data.
func TestCustomDataBody(t *testing.T) {
	body := updateBody(t)
	query, err := gojq.Parse(body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	ours := map[string]any{"l2cluster": map[string]any{"vlan1000.ipv4": "10.60.10.2/24"}}
	with := func(others map[string]any) map[string]any {
		for k, v := range ours {
			others[k] = v
		}
		return map[string]any{"customdata": others}
	}
	cases := map[string]struct {
		reason   string
		response map[string]any
		want     any
	}{
		"Others":  {"What others wrote stays.", map[string]any{"statusCode": 200, "body": map[string]any{"rack": "7"}}, with(map[string]any{"rack": "7"})},
		"Old":     {"Ours is replaced.", map[string]any{"statusCode": 200, "body": map[string]any{"l2cluster": map[string]any{"vlan1000.ipv4": "10.60.10.9/24"}}}, with(map[string]any{})},
		"Empty":   {"A new server has none.", map[string]any{"statusCode": 200, "body": nil}, with(map[string]any{})},
		"Outage":  {"An error is no custom data.", map[string]any{"statusCode": 503, "body": map[string]any{"errors": []any{"Service Unavailable"}}}, nil},
		"Limited": {"Nor is a refusal.", map[string]any{"statusCode": 429, "body": map[string]any{"error": "slow down"}}, nil},
		"Nothing": {"Without an answer nobody knows what others wrote.", map[string]any{}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := query.Run(map[string]any{"response": tc.response, "payload": map[string]any{"body": ours}}).Next()
			if err, failed := got.(error); failed || !ok {
				if tc.want != nil || err == nil || !strings.Contains(err.Error(), "the custom data could not be read") {
					t.Errorf("%s got %v", tc.reason, got)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// updateBody is what the Requests of an example write.
func updateBody(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../example/story/rendered-all-ready.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var o struct {
			Kind string `json:"kind"`
			Spec struct {
				ForProvider struct {
					Mappings []struct {
						Action string `json:"action"`
						Body   string `json:"body"`
					} `json:"mappings"`
				} `json:"forProvider"`
			} `json:"spec"`
		}
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &o); err != nil || o.Kind != "Request" {
			continue
		}
		for _, m := range o.Spec.ForProvider.Mappings {
			if m.Action == "UPDATE" {
				return m.Body
			}
		}
	}
	t.Fatal("no Request in the example writes anything")
	return ""
}
