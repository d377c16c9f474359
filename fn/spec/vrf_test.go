package spec

import (
	"strings"
	"testing"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

func TestValidateVRF(t *testing.T) {
	cases := map[string]validation{
		"Name": {
			reason:   "Names are DNS labels.",
			change:   func(s *Spec, _ *v1beta1.Input) { s.VRFs[0].Name = "Edge" },
			want:     []string{"spec.networks[0].metalGateway.vrf: Not found", "spec.vrfs[0].name: Invalid value"},
			warnings: []string{"spec.vrfs[0]: no network has metalGateway.vrf: Edge, so this VRF has no effect"},
		},
		"TwoOfOneName": {
			reason: "Networks find VRFs by name.",
			change: func(s *Spec, _ *v1beta1.Input) { s.VRFs = append(s.VRFs, s.VRFs[0]) },
			want:   []string{"spec.vrfs[1].name: Duplicate value"},
			says:   "must be unique, and spec.vrfs[0].name has it already",
		},
		"TwoOfOneID": {
			reason: "One VRF cannot be two.",
			change: func(s *Spec, _ *v1beta1.Input) {
				id := "7d1c5a52-5c2e-4b0c-8f58-0b5d7a1c9e01"
				s.VRFs = append(s.VRFs, VRF{Name: "a", VRFID: id}, VRF{Name: "b", VRFID: id})
			},
			want: []string{"spec.vrfs[2].vrfID: Duplicate value"},
			warnings: []string{
				"spec.vrfs[1]: no network has metalGateway.vrf: a, so this VRF has no effect",
				"spec.vrfs[2]: no network has metalGateway.vrf: b, so this VRF has no effect",
			},
		},
		"Description": {
			reason: "Free text has a length.",
			change: func(s *Spec, _ *v1beta1.Input) { s.VRFs[0].Description = strings.Repeat("é", 256) },
			want:   []string{"spec.vrfs[0].description: Too long"},
		},
		"Nothing": {
			reason: "It can neither be created nor observed.",
			change: func(s *Spec, _ *v1beta1.Input) { s.VRFs[0] = VRF{Name: "edge"} },
			want: []string{
				"spec.networks[0].ipAddresses[0]: Invalid value",
				"spec.vrfs[0].ipRanges: Required value", "spec.vrfs[0].localASN: Required value",
			},
		},
		"ObservedAndChanged": {
			reason: "What exists belongs to its owner.",
			change: func(s *Spec, _ *v1beta1.Input) { s.VRFs[0].VRFID = "7d1c5a52-5c2e-4b0c-8f58-0b5d7a1c9e01" },
			want:   []string{"spec.vrfs[0].ipRanges: Invalid value", "spec.vrfs[0].localASN: Invalid value"},
		},
		"ASN": {
			reason: "ASNs have four bytes, and the last is reserved.",
			change: func(s *Spec, _ *v1beta1.Input) { s.VRFs[0].LocalASN = 4294967295 },
			want:   []string{"spec.vrfs[0].localASN: Invalid value"},
		},
		"Ranges": {
			reason: "IPv4 ranges are /8 to /29, without host bits, and lie apart.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.VRFs[0].IPRanges = []string{"10.60.0.0/16", "10.60.0.0/17", "11.0.0.0/30", "12.0.0.1/24", "10.60.0.0/16"}
			},
			want: []string{
				"spec.vrfs[0].ipRanges[1]: Invalid value", "spec.vrfs[0].ipRanges[2]: Invalid value",
				"spec.vrfs[0].ipRanges[3]: Invalid value", "spec.vrfs[0].ipRanges[4]: Duplicate value",
				"spec.vrfs[0].ipRanges[4]: Invalid value",
			},
		},
		"GatewayWithVLANID": {
			reason: "The gateway belongs to the VLAN's owner.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[0].VLANID = "8f0b6f0e-1d0b-4c1e-9d0a-5b1f3a0c7d22" },
			want:   []string{"spec.networks[0].metalGateway: Invalid value"},
		},
		"GatewayOfBothKinds": {
			reason:   "A gateway has one block.",
			change:   func(s *Spec, _ *v1beta1.Input) { s.Networks[0].MetalGateway.PrivateSubnetSize = 8 },
			want:     []string{"spec.networks[0].metalGateway: Invalid value"},
			warnings: []string{`spec.networks[0].metalGateway.privateSubnetSize: Equinix chooses the gateway's block, so the gateway does not route ipAddresses of network "storage"`},
		},
		"GatewayOfNoKind": {
			reason:   "A gateway has one block.",
			change:   func(s *Spec, _ *v1beta1.Input) { s.Networks[0].MetalGateway = &MetalGateway{} },
			want:     []string{"spec.networks[0].metalGateway: Invalid value"},
			warnings: []string{"spec.vrfs[0]: no network has metalGateway.vrf: edge, so this VRF has no effect"},
		},
		"PrivateSubnetSize": {
			reason: "Equinix has five sizes.",
			change: func(s *Spec, _ *v1beta1.Input) {
				s.Networks[1].MetalGateway = &MetalGateway{PrivateSubnetSize: 24}
			},
			want:     []string{"spec.networks[1].metalGateway.privateSubnetSize: Invalid value"},
			warnings: []string{`spec.networks[1].metalGateway.privateSubnetSize: Equinix chooses the gateway's block, so the gateway does not route ipAddresses of network "data"`},
		},
		"UnknownVRF": {
			reason:   "The error lists those that there are.",
			change:   func(s *Spec, _ *v1beta1.Input) { s.Networks[0].MetalGateway.VRF = "egde" },
			want:     []string{"spec.networks[0].metalGateway.vrf: Not found"},
			says:     `Not found: "egde": must name one of spec.vrfs: edge`,
			warnings: []string{"spec.vrfs[0]: no network has metalGateway.vrf: edge, so this VRF has no effect"},
		},
		"GatewayWithoutIPv4": {
			reason: "A reservation is of IPv4 addresses.",
			change: func(s *Spec, _ *v1beta1.Input) {
				n := &s.Networks[0]
				n.IPAddresses, n.AssignmentRanges, n.Gateway, n.Routes = n.IPAddresses[1:], nil, "", nil
			},
			want: []string{"spec.networks[0].ipAddresses: Required value"},
		},
		"BlockTooLarge": {
			reason: "Reservations are /22 to /29, inside the VRF's ranges.",
			change: func(s *Spec, _ *v1beta1.Input) {
				n := &s.Networks[0]
				n.IPAddresses[0], n.AssignmentRanges, n.Gateway, n.Routes = "10.70.0.0/21", nil, "10.70.0.1", nil
			},
			want: []string{"spec.networks[0].ipAddresses[0]: Invalid value", "spec.networks[0].ipAddresses[0]: Invalid value"},
		},
		"GatewayNotTheFirst": {
			reason: "The Metal Gateway takes the first address.",
			change: func(s *Spec, _ *v1beta1.Input) { s.Networks[0].Gateway = "10.60.10.254" },
			want:   []string{"spec.networks[0].gateway: Invalid value"},
			says:   "takes the first address of the block, 10.60.10.1",
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}
