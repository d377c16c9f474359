package spec

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

func TestValidateGood(t *testing.T) {
	cases := map[string]validation{
		"Unchanged": {reason: "The claim that the other cases change is good.", change: func(*Spec, *v1beta1.Input) {}},
		"NoNetworks": {
			reason: "A cluster without networks is a cluster.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks, s.VRFs, s.Workers, s.ControlPlane.Ports = nil, nil, nil, nil
			},
		},
		"OneControlPlaneServer": {
			reason: "A single server is fine with surge.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ControlPlane.Replicas = 1 },
		},
		"NoSurge": {
			reason: "Three servers can be replaced one by one.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.ControlPlane.Rollout = &ControlPlaneRollout{MaxSurge: new(int32(0))}
				s.Workers[0].Rollout = &WorkerRollout{MaxSurge: new(int32(0))}
			},
		},
		"WithoutCloudController": {
			reason: "KUBE_VIP and an own node address need no cloud controller.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Workers[0].Ports[0].Networks[0].NodeIP = true },
		},
		"CloudController": {
			reason: "It knows the addresses of servers that keep the platform's own.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Equinix.CloudController.Kind, s.VIPManager = v1beta1.CloudControllerCPEM, CPEM
				s.Networks, s.Workers = s.Networks[:2], s.Workers[:1]
			},
		},
		"ReservationsHonoured": {
			reason: "The platform team says that the provider honours them.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Equinix.HardwareReservations = true
				s.ControlPlane.HardwareReservationID = "next-available"
			},
		},
		"Allowed": {
			reason: "What the platform team allows is allowed.",
			change: func(_ *Spec, in *v1beta1.Input) {
				in.Allowed = v1beta1.Allowed{Metros: []string{"sv", "da"}, MachineTypes: []string{"c3.small.x86"}, OperatingSystems: []string{"ubuntu_22_04"}}
			},
		},
		"ObservedVRF": {
			reason: "The ranges of a VRF that is only observed are not known.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.VRFs[0] = VRF{Name: "edge", VRFID: "7d1c5a52-5c2e-4b0c-8f58-0b5d7a1c9e01"}
			},
		},
		"TwoGatewaysOfOneNetwork": {
			reason: "An IPv6 network may name its router in either field.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].IPAddresses, s.Networks[1].Gateway, s.Networks[1].GatewayIPv6 = []string{"2001:db8:61::/64"}, "", "2001:db8:61::1"
			},
		},
		"RoutesTwiceWithSourceRouting": {
			reason: "Own tables and different metrics keep two ways apart.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].SourceRouting, s.Networks[1].SourceRouting = true, true
				s.Networks[1].Routes = []Route{{Destination: "10.60.0.0/16", Gateway: "10.61.20.1", Metric: 100}}
			},
		},
		"NarrowPlatformRoute": {
			reason: "In pure layer 2 there is no route of the platform's.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[2].Routes = []Route{{Destination: "10.0.0.0/8", Gateway: "10.62.0.1"}}
			},
		},
		"RouteBesideTheProjectsBlock": {
			reason: "In pure layer 2 servers reach the project's own blocks through a router only.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Equinix.Blocks = []string{"10.51.43.128/25"}
				s.Networks[2].Routes = []Route{{Destination: "10.51.43.128/25", Gateway: "10.62.0.1"}}
			},
		},
		"RouteAroundTheProjectsBlock": {
			reason: "The longer prefix wins.",
			change: func(s *Spec, in *v1beta1.Input) {
				in.Equinix.Blocks = []string{"10.51.43.128/25"}
				s.Networks[1].Routes = []Route{{Destination: "10.51.0.0/16", Gateway: "10.61.20.1"}}
			},
		},
		"RouteAroundAnotherSubnet": {
			reason: "The longer prefix wins.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].Routes = []Route{{Destination: "10.61.0.0/16", Gateway: "10.60.10.1"}}
			},
		},
		"RouteToASubnetElsewhere": {
			reason: "No server is on both networks.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].Routes = []Route{{Destination: "10.62.0.0/24", Gateway: "10.60.10.1"}}
			},
		},
		"RouteToASubnetWithoutAddress": {
			reason: "A server that has no address on a network reaches it through a router.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].Assignment = AssignNone
				s.Networks[0].Routes = []Route{{Destination: "10.61.20.0/24", Gateway: "10.60.10.1"}}
			},
		},
		"ExcludeAndPoolRange": {
			reason: "Ranges, single addresses and blocks of either family.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[0].Exclude = []string{"10.60.10.20", "2001:db8:60:10::/112"}
				s.Workers[0].Ports[0].Networks[0].AssignmentRange = "10.60.10.128/25"
			},
		},
		"NodeLabels": {
			reason: "Domains that Cluster API syncs, that a kubelet may set, and one's own.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Workers[0].Labels = map[string]string{
					"rack": "4", "example.org/site": "east", "node-role.kubernetes.io/storage": "",
					"node-restriction.kubernetes.io/tier": "a", "x.node-restriction.kubernetes.io/tier": "a",
					"node.cluster.x-k8s.io/pool": "a", "node.kubernetes.io/class": "a", "topology.kubernetes.io/zone": "da11",
				}
				s.ControlPlane.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
			},
		},
		"VLAN254": {
			reason: "Its routing table is 10254, not the kernel's main table 254.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[1].VXLAN, s.Networks[1].SourceRouting = 254, true },
		},
		"SmallestMTUs": {
			reason: "1280 with IPv6 and 576 without are the smallest.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[0].MTU, s.Networks[1].MTU = 1280, 576 },
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}
