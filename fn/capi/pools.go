package capi

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

func (c *composer) controlPlane(p plan.Pool, machines object.Reference, b bootstrap.Bootstrap) error {
	config, err := controlPlaneConfig(p, c.Spec.ControlPlane.Machines, b)
	if err != nil {
		return err
	}
	name := ControlPlaneName(c.Name)
	replicas := c.Spec.ControlPlane.Replicas
	labels := c.poolLabels(p.Name)
	addSynced(labels, c.Spec.ControlPlane.Labels)
	err = c.add("control-plane", &controlplanev1.KubeadmControlPlane{
		TypeMeta:   metav1.TypeMeta{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name, Labels: c.poolLabels(p.Name)},
		Spec: controlplanev1.KubeadmControlPlaneSpec{
			Replicas: &replicas,
			Version:  c.Spec.KubernetesVersion,
			MachineTemplate: controlplanev1.KubeadmControlPlaneMachineTemplate{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec:       controlplanev1.KubeadmControlPlaneMachineTemplateSpec{InfrastructureRef: contractReference(machines)},
			},
			KubeadmConfigSpec: config,
			Rollout:           controlPlaneRollout(c.Spec.ControlPlane.Rollout),
		},
	}, machinesReady("control plane "+name, &replicas))
	if err != nil {
		return err
	}
	return c.healthCheck(p.Name, c.Spec.ControlPlane.HealthCheck)
}

func (c *composer) workerPool(p plan.Pool, machines object.Reference, b bootstrap.Bootstrap) error {
	w, known := c.workers[p.Name]
	if !known {
		return ErrIncomplete
	}
	template, err := c.configTemplate(p, w.Machines, b)
	if err != nil {
		return err
	}
	if err := c.deployment(p, w, machines, template); err != nil {
		return err
	}
	return c.healthCheck(p.Name, w.HealthCheck)
}

// configTemplate adds a worker pool's bootstrap template and returns its name.
// Templates are never changed: other content has another name, and another key
// too, because Crossplane keeps the name of what it knows by its key.
func (c *composer) configTemplate(p plan.Pool, m spec.Machines, b bootstrap.Bootstrap) (string, error) {
	config, err := workerConfig(p, m, b)
	if err != nil {
		return "", err
	}
	template := &bootstrapv1.KubeadmConfigTemplate{
		TypeMeta:   metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfigTemplate"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Labels: c.poolLabels(p.Name)},
		Spec:       bootstrapv1.KubeadmConfigTemplateSpec{Template: bootstrapv1.KubeadmConfigTemplateResource{Spec: config}},
	}
	content, err := unstructured(template.Spec)
	if err != nil {
		return "", err
	}
	hash, err := object.ContentHash(content)
	if err != nil {
		return "", err
	}
	template.Name = object.Name(object.LabelLimit, c.Name, p.Name, hash)
	key := object.Key("pool", p.Name, "bootstrap", hash)
	return template.Name, c.add(key, template, exists("bootstrap template "+template.Name))
}

func (c *composer) deployment(p plan.Pool, w spec.WorkerPool, machines object.Reference, template string) error {
	name := DeploymentName(c.Name, p.Name)
	selector := c.labels()
	selector[clusterv1.MachineDeploymentNameLabel] = name
	labels := c.poolLabels(p.Name)
	labels[clusterv1.MachineDeploymentNameLabel] = name
	addSynced(labels, w.Labels)
	d := &clusterv1.MachineDeployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name, Labels: c.poolLabels(p.Name)},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: c.Name,
			Rollout:     rollout(w.Rollout),
			Selector:    metav1.LabelSelector{MatchLabels: selector},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec: clusterv1.MachineSpec{
					ClusterName: c.Name,
					Version:     c.Spec.KubernetesVersion,
					Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
						APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfigTemplate", Name: template,
					}},
					InfrastructureRef: contractReference(machines),
				},
			},
		},
	}
	// The autoscaler owns the number of an autoscaled pool's machines.
	if w.Autoscaling == nil {
		d.Spec.Replicas = w.Replicas
	}
	if w.Autoscaling != nil {
		d.Annotations = map[string]string{
			clusterv1.AutoscalerMinSizeAnnotation: strconv.Itoa(int(w.Autoscaling.Min)),
			clusterv1.AutoscalerMaxSizeAnnotation: strconv.Itoa(int(w.Autoscaling.Max)),
		}
	}
	return c.add(object.DeploymentKey(p.Name), d, machinesReady("machine deployment "+name, d.Spec.Replicas))
}

// rollout of a worker pool; the claim's defaults state every number of it, so
// that taking one out of the claim takes it back here.
func rollout(r *spec.WorkerRollout) clusterv1.MachineDeploymentRolloutSpec {
	if r == nil {
		return clusterv1.MachineDeploymentRolloutSpec{}
	}
	return clusterv1.MachineDeploymentRolloutSpec{Strategy: clusterv1.MachineDeploymentRolloutStrategy{
		Type: clusterv1.RollingUpdateMachineDeploymentStrategyType,
		RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{
			MaxSurge: number(r.MaxSurge), MaxUnavailable: number(r.MaxUnavailable),
		},
	}}
}

func controlPlaneRollout(r *spec.ControlPlaneRollout) controlplanev1.KubeadmControlPlaneRolloutSpec {
	if r == nil {
		return controlplanev1.KubeadmControlPlaneRolloutSpec{}
	}
	return controlplanev1.KubeadmControlPlaneRolloutSpec{Strategy: controlplanev1.KubeadmControlPlaneRolloutStrategy{
		Type:          controlplanev1.RollingUpdateStrategyType,
		RollingUpdate: controlplanev1.KubeadmControlPlaneRolloutStrategyRollingUpdate{MaxSurge: number(r.MaxSurge)},
	}}
}

func number(n *int32) *intstr.IntOrString {
	if n == nil {
		return nil
	}
	out := intstr.FromInt32(*n)
	return &out
}

func (c *composer) healthCheck(pool string, h *spec.HealthCheck) error {
	if h == nil {
		return nil
	}
	name := object.Name(object.LabelLimit, c.Name, pool)
	unhealthy := func(status corev1.ConditionStatus) clusterv1.UnhealthyNodeCondition {
		return clusterv1.UnhealthyNodeCondition{Type: corev1.NodeReady, Status: status, TimeoutSeconds: &h.UnhealthyTimeoutSeconds}
	}
	check := &clusterv1.MachineHealthCheck{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineHealthCheck"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name, Labels: c.poolLabels(pool)},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: c.Name,
			Selector:    metav1.LabelSelector{MatchLabels: c.poolLabels(pool)},
			Checks: clusterv1.MachineHealthCheckChecks{
				NodeStartupTimeoutSeconds: &h.NodeStartupTimeoutSeconds,
				UnhealthyNodeConditions:   []clusterv1.UnhealthyNodeCondition{unhealthy(corev1.ConditionFalse), unhealthy(corev1.ConditionUnknown)},
			},
		},
	}
	if h.MaxUnhealthy != "" {
		limit := intstr.Parse(h.MaxUnhealthy)
		check.Spec.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo = &limit
	}
	return c.add(object.Key("health-check", pool), check, exists("health check "+name))
}
