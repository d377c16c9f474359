package bootstrap

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

var packages = v1beta1.Bootstrap{NodePackages: "Packages", KubernetesRepository: "https://pkgs.k8s.io/core:/stable:"}

func TestNode(t *testing.T) {
	kernel := []osnet.File{
		{Path: "/etc/modules-load.d/l2cluster.conf", Permissions: "0644", Content: "overlay\nbr_netfilter\n"},
		{Path: "/etc/sysctl.d/99-l2cluster.conf", Permissions: "0644", Content: "net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\nnet.bridge.bridge-nf-call-ip6tables = 1\n"},
		{Path: "/usr/local/sbin/l2cluster-node-setup", Permissions: "0755", Content: nodeSetup, Gzip: nodeSetupPacked},
	}
	crictl := osnet.File{Path: "/etc/crictl.yaml", Permissions: "0644", Content: "runtime-endpoint: unix:///run/containerd/containerd.sock\nimage-endpoint: unix:///run/containerd/containerd.sock\n"}
	installing := func(command string) Bootstrap {
		return Bootstrap{Files: append(append([]osnet.File{}, kernel...), crictl), PreKubeadm: []string{command}}
	}
	apt := "/usr/local/sbin/l2cluster-node-setup apt 'v1.34.2' 'https://pkgs.k8s.io/core:/stable:' || exit 1"
	dnf := "/usr/local/sbin/l2cluster-node-setup dnf 'v1.34.2' 'https://pkgs.k8s.io/core:/stable:' || exit 1"
	image := Bootstrap{Files: kernel, PreKubeadm: []string{"/usr/local/sbin/l2cluster-node-setup image || exit 1"}}

	type args struct {
		os    string
		input v1beta1.Bootstrap
	}
	cases := map[string]struct {
		reason string
		args   args
		want   Bootstrap
		err    error
	}{
		"Ubuntu":       {reason: "Ubuntu has apt.", args: args{"ubuntu_22_04", packages}, want: installing(apt)},
		"Debian":       {reason: "Debian has apt.", args: args{"debian_12", packages}, want: installing(apt)},
		"Rocky":        {reason: "Rocky has dnf.", args: args{"rocky_9", packages}, want: installing(dnf)},
		"Alma":         {reason: "Alma has dnf.", args: args{"alma_9", packages}, want: installing(dnf)},
		"RHEL":         {reason: "RHEL has dnf.", args: args{"rhel_9", packages}, want: installing(dnf)},
		"Flatcar":      {reason: "Flatcar installs no packages.", args: args{"flatcar_stable", packages}, err: ErrUnsupportedOS},
		"Unknown":      {reason: "An operating system that we do not know is not guessed at.", args: args{"custom_ipxe", packages}, err: ErrUnsupportedOS},
		"FlatcarImage": {reason: "An image that has everything is only prepared.", args: args{"flatcar_stable", v1beta1.Bootstrap{NodePackages: "Image"}}, want: image},
		"UbuntuImage":  {reason: "An image that has everything is only prepared.", args: args{"ubuntu_22_04", v1beta1.Bootstrap{NodePackages: "Image"}}, want: image},
		"Mirror": {reason: "A mirror's closing slash is not doubled.",
			args: args{"debian_12", v1beta1.Bootstrap{NodePackages: "Packages", KubernetesRepository: "https://mirror.example/k8s/"}},
			want: installing("/usr/local/sbin/l2cluster-node-setup apt 'v1.34.2' 'https://mirror.example/k8s' || exit 1")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Node(tc.args.os, tc.args.input, "v1.34.2")
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s\nNode: got error %v, want %v", tc.reason, err, tc.err)
			}
			if err != nil && !strings.Contains(err.Error(), "nodePackages: Image") {
				t.Errorf("%s\nthe error does not say what to do: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nNode: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNodeSetupIsPacked(t *testing.T) {
	r, err := gzip.NewReader(bytes.NewReader(nodeSetupPacked))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nodeSetup, string(got)); diff != "" {
		t.Errorf("node-setup.sh.gz is stale, run go generate: -want, +got:\n%s", diff)
	}
}

func TestNodeHoldsNoTemplate(t *testing.T) {
	got, err := Node("ubuntu_22_04", packages, "v1.34.2")
	if err != nil {
		t.Fatal(err)
	}
	texts := append([]string{}, got.PreKubeadm...)
	for _, f := range append(got.Files, IPv6Forwarding().Files...) {
		texts = append(texts, f.Content)
	}
	for _, text := range texts {
		for _, opener := range []string{"{{", "{%", "{#"} {
			if strings.Contains(text, opener) {
				t.Errorf("found %q, which template engines on the way execute, in:\n%s", opener, text)
			}
		}
	}
}

func TestShellcheck(t *testing.T) {
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("shellcheck is not installed")
		}
		t.Skip("shellcheck is not installed")
	}
	if out, err := exec.Command(path, "--shell=sh", "node-setup.sh").CombinedOutput(); err != nil {
		t.Errorf("shellcheck node-setup.sh: %v\n%s", err, out)
	}
}

func TestCustom(t *testing.T) {
	got := Custom(v1beta1.Bootstrap{
		Files: []v1beta1.File{
			{Path: "/opt/fmt.sh", Permissions: "0755", Content: "docker inspect --format '{{.State.Status}}' x; a=(1 2); echo ${#a[@]}"},
			{Path: "/etc/plain", Content: "plain"},
		},
		PreKubeadmCommands:  []string{"echo {{ ds.meta_data.hostname }}", "true"},
		PostKubeadmCommands: []string{"echo {{{{"},
	})
	want := Bootstrap{
		Files: []osnet.File{
			{Path: "/opt/fmt.sh", Permissions: "0755", Content: "docker inspect --format '{{.State.Status}}' x; a=(1 2); echo ${#a[@]}"},
			{Path: "/etc/plain", Permissions: "0644", Content: "plain"},
		},
		PreKubeadm:  []string{"echo {{`{{`}} ds.meta_data.hostname }}", "true"},
		PostKubeadm: []string{"echo {{`{{`}}{{`{{`}}"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Custom: -want, +got:\n%s", diff)
	}
}

func TestEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"{", "}", "{{", "}}", "-", " ", "`", "{{-", "-}}", "{{/*", "%", "#", `"`, `\`, "\n", ".apiKey"}),
			rapid.String(),
		)).Draw(t, "text"), "")
		parsed, err := template.New("").Parse(Escape(text))
		if err != nil {
			t.Fatalf("Escape(%q) does not parse: %v", text, err)
		}
		var out strings.Builder
		if err := parsed.Execute(&out, map[string]any{"apiKey": "secret"}); err != nil {
			t.Fatalf("Escape(%q) does not execute: %v", text, err)
		}
		if out.String() != text {
			t.Fatalf("Escape(%q) renders as %q", text, out.String())
		}
	})
}

func TestJoin(t *testing.T) {
	a := Bootstrap{
		Files: []osnet.File{{Path: "/a"}}, PreKubeadm: []string{"a"}, PostKubeadm: []string{"A"},
		KubeletArgs: []Arg{{"a", "1"}}, ControllerManagerArgs: []Arg{{"b", "2"}}, IgnorePreflight: []string{"c"},
	}
	b := Bootstrap{
		Files: []osnet.File{{Path: "/b"}}, PreKubeadm: []string{"b"}, PostKubeadm: []string{"B"},
		KubeletArgs: []Arg{{"d", "3"}}, ControllerManagerArgs: []Arg{{"e", "4"}}, IgnorePreflight: []string{"f"},
	}
	want := Bootstrap{
		Files: []osnet.File{{Path: "/a"}, {Path: "/b"}}, PreKubeadm: []string{"a", "b"}, PostKubeadm: []string{"A", "B"},
		KubeletArgs: []Arg{{"a", "1"}, {"d", "3"}}, ControllerManagerArgs: []Arg{{"b", "2"}, {"e", "4"}}, IgnorePreflight: []string{"c", "f"},
	}
	if diff := cmp.Diff(want, Join(a, b)); diff != "" {
		t.Errorf("Join keeps the order: -want, +got:\n%s", diff)
	}
}
