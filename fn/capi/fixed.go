package capi

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// clusterKey is the key of the Cluster.
const clusterKey = "cluster"

// Fixed refuses edits that would make another cluster of one that exists: of the
// names that all its objects refer to, and of the networks that kubeadm wrote
// into it when it was made.
func Fixed(name, namespace string, n spec.ClusterNetwork, observed map[string]object.View) field.ErrorList {
	seen, exists := observed[clusterKey]
	if !exists {
		return nil
	}
	var errs field.ErrorList
	if was := seen.String("metadata", "namespace") + "/" + seen.String("metadata", "name"); was != namespace+"/"+name {
		errs = append(errs, field.Invalid(field.NewPath("spec", "namespace"), namespace,
			fmt.Sprintf("the cluster is %s, and would be %s/%s: a cluster cannot move; put the namespace back, or make a new claim", was, namespace, name)))
	}
	path := field.NewPath("spec", "clusterNetwork")
	for _, blocks := range []struct {
		name string
		want []string
	}{{"pods", n.Pods.CIDRBlocks}, {"services", n.Services.CIDRBlocks}} {
		was := seen.Strings("spec", "clusterNetwork", blocks.name, "cidrBlocks")
		if !slices.Equal(was, blocks.want) {
			errs = append(errs, field.Invalid(path.Child(blocks.name, "cidrBlocks"), strings.Join(blocks.want, ", "), fixed(strings.Join(was, ", "))))
		}
	}
	if was := seen.String("spec", "clusterNetwork", "serviceDomain"); was != n.ServiceDomain {
		errs = append(errs, field.Invalid(path.Child("serviceDomain"), n.ServiceDomain, fixed(was)))
	}
	return errs
}

func fixed(was string) string {
	if was == "" {
		return "was not given when the cluster was made, and cannot be changed afterwards; take it out, or make a new claim"
	}
	return fmt.Sprintf("was %s when the cluster was made, and cannot be changed afterwards; put it back, or make a new claim", was)
}
