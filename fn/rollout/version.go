package rollout

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// version of Kubernetes.
type version struct{ major, minor, patch int }

func parse(text string) (version, bool) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	if len(parts) != 3 {
		return version{}, false
	}
	var v version
	for i, into := range []*int{&v.major, &v.minor, &v.patch} {
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return version{}, false
		}
		*into = n
	}
	return v, true
}

func (v version) compare(o version) int {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor), cmp.Compare(v.patch, o.patch))
}

// running is a machine with the version that it runs.
type running struct {
	machine, text string
	version       version
}

// oldestKubelet is how many minor versions a kubelet may be behind the API
// server: https://kubernetes.io/releases/version-skew-policy/.
const oldestKubelet = 3

// Versions refuses a version that the machines which run cannot go to: one of
// an older minor version, since etcd's content is never taken back, or one that
// leaves a minor version out
// (https://kubernetes.io/releases/version-skew-policy/). Another patch version
// is always fine.
func Versions(in Input) field.ErrorList {
	wanted, ok := parse(in.Cluster.Spec.KubernetesVersion)
	if !ok {
		return nil
	}
	highest, lowest, oldest := observedVersions(in)
	refuse := func(format string, args ...any) field.ErrorList {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "kubernetesVersion"), in.Cluster.Spec.KubernetesVersion, fmt.Sprintf(format, args...))}
	}
	switch {
	case highest.machine != "" && wanted.minor < highest.version.minor:
		return refuse("%s runs %s already, and a cluster never goes back to an older minor version; put v1.%d back",
			highest.machine, highest.text, highest.version.minor)
	case lowest.machine != "" && wanted.minor > lowest.version.minor+1:
		return refuse("%s runs %s, and a control plane goes up one minor version at a time; go to v1.%d first, and on when all of it runs that",
			lowest.machine, lowest.text, lowest.version.minor+1)
	case oldest.machine != "" && wanted.minor > oldest.version.minor+oldestKubelet:
		return refuse("%s still runs %s, and a kubelet may be at most %d minor versions behind the API server; wait until its pool is replaced",
			oldest.machine, oldest.text, oldestKubelet)
	default:
		return nil
	}
}

// observedVersions are the highest and lowest of the control plane's machines,
// and the lowest of the workers'. One without a machine was not found. The
// control plane's own status counts too: its machines may not be fetched yet.
func observedVersions(in Input) (highest, lowest, oldest running) {
	for _, v := range in.Machines.Items {
		r := running{machine: "machine " + v.String("metadata", "name"), text: v.String("spec", "version")}
		var ok bool
		if r.version, ok = parse(r.text); !ok {
			continue
		}
		if !isControlPlane(v) {
			oldest = either(oldest, r, -1)
			continue
		}
		highest, lowest = either(highest, r, 1), either(lowest, r, -1)
	}
	if seen := decide(in).controlPlane(); seen != nil {
		r := running{machine: "the control plane", text: seen.String("status", "version")}
		var ok bool
		if r.version, ok = parse(r.text); ok {
			highest, lowest = either(highest, r, 1), either(lowest, r, -1)
		}
	}
	return highest, lowest, oldest
}

func isControlPlane(machine object.View) bool {
	return machine.Has("metadata", "labels", "cluster.x-k8s.io/control-plane") ||
		machine.String("metadata", "labels", keep.PoolLabel) == plan.ControlPlanePool
}

// either of two: the higher one for 1, the lower one for -1, the first of equals.
func either(a, b running, sign int) running {
	if a.machine == "" || b.version.compare(a.version) == sign {
		return b
	}
	return a
}

// controlPlane as it was observed, or nil.
func (d decision) controlPlane() object.View {
	return d.Cluster.Observed[d.makers[plan.ControlPlanePool].Key]
}

// beforeControlPlane says that a worker pool waits with a version until the
// control plane is done with it, or "": a kubelet must not be newer than the API
// server that it talks to.
func (d decision) beforeControlPlane(pool plan.Pool) string {
	cp, wanted := d.controlPlane(), d.Cluster.Spec.KubernetesVersion
	switch {
	case pool.Role == plan.ControlPlane:
		return ""
	case cp == nil:
		return d.unseenControlPlane(pool, wanted)
	case !d.brings(pool, cp, wanted):
		return ""
	}
	p := d.progress[plan.ControlPlanePool]
	asked := cp.String("spec", "version") == wanted && p.settled
	upToDate := p.upToDate
	if !asked {
		upToDate = 0
	}
	if runs := cp.String("status", "version"); asked && p.replicas > 0 && upToDate == p.replicas && p.ready == p.replicas && (runs == "" || runs == wanted) {
		return ""
	}
	return fmt.Sprintf("waits with Kubernetes %s until the control plane is done with it: %d of its %d machines are up to date, and %d ready", wanted, upToDate, p.replicas, p.ready)
}

// unseenControlPlane says why a pool waits with a version when no control plane was
// observed, or "". Before anything exists nobody waits: all are made together.
// After that an observation has missed the control plane, or it was not made yet;
// what it runs is known when it is seen again.
func (d decision) unseenControlPlane(pool plan.Pool, wanted string) string {
	seen := d.Cluster.Observed[d.makers[pool.Name].Key]
	has := seen != nil && seen.String("spec", "template", "spec", "version") == wanted
	if has || len(d.Cluster.Observed) == 0 {
		return ""
	}
	return fmt.Sprintf("waits with Kubernetes %s until its control plane is seen", wanted)
}

// brings says whether a pool would bring machines of a version that the control
// plane, as far as it exists, has not always had.
func (d decision) brings(pool plan.Pool, cp object.View, wanted string) bool {
	if seen := d.Cluster.Observed[d.makers[pool.Name].Key]; seen != nil {
		return seen.String("spec", "template", "spec", "version") != wanted
	}
	runs := cp.String("status", "version")
	return cp.String("spec", "version") != wanted || runs != "" && runs != wanted
}
