package metal_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// TestRefusals breaks two rules: the log has both, and nothing that was allowed,
// was not found, or failed on demand.
func TestRefusals(t *testing.T) {
	w := newWorld(t, metal.Options{})
	v := w.vlan("da", 1000)
	s := w.serverOf(w.create("node", "c3.small.x86", "da"))
	if err := assign("bond0", "1000")(s); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.VLANsApi.DeleteVirtualNetwork(w.ctx, v.GetId()).Execute(); err == nil {
		t.Error("a VLAN in use was deleted")
	}
	if _, err := w.client.VLANsApi.DeleteVirtualNetwork(w.ctx, "1b7a4c5e-0000-4000-8000-000000000000").Execute(); err == nil {
		t.Error("a VLAN that does not exist was deleted")
	}
	end := w.cloud.Inject(metal.Fault{Method: http.MethodDelete, Status: http.StatusUnprocessableEntity})
	if _, err := w.client.VLANsApi.DeleteVirtualNetwork(w.ctx, v.GetId()).Execute(); err == nil {
		t.Error("the fault does not happen")
	}
	end()
	if err := assign("eth0", "1000")(s); err == nil {
		t.Error("a VLAN was attached to a member of a bond")
	}
	got := w.cloud.Refusals(0)
	for i := range got {
		got[i].Messages = nil
	}
	want := []metal.Refusal{
		{At: epoch, Method: http.MethodDelete, Path: "/virtual-networks/" + v.GetId()},
		{At: epoch, Method: http.MethodPost, Path: "/ports/" + s.ports["eth0"] + "/assign"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Cannot delete Virtual Network when port is assigned"}, w.cloud.Refusals(0)[0].Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got := w.cloud.Refusals(1); len(got) != 1 {
		t.Errorf("after the first there are %d", len(got))
	}
}
