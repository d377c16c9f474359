package spec

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

func TestValidateCluster(t *testing.T) {
	cases := map[string]validation{
		"Empty": {
			reason: "Everything that has no default is missed at once, sorted.",
			change: func(s *Spec, in *v1beta1.Input) {
				*s, in.Equinix.CloudController.Kind = Spec{}, v1beta1.CloudControllerCPEM
			},
			want: []string{
				"spec.controlPlane.machineType: Required value", "spec.controlPlane.os: Required value",
				"spec.kubernetesVersion: Required value", "spec.metro: Required value", "spec.projectID: Required value",
			},
		},
		"Namespace": {
			reason: "Namespaces are DNS labels.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Namespace = "Team_A" },
			want:   []string{"spec.namespace: Invalid value"},
		},
		"Version": {
			reason: "Releases have three numbers and a v.",
			change: func(s *Spec, _ *v1beta1.Input) { s.KubernetesVersion = "1.34" },
			want:   []string{"spec.kubernetesVersion: Invalid value"},
			says:   `spec.kubernetesVersion: Invalid value: "1.34": must be a Kubernetes release with its v, for example v1.34.2`,
		},
		"Project": {
			reason: "Projects are UUIDs.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ProjectID = "edge" },
			want:   []string{"spec.projectID: Invalid value"},
		},
		"Metro": {
			reason: "Metros are two letters.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Metro = "d1" },
			want:   []string{"spec.metro: Invalid value"},
		},
		"MetroNotAllowed": {
			reason: "The platform team allows others.",
			change: func(_ *Spec, in *v1beta1.Input) { in.Allowed.Metros = []string{"am", "sv"} },
			want:   []string{"spec.metro: Unsupported value"},
			says:   `spec.metro: Unsupported value: "da": supported values: "am", "sv"`,
		},
		"SSHKey": {
			reason: "Options before a key could run commands.",
			change: func(s *Spec, _ *v1beta1.Input) { s.SSHKeys = []string{`command="reboot" ssh-ed25519 AAAA`} },
			want:   []string{"spec.sshKeys[0]: Invalid value"},
		},
		"TooManySSHKeys": {
			reason: "A list is bounded.",
			change: func(s *Spec, _ *v1beta1.Input) {
				for range 33 {
					s.SSHKeys = append(s.SSHKeys, "ssh-ed25519 AAAA")
				}
			},
			want: []string{"spec.sshKeys: Too many"},
		},
		"VIPManager": {
			reason: "The infrastructure provider knows three.",
			change: func(s *Spec, _ *v1beta1.Input) { s.VIPManager = "BGP" },
			want:   []string{"spec.vipManager: Unsupported value"},
			says:   `supported values: "CPEM", "KUBE_VIP", "EMLB"`,
		},
		"CPEMWithoutCloudController": {
			reason: "Nobody would move the address.",
			change: func(s *Spec, _ *v1beta1.Input) { s.VIPManager = CPEM },
			want:   []string{"spec.vipManager: Invalid value"},
			says:   "use KUBE_VIP",
		},
		"EMLBWithoutCloudController": {
			reason: "The load balancer is the cloud controller's.",
			change: func(s *Spec, _ *v1beta1.Input) { s.VIPManager = EMLB },
			want:   []string{"spec.vipManager: Invalid value"},
		},
		"NoPods": {
			reason: "Pods need addresses.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ClusterNetwork.Pods.CIDRBlocks = []string{} },
			want:   []string{"spec.clusterNetwork.pods.cidrBlocks: Required value", "spec.clusterNetwork.services.cidrBlocks[0]: Invalid value"},
		},
		"TwoPodBlocksOfOneFamily": {
			reason: "Kubernetes takes one per family.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.ClusterNetwork.Pods.CIDRBlocks = []string{"192.168.0.0/16", "192.170.0.0/16"}
			},
			want: []string{"spec.clusterNetwork.pods.cidrBlocks[1]: Invalid value"},
			says: "is a second IPv4 block beside 192.168.0.0/16",
		},
		"ThreePodBlocks": {
			reason: "There are two families.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.ClusterNetwork.Pods.CIDRBlocks = []string{"192.168.0.0/16", "fd00::/56", "fd01::/56"}
			},
			want: []string{"spec.clusterNetwork.pods.cidrBlocks: Too many", "spec.clusterNetwork.pods.cidrBlocks[2]: Invalid value"},
		},
		"PodBlockSizes": {
			reason: "kubeadm gives every node a /24 and counts to 65536.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.ClusterNetwork.Pods.CIDRBlocks = []string{"192.168.0.0/25", "fd00::/40"}
			},
			want: []string{"spec.clusterNetwork.pods.cidrBlocks[0]: Invalid value", "spec.clusterNetwork.pods.cidrBlocks[1]: Invalid value"},
		},
		"ServiceBlockSize": {
			reason: "kubeadm takes at most 20 bits.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ClusterNetwork.Services.CIDRBlocks = []string{"172.0.0.0/11"} },
			want:   []string{"spec.clusterNetwork.services.cidrBlocks[0]: Invalid value"},
			says:   "kubeadm takes IPv4 blocks of services from /12 to /28",
		},
		"ServicesWithoutPods": {
			reason: "A service needs pods of its family.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.ClusterNetwork.Services.CIDRBlocks = []string{"172.26.0.0/16", "fd00:20::/112"}
			},
			want: []string{"spec.clusterNetwork.services.cidrBlocks[1]: Invalid value"},
		},
		"ServiceDomain": {
			reason: "It becomes part of names.",
			change: func(s *Spec, _ *v1beta1.Input) { s.ClusterNetwork.ServiceDomain = "cluster_local" },
			want:   []string{"spec.clusterNetwork.serviceDomain: Invalid value"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}
