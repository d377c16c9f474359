package node_test

import (
	"encoding/base64"
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

// fileLimit is what Cluster API accepts of one file as it travels, in
// characters:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/api/bootstrap/kubeadm/v1beta2/kubeadmconfig_types.go.
const fileLimit = 10240

// TestScriptFitsCAPILimit keeps the script below the limit. When it grows above, it must
// become several files: each back end a module of its own that only its own
// machines get, and the comparison with the kernel's state another.
func TestScriptFitsCAPILimit(t *testing.T) {
	s := node.Script()
	if n := base64.StdEncoding.EncodedLen(len(s.Gzip)); n > fileLimit {
		t.Errorf("file %s has %d characters as it travels, and Cluster API refuses more than %d: "+
			"split it into several files (modules under /usr/local/lib/l2cluster, back ends only where they are used)", s.Path, n, fileLimit)
	}
}
