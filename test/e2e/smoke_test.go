package e2e

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
)

// A claim as it lies in example/ becomes a cluster, says so when it is true and
// not before, and leaves nothing behind when it is deleted.
func TestSmoke(t *testing.T) {
	c := example(t, "")
	c.apply()
	c.becomesReady(5)
	c.hasKubeconfig()
	c.sound()
	c.ends()
	if left := here.Cloud.Snapshot(); len(left.VLANs) > 0 || len(left.Devices) > 0 {
		t.Errorf("left in the cloud: %d VLANs, %d servers", len(left.VLANs), len(left.Devices))
	}
}

// hasKubeconfig checks that the claim's connection secret holds the kubeconfig
// that Cluster API made.
func (c *claim) hasKubeconfig() {
	c.t.Helper()
	c.wait("kubeconfig", func() error {
		o, err := here.Client.Get(c.t.Context(), stack.Ref{APIVersion: "v1", Kind: "Secret", Namespace: c.body.GetNamespace(), Name: c.body.GetName() + "-kubeconfig"})
		if err != nil || o == nil {
			return stack.NotYet("there is no connection secret: %v", err)
		}
		data, err := stack.SecretData(o)
		if err != nil {
			return err
		}
		if len(data["kubeconfig"]) == 0 {
			return stack.NotYet("the connection secret has no kubeconfig")
		}
		return nil
	})
}
