package e2e

import (
	"bytes"
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
	// The control plane's elastic address stays, as the claim says it will.
	left := here.Cloud.Snapshot()
	if len(left.VLANs) > 0 || len(left.Devices) > 0 || len(left.Reservations) != 1 {
		t.Errorf("left in the cloud: %d VLANs, %d servers, %d reservations", len(left.VLANs), len(left.Devices), len(left.Reservations))
	}
}

// hasKubeconfig checks that the claim's connection secret holds the kubeconfig
// that Cluster API made.
func (c *claim) hasKubeconfig() {
	c.t.Helper()
	made, err := here.Client.Get(c.t.Context(), stack.Ref{APIVersion: "v1", Kind: "Secret", Namespace: c.body.GetNamespace(), Name: c.cluster() + "-kubeconfig"})
	if err != nil || made == nil {
		c.t.Fatalf("Cluster API made no kubeconfig: %v", err)
	}
	want, err := stack.SecretData(made)
	if err != nil {
		c.t.Fatal(err)
	}
	c.wait("kubeconfig", func() error {
		o, err := here.Client.Get(c.t.Context(), stack.Ref{APIVersion: "v1", Kind: "Secret", Namespace: c.body.GetNamespace(), Name: c.body.GetName() + "-kubeconfig"})
		if err != nil || o == nil {
			return stack.NotYet("there is no connection secret: %v", err)
		}
		data, err := stack.SecretData(o)
		if err != nil {
			return err
		}
		if len(want["value"]) == 0 || !bytes.Equal(data["kubeconfig"], want["value"]) {
			return stack.NotYet("the connection secret has not the kubeconfig that Cluster API made")
		}
		return nil
	})
}
