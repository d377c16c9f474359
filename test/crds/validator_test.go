package crds_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/test/crds"
)

// finding is what a case expects of one error: not its wording, which belongs
// to apimachinery and to the authors of the CRDs.
type finding struct {
	Type  field.ErrorType
	Field string
}

func load(t *testing.T) *crds.Validator {
	t.Helper()
	dirs, err := crds.Dirs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v, err := crds.Load(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func object(t *testing.T, document string) map[string]any {
	t.Helper()
	obj := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(document), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestValidate(t *testing.T) {
	v := load(t)
	cases := map[string]struct {
		reason string
		object string
		want   []finding
	}{
		"PacketCluster": {
			reason: "An object that names everything it must is taken; vipManager has a default.",
			object: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: PacketCluster
metadata: {name: edge, namespace: team-a}
spec: {projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11, metro: da}
`,
		},
		"UnknownField": {
			reason: "A field that the schema does not have would be dropped without a word.",
			object: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: PacketCluster
metadata: {name: edge, namespace: team-a}
spec: {projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11, metro: da, vxlan: 1000}
`,
			want: []finding{{field.ErrorTypeForbidden, "spec.vxlan"}},
		},
		"UnknownFieldInList": {
			reason: "The path of an unknown field leads through lists.",
			object: `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: edge, namespace: team-a}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: PacketCluster, name: edge}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: edge}
  availabilityGates: [{conditionType: Foo, weight: 3}]
`,
			want: []finding{{field.ErrorTypeForbidden, "spec.availabilityGates[0].weight"}},
		},
		"UnknownMetadata": {
			reason: "Metadata is as strict as the rest.",
			object: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: PacketCluster
metadata: {name: edge, namespace: team-a, label: {a: b}}
spec: {projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11, metro: da}
`,
			want: []finding{{field.ErrorTypeForbidden, "metadata.label"}},
		},
		"BadLabel": {
			reason: "A label value has a form.",
			object: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: PacketCluster
metadata: {name: edge, namespace: team-a, labels: {a: "b c"}}
spec: {projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11, metro: da}
`,
			want: []finding{{field.ErrorTypeInvalid, "metadata.labels"}},
		},
		"NoNamespace": {
			reason: "A namespaced kind needs a namespace.",
			object: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: PacketCluster
metadata: {name: edge}
spec: {projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11, metro: da}
`,
			want: []finding{{field.ErrorTypeRequired, "metadata.namespace"}},
		},
		"NamespaceOfClusterScoped": {
			reason: "A cluster-scoped kind has none.",
			object: `
apiVersion: protection.crossplane.io/v1beta1
kind: ClusterUsage
metadata: {name: edge, namespace: team-a}
spec: {reason: because, of: {apiVersion: v1, kind: Node, resourceRef: {name: a}}}
`,
			want: []finding{{field.ErrorTypeForbidden, "metadata.namespace"}},
		},
		"Missing": {
			reason: "A required field without default must be given.",
			object: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: PacketCluster
metadata: {name: edge, namespace: team-a}
spec: {metro: da}
`,
			want: []finding{{field.ErrorTypeRequired, "spec.projectID"}},
		},
		"WrongType": {
			reason: "Values have the schema's types.",
			object: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: PacketCluster
metadata: {name: edge, namespace: team-a}
spec: {projectID: 7, metro: da}
`,
			want: []finding{{field.ErrorTypeTypeInvalid, "spec.projectID"}},
		},
		"Rule": {
			reason: "CEL rules of the schema run: a usage of nothing by nobody needs a reason.",
			object: `
apiVersion: protection.crossplane.io/v1beta1
kind: ClusterUsage
metadata: {name: edge}
spec: {of: {apiVersion: v1, kind: Node, resourceRef: {name: a}}}
`,
			want: []finding{{field.ErrorTypeInvalid, "spec"}},
		},
		"DuplicateInList": {
			reason: "A list with keys has each key once, or server-side apply fails.",
			object: `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: edge, namespace: team-a}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: PacketCluster, name: edge}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: edge}
  availabilityGates: [{conditionType: Foo}, {conditionType: Foo}]
`,
			want: []finding{{field.ErrorTypeDuplicate, "spec.availabilityGates[1]"}},
		},
		"Request": {
			reason: "provider-http's kinds are known.",
			object: `
apiVersion: http.crossplane.io/v1alpha2
kind: Request
metadata: {name: edge}
spec:
  forProvider:
    payload: {baseUrl: http://example.org, body: "{}"}
    mappings: [{action: OBSERVE, url: .payload.baseUrl}]
`,
		},
		"UnknownKind": {
			reason: "What nobody serves cannot be valid.",
			object: `
apiVersion: cluster.x-k8s.io/v1beta9
kind: Cluster
metadata: {name: edge, namespace: team-a}
`,
			want: []finding{{field.ErrorTypeInvalid, "kind"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tc.object)
			before := object(t, tc.object)
			errs := v.Validate(t.Context(), obj)
			var got []finding
			for _, e := range errs {
				got = append(got, finding{e.Type, e.Field})
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nValidate: -want +got:\n%s\n%v", tc.reason, diff, errs.ToAggregate())
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("Validate changed the object: -before +after:\n%s", diff)
			}
		})
	}
}

func TestLoadNothing(t *testing.T) {
	if _, err := crds.Load(t.TempDir()); err == nil {
		t.Error("Load of an empty folder: want an error")
	}
}
