package equinix

import (
	"strings"
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

// What comes from servers and from other programs is read without a panic, and
// what is not ours is not taken for ours.
func FuzzForeignTexts(f *testing.F) {
	f.Add(`{"l2cluster": {"vlan1000.ipv4": "10.60.10.2/24"}}`, "user.1002", node.Failed().Message+": why", "equinixmetal://"+device1)
	f.Add(`{"l2cluster": null}`, "user.1001", node.Succeeded().Message+"!", "equinixmetal://")
	f.Add(`[]`, "provisioning.104", "", "aws:///i-1")
	f.Fuzz(func(t *testing.T, payload, kind, body, providerID string) {
		for key := range addressesIn(payload) {
			if !strings.Contains(payload, node.CustomDataKey) && !strings.Contains(payload, `\u`) {
				t.Errorf("found the address of %q in %q", key, payload)
			}
		}
		if r, ours := reportOf(kind, body); ours && (r.state == infra.NetworkUnknown || !strings.HasPrefix(body, "network_configuration_")) {
			t.Errorf("took %q, %q for a report", kind, body)
		}
		if id := deviceOf(providerID); id != "" && providerID != "equinixmetal://"+id {
			t.Errorf("found server %q in %q", id, providerID)
		}
	})
}
