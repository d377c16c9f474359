package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeSpec is a node as a test describes it.
type nodeSpec struct {
	ProviderID   string `json:"providerID"`
	Version      string `json:"version"`
	ControlPlane bool   `json:"controlPlane"`
}

// components of a control plane node, each in a pod of its own.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// join adds a node to a cluster, as kubeadm and kubelet do; nothing happens if
// it is there already.
func (w *world) join(ctx context.Context, clusterName, name string, spec nodeSpec) error {
	c, err := w.cluster(clusterName)
	if err != nil {
		return err
	}
	objects := w.manager.GetResourceGroup(clusterName).GetClient()
	if spec.ControlPlane {
		if err := w.control(ctx, c, objects, name); err != nil {
			return err
		}
	}
	return create(ctx, objects, node(name, spec))
}

// control adds what is on a control plane node only.
func (w *world) control(ctx context.Context, c *cluster, objects inmemory.Client, name string) error {
	if err := w.addMember(c, name); err != nil {
		return err
	}
	for _, component := range components {
		if err := create(ctx, objects, pod(component, name)); err != nil {
			return err
		}
	}
	for _, o := range kubeadm() {
		if err := create(ctx, objects, o); err != nil {
			return err
		}
	}
	return nil
}

// leave removes a node and what ran on it.
func (w *world) leave(ctx context.Context, clusterName, name string) error {
	c, err := w.cluster(clusterName)
	if err != nil {
		return err
	}
	objects := w.manager.GetResourceGroup(clusterName).GetClient()
	gone := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	for _, component := range components {
		gone = append(gone, pod(component, name))
	}
	for _, o := range gone {
		if err := objects.Delete(ctx, o); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("cannot remove %q: %w", o.GetName(), err)
		}
	}
	c.dropMember(name)
	return nil
}

func create(ctx context.Context, objects inmemory.Client, o client.Object) error {
	if err := objects.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot create %q: %w", o.GetName(), err)
	}
	return nil
}

func node(name string, spec nodeSpec) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Spec:       corev1.NodeSpec{ProviderID: spec.ProviderID},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: spec.Version},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Now()},
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", LastTransitionTime: metav1.Now()},
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", LastTransitionTime: metav1.Now()},
				{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", LastTransitionTime: metav1.Now()},
			},
		},
	}
	if spec.ControlPlane {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
		n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

func pod(component, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: component + "-" + node,
			Labels: map[string]string{"component": component, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

// kubeadm returns what kubeadm leaves in a cluster that it made: its
// configuration tells Cluster API that the control plane is initialized.
func kubeadm() []client.Object {
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"},
			Data:       map[string]string{"ClusterConfiguration": ""},
		},
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:get-nodes"},
			Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}}},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:get-nodes"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kubeadm:get-nodes"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "system:bootstrappers:kubeadm:default-node-token"}},
		},
	}
}
