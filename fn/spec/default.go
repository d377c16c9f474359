package spec

// Default fills in what a claim leaves out: the defaults of the schema, and
// those that depend on other fields, which no schema can state. It is
// idempotent.
func Default(s *Spec) {
	setDefault(&s.VIPManager, CPEM)
	if s.ClusterNetwork.Pods.CIDRBlocks == nil {
		s.ClusterNetwork.Pods.CIDRBlocks = []string{"192.168.0.0/16"}
	}
	if s.ClusterNetwork.Services.CIDRBlocks == nil {
		s.ClusterNetwork.Services.CIDRBlocks = []string{"172.26.0.0/16"}
	}
	for i := range s.Networks {
		defaultNetwork(&s.Networks[i])
	}
	defaultControlPlane(&s.ControlPlane)
	for i := range s.Workers {
		defaultWorkerPool(&s.Workers[i])
	}
}

// setDefault of a field whose zero value means that it was left out.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// setPointer of a field whose zero value means something.
func setPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func defaultNetwork(n *Network) {
	setDefault(&n.Assignment, AssignClusterAPI)
	if n.PoolRef != nil {
		setDefault(&n.PoolRef.APIGroup, "ipam.cluster.x-k8s.io")
		setDefault(&n.PoolRef.Kind, "InClusterIPPool")
	}
}

func defaultControlPlane(c *ControlPlane) {
	setDefault(&c.Replicas, 3)
	setPointer(&c.Rollout, ControlPlaneRollout{})
	setPointer(&c.Rollout.MaxSurge, 1)
	defaultMachines(&c.Machines)
}

func defaultWorkerPool(w *WorkerPool) {
	if w.Autoscaling == nil {
		setPointer(&w.Replicas, 1)
	}
	setPointer(&w.Rollout, WorkerRollout{})
	setPointer(&w.Rollout.MaxSurge, 1)
	// Something must give way, or nothing could ever be replaced.
	if *w.Rollout.MaxSurge == 0 {
		setPointer(&w.Rollout.MaxUnavailable, 1)
	}
	setPointer(&w.Rollout.MaxUnavailable, 0)
	defaultMachines(&w.Machines)
}

func defaultMachines(m *Machines) {
	setDefault(&m.BillingCycle, "hourly")
	for i := range m.Ports {
		setPointer(&m.Ports[i].Bonded, true)
		for j := range m.Ports[i].Networks {
			setDefault(&m.Ports[i].Networks[j].AddressType, AddressInternal)
		}
	}
	if m.HealthCheck != nil {
		setDefault(&m.HealthCheck.NodeStartupTimeoutSeconds, 1800)
		setDefault(&m.HealthCheck.UnhealthyTimeoutSeconds, 300)
		setDefault(&m.HealthCheck.MaxUnhealthy, "40%")
	}
}
