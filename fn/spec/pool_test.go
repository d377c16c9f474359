package spec

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

func TestValidatePool(t *testing.T) {
	const general = "spec.workers[0]"
	worker := func(change func(*WorkerPool)) func(*Spec, *v1beta1.Input) {
		return func(s *Spec, _ *v1beta1.Input) { change(&s.Workers[0]) }
	}
	cases := map[string]validation{
		"TwoOfOneName": {
			reason: "Objects are named after pools.",
			change: worker(func(w *WorkerPool) { w.Name = "nat" }),
			want:   []string{"spec.workers[1].name: Duplicate value"},
		},
		"Name": {
			reason: "Names are DNS labels.",
			change: worker(func(w *WorkerPool) { w.Name = "General" }),
			want:   []string{general + ".name: Invalid value"},
		},
		"LikeTheControlPlane": {
			reason: "The control plane is a pool itself.",
			change: worker(func(w *WorkerPool) { w.Name = "control-plane" }),
			want:   []string{general + ".name: Invalid value"},
		},
		"MachineType": {
			reason: "Plans are slugs.",
			change: worker(func(w *WorkerPool) { w.MachineType = "c3 small" }),
			want:   []string{general + ".machineType: Invalid value"},
		},
		"OS": {
			reason: "Operating systems are slugs.",
			change: worker(func(w *WorkerPool) { w.OS = "" }),
			want:   []string{general + ".os: Required value"},
		},
		"NotAllowed": {
			reason: "The error lists what is.",
			change: func(_ *Spec, in *v1beta1.Input) {
				in.Allowed.MachineTypes, in.Allowed.OperatingSystems = []string{"m3.large.x86"}, []string{"debian_12", "rocky_9"}
			},
			want: []string{
				"spec.controlPlane.machineType: Unsupported value", "spec.controlPlane.os: Unsupported value",
				"spec.workers[0].machineType: Unsupported value", "spec.workers[0].os: Unsupported value",
				"spec.workers[1].machineType: Unsupported value", "spec.workers[1].os: Unsupported value",
			},
			says: `spec.workers[0].os: Unsupported value: "ubuntu_22_04": supported values: "debian_12", "rocky_9"`,
		},
		"BillingCycle": {
			reason: "The platform has four.",
			change: worker(func(w *WorkerPool) { w.BillingCycle = "weekly" }),
			want:   []string{general + ".billingCycle: Unsupported value"},
		},
		"Reservation": {
			reason: "The infrastructure provider would ignore one and crash on two; the error says so.",
			change: worker(func(w *WorkerPool) { w.HardwareReservationID = "next-available" }),
			want:   []string{general + ".hardwareReservationID: Invalid value"},
			says:   "ignores a single reservation and crashes on a list",
		},
		"ReservationID": {
			reason: "Reservations are UUIDs or next-available.",
			change: worker(func(w *WorkerPool) { w.HardwareReservationID = "any" }),
			want:   []string{general + ".hardwareReservationID: Invalid value"},
			says:   "must be next-available, or UUIDs",
		},
		"Tags": {
			reason:   "Tags work with a warning; a space or a tag twice does not.",
			change:   worker(func(w *WorkerPool) { w.Tags = []string{"team-blue", "team blue", "team-blue"} }),
			want:     []string{general + ".tags[1]: Invalid value", general + ".tags[2]: Duplicate value"},
			warnings: []string{"spec.workers[0].tags: the infrastructure provider up to v0.9.0 does not forward tags to servers"},
		},
		"Labels": {
			reason: "Keys and values as in Kubernetes; domains that neither Cluster API nor a kubelet may set.",
			change: worker(func(w *WorkerPool) {
				w.Labels = map[string]string{
					"a b": "v", "site": "{{ .apiKey }}", "kubernetes.io/hostname": "a", "x.k8s.io/a": "b",
					"cluster.x-k8s.io/cluster-name": "other", "node-role.kubernetes.io/control-plane": "",
				}
			}),
			want: []string{
				general + ".labels: Invalid value", general + ".labels: Invalid value", general + ".labels: Invalid value",
				general + ".labels: Invalid value", general + ".labels: Invalid value", general + ".labels[site]: Invalid value",
			},
			says: `"kubernetes.io/hostname": neither Cluster API nor the kubelet may set a label of this domain`,
		},
		"TooManyLabels": {
			reason: "A map is bounded.",
			change: worker(func(w *WorkerPool) {
				w.Labels = map[string]string{}
				for i := range 65 {
					w.Labels[fmt.Sprintf("label%d", i)] = ""
				}
			}),
			want: []string{general + ".labels: Too many"},
		},
		"LongLabels": {
			reason: "12 labels of 63+1+23 characters and 11 commas are 1,055 for the kubelet; those that Cluster API sets do not count.",
			change: worker(func(w *WorkerPool) {
				w.Labels = map[string]string{}
				for i := range 12 {
					w.Labels[fmt.Sprintf("label-%02d-%s", i, strings.Repeat("k", 54))] = strings.Repeat("v", 23)
					w.Labels[fmt.Sprintf("node.cluster.x-k8s.io/%02d", i)] = strings.Repeat("v", 63)
				}
			}),
			want: []string{general + ".labels: Invalid value"},
			says: "has 1055 characters, and Cluster API accepts 1024",
		},
		"LabelsThatFit": {
			reason: "11 of them are 967.",
			change: worker(func(w *WorkerPool) {
				w.Labels = map[string]string{}
				for i := range 11 {
					w.Labels[fmt.Sprintf("label-%02d-%s", i, strings.Repeat("k", 54))] = strings.Repeat("v", 23)
				}
			}),
		},
		"Taints": {
			reason: "Taints as in Kubernetes, each key and effect once.",
			change: worker(func(w *WorkerPool) {
				w.Taints = []Taint{
					{Key: "a", Effect: "NoSchedule"}, {Key: "a", Value: "b", Effect: "NoSchedule"}, {Key: "a", Effect: "NoExecute"},
					{Key: "a/b/c", Value: "x y", Effect: "Never"}, {Key: "example..org/a", Effect: "NoSchedule"}, {Effect: "NoSchedule"},
				}
			}),
			want: []string{
				general + ".taints[1]: Duplicate value", general + ".taints[3].effect: Unsupported value",
				general + ".taints[3].key: Invalid value", general + ".taints[3].value: Invalid value",
				general + ".taints[4].key: Invalid value", general + ".taints[5].key: Required value",
			},
		},
		"HealthCheckBounds": {
			reason: "Times and numbers are bounded.",
			change: worker(func(w *WorkerPool) {
				w.HealthCheck = &HealthCheck{NodeStartupTimeoutSeconds: 599, UnhealthyTimeoutSeconds: 29, MaxUnhealthy: "101%"}
			}),
			want: []string{
				general + ".healthCheck.maxUnhealthy: Invalid value", general + ".healthCheck.nodeStartupTimeoutSeconds: Invalid value",
				general + ".healthCheck.unhealthyTimeoutSeconds: Invalid value",
			},
		},
		"HealthCheckBeforeTheNetwork": {
			reason: "A server would be replaced before it can say why.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Network.Timeout = &metav1.Duration{Duration: 20 * time.Minute}
				s.Workers[0].HealthCheck = &HealthCheck{NodeStartupTimeoutSeconds: 1200}
			},
			want: []string{general + ".healthCheck.nodeStartupTimeoutSeconds: Invalid value"},
			says: "must be more than the 20m0s",
		},
		"TooManyPools": {
			reason: "A list is bounded.",
			change: func(s *Spec, _ *v1beta1.Input) {
				for i := range 63 {
					w := s.Workers[0]
					w.Name = fmt.Sprintf("p%d", i)
					s.Workers = append(s.Workers, w)
				}
			},
			want: []string{"spec.workers: Too many"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

func TestValidateNumbers(t *testing.T) {
	const general = "spec.workers[0]"
	cases := map[string]validation{
		"EvenControlPlane": {
			reason: "etcd needs a majority.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ControlPlane.Replicas = 2 },
			want:   []string{"spec.controlPlane.replicas: Invalid value"},
			says:   "spec.controlPlane.replicas: Invalid value: 2: must be 1, 3, 5 or 7",
		},
		"ControlPlaneCannotRoll": {
			reason: "One replica and no surge is refused by Cluster API, later.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.ControlPlane.Replicas, s.ControlPlane.Rollout.MaxSurge = 1, new(int32(0))
			},
			want: []string{"spec.controlPlane.rollout.maxSurge: Invalid value"},
			says: "0 needs at least 3 replicas",
		},
		"ControlPlaneSurge": {
			reason: "Only 0 and 1 are valid.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ControlPlane.Rollout.MaxSurge = new(int32(2)) },
			want:   []string{"spec.controlPlane.rollout.maxSurge: Invalid value"},
		},
		"Replicas": {
			reason: "Numbers are bounded.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Replicas, s.Workers[1].Replicas = new(int32(-1)), new(int32(1001))
			},
			want: []string{general + ".replicas: Invalid value", "spec.workers[1].replicas: Invalid value"},
		},
		"ReplicasAndAutoscaling": {
			reason: "Two would set the number.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[0].Autoscaling = &Autoscaling{Min: 1, Max: 2} },
			want:   []string{general + ".replicas: Invalid value"},
		},
		"Autoscaling": {
			reason: "Bounds are bounded, and in order.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Replicas, s.Workers[0].Autoscaling = nil, &Autoscaling{Min: -1, Max: 1001}
				s.Workers[1].Replicas, s.Workers[1].Autoscaling = nil, &Autoscaling{Min: 3, Max: 2}
			},
			want: []string{
				general + ".autoscaling.max: Invalid value", general + ".autoscaling.min: Invalid value",
				"spec.workers[1].autoscaling.min: Invalid value",
			},
		},
		"WorkerRollout": {
			reason: "Numbers are bounded.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Rollout = &WorkerRollout{MaxSurge: new(int32(1001)), MaxUnavailable: new(int32(-1))}
			},
			want: []string{general + ".rollout.maxSurge: Invalid value", general + ".rollout.maxUnavailable: Invalid value"},
		},
		"WorkerRolloutCannotMove": {
			reason: "Nothing may come and nothing may go.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Rollout = &WorkerRollout{MaxSurge: new(int32(0)), MaxUnavailable: new(int32(0))}
			},
			want: []string{general + ".rollout.maxUnavailable: Invalid value"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

// Defaults that depend on other fields, which no schema can state.
func TestDefault(t *testing.T) {
	cases := map[string]struct {
		reason      string
		pool        WorkerPool
		replicas    *int32
		surge       int32
		unavailable int32
	}{
		"Nothing":     {"One server, one more during a rollout.", WorkerPool{}, new(int32(1)), 1, 0},
		"Autoscaling": {"The autoscaler owns the number.", WorkerPool{Autoscaling: &Autoscaling{Max: 2}}, nil, 1, 0},
		"NoServers":   {"0 is a number.", WorkerPool{Replicas: new(int32(0))}, new(int32(0)), 1, 0},
		"NoSurge":     {"Something must give way.", WorkerPool{Rollout: &WorkerRollout{MaxSurge: new(int32(0))}}, new(int32(1)), 0, 1},
		"Given": {
			"What is given stays.",
			WorkerPool{Rollout: &WorkerRollout{MaxSurge: new(int32(2)), MaxUnavailable: new(int32(3))}}, new(int32(1)), 2, 3,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &Spec{Workers: []WorkerPool{tc.pool}}
			Default(s)
			w := s.Workers[0]
			if (w.Replicas == nil) != (tc.replicas == nil) || (w.Replicas != nil && *w.Replicas != *tc.replicas) {
				t.Errorf("%s\nreplicas: want %v, got %v", tc.reason, tc.replicas, w.Replicas)
			}
			if *w.Rollout.MaxSurge != tc.surge || *w.Rollout.MaxUnavailable != tc.unavailable {
				t.Errorf("%s\nrollout: want %d and %d, got %d and %d", tc.reason, tc.surge, tc.unavailable, *w.Rollout.MaxSurge, *w.Rollout.MaxUnavailable)
			}
		})
	}
}
