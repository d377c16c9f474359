package function

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/assign"
	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/capi"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/platform"
	"github.com/l2cluster/function-l2cluster/fn/report"
	"github.com/l2cluster/function-l2cluster/fn/rollout"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// settled is how long a response is good for when nothing moves.
const settled = time.Minute

// understood is what a wish means, whatever the world has decided: it never
// changes, so it is worked out once.
type understood struct {
	// cluster without what was observed.
	cluster infra.Cluster
	// platform that the cluster is on.
	platform platform.Platform
	// warnings about the claim.
	warnings []string
}

// in the world of a request.
func (u understood) in(s xr.Snapshot) infra.Cluster {
	c := u.cluster
	c.Observed = s.Observed
	return c
}

// understand decodes, validates, names and plans. The input comes first: a claim
// cannot be judged by rules that are themselves wrong.
func understand(s xr.Snapshot) (understood, error) {
	input, errs := s.Input()
	if err := s.InputError(errs, v1beta1.Validate(input)); err != nil {
		return understood{}, err
	}
	claim, errs := s.Claim()
	wrong, warnings := spec.Validate(claim, input)
	err := s.ClaimError(errs, wrong)
	if err != nil {
		return understood{}, err
	}
	out := understood{warnings: warnings}
	if out.cluster, err = identify(s.Identity, claim, input); err != nil {
		return understood{}, err
	}
	if out.cluster.Plan, err = plan.Build(claim); err != nil {
		return understood{}, err
	}
	out.platform, err = platform.New(input.Platform)
	return out, err
}

// clusterNameLimit keeps the tag with which the infrastructure provider finds a
// cluster's elastic address, cluster-api-provider-packet:cluster-id:<cluster>,
// within the 80 characters that a tag may have.
const clusterNameLimit = 41

// identify gives the cluster its name and namespace. The name is told apart
// from that of a claim of the same name in another namespace by a hash of the
// namespace: the infrastructure provider finds a cluster's elastic address by
// project and cluster name alone.
func identify(id xr.Identity, claim *spec.Spec, input *v1beta1.Input) (infra.Cluster, error) {
	if id.Namespace != "" {
		return infra.Cluster{}, &xr.InvalidError{Fault: xr.PlatformTeam, What: id.String(), Errors: field.ErrorList{field.Invalid(
			field.NewPath("metadata", "namespace"), id.Namespace,
			"a namespaced composite cannot compose the cluster-scoped VLANs and ports; install the XRD with claims, or the one of scope Cluster")}}
	}
	namespace := id.ClaimNamespace
	for _, other := range []string{claim.Namespace, input.Namespace} {
		if namespace == "" {
			namespace = other
		}
	}
	if namespace == "" {
		return infra.Cluster{}, &xr.InvalidError{Fault: xr.User, What: id.String(), Errors: field.ErrorList{field.Required(
			field.NewPath("spec", "namespace"), "a composite without a claim must say where its Cluster API objects live, unless the function's input does")}}
	}
	name := id.ClaimName
	if name == "" {
		name = id.Name
	}
	const enough = 6
	return infra.Cluster{
		Name:      object.Name(clusterNameLimit, name, object.Hash(namespace)[:enough]),
		Namespace: namespace,
		Spec:      claim, Input: input,
	}, nil
}

// requirements are what a run reads beside what it composes.
func requirements(p platform.Platform, c infra.Cluster) map[string]object.Selector {
	out := assign.Requirements(c)
	maps.Copy(out, p.Requirements(c.Name, c.Namespace))
	maps.Copy(out, capi.Requirements(c.Name, c.Namespace))
	return out
}

func sources(s xr.Snapshot, c infra.Cluster) infra.Sources {
	return infra.Sources{Cluster: c, Required: s.Required, Status: s.Status, Credentials: s.Credentials}
}

func addressInput(s xr.Snapshot, c infra.Cluster, f infra.Facts) assign.Input {
	return assign.Input{
		Scope: assign.Scope{Project: c.Spec.ProjectID, Metro: c.Spec.Metro},
		Plan:  c.Plan, Facts: f, Status: s.Status,
		Others:   s.Required[assign.Composites],
		Self:     assign.Self{UID: s.Identity.UID, Created: s.Identity.Created},
		Bound:    assign.Bound(c.Plan, f, s.Required[assign.BoundAddresses]),
		CoolDown: c.Input.Network.CoolDown.Duration,
		Now:      s.Now,
	}
}

// bootstraps are what the machines of each pool do before they are nodes, by
// pool, without what the platform team added: their network first, since a
// machine that cannot have its addresses must not join; then what every node
// needs, and what the platform's servers need.
func bootstraps(c infra.Cluster, i infra.Foundation) (map[string]bootstrap.Bootstrap, error) {
	out := make(map[string]bootstrap.Bootstrap, len(c.Plan.Pools))
	for _, pool := range c.Plan.Pools {
		network, err := network(c, pool)
		if err != nil {
			return nil, fmt.Errorf("cannot describe the network of pool %q: %w", pool.Name, err)
		}
		node, err := bootstrap.Node(pool.OS, c.Input.Bootstrap, c.Spec.KubernetesVersion, i.Bootstrap[pool.Name].Orders...)
		if err != nil {
			return nil, fmt.Errorf("cannot prepare the machines of pool %q: %w", pool.Name, err)
		}
		out[pool.Name] = bootstrap.Join(network, forwarding(c.Spec.ClusterNetwork), node, i.Bootstrap[pool.Name])
	}
	return out, nil
}

// overBudget says which pools' machines would get more user data of ours than the
// budget. What the platform team added is its own affair.
func overBudget(c infra.Cluster, nodes map[string]bootstrap.Bootstrap) field.ErrorList {
	paths := map[string]*field.Path{plan.ControlPlanePool: field.NewPath("spec", "controlPlane")}
	for i, worker := range c.Spec.Workers {
		paths[worker.Name] = field.NewPath("spec", "workers").Index(i)
	}
	var errs field.ErrorList
	for _, pool := range c.Plan.Pools {
		size := bootstrap.Size(nodes[pool.Name])
		if size <= bootstrap.Budget {
			continue
		}
		remedy := "give the pool fewer networks or routes, or the cluster fewer SSH keys"
		if controller := c.Input.Equinix.CloudController; pool.Role == plan.ControlPlane &&
			controller.Kind == v1beta1.CloudControllerCPEM && controller.Delivery == v1beta1.DeliveryUserData {
			remedy += "; the platform team can also deliver the cloud controller by add-ons instead of user data, " +
				"with equinix.cloudController.delivery: " + v1beta1.DeliveryAddOn + " in the function's input"
		}
		errs = append(errs, field.Invalid(paths[pool.Name], field.OmitValueType{}, fmt.Sprintf(
			"what the function adds to the user data of pool %q takes %d bytes, and the budget is %d: %s",
			pool.Name, size, bootstrap.Budget, remedy)))
	}
	return errs
}

// customized are bootstraps with what the platform team added, after all else.
func customized(nodes map[string]bootstrap.Bootstrap, b v1beta1.Bootstrap) map[string]bootstrap.Bootstrap {
	out := make(map[string]bootstrap.Bootstrap, len(nodes))
	for pool, node := range nodes {
		out[pool] = bootstrap.Join(node, bootstrap.Custom(b))
	}
	return out
}

// forwarding of IPv6, where pods or services have such addresses.
func forwarding(n spec.ClusterNetwork) bootstrap.Bootstrap {
	for _, block := range slices.Concat(n.Pods.CIDRBlocks, n.Services.CIDRBlocks) {
		if p, err := netip.ParsePrefix(block); err == nil && p.Addr().Is6() {
			return bootstrap.IPv6Forwarding()
		}
	}
	return bootstrap.Bootstrap{}
}

func network(c infra.Cluster, pool plan.Pool) (bootstrap.Bootstrap, error) {
	if len(pool.Links) == 0 {
		return bootstrap.Bootstrap{}, nil
	}
	overrides := make([]osnet.Override, 0, len(c.Input.Network.Backends))
	for _, b := range c.Input.Network.Backends {
		overrides = append(overrides, osnet.Override{OSPrefix: b.OSPrefix, Backend: osnet.Backend(b.Name)})
	}
	backend, err := osnet.BackendFor(pool.OS, overrides...)
	if err != nil {
		return bootstrap.Bootstrap{}, err
	}
	files, err := osnet.Render(pool, backend, osnet.Options{
		Metadata: c.Input.Equinix.MetadataURL,
		Timeout:  c.Input.Network.Timeout.Duration,
	})
	return bootstrap.Bootstrap{Files: files, PreKubeadm: []string{osnet.Command}}, err
}

func capiCluster(c infra.Cluster, i infra.Foundation, nodes map[string]bootstrap.Bootstrap) capi.Cluster {
	return capi.Cluster{
		Name: c.Name, Namespace: c.Namespace, Spec: c.Spec, Input: c.Input, Plan: c.Plan,
		Infrastructure: i.Cluster, Machines: i.Machines, Bootstrap: nodes,
	}
}

func reportInput(s xr.Snapshot, c infra.Cluster, f infra.Facts, a assign.Result, warnings []string, objects []object.Object) report.Input {
	return report.Input{
		Cluster: c, Facts: f, Addresses: a, Objects: objects, Status: s.Status,
		Kubeconfig: s.Required[capi.RequireKubeconfig], Warnings: warnings, Now: s.Now,
	}
}

// begin the rollouts that may begin now. It returns an error for what would be
// another cluster, and for a version that the machines which run cannot go to.
func begin(s xr.Snapshot, c infra.Cluster, f infra.Facts, a assign.Result, machines []object.Object) (rollout.Decision, error) {
	in := rollout.Input{
		Cluster: c, Facts: f, Rooms: a.Rooms, Desired: machines,
		Machines: s.Required[infra.CAPIMachines], MachineSets: s.Required[capi.RequireMachineSets],
	}
	fixed := capi.Fixed(c.Name, c.Namespace, c.Spec.ClusterNetwork, c.Observed)
	if err := s.ClaimError(fixed, rollout.Versions(in)); err != nil {
		return rollout.Decision{}, err
	}
	return rollout.Decide(in), nil
}

// kept are the templates that are not desired any more and still needed.
func kept(s xr.Snapshot, desired []object.Object) []string {
	return keep.Templates(desired, s.Observed, s.Required[capi.RequireMachineSets])
}
