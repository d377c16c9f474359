package spec

import (
	"encoding/json"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/strict"
)

// Every integer of a claim arrives as a float and leaves as a whole number, in
// values as in errors; half a replica is refused.
func TestNumbers(t *testing.T) {
	exponent := regexp.MustCompile(`\de[+]`)
	object := map[string]any{
		"kubernetesVersion": "v1.34.2", "projectID": "2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11", "metro": "da", "vipManager": "KUBE_VIP",
		"vrfs": []any{map[string]any{"name": "edge", "localASN": 4.2e9, "ipRanges": []any{"10.60.0.0/16"}}},
		"networks": []any{map[string]any{
			"name": "storage", "vxlan": 1e3, "mtu": 9e3, "ipAddresses": []any{"10.60.10.0/24"}, "metalGateway": map[string]any{"vrf": "edge"},
			"routes": []any{map[string]any{"destination": "10.60.0.0/16", "gateway": "10.60.10.1", "metric": 1e6}},
		}},
		"controlPlane": map[string]any{"replicas": 3.0, "machineType": "c3.small.x86", "os": "ubuntu_22_04"},
	}
	s := &Spec{}
	if errs := strict.Decode(object, s, field.NewPath("spec")); len(errs) > 0 {
		t.Fatal(errs)
	}
	Default(s)
	if errs, _ := Validate(s, testInput()); len(errs) > 0 {
		t.Fatal(errs)
	}
	if n := s.Networks[0]; s.VRFs[0].LocalASN != 4200000000 || n.VXLAN != 1000 || n.MTU != 9000 || n.Routes[0].Metric != 1000000 || s.ControlPlane.Replicas != 3 {
		t.Errorf("numbers changed: %+v", s)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if exponent.Match(b) {
		t.Errorf("an exponent in %s", b)
	}

	object["controlPlane"].(map[string]any)["replicas"] = 2.5
	object["vrfs"].([]any)[0].(map[string]any)["localASN"] = 4.3e9
	object["networks"].([]any)[0].(map[string]any)["mtu"] = 1e6
	s = &Spec{}
	errs := strict.Decode(object, s, field.NewPath("spec"))
	Default(s)
	more, _ := Validate(s, testInput())
	errs = append(errs, more...)
	want := map[string]bool{"spec.controlPlane.replicas": true, "spec.vrfs[0].localASN": true, "spec.networks[0].mtu": true}
	for _, err := range errs {
		delete(want, err.Field)
		if exponent.MatchString(err.Error()) {
			t.Errorf("an exponent in %v", err)
		}
	}
	if len(want) > 0 {
		t.Errorf("not refused: %v; errors: %v", want, errs)
	}
}
