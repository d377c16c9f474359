package capi_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/capi"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

func TestFixed(t *testing.T) {
	const seen = `
metadata: {name: edge-1a2b3c, namespace: team-a}
spec: {clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [172.26.0.0/16]}, serviceDomain: cluster.local}}
`
	right := spec.ClusterNetwork{
		Pods: spec.CIDRBlocks{CIDRBlocks: []string{"192.168.0.0/16"}}, Services: spec.CIDRBlocks{CIDRBlocks: []string{"172.26.0.0/16"}},
		ServiceDomain: "cluster.local",
	}
	with := func(change func(*spec.ClusterNetwork)) spec.ClusterNetwork {
		n := right
		change(&n)
		return n
	}
	cases := map[string]struct {
		reason    string
		namespace string
		network   spec.ClusterNetwork
		isNew     bool
		want      string
	}{
		"Same":      {reason: "nothing changes", namespace: "team-a", network: right},
		"New":       {reason: "nothing exists", namespace: "team-b", network: spec.ClusterNetwork{}, isNew: true},
		"Namespace": {reason: "a cluster cannot move", namespace: "team-b", network: right, want: "spec.namespace: Invalid value: \"team-b\": the cluster is team-a/edge-1a2b3c"},
		"Pods": {
			reason: "nodes have their blocks", namespace: "team-a", network: with(func(n *spec.ClusterNetwork) { n.Pods.CIDRBlocks = []string{"10.0.0.0/16"} }),
			want: "spec.clusterNetwork.pods.cidrBlocks: Invalid value: \"10.0.0.0/16\": was 192.168.0.0/16 when the cluster was made",
		},
		"Services": {
			reason: "services have their addresses", namespace: "team-a", network: with(func(n *spec.ClusterNetwork) { n.Services.CIDRBlocks = nil }),
			want: "spec.clusterNetwork.services.cidrBlocks",
		},
		"Domain": {
			reason: "certificates name it", namespace: "team-a", network: with(func(n *spec.ClusterNetwork) { n.ServiceDomain = "" }),
			want: "spec.clusterNetwork.serviceDomain: Invalid value: \"\": was cluster.local when the cluster was made",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := map[string]object.View{}
			if !tc.isNew {
				observed["cluster"] = viewOf(t, seen)
			}
			got, text := capi.Fixed("edge-1a2b3c", tc.namespace, tc.network, observed).ToAggregate(), ""
			if got != nil {
				text = got.Error()
			}
			if (tc.want == "") != (text == "") || !strings.Contains(text, tc.want) {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, text)
			}
		})
	}
}

func viewOf(t *testing.T, text string) object.View {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return xr.ViewOf(s)
}
