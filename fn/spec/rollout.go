package spec

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

// minReplicasWithoutSurge is how many control plane servers a rollout needs
// that takes one away before it makes a new one:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/controlplane/kubeadm/internal/webhooks/kubeadm_control_plane.go.
const minReplicasWithoutSurge = 3

func (c claim) validateControlPlane() field.ErrorList {
	cp, path := c.spec.ControlPlane, c.path.Child("controlPlane")
	var errs field.ErrorList
	switch cp.Replicas {
	case 1, 3, 5, 7:
	default:
		errs = append(errs, field.Invalid(path.Child("replicas"), cp.Replicas,
			"must be 1, 3, 5 or 7: etcd needs a majority, and an even number survives no more failures than the odd one below it"))
	}
	if cp.Rollout == nil || cp.Rollout.MaxSurge == nil {
		return errs
	}
	surge, surgePath := *cp.Rollout.MaxSurge, path.Child("rollout", "maxSurge")
	errs = append(errs, rule.Between(surgePath, surge, 0, 1)...)
	if surge == 0 && cp.Replicas < minReplicasWithoutSurge {
		errs = append(errs, field.Invalid(surgePath, surge, "0 needs at least 3 replicas: etcd would lose its majority while a server is replaced; use 1"))
	}
	return errs
}

// validateWorkerNumbers checks how many servers a worker pool has, and may have
// during a rollout.
func validateWorkerNumbers(w WorkerPool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if w.Replicas != nil {
		errs = append(errs, rule.Between(path.Child("replicas"), *w.Replicas, 0, maxMachines)...)
	}
	if w.Replicas != nil && w.Autoscaling != nil {
		errs = append(errs, field.Invalid(path.Child("replicas"), *w.Replicas,
			"give replicas or autoscaling, not both: the autoscaler owns the number of an autoscaled pool"))
	}
	if w.Autoscaling != nil {
		errs = append(errs, validateAutoscaling(*w.Autoscaling, path.Child("autoscaling"))...)
	}
	if w.Rollout != nil {
		errs = append(errs, validateWorkerRollout(*w.Rollout, path.Child("rollout"))...)
	}
	return errs
}

func validateAutoscaling(a Autoscaling, path *field.Path) field.ErrorList {
	errs := rule.Between(path.Child("min"), a.Min, 0, maxMachines)
	errs = append(errs, rule.Between(path.Child("max"), a.Max, 1, maxMachines)...)
	if a.Min > a.Max {
		errs = append(errs, field.Invalid(path.Child("min"), a.Min, "cannot be more than max"))
	}
	return errs
}

func validateWorkerRollout(r WorkerRollout, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.MaxSurge != nil {
		errs = append(errs, rule.Between(path.Child("maxSurge"), *r.MaxSurge, 0, maxMachines)...)
	}
	if r.MaxUnavailable != nil {
		errs = append(errs, rule.Between(path.Child("maxUnavailable"), *r.MaxUnavailable, 0, maxMachines)...)
	}
	if r.MaxSurge != nil && *r.MaxSurge == 0 && r.MaxUnavailable != nil && *r.MaxUnavailable == 0 {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), *r.MaxUnavailable,
			"maxSurge and maxUnavailable cannot both be 0: nothing could ever be replaced; set one of them to 1"))
	}
	return errs
}
