package bootstrap

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
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
	setup := func(way, command string) Bootstrap {
		script, packed := read(t, way+".sh"), read(t, way+".sh.gz")
		return Bootstrap{
			Files:      []osnet.File{{Path: "/usr/local/sbin/l2cluster-node-setup", Permissions: "0755", Content: script, Gzip: []byte(packed)}},
			PreKubeadm: []string{command},
		}
	}
	apt := setup("apt", "/usr/local/sbin/l2cluster-node-setup 'v1.34.2' 'https://pkgs.k8s.io/core:/stable:' || exit 1")
	dnf := setup("dnf", "/usr/local/sbin/l2cluster-node-setup 'v1.34.2' 'https://pkgs.k8s.io/core:/stable:' || exit 1")
	image := setup("image", "/usr/local/sbin/l2cluster-node-setup || exit 1")

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
		"Ubuntu":       {reason: "Ubuntu has apt.", args: args{"ubuntu_22_04", packages}, want: apt},
		"Debian":       {reason: "Debian has apt.", args: args{"debian_12", packages}, want: apt},
		"Rocky":        {reason: "Rocky has dnf.", args: args{"rocky_9", packages}, want: dnf},
		"Alma":         {reason: "Alma has dnf.", args: args{"alma_9", packages}, want: dnf},
		"RHEL":         {reason: "RHEL has dnf.", args: args{"rhel_9", packages}, want: dnf},
		"Flatcar":      {reason: "Flatcar installs no packages.", args: args{"flatcar_stable", packages}, err: ErrUnsupportedOS},
		"Unknown":      {reason: "An operating system that we do not know is not guessed at.", args: args{"custom_ipxe", packages}, err: ErrUnsupportedOS},
		"FlatcarImage": {reason: "An image that has everything is only prepared.", args: args{"flatcar_stable", v1beta1.Bootstrap{NodePackages: "Image"}}, want: image},
		"UbuntuImage":  {reason: "An image that has everything is only prepared.", args: args{"ubuntu_22_04", v1beta1.Bootstrap{NodePackages: "Image"}}, want: image},
		"Mirror": {reason: "A mirror's closing slash is not doubled.",
			args: args{"debian_12", v1beta1.Bootstrap{NodePackages: "Packages", KubernetesRepository: "https://mirror.example/k8s/"}},
			want: setup("apt", "/usr/local/sbin/l2cluster-node-setup 'v1.34.2' 'https://mirror.example/k8s' || exit 1")},
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

// ways are those that packages come to a server, each with the parts of its
// script.
var ways = map[string][]string{
	"apt":   {"common", "packages", "apt", "main"},
	"dnf":   {"common", "packages", "dnf", "main"},
	"image": {"common", "image"},
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := nodeSetupFS.ReadFile("node/assembled/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// whole is a script with its comments.
func whole(t *testing.T, way string) string {
	t.Helper()
	var out strings.Builder
	for _, part := range ways[way] {
		b, err := os.ReadFile("node/parts/" + part + ".sh")
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	return out.String()
}

func TestNodeSetupIsFresh(t *testing.T) {
	for way := range ways {
		r, err := gzip.NewReader(strings.NewReader(read(t, way+".sh.gz")))
		if err != nil {
			t.Fatal(err)
		}
		packed, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read(t, way+".sh"), string(packed)); diff != "" {
			t.Errorf("%s.sh.gz is stale, run go generate: -want, +got:\n%s", way, diff)
		}
		// The first two lines are the shell and where the comments are.
		want := []string{}
		for line := range strings.Lines(whole(t, way)) {
			if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
				want = append(want, line)
			}
		}
		got := slices.Collect(strings.Lines(read(t, way+".sh")))
		if diff := cmp.Diff(want, got[2:]); diff != "" {
			t.Errorf("%s.sh is stale, run go generate: -want, +got:\n%s", way, diff)
		}
	}
}

func TestNodeHoldsNoTemplate(t *testing.T) {
	for way := range ways {
		got, err := nodeSetup(way, "")
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
}

func TestShellcheck(t *testing.T) {
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("shellcheck is not installed")
		}
		t.Skip("shellcheck is not installed")
	}
	for way := range ways {
		cmd := exec.Command(path, "--shell=sh", "-")
		cmd.Stdin = strings.NewReader(whole(t, way))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("shellcheck of the script for %s: %v\n%s", way, err, out)
		}
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
