package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// testClaim is a good claim that tests change: networks storage (0), with both
// families, and data (1) on bond0 of the control plane and of worker pool
// general (0); network uplink (2) under pure layer-2 workers nat (1). Like its
// input it has no cloud controller, which would know no address of those.
func testClaim() *Spec {
	machines := func(ports ...Port) Machines {
		return Machines{MachineType: "c3.small.x86", OS: "ubuntu_22_04", Ports: ports}
	}
	bond := func(names ...string) Port {
		p := Port{Name: "bond0"}
		for _, n := range names {
			p.Networks = append(p.Networks, PortNetwork{Name: n})
		}
		return p
	}
	nat := bond("uplink")
	nat.Layer2 = true
	s := &Spec{
		KubernetesVersion: "v1.34.2",
		ProjectID:         "2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11",
		Metro:             "da",
		VIPManager:        KubeVIP,
		VRFs:              []VRF{{Name: "edge", LocalASN: 65000, IPRanges: []string{"10.60.0.0/16"}}},
		Networks: []Network{
			{
				Name: "storage", VXLAN: 1000, IPAddresses: []string{"10.60.10.0/24", "2001:db8:60:10::/64"},
				AssignmentRanges: []string{"10.60.10.2-10.60.10.40"}, Gateway: "10.60.10.1", GatewayIPv6: "2001:db8:60:10::1",
				Routes:       []Route{{Destination: "10.60.0.0/16", Gateway: "10.60.10.1"}},
				MetalGateway: &MetalGateway{VRF: "edge"},
			},
			{Name: "data", VXLAN: 1001, IPAddresses: []string{"10.61.20.0/24"}, Gateway: "10.61.20.1"},
			{Name: "uplink", VXLAN: 1002, IPAddresses: []string{"10.62.0.0/24"}, Gateway: "10.62.0.1", DefaultRoute: true},
		},
		ControlPlane: ControlPlane{Machines: machines(bond("storage", "data"))},
		Workers: []WorkerPool{
			{Name: "general", Machines: machines(bond("storage", "data"))},
			{Name: "nat", Machines: machines(nat)},
		},
	}
	Default(s)
	return s
}

func testInput() *v1beta1.Input {
	in := &v1beta1.Input{}
	in.Equinix.CloudController.Kind = v1beta1.CloudControllerNone
	v1beta1.Default(in)
	return in
}

// validation is a case of one rule: what is changed in a good claim or input,
// the errors as "path: type", all of them, and part of what the first one says.
type validation struct {
	reason   string
	change   func(s *Spec, in *v1beta1.Input)
	want     []string
	says     string
	warnings []string
}

func (tc validation) run(t *testing.T) {
	t.Helper()
	s, in := testClaim(), testInput()
	tc.change(s, in)
	Default(s)
	errs, warnings := Validate(s, in)
	got, texts := make([]string, 0, len(errs)), make([]string, 0, len(errs))
	for _, err := range errs {
		got = append(got, fmt.Sprintf("%s: %s", err.Field, err.Type))
		texts = append(texts, err.Error())
	}
	if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s\nValidate() errors: -want, +got:\n%s%s", tc.reason, diff, strings.Join(texts, "\n"))
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, tc.says) {
		t.Errorf("%s\nValidate() must say %q, and says:\n%s", tc.reason, tc.says, all)
	}
	if diff := cmp.Diff(tc.warnings, warnings, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s\nValidate() warnings: -want, +got:\n%s", tc.reason, diff)
	}
}
