package capi

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

var update = flag.Bool("update", false, "write the golden files")

// small is a cluster of three control plane machines and two workers.
func small() Cluster {
	replicas := int32(2)
	s := &spec.Spec{
		KubernetesVersion: "v1.34.2",
		ControlPlane:      spec.ControlPlane{Replicas: 3, Machines: spec.Machines{MachineType: "c3.small.x86", OS: "ubuntu_22_04"}},
		Workers:           []spec.WorkerPool{{Name: "general", Replicas: &replicas, Machines: spec.Machines{MachineType: "c3.small.x86", OS: "ubuntu_22_04"}}},
	}
	spec.Default(s)
	in := &v1beta1.Input{}
	v1beta1.Default(in)
	return Cluster{
		Name: "edge", Namespace: "team-a", Spec: s, Input: in,
		Plan: plan.Plan{Pools: []plan.Pool{
			{Name: plan.ControlPlanePool, Role: plan.ControlPlane, OS: "ubuntu_22_04", Replicas: 3, Surge: 1},
			{Name: "general", Role: plan.Worker, OS: "ubuntu_22_04", Replicas: 2, Surge: 1},
		}},
		Infrastructure: object.Reference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "PacketCluster", Name: "edge"},
		Machines: map[string]object.Reference{
			plan.ControlPlanePool: machineTemplate("edge-control-plane-11111111"),
			"general":             machineTemplate("edge-general-22222222"),
		},
		Bootstrap: map[string]bootstrap.Bootstrap{
			plan.ControlPlanePool: {
				Files: []osnet.File{
					{Path: "/etc/plain", Permissions: "0644", Content: "plain {{ .text }}\n"},
					{Path: "/usr/local/sbin/packed", Permissions: "0755", Content: "#!/bin/sh\n", Gzip: []byte("packed")},
					{Path: "/etc/live", Permissions: "0600", Content: "{{ .controlPlaneEndpoint }}\n", Live: true},
				},
				PreKubeadm:  []string{"network || exit 1", "node || exit 1"},
				PostKubeadm: []string{"after"},
				KubeletArgs: []bootstrap.Arg{
					{Name: "provider-id", Value: "equinixmetal://{{ `{{ v1.instance_id }}` }}"},
					{Name: "cloud-provider", Value: "external"},
				},
				ControllerManagerArgs: []bootstrap.Arg{{Name: "cloud-provider", Value: "external"}},
				IgnorePreflight:       []string{"DirAvailable--etc-kubernetes-manifests"},
			},
			"general": {
				Files:      []osnet.File{{Path: "/etc/plain", Permissions: "0644", Content: "plain\n"}},
				PreKubeadm: []string{"network || exit 1", "node || exit 1"},
				KubeletArgs: []bootstrap.Arg{
					{Name: "provider-id", Value: "equinixmetal://{{ `{{ v1.instance_id }}` }}"},
					{Name: "cloud-provider", Value: "external"},
				},
			},
		},
	}
}

func machineTemplate(name string) object.Reference {
	return object.Reference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "PacketMachineTemplate", Name: name}
}

func compose(t *testing.T, c Cluster) map[string]object.Object {
	t.Helper()
	return composeIn(t, c, nil)
}

// composeIn composes a cluster of which something is observed.
func composeIn(t *testing.T, c Cluster, observed map[string]object.View) map[string]object.Object {
	t.Helper()
	objects, err := Compose(c)
	if err != nil {
		t.Fatalf("Compose: %v", err)
	}
	out := make(map[string]object.Object, len(objects))
	for _, o := range objects.Observe(observed) {
		if _, twice := out[o.Key]; twice {
			t.Errorf("two objects have the key %q", o.Key)
		}
		out[o.Key] = o
	}
	return out
}

// at is the value at a path in an object's body.
func at(body map[string]any, path ...string) any {
	var v any = body
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// templateKey is the key of the bootstrap template of pool general.
func templateKey(t *testing.T, objects map[string]object.Object) string {
	t.Helper()
	for key := range objects {
		if strings.HasPrefix(key, "pool-general-bootstrap-") {
			return key
		}
	}
	t.Fatal("pool general has no bootstrap template")
	return ""
}

func TestComposeGolden(t *testing.T) {
	objects, err := Compose(small())
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, o := range objects.Observe(nil) {
		body, err := yaml.Marshal(o.Body)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "---\n# key: %s\n# waits for: %s\n%s", o.Key, o.Why, body)
	}
	golden := filepath.Join("testdata", "small.yaml")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("objects of a small cluster: -want, +got (run with -update to accept):\n%s", diff)
	}
}

func TestCompose(t *testing.T) {
	three := int32(3)
	zero := int32(0)
	cases := map[string]struct {
		reason string
		change func(*Cluster)
		key    string // "bootstrap" is the template of pool general
		path   []string
		want   any
	}{
		"Replicas": {
			reason: "A pool's replicas are a number.",
			change: func(c *Cluster) { c.Spec.Workers[0].Replicas = &three },
			key:    "pool-general", path: []string{"spec", "replicas"}, want: int64(3),
		},
		"NoReplicas": {
			reason: "An empty pool is said to be empty.",
			change: func(c *Cluster) { c.Spec.Workers[0].Replicas = &zero },
			key:    "pool-general", path: []string{"spec", "replicas"}, want: int64(0),
		},
		"AutoscaledReplicas": {
			reason: "The autoscaler owns the number of machines.",
			change: autoscale,
			key:    "pool-general", path: []string{"spec", "replicas"}, want: nil,
		},
		"AutoscaledBounds": {
			reason: "The autoscaler reads its bounds from annotations.",
			change: autoscale,
			key:    "pool-general", path: []string{"metadata", "annotations"}, want: map[string]any{
				"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "0",
				"cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "10",
			},
		},
		"WorkerRollout": {
			reason: "The claim's rollout is Cluster API's.",
			change: func(c *Cluster) {
				c.Spec.Workers[0].Rollout = &spec.WorkerRollout{MaxSurge: &zero, MaxUnavailable: &three}
			},
			key: "pool-general", path: []string{"spec", "rollout"}, want: map[string]any{"strategy": map[string]any{
				"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(3)},
			}},
		},
		"ControlPlaneRollout": {
			reason: "The control plane can be replaced without a spare machine.",
			change: func(c *Cluster) { c.Spec.ControlPlane.Rollout = &spec.ControlPlaneRollout{MaxSurge: &zero} },
			key:    "control-plane", path: []string{"spec", "rollout"}, want: map[string]any{"strategy": map[string]any{
				"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0)},
			}},
		},
		"SyncedLabels": {
			reason: "Cluster API carries labels of these domains from machine to node; the kubelet must not set them.",
			change: func(c *Cluster) { c.Spec.Workers[0].Labels = nodeLabels() },
			key:    "pool-general", path: []string{"spec", "template", "metadata", "labels"}, want: map[string]any{
				"cluster.x-k8s.io/cluster-name": "edge", "cluster.x-k8s.io/deployment-name": "edge-general", "l2cluster.io/pool": "general",
				"node-role.kubernetes.io/storage": "", "node-restriction.kubernetes.io/zone": "a", "acme.node-restriction.kubernetes.io/zone": "b",
				"node.cluster.x-k8s.io/rack": "7", "acme.node.cluster.x-k8s.io/rack": "8",
			},
		},
		"RegisteredLabels": {
			reason: "The kubelet registers the other labels, sorted.",
			change: func(c *Cluster) { c.Spec.Workers[0].Labels = nodeLabels() },
			key:    "bootstrap", path: []string{"spec", "template", "spec", "joinConfiguration", "nodeRegistration", "kubeletExtraArgs"}, want: []any{
				map[string]any{"name": "cloud-provider", "value": "external"},
				map[string]any{"name": "node-labels", "value": "acme.example/disk=ssd,cluster.x-k8s.io/x=y,tier=,xnode.cluster.x-k8s.io/a=b"},
				map[string]any{"name": "provider-id", "value": "equinixmetal://{{ `{{ v1.instance_id }}` }}"},
			},
		},
		"ControlPlaneLabels": {
			reason: "Control plane nodes have labels too.",
			change: func(c *Cluster) {
				c.Spec.ControlPlane.Labels = map[string]string{"node-role.kubernetes.io/infra": "", "tier": "0"}
			},
			key: "control-plane", path: []string{"spec", "machineTemplate", "metadata", "labels"}, want: map[string]any{
				"cluster.x-k8s.io/cluster-name": "edge", "l2cluster.io/pool": "control-plane", "node-role.kubernetes.io/infra": "",
			},
		},
		"WorkerTaints": {
			reason: "Taints are a set: sorted, each key and effect once.",
			change: func(c *Cluster) {
				c.Spec.Workers[0].Taints = []spec.Taint{
					{Key: "b", Effect: "NoSchedule"}, {Key: "a", Value: "1", Effect: "NoSchedule"},
					{Key: "a", Effect: "NoExecute"}, {Key: "a", Value: "1", Effect: "NoSchedule"},
				}
			},
			key: "bootstrap", path: []string{"spec", "template", "spec", "joinConfiguration", "nodeRegistration", "taints"}, want: []any{
				map[string]any{"key": "a", "effect": "NoExecute"},
				map[string]any{"key": "a", "value": "1", "effect": "NoSchedule"},
				map[string]any{"key": "b", "effect": "NoSchedule"},
			},
		},
		"ControlPlaneTaintsInit": {
			reason: "Taints of the claim do not take away the one that keeps workloads off the control plane.",
			change: func(c *Cluster) { c.Spec.ControlPlane.Taints = []spec.Taint{{Key: "etcd", Effect: "NoExecute"}} },
			key:    "control-plane", path: []string{"spec", "kubeadmConfigSpec", "initConfiguration", "nodeRegistration", "taints"}, want: controlPlaneTaintList(),
		},
		"ControlPlaneTaintsJoin": {
			reason: "Machines that join the control plane are no different.",
			change: func(c *Cluster) { c.Spec.ControlPlane.Taints = []spec.Taint{{Key: "etcd", Effect: "NoExecute"}} },
			key:    "control-plane", path: []string{"spec", "kubeadmConfigSpec", "joinConfiguration", "nodeRegistration", "taints"}, want: controlPlaneTaintList(),
		},
		"WorkerNodeIP": {
			reason: "The node script finds each machine's own address; the template holds none.",
			change: func(c *Cluster) { c.Plan.Pools[1].Links = []plan.Link{{Network: "a"}, {Network: "b", NodeIP: true}} },
			key:    "bootstrap", path: []string{"spec", "template", "spec", "joinConfiguration"}, want: map[string]any{"nodeRegistration": map[string]any{"kubeletExtraArgs": []any{
				map[string]any{"name": "cloud-provider", "value": "external"},
				map[string]any{"name": "node-ip", "value": "L2CLUSTER_ALL_NODE_IPS"},
				map[string]any{"name": "provider-id", "value": "equinixmetal://{{ `{{ v1.instance_id }}` }}"},
			}}},
		},
		"ControlPlaneNodeIPInit": {
			reason: "API server and etcd of the first machine follow the node's address.",
			change: func(c *Cluster) { c.Plan.Pools[0].Links = []plan.Link{{Network: "a", NodeIP: true}} },
			key:    "control-plane", path: []string{"spec", "kubeadmConfigSpec", "initConfiguration", "localAPIEndpoint"},
			want: map[string]any{"advertiseAddress": "L2CLUSTER_NODE_IP", "bindPort": int64(6443)},
		},
		"ControlPlaneNodeIPJoin": {
			reason: "API server and etcd of the others do too.",
			change: func(c *Cluster) { c.Plan.Pools[0].Links = []plan.Link{{Network: "a", NodeIP: true}} },
			key:    "control-plane", path: []string{"spec", "kubeadmConfigSpec", "joinConfiguration", "controlPlane"},
			want: map[string]any{"localAPIEndpoint": map[string]any{"advertiseAddress": "L2CLUSTER_NODE_IP", "bindPort": int64(6443)}},
		},
		"NoNodeIP": {
			reason: "Without nodeIP kubeadm finds the address itself.",
			change: func(c *Cluster) { c.Plan.Pools[0].Links = []plan.Link{{Network: "a"}} },
			key:    "control-plane", path: []string{"spec", "kubeadmConfigSpec", "initConfiguration", "localAPIEndpoint"}, want: nil,
		},
		"ServiceDomain": {
			reason: "The service domain is the cluster's.",
			change: func(c *Cluster) { c.Spec.ClusterNetwork.ServiceDomain = "edge.example" },
			key:    "cluster", path: []string{"spec", "clusterNetwork", "serviceDomain"}, want: "edge.example",
		},
		"NoControllerManagerArguments": {
			reason: "The cluster configuration never disappears: Cluster API would refuse the update.",
			change: func(c *Cluster) {
				b := c.Bootstrap[plan.ControlPlanePool]
				b.ControllerManagerArgs = nil
				c.Bootstrap[plan.ControlPlanePool] = b
			},
			key: "control-plane", path: []string{"spec", "kubeadmConfigSpec", "clusterConfiguration"}, want: map[string]any{"certificatesDir": "/etc/kubernetes/pki"},
		},
		"WorkerHealthCheck": {
			reason: "A pool's health check looks at that pool's machines alone.",
			change: func(c *Cluster) {
				c.Spec.Workers[0].HealthCheck = &spec.HealthCheck{NodeStartupTimeoutSeconds: 1800, UnhealthyTimeoutSeconds: 300, MaxUnhealthy: "40%"}
			},
			key: "health-check-general", path: []string{"spec"}, want: map[string]any{
				"clusterName": "edge",
				"selector":    map[string]any{"matchLabels": map[string]any{"cluster.x-k8s.io/cluster-name": "edge", "l2cluster.io/pool": "general"}},
				"checks": map[string]any{
					"nodeStartupTimeoutSeconds": int64(1800),
					"unhealthyNodeConditions": []any{
						map[string]any{"type": "Ready", "status": "False", "timeoutSeconds": int64(300)},
						map[string]any{"type": "Ready", "status": "Unknown", "timeoutSeconds": int64(300)},
					},
				},
				"remediation": map[string]any{"triggerIf": map[string]any{"unhealthyLessThanOrEqualTo": "40%"}},
			},
		},
		"ControlPlaneHealthCheck": {
			reason: "A number of machines stays a number.",
			change: func(c *Cluster) {
				c.Spec.ControlPlane.HealthCheck = &spec.HealthCheck{NodeStartupTimeoutSeconds: 1, UnhealthyTimeoutSeconds: 2, MaxUnhealthy: "1"}
			},
			key: "health-check-control-plane", path: []string{"spec", "remediation"}, want: map[string]any{"triggerIf": map[string]any{"unhealthyLessThanOrEqualTo": int64(1)}},
		},
		"AddOn": {
			reason: "An add-on selects this cluster and no other, by a label that only the Cluster has.",
			change: addOn("ApplyOnce"),
			key:    "add-on-cni", path: []string{"spec"}, want: map[string]any{
				"clusterSelector": map[string]any{"matchLabels": map[string]any{"l2cluster.io/cluster": "edge"}},
				"resources":       []any{map[string]any{"kind": "ConfigMap", "name": "cni"}, map[string]any{"kind": "Secret", "name": "keys"}},
				"strategy":        "ApplyOnce",
			},
		},
		"ReconciledAddOn": {
			reason: "Cluster API forbids to change the strategy, so the other one is another object.",
			change: addOn("Reconcile"),
			key:    "reconciled-add-on-cni", path: []string{"metadata", "name"}, want: "edge-reconciled-add-on-cni",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := small()
			tc.change(&c)
			objects := compose(t, c)
			key := tc.key
			if key == "bootstrap" {
				key = templateKey(t, objects)
			}
			if diff := cmp.Diff(tc.want, at(objects[key].Body, tc.path...)); diff != "" {
				t.Errorf("%s\n%s %s: -want, +got:\n%s", tc.reason, key, strings.Join(tc.path, "."), diff)
			}
		})
	}
}

func autoscale(c *Cluster) {
	c.Spec.Workers[0].Replicas = nil
	c.Spec.Workers[0].Autoscaling = &spec.Autoscaling{Min: 0, Max: 10}
}

func nodeLabels() map[string]string {
	return map[string]string{
		"node-role.kubernetes.io/storage": "", "node-restriction.kubernetes.io/zone": "a", "acme.node-restriction.kubernetes.io/zone": "b",
		"node.cluster.x-k8s.io/rack": "7", "acme.node.cluster.x-k8s.io/rack": "8",
		"tier": "", "acme.example/disk": "ssd", "xnode.cluster.x-k8s.io/a": "b", "cluster.x-k8s.io/x": "y",
	}
}

func controlPlaneTaintList() []any {
	return []any{
		map[string]any{"key": "etcd", "effect": "NoExecute"},
		map[string]any{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
	}
}

func addOn(strategy string) func(*Cluster) {
	return func(c *Cluster) {
		c.Input.AddOns = []v1beta1.AddOn{{Name: "cni", Strategy: strategy, Resources: []v1beta1.AddOnResource{
			{Kind: "ConfigMap", Name: "cni"}, {Kind: "Secret", Name: "keys"},
		}}}
	}
}

func TestComposeRefuses(t *testing.T) {
	file := func(f osnet.File) func(*Cluster) {
		return func(c *Cluster) {
			b := c.Bootstrap["general"]
			b.Files = append(slices.Clone(b.Files), f)
			c.Bootstrap["general"] = b
		}
	}
	cases := map[string]struct {
		reason string
		change func(*Cluster)
		is     error
		says   string
	}{
		"NoMachineTemplate": {reason: "A pool without machines is incomplete.", change: func(c *Cluster) { delete(c.Machines, "general") }, is: ErrIncomplete, says: `"general"`},
		"NoBootstrap":       {reason: "A pool without a bootstrap is incomplete.", change: func(c *Cluster) { delete(c.Bootstrap, "control-plane") }, is: ErrIncomplete, says: `"control-plane"`},
		"NotInClaim":        {reason: "A planned pool that the claim lacks is incomplete.", change: func(c *Cluster) { c.Spec.Workers = nil }, is: ErrIncomplete, says: `"general"`},
		"SamePath":          {reason: "Cluster API refuses two files with one path.", change: file(osnet.File{Path: "/etc/plain", Content: "again"}), says: `two files have the path "/etc/plain"`},
		"LargeFile":         {reason: "Cluster API's limit is told in bytes of content.", change: file(osnet.File{Path: "/etc/large", Content: strings.Repeat("x", 7681)}), says: `file "/etc/large" has 10244 characters as it travels, and Cluster API accepts 10240, which is 7680 bytes of content`},
		"LargePackedFile":   {reason: "A packed file counts as packed.", change: file(osnet.File{Path: "/etc/large", Content: "x", Gzip: make([]byte, 7681)}), says: `file "/etc/large" has 10244`},
		"LiveIndented":      {reason: "A YAML block takes its indentation from its first line.", change: file(osnet.File{Path: "/etc/live", Content: " x\n", Live: true}), says: "begins with white space"},
		"LiveOpenEnd":       {reason: "A YAML block ends in one newline.", change: file(osnet.File{Path: "/etc/live", Content: "x", Live: true}), says: "exactly one newline"},
		"LiveEmptyEnd":      {reason: "A YAML block ends in one newline.", change: file(osnet.File{Path: "/etc/live", Content: "x\n\n", Live: true}), says: "exactly one newline"},
		"LiveCarriage":      {reason: "A YAML block changes other line ends.", change: file(osnet.File{Path: "/etc/live", Content: "x\r\ny\n", Live: true}), says: `the character '\r'`},
		"LiveInvalid":       {reason: "YAML is text.", change: file(osnet.File{Path: "/etc/live", Content: "x\xff\n", Live: true}), says: "it holds the character"},
		"SameArgument": {reason: "Cluster API refuses an argument that is given twice.", change: func(c *Cluster) {
			b := c.Bootstrap["general"]
			b.KubeletArgs = append(slices.Clone(b.KubeletArgs), bootstrap.Arg{Name: "cloud-provider", Value: "none"})
			c.Bootstrap["general"] = b
		}, says: `argument "cloud-provider" is given twice: "external" and "none"`},
		"ManyLabels": {reason: "Cluster API's limit is told with what to do.", change: func(c *Cluster) {
			c.Spec.Workers[0].Labels = map[string]string{}
			for i := range 20 {
				c.Spec.Workers[0].Labels[fmt.Sprintf("acme.example/label-%02d", i)] = strings.Repeat("v", 40)
			}
		}, says: "argument \"node-labels\" has 1259 characters, and Cluster API accepts 1024: give the nodes fewer or shorter labels"},
		"LongCommand": {reason: "Cluster API's limit is told with what to do.", change: func(c *Cluster) {
			b := c.Bootstrap["general"]
			b.PostKubeadm = []string{strings.Repeat("x", 10241)}
			c.Bootstrap["general"] = b
		}, says: "has 10241 characters as it travels, and Cluster API accepts 1 to 10240"},
		"EmptyCommand": {reason: "Cluster API refuses an empty command.", change: func(c *Cluster) {
			b := c.Bootstrap["general"]
			b.PreKubeadm = []string{""}
			c.Bootstrap["general"] = b
		}, says: "has 0 characters"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := small()
			tc.change(&c)
			objects, err := Compose(c)
			if err == nil || objects != nil {
				t.Fatalf("%s\nCompose: got %d objects and error %v, want an error alone", tc.reason, len(objects), err)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%s\nCompose: got error %v, want %v", tc.reason, err, tc.is)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s\nCompose: got error %q, want it to say %q", tc.reason, err, tc.says)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	got, err := files([]osnet.File{
		{Path: "/a", Permissions: "0644", Content: "a {{ .b }} {# c #}\n"},
		{Path: "/b", Permissions: "0755", Content: "long", Gzip: []byte{0x1f, 0x8b, 0xff}},
		{Path: "/c", Permissions: "0600", Content: "{{ .d }}\n\ttab\n  two  \n", Live: true},
		{Path: "/d", Permissions: "0600"},
	})
	if err != nil {
		t.Fatal(err)
	}
	body, err := unstructured(map[string]any{"files": got})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{
		map[string]any{"path": "/a", "encoding": "base64", "content": "YSB7eyAuYiB9fSB7IyBjICN9Cg=="},
		map[string]any{"path": "/b", "permissions": "0755", "encoding": "gzip+base64", "content": "H4v/"},
		map[string]any{"path": "/c", "permissions": "0600", "content": "{{ .d }}\n\ttab\n  two  \n"},
		map[string]any{"path": "/d", "permissions": "0600", "encoding": "base64"},
	}
	if diff := cmp.Diff(want, body["files"]); diff != "" {
		t.Errorf("files: -want, +got:\n%s", diff)
	}
}

// TestChanges is about what a change of the claim replaces.
func TestChanges(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*Cluster)
		moves  bool // the pool's bootstrap template gets another key and name
	}{
		"Nothing":      {reason: "Nothing changes by itself.", change: func(*Cluster) {}},
		"MachineType":  {reason: "Other machines boot alike.", change: func(c *Cluster) { c.Machines["general"] = machineTemplate("edge-general-33333333") }},
		"Files":        {reason: "Other files need other machines.", change: func(c *Cluster) { c.Bootstrap["general"].Files[0].Content = "changed" }, moves: true},
		"Replicas":     {reason: "More machines are like those before.", change: func(c *Cluster) { five := int32(5); c.Spec.Workers[0].Replicas = &five }},
		"SyncedLabel":  {reason: "Cluster API carries this label to nodes that exist.", change: func(c *Cluster) { c.Spec.Workers[0].Labels = map[string]string{"node-role.kubernetes.io/x": ""} }},
		"Label":        {reason: "Other labels are set when a node registers.", change: func(c *Cluster) { c.Spec.Workers[0].Labels = map[string]string{"x": ""} }, moves: true},
		"OtherPool":    {reason: "Another pool's labels are another pool's.", change: func(c *Cluster) { c.Spec.ControlPlane.Labels = map[string]string{"x": ""} }},
		"HealthCheck":  {reason: "A health check replaces nothing by itself.", change: func(c *Cluster) { c.Spec.Workers[0].HealthCheck = &spec.HealthCheck{} }},
		"Rollout":      {reason: "How to replace is no reason to replace.", change: func(c *Cluster) { two := int32(2); c.Spec.Workers[0].Rollout.MaxSurge = &two }},
		"AddOn":        {reason: "Add-ons are none of the machines' business.", change: addOn("ApplyOnce")},
		"Version":      {reason: "The version is the deployment's; what installs it is in the files.", change: func(c *Cluster) { c.Spec.KubernetesVersion = "v1.34.3" }},
		"NodeIP":       {reason: "Another node address needs another machine.", change: func(c *Cluster) { c.Plan.Pools[1].Links = []plan.Link{{NodeIP: true}} }, moves: true},
		"ClusterBlock": {reason: "The pods' blocks are the cluster's.", change: func(c *Cluster) { c.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.0.0.0/16"} }},
	}
	before := compose(t, small())
	key := templateKey(t, before)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := small()
			tc.change(&c)
			after := compose(t, c)
			changed := templateKey(t, after)
			template := at(after[changed].Body, "metadata", "name")
			if moved := changed != key; moved != tc.moves {
				t.Errorf("%s\nthe key moved: got %t, want %t", tc.reason, moved, tc.moves)
			}
			if moved := template != at(before[key].Body, "metadata", "name"); moved != tc.moves {
				t.Errorf("%s\nthe name moved: got %t, want %t", tc.reason, moved, tc.moves)
			}
			want := map[string]any{"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": template}
			if diff := cmp.Diff(want, at(after["pool-general"].Body, "spec", "template", "spec", "bootstrap", "configRef")); diff != "" {
				t.Errorf("%s\nthe deployment points to its template: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTaintsHaveNoOrder(t *testing.T) {
	a, b := spec.Taint{Key: "a", Effect: "NoSchedule"}, spec.Taint{Key: "b", Effect: "NoSchedule"}
	one, other, without := small(), small(), small()
	one.Spec.Workers[0].Taints = []spec.Taint{a, b}
	other.Spec.Workers[0].Taints = []spec.Taint{b, a}
	key := templateKey(t, compose(t, one))
	if got := templateKey(t, compose(t, other)); got != key {
		t.Errorf("the same taints in another order: got key %q, want %q", got, key)
	}
	if got := templateKey(t, compose(t, without)); got == key {
		t.Errorf("no taints: got the same key %q", got)
	}
}

// everything is a cluster with every option.
func everything() Cluster {
	c := small()
	autoscale(&c)
	addOn("Reconcile")(&c)
	for _, m := range []*spec.Machines{&c.Spec.ControlPlane.Machines, &c.Spec.Workers[0].Machines} {
		m.Labels = nodeLabels()
		m.Taints = []spec.Taint{{Key: "a", Value: "1", Effect: "NoSchedule"}}
		m.HealthCheck = &spec.HealthCheck{NodeStartupTimeoutSeconds: 1800, UnhealthyTimeoutSeconds: 300, MaxUnhealthy: "40%"}
	}
	for i := range c.Plan.Pools {
		c.Plan.Pools[i].Links = []plan.Link{{NodeIP: true}}
	}
	return c
}

// TestOwnedFields is about what is never sent.
func TestOwnedFields(t *testing.T) {
	for name, c := range map[string]Cluster{"Small": small(), "Everything": everything(), "NoBootstrap": bare()} {
		t.Run(name, func(t *testing.T) {
			for key, o := range compose(t, c) {
				if _, err := structpb.NewStruct(o.Body); err != nil {
					t.Errorf("%s does not fit into a message: %v", key, err)
				}
				walk(t, key, o.Body)
				if o.Body["status"] != nil {
					t.Errorf("%s has a status", key)
				}
			}
		})
	}
}

// bare is a cluster whose machines need nothing.
func bare() Cluster {
	c := small()
	c.Bootstrap = map[string]bootstrap.Bootstrap{plan.ControlPlanePool: {}, "general": {}}
	return c
}

func walk(t *testing.T, path string, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			t.Errorf("%s is empty", path)
		}
		for name, field := range v {
			if slices.Contains([]string{"paused", "controlPlaneEndpoint", "providerID", "creationTimestamp", "resourceVersion"}, name) {
				t.Errorf("%s.%s belongs to others", path, name)
			}
			walk(t, path+"."+name, field)
		}
	case []any:
		if len(v) == 0 {
			t.Errorf("%s is empty", path)
		}
		for i, item := range v {
			walk(t, fmt.Sprintf("%s[%d]", path, i), item)
		}
	case string, bool, int64:
	default:
		t.Errorf("%s is a %T", path, value)
	}
}

func TestDeterminism(t *testing.T) {
	first, err := Compose(everything())
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		again, err := Compose(everything())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Observe(nil), again.Observe(nil)); diff != "" {
			t.Fatalf("the same cluster twice: -first, +again:\n%s", diff)
		}
	}
}

// TestNames is about names and keys of any length.
func TestNames(t *testing.T) {
	label := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?`)
	rapid.Check(t, func(rt *rapid.T) {
		c := everything()
		c.Name = rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`).Draw(rt, "cluster")
		pools := rapid.SliceOfNDistinct(label.Filter(func(s string) bool { return s != plan.ControlPlanePool }), 1, 5, rapid.ID).Draw(rt, "pools")
		addOns := rapid.SliceOfNDistinct(label, 0, 3, rapid.ID).Draw(rt, "add-ons")
		rename(&c, pools, addOns, rapid.SampledFrom([]string{"ApplyOnce", "Reconcile"}).Draw(rt, "strategy"))
		objects, err := Compose(c)
		if err != nil {
			rt.Fatalf("Compose: %v", err)
		}
		keys, names := map[string]bool{}, map[string]bool{}
		for _, o := range objects.Observe(nil) {
			name, _ := at(o.Body, "metadata", "name").(string)
			kind, _ := o.Body["kind"].(string)
			if keys[o.Key] || names[kind+"/"+name] {
				rt.Errorf("key %q or %s %q is there twice", o.Key, kind, name)
			}
			keys[o.Key], names[kind+"/"+name] = true, true
			for what, text := range map[string]string{"key": o.Key, "name": name} {
				if problems := validation.IsDNS1123Label(text); len(problems) > 0 {
					rt.Errorf("%s %q of a %s: %v", what, text, kind, problems)
				}
			}
			if limit := map[string]int{"MachineDeployment": 46, "KubeadmControlPlane": 57}[kind]; limit > 0 && len(name) > limit {
				rt.Errorf("name %q of a %s has more than %d characters", name, kind, limit)
			}
			labels, _ := at(o.Body, "metadata", "labels").(map[string]any)
			for _, v := range labels {
				if problems := validation.IsValidLabelValue(v.(string)); len(problems) > 0 {
					rt.Errorf("label value %q of a %s: %v", v, kind, problems)
				}
			}
		}
		if want := 3 + 3*len(pools) + len(addOns); len(objects) != want {
			rt.Errorf("got %d objects, want %d", len(objects), want)
		}
	})
}

// rename gives a cluster with one worker pool others of these names.
func rename(c *Cluster, pools, addOns []string, strategy string) {
	worker, planned, b, m := c.Spec.Workers[0], c.Plan.Pools[1], c.Bootstrap["general"], c.Machines["general"]
	c.Spec.Workers, c.Plan.Pools, c.Input.AddOns = nil, c.Plan.Pools[:1], nil
	c.Bootstrap, c.Machines = maps.Clone(c.Bootstrap), maps.Clone(c.Machines)
	for _, pool := range pools {
		worker.Name, planned.Name = pool, pool
		c.Spec.Workers = append(c.Spec.Workers, worker)
		c.Plan.Pools = append(c.Plan.Pools, planned)
		c.Bootstrap[pool], c.Machines[pool] = b, m
	}
	for _, a := range addOns {
		c.Input.AddOns = append(c.Input.AddOns, v1beta1.AddOn{Name: a, Strategy: strategy, Resources: []v1beta1.AddOnResource{{Kind: "Secret", Name: "s"}}})
	}
}

// TestNamesApart says that names which are cut stay apart.
func TestNamesApart(t *testing.T) {
	const cluster = "a-cluster-name-that-is-exactly-fifty-characters-ok"
	one, two := DeploymentName(cluster, "general-purpose-pool"), DeploymentName(cluster, "general-purpose-pool-2")
	if one == two || len(one) > 46 || len(two) > 46 {
		t.Errorf("got the names %q and %q, want two of at most 46 characters", one, two)
	}
	if got, want := DeploymentName("edge", "general"), "edge-general"; got != want {
		t.Errorf("a short name: got %q, want %q", got, want)
	}
	if got := ControlPlaneName(cluster); len(got) > 57 {
		t.Errorf("the control plane's name %q leaves no room for its machines'", got)
	}
}

func TestRequirements(t *testing.T) {
	want := map[string]object.Selector{
		"kubeconfig":   {APIVersion: "v1", Kind: "Secret", Namespace: "team-a", Name: "edge-kubeconfig"},
		"machines":     {APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: "team-a", Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "edge"}},
		"machine-sets": {APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Namespace: "team-a", Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "edge"}},
	}
	if diff := cmp.Diff(want, Requirements("edge", "team-a")); diff != "" {
		t.Errorf("Requirements: -want, +got:\n%s", diff)
	}
}

func view(t *testing.T, text string) object.View {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(values)
	if err != nil {
		t.Fatal(err)
	}
	return xr.ViewOf(s)
}
