package spec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// hostile values that a template engine, a shell, YAML, a terminal or a reader
// would take for something else, and one that is only too long.
var hostile = map[string]string{
	"GoTemplate":      "{{ .apiKey }}",
	"JinjaStatement":  "{% raw %}",
	"JinjaComment":    "{# x #}",
	"ShellSubstitute": "$(reboot)",
	"Backticks":       "`id`",
	"SingleQuote":     "a'b",
	"DoubleQuote":     `a"b`,
	"Backslash":       `a\b`,
	"Semicolon":       "a;reboot",
	"NewLine":         "a\nreboot",
	"TrailingNewLine": "a\n",
	"CarriageReturn":  "a\rb",
	"NUL":             "a\x00b",
	"YAMLComment":     "a #b",
	"YAMLAnchor":      "&a *b",
	"Bidi":            "a\u202eb",
	"ZeroWidth":       "a\u200bb",
	"FullWidth":       "ａ",
	"LineSeparator":   "a\u2028b",
	"ParentFolder":    "../../etc/passwd",
	"VeryLong":        strings.Repeat("a", 5000),
	"OnlySpace":       " ",
}

// harmlessBehind a good value are these: a comment of an SSH key may end in a
// space, and URLs, images, tags and comments have dots and slashes.
var harmlessBehind = map[string]bool{"OnlySpace": true, "ParentFolder": true}

// freeText is what people write for people, or what the platform team writes
// for servers: its own rules are tested where it is put into user data.
var freeText = map[string]string{
	"spec.vrfs[].description":               "for people; it never reaches a server",
	"spec.networks[].description":           "for people; it never reaches a server",
	"input.bootstrap.files[].content":       "a file, byte for byte; it travels encoded",
	"input.bootstrap.preKubeadmCommands[]":  "a command of the platform team's own",
	"input.bootstrap.postKubeadmCommands[]": "a command of the platform team's own",
}

// notRead are fields that nothing reads.
var notRead = map[string]string{
	"input.kind":       "Crossplane found the function by it",
	"input.apiVersion": "Crossplane found the function by it",
	"input.metadata":   "the input is no object of an API server",
}

// slot is where a string stands: what it is, and how to put another there.
type slot struct {
	good string
	set  func(string)
}

// stringsOf the values below v by path, with [] for items and {} for entries of
// a map. Of several items the last is found.
func stringsOf(v reflect.Value, path string, found map[string]slot) {
	if _, ok := notRead[path]; ok {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			stringsOf(v.Elem(), path, found)
		}
	case reflect.String:
		found[path] = slot{v.String(), v.SetString}
	case reflect.Struct:
		for f, value := range v.Fields() {
			stringsOf(value, fieldPath(path, f), found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			stringsOf(v.Index(i), path+"[]", found)
		}
	case reflect.Map:
		found[path+"{key}"] = slot{"key", func(s string) { v.Set(reflect.ValueOf(map[string]string{s: ""})) }}
		found[path+"{value}"] = slot{"value", func(s string) { v.Set(reflect.ValueOf(map[string]string{"key": s})) }}
	default:
	}
}

func fieldPath(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return path
	}
	return path + "." + name
}

// stringFields of a type by the same paths, whatever its values.
func stringFields(t reflect.Type, path string) []string {
	if _, ok := notRead[path]; ok {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return stringFields(t.Elem(), path)
	case reflect.String:
		return []string{path}
	case reflect.Slice:
		return stringFields(t.Elem(), path+"[]")
	case reflect.Map:
		return []string{path + "{key}", path + "{value}"}
	case reflect.Struct:
		var out []string
		for f := range t.Fields() {
			if t.String() != "v1.Duration" {
				out = append(out, stringFields(f.Type, fieldPath(path, f))...)
			}
		}
		return out
	default:
		return nil
	}
}

// fullClaims have, between them, a value in every string field.
func fullClaims() map[string]func() *Spec {
	machines := func(m *Machines) {
		m.HardwareReservationID, m.Tags = "next-available", []string{"blue"}
		m.Labels, m.Taints = map[string]string{"site": "east"}, []Taint{{Key: "dedicated", Value: "storage", Effect: "NoSchedule"}}
		m.HealthCheck = &HealthCheck{}
		m.Ports = append(m.Ports, Port{Name: "eth1", Bonded: new(false), NativeNetwork: "pooled", Networks: []PortNetwork{{Name: "pooled"}}})
		m.Ports[0].Networks[1].AssignmentRange = "10.61.20.2-10.61.20.9"
	}
	return map[string]func() *Spec{
		"Everything": func() *Spec {
			s := testClaim()
			s.Namespace, s.SSHKeys, s.VIPManager = "team-a", []string{"ssh-ed25519 AAAA ops"}, KubeVIP
			s.ClusterNetwork.ServiceDomain = "cluster.local"
			s.VRFs[0].Description, s.Networks[0].Description = "for people", "for people"
			s.Networks[0].InterfaceName, s.Networks[0].Exclude = "storage0", []string{"10.60.10.20"}
			s.Networks[1].VLANID = "8f0b6f0e-1d0b-4c1e-9d0a-5b1f3a0c7d22"
			s.Networks = append(s.Networks, Network{
				Name: "pooled", VXLAN: 1003, IPAddresses: []string{"10.63.0.0/24"}, Assignment: AssignIPAM, PoolRef: &PoolRef{Name: "pooled"},
			})
			machines(&s.ControlPlane.Machines)
			machines(&s.Workers[0].Machines)
			Default(s)
			return s
		},
		"ObservedVRF": func() *Spec {
			s := testClaim()
			s.VIPManager = KubeVIP
			s.VRFs[0] = VRF{Name: "edge", VRFID: "7d1c5a52-5c2e-4b0c-8f58-0b5d7a1c9e01"}
			return s
		},
	}
}

func fullInput() *v1beta1.Input {
	in := &v1beta1.Input{
		Namespace: "clusters",
		Allowed: v1beta1.Allowed{
			Metros: []string{"da"}, MachineTypes: []string{"c3.small.x86"}, OperatingSystems: []string{"ubuntu_22_04"},
		},
		Equinix: v1beta1.Equinix{Blocks: []string{"10.51.43.128/25"}, HardwareReservations: true},
		Bootstrap: v1beta1.Bootstrap{
			Files:              []v1beta1.File{{Path: "/opt/a", Content: "a"}},
			PreKubeadmCommands: []string{"uptime"}, PostKubeadmCommands: []string{"uptime"},
		},
		Network: v1beta1.Network{Backends: []v1beta1.Backend{{OSPrefix: "debian", Name: "netplan"}}},
		AddOns:  []v1beta1.AddOn{{Name: "cni", Resources: []v1beta1.AddOnResource{{Kind: "Secret", Name: "cni"}}}},
	}
	in.Equinix.CloudController.Kind = v1beta1.CloudControllerNone
	v1beta1.Default(in)
	return in
}

// Every string of a claim is refused when it is hostile, alone or behind a good
// value, except free text.
func TestHostileClaim(t *testing.T) {
	covered := map[string]bool{}
	for name, full := range fullClaims() {
		if errs, _ := Validate(full(), fullInput()); len(errs) > 0 {
			t.Fatalf("%s is not good: %v", name, errs)
		}
		tryHostile(t, "spec", covered, func() (any, func() int) {
			s := full()
			return s, func() int {
				errs, _ := Validate(s, fullInput())
				return len(errs)
			}
		})
	}
	checkCovered(t, stringFields(reflect.TypeFor[Spec](), "spec"), covered)
}

// The same for an input.
func TestHostileInput(t *testing.T) {
	if errs := v1beta1.Validate(fullInput()); len(errs) > 0 {
		t.Fatalf("the full input is not good: %v", errs)
	}
	covered := map[string]bool{}
	tryHostile(t, "input", covered, func() (any, func() int) {
		in := fullInput()
		return in, func() int { return len(v1beta1.Validate(in)) }
	})
	checkCovered(t, stringFields(reflect.TypeFor[v1beta1.Input](), "input"), covered)
}

// tryHostile values in every string of what full makes; its second result
// counts the errors that validation finds in the first.
func tryHostile(t *testing.T, root string, covered map[string]bool, full func() (any, func() int)) {
	t.Helper()
	slots := func(object any) map[string]slot {
		found := map[string]slot{}
		stringsOf(reflect.ValueOf(object).Elem(), root, found)
		return found
	}
	object, _ := full()
	for path, at := range slots(object) {
		if covered[path] {
			continue
		}
		covered[path] = true
		if _, free := freeText[path]; free {
			continue
		}
		for what, value := range hostile {
			for _, text := range []string{value, at.good + value} {
				if text != value && harmlessBehind[what] {
					continue
				}
				object, faults := full()
				slots(object)[path].set(text)
				if faults() == 0 {
					t.Errorf("%s is accepted in %s: %.80q", what, path, text)
				}
			}
		}
	}
}

// checkCovered: a new string field is hostile until it is listed as free text.
func checkCovered(t *testing.T, fields []string, covered map[string]bool) {
	t.Helper()
	for _, path := range fields {
		if !covered[path] {
			t.Errorf("no full claim or input has a value in %s: add one, so that hostile values are tried there", path)
		}
	}
	for path := range freeText {
		if strings.HasPrefix(path, fields[0][:4]) && !slices.Contains(fields, path) {
			t.Errorf("%s is listed as free text and is no field", path)
		}
	}
}
