package capi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// machineSuffix is what a control plane adds to its own name for a machine's.
const machineSuffix = len("-abcde")

// ControlPlaneName is the name of a cluster's KubeadmControlPlane. Its machines'
// names are this, a dash and five characters:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/api/controlplane/kubeadm/v1beta2/kubeadm_control_plane_types.go.
func ControlPlaneName(cluster string) string {
	return object.Name(object.LabelLimit-machineSuffix, cluster, "control-plane")
}

// DeploymentName is the name of a worker pool's MachineDeployment.
func DeploymentName(cluster, pool string) string {
	return object.Name(object.DeploymentLimit, cluster, pool)
}

// Names of what a run reads of Cluster API beside what it composes.
const (
	// RequireKubeconfig is the Secret with the cluster's admin kubeconfig.
	RequireKubeconfig = "kubeconfig"
	// RequireMachines are the machines of the cluster.
	RequireMachines = "machines"
	// RequireMachineSets are the machine sets of the cluster.
	RequireMachineSets = "machine-sets"
)

// Requirements are what a run reads of Cluster API beside what it composes.
func Requirements(cluster, namespace string) map[string]object.Selector {
	version := clusterv1.GroupVersion.String()
	labels := map[string]string{clusterv1.ClusterNameLabel: cluster}
	return map[string]object.Selector{
		RequireKubeconfig:  {APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: cluster + "-kubeconfig"},
		RequireMachines:    {APIVersion: version, Kind: "Machine", Namespace: namespace, Labels: labels},
		RequireMachineSets: {APIVersion: version, Kind: "MachineSet", Namespace: namespace, Labels: labels},
	}
}

func (c *composer) cluster() error {
	network := c.Spec.ClusterNetwork
	return c.add(clusterKey, &clusterv1.Cluster{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name, Labels: map[string]string{ClusterLabel: c.Name},
		},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods:          clusterv1.NetworkRanges{CIDRBlocks: network.Pods.CIDRBlocks},
				Services:      clusterv1.NetworkRanges{CIDRBlocks: network.Services.CIDRBlocks},
				ServiceDomain: network.ServiceDomain,
			},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: ControlPlaneName(c.Name),
			},
			InfrastructureRef: contractReference(c.Infrastructure),
		},
	}, available("cluster "+c.Name))
}

// addOn applies a platform team's manifests. Cluster API forbids to change the
// strategy, so each strategy has its own key and name.
func (c *composer) addOn(a v1beta1.AddOn) error {
	kind := "add-on"
	if a.Strategy == v1beta1.StrategyReconcile {
		kind = "reconciled-add-on"
	}
	resources := make([]addonsv1.ResourceRef, 0, len(a.Resources))
	for _, r := range a.Resources {
		resources = append(resources, addonsv1.ResourceRef{Kind: r.Kind, Name: r.Name})
	}
	name := object.Name(object.LabelLimit, c.Name, kind, a.Name)
	return c.add(object.Key(kind, a.Name), &addonsv1.ClusterResourceSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: addonsv1.GroupVersion.String(), Kind: "ClusterResourceSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name, Labels: c.labels()},
		Spec: addonsv1.ClusterResourceSetSpec{
			ClusterSelector: metav1.LabelSelector{MatchLabels: map[string]string{ClusterLabel: c.Name}},
			Resources:       resources,
			Strategy:        a.Strategy,
		},
	}, exists("add-on "+name))
}
