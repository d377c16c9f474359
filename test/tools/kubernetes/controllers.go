package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// workers of each controller.
const workers = 10

// sync is how often the garbage collector looks for new kinds, as in the
// controller manager.
const syncPeriod = 30 * time.Second

// control runs the garbage collector, the controller of namespaces, and the one
// that aggregates cluster roles, until the context ends.
func control(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 400
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	typed := informers.NewSharedInformerFactory(client, 12*time.Hour)
	untyped := metadatainformer.NewSharedInformerFactory(objects, 12*time.Hour)
	started := make(chan struct{})
	collector, err := garbagecollector.NewGarbageCollector(
		ctx, client, objects, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(typed, untyped), started,
	)
	if err != nil {
		return fmt.Errorf("cannot make the garbage collector: %w", err)
	}
	namespaces := namespace.NewNamespaceController(
		ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources, typed.Core().V1().Namespaces(), 5*time.Minute, v1.FinalizerKubernetes,
	)
	roles := clusterroleaggregation.NewClusterRoleAggregation(typed.Rbac().V1().ClusterRoles(), client.RbacV1())
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	close(started)
	var all sync.WaitGroup
	all.Go(func() { collector.Run(ctx, workers, syncPeriod) })
	all.Go(func() { collector.Sync(ctx, client.Discovery(), syncPeriod) })
	all.Go(func() { namespaces.Run(ctx, workers) })
	all.Go(func() { roles.Run(ctx, workers) })
	all.Wait()
	return nil
}
