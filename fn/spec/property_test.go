package spec

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// words of claims, good and bad, that meet each other often enough for rules
// between fields to be reached.
var words = []string{
	"", "a", "b", "storage", "edge", "control-plane", "cluster-api", "ipam", "dhcp", "none", "CPEM", "KUBE_VIP", "Internal",
	"10.60.10.0/24", "10.60.0.0/16", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/64", "::/0", "10.60.10.1", "10.60.10.255", "2001:db8::1",
	"10.60.10.2-10.60.10.9", "10.60.10.9-10.60.10.2", "bond0", "bond1", "eth0", "eth1", "eth3", "vlan2", "{{ x }}", "\x00", "::ffff:10.0.0.0/104",
	"2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11", "next-available", "NoSchedule", "hourly", "40%", "da", "v1.34.2",
}

// draw a value of any type of a claim.
func draw(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.SampledFrom(words).Draw(t, "word"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(rapid.SampledFrom([]int{-1, 0, 1, 2, 3, 8, 254, 1280, 9001}).Draw(t, "number")))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "present") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			draw(t, f)
		}
	case reflect.Slice:
		if rapid.Bool().Draw(t, "present") {
			v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(t, "size"), 3))
			for i := range v.Len() {
				draw(t, v.Index(i))
			}
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{rapid.SampledFrom(words).Draw(t, "key"): rapid.SampledFrom(words).Draw(t, "value")}))
	default:
		t.Fatalf("cannot draw a %s", v.Type())
	}
}

// For any claim at all validation does not panic, says the same twice, sorts
// what it says, gives every error a path below spec and words, and leaves the
// claim as it was; defaults filled in twice are filled in once.
func TestValidateAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Spec{}
		draw(t, reflect.ValueOf(s).Elem())
		in := testInput()
		in.Equinix.CloudController.Kind = rapid.SampledFrom([]string{v1beta1.CloudControllerCPEM, v1beta1.CloudControllerNone}).Draw(t, "controller")
		in.Equinix.Blocks = []string{rapid.SampledFrom(words).Draw(t, "block")}
		Default(s)
		before := encoded(t, s)
		Default(s)
		if diff := cmp.Diff(before, encoded(t, s)); diff != "" {
			t.Fatalf("Default() twice: -once, +twice:\n%s", diff)
		}
		errs, warnings := Validate(s, in)
		again, warningsAgain := Validate(s, in)
		if diff := cmp.Diff(errs, again); diff != "" || !slices.Equal(warnings, warningsAgain) {
			t.Fatalf("Validate() twice: %s", diff)
		}
		if diff := cmp.Diff(before, encoded(t, s)); diff != "" {
			t.Fatalf("Validate() changed the claim:\n%s", diff)
		}
		if !slices.IsSorted(warnings) {
			t.Fatalf("warnings are not sorted: %q", warnings)
		}
		for i, err := range errs {
			if len(err.Field) < len("spec.x") || err.Field[:5] != "spec." || err.Detail == "" {
				t.Fatalf("an error without path or remedy: %v", err)
			}
			if i > 0 && errs[i-1].Field > err.Field {
				t.Fatalf("errors are not sorted: %v before %v", errs[i-1], err)
			}
		}
	})
}

func encoded(t *rapid.T, s *Spec) string {
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
