package equinix

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	texttemplate "text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

const (
	filledEndpoint = "147.75.0.9"
	filledToken    = "the-token"
)

// throughProvider is what the infrastructure provider makes of a text in user
// data.
func throughProvider(t *testing.T, text string, role plan.Role) string {
	t.Helper()
	values := map[string]any{"kubernetesVersion": "v1.34.2"}
	if role == plan.ControlPlane {
		values["controlPlaneEndpoint"], values["apiKey"] = filledEndpoint, filledToken
	}
	parsed, err := texttemplate.New("user-data").Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, values); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out.String()
}

// texts of a bootstrap that template engines see.
func texts(b bootstrap.Bootstrap) []string {
	var out []string
	for _, f := range b.Files {
		if f.Live {
			out = append(out, f.Content)
		}
		out = append(out, f.Path)
	}
	out = append(out, b.PreKubeadm...)
	out = append(out, b.PostKubeadm...)
	for _, a := range append(b.KubeletArgs, b.ControllerManagerArgs...) {
		out = append(out, a.Name, a.Value)
	}
	return out
}

func TestUserDataThroughBothEngines(t *testing.T) {
	for name, claim := range map[string]string{
		"CPEM": baseClaim, "KubeVIP": baseClaim + "vipManager: KUBE_VIP\n", "EMLB": baseClaim + "vipManager: EMLB\n",
	} {
		for _, input := range []string{"", "equinix: {cloudController: {delivery: AddOn}}", "equinix: {cloudController: {kind: None}}"} {
			c := clusterOf(t, claim, input)
			i := compose(t, c, infra.Facts{}, nil)
			for _, pool := range c.Plan.Pools {
				tokens := 0
				for _, text := range texts(i.Bootstrap[pool.Name]) {
					got := throughProvider(t, text, pool.Role)
					tokens += strings.Count(got, filledToken)
					if strings.Contains(got, "<no value>") {
						t.Errorf("%s, input %q, pool %s: %q becomes %q", name, input, pool.Name, text, got)
					}
					// cloud-init fills in the server's UUID.
					got = strings.ReplaceAll(got, "{{ v1.instance_id }}", device1)
					for _, opener := range []string{"{{", "{%", "{#"} {
						if strings.Contains(got, opener) {
							t.Errorf("%s, input %q, pool %s: cloud-init would read %q in %q", name, input, pool.Name, opener, got)
						}
					}
				}
				want := 0
				if pool.Role == plan.ControlPlane && input == "" {
					want = 1
				}
				if tokens != want {
					t.Errorf("%s, input %q, pool %s: the token is there %d times, want %d", name, input, pool.Name, tokens, want)
				}
			}
		}
	}
}

func TestProviderID(t *testing.T) {
	i := compose(t, clusterOf(t, baseClaim, ""), infra.Facts{}, nil)
	for pool, b := range i.Bootstrap {
		want := []bootstrap.Arg{
			{Name: "cloud-provider", Value: "external"},
			{Name: "provider-id", Value: "equinixmetal://{{ `{{ v1.instance_id }}` }}"},
		}
		if diff := cmp.Diff(want, b.KubeletArgs); diff != "" {
			t.Errorf("pool %s: kubelet arguments: -want, +got:\n%s", pool, diff)
		}
	}
	if got, want := throughProvider(t, providerID, plan.Worker), "equinixmetal://{{ v1.instance_id }}"; got != want {
		t.Errorf("the provider ID becomes %q, want %q", got, want)
	}
}

// Nothing on the way to a worker knows the endpoint or the token.
func TestWorkersGetNothingOfTheControlPlane(t *testing.T) {
	for _, vip := range []string{"CPEM", "KUBE_VIP", "EMLB"} {
		b := compose(t, clusterOf(t, baseClaim+"vipManager: "+vip+"\n", ""), infra.Facts{}, nil).Bootstrap["general"]
		if len(b.Orders) > 0 {
			t.Errorf("%s: a worker obeys orders of the control plane:\n%s", vip, b.Orders)
		}
		for _, f := range b.Files {
			for _, word := range []string{"controlPlaneEndpoint", "apiKey", "kubeconfig"} {
				if strings.Contains(f.Content, word) {
					t.Errorf("%s: a worker gets %s with %q", vip, f.Path, word)
				}
			}
		}
		if len(b.PostKubeadm) > 0 || len(b.ControllerManagerArgs) > 0 {
			t.Errorf("%s: a worker gets %v and %v", vip, b.PostKubeadm, b.ControllerManagerArgs)
		}
	}
}

func TestKubeVIPPutsNothingOnLoopback(t *testing.T) {
	b := compose(t, clusterOf(t, baseClaim+"vipManager: KUBE_VIP\n", ""), infra.Facts{}, nil).Bootstrap[plan.ControlPlanePool]
	for _, text := range append(texts(b), b.Orders...) {
		if strings.Contains(text, "dev lo") || strings.Contains(text, "l2cluster-endpoint") {
			t.Errorf("this puts an address on lo:\n%s", text)
		}
	}
}

// What CPEM reads, once the provider has filled it in.
func TestCloudControllerSecret(t *testing.T) {
	cases := map[string]struct {
		reason string
		claim  string
		input  string
		want   map[string]any
	}{
		"CPEM": {
			reason: "CPEM moves the address that CAPP tagged.", claim: baseClaim,
			want: map[string]any{
				"apiKey": filledToken, "projectID": testProject,
				"eipTag": "cluster-api-provider-packet:cluster-id:edge-1a2b3c", "eipHealthCheckUseHostIP": true,
			},
		},
		"KubeVIP": {
			reason: "Where kube-vip has the address, CPEM leaves it alone.", claim: baseClaim + "vipManager: KUBE_VIP\n",
			want: map[string]any{"apiKey": filledToken, "projectID": testProject},
		},
		"OtherAddress": {
			reason: "CPEM asks the API that the input names.", claim: baseClaim + "vipManager: EMLB\n",
			input: "equinix: {apiURL: 'https://metal.example.org/metal/v1/'}",
			want:  map[string]any{"apiKey": filledToken, "projectID": testProject, "base-url": "https://metal.example.org/metal/v1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			content, err := cloudControllerSecret(clusterOf(t, tc.claim, tc.input))
			if err != nil {
				t.Fatal(err)
			}
			var secret struct {
				Kind       string            `json:"kind"`
				StringData map[string]string `json:"stringData"`
			}
			if err := yaml.Unmarshal([]byte(throughProvider(t, content, plan.ControlPlane)), &secret); err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(secret.StringData["cloud-sa.json"]), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || secret.Kind != "Secret" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for input, want := range map[string]int{"": 0, "equinix: {cloudController: {kind: None}}": 1} {
		if got := compose(t, clusterOf(t, baseClaim, input), infra.Facts{}, nil).Warnings; len(got) != want {
			t.Errorf("input %q: got warnings %q, want %d", input, got, want)
		}
	}
}
