package bootstrap

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/fn/osnet/stablegzip"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

var packages = v1beta1.Bootstrap{NodePackages: "Packages", KubernetesRepository: "https://pkgs.k8s.io/core:/stable:"}

func TestNode(t *testing.T) {
	setup := func(way, command string) Bootstrap {
		script := read(t, way+".sh") + read(t, "obey.sh")
		return Bootstrap{
			Files:      []osnet.File{{Path: "/usr/local/sbin/l2cluster-node", Permissions: "0755", Content: script, Gzip: stablegzip.Compress([]byte(script))}},
			PreKubeadm: []string{command},
		}
	}
	apt := setup("apt", "/usr/local/sbin/l2cluster-node setup 'v1.34.2' 'https://pkgs.k8s.io/core:/stable:' || exit 1")
	dnf := setup("dnf", "/usr/local/sbin/l2cluster-node setup 'v1.34.2' 'https://pkgs.k8s.io/core:/stable:' || exit 1")
	image := setup("image", "/usr/local/sbin/l2cluster-node setup || exit 1")

	type args struct {
		os    string
		input v1beta1.Bootstrap
	}
	cases := map[string]struct {
		reason string
		args   args
		want   Bootstrap
		err    error
		says   string
	}{
		"Ubuntu":       {reason: "Ubuntu has apt.", args: args{"ubuntu_22_04", packages}, want: apt},
		"Debian":       {reason: "Debian has apt.", args: args{"debian_12", packages}, want: apt},
		"Rocky":        {reason: "Rocky has dnf.", args: args{"rocky_9", packages}, want: dnf},
		"Alma":         {reason: "Alma has dnf.", args: args{"alma_9", packages}, want: dnf},
		"RHEL":         {reason: "RHEL has dnf.", args: args{"rhel_9", packages}, want: dnf},
		"Flatcar":      {reason: "Flatcar obeys no cloud-init.", args: args{"flatcar_stable", packages}, err: ErrUnsupportedOS, says: "use Ubuntu, Debian, Rocky, Alma or RHEL"},
		"FlatcarImage": {reason: "An image that has packages obeys no cloud-init either.", args: args{"flatcar_lts", v1beta1.Bootstrap{NodePackages: "Image"}}, err: ErrUnsupportedOS, says: "use Ubuntu, Debian, Rocky, Alma or RHEL"},
		"Unknown":      {reason: "An operating system that we do not know is not guessed at.", args: args{"custom_ipxe", packages}, err: ErrUnsupportedOS, says: "nodePackages: Image"},
		"UnknownImage": {reason: "An image that has everything is only prepared.", args: args{"custom_ipxe", v1beta1.Bootstrap{NodePackages: "Image"}}, want: image},
		"UbuntuImage":  {reason: "An image that has everything is only prepared.", args: args{"ubuntu_22_04", v1beta1.Bootstrap{NodePackages: "Image"}}, want: image},
		"Mirror": {reason: "A mirror's closing slash is not doubled.",
			args: args{"debian_12", v1beta1.Bootstrap{NodePackages: "Packages", KubernetesRepository: "https://mirror.example/k8s/"}},
			want: setup("apt", "/usr/local/sbin/l2cluster-node setup 'v1.34.2' 'https://mirror.example/k8s' || exit 1")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Node(tc.args.os, tc.args.input, "v1.34.2")
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s\nNode: got error %v, want %v", tc.reason, err, tc.err)
			}
			if err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s\nthe error must say %q: %v", tc.reason, tc.says, err)
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
	"apt":   {"common", "packages", "apt", "main", "obey"},
	"dnf":   {"common", "packages", "dnf", "main", "obey"},
	"image": {"common", "image", "obey"},
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := nodeScripts.ReadFile("node/assembled/" + name)
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

func TestNodeScriptIsFresh(t *testing.T) {
	for way := range ways {
		want := "#!/bin/sh\n# https://github.com/l2cluster/function-l2cluster\n"
		for line := range strings.Lines(whole(t, way)) {
			line = strings.TrimLeft(line, "\t")
			if line != "\n" && !strings.HasPrefix(line, "#") {
				want += line
			}
		}
		if diff := cmp.Diff(want, read(t, way+".sh")+read(t, "obey.sh")); diff != "" {
			t.Errorf("%s.sh or obey.sh is stale, run go generate: -want, +got:\n%s", way, diff)
		}
	}
}

// Orders of the platform are in the script, and it obeys them.
func TestNodeObeysOrders(t *testing.T) {
	const order = "order_greet() {\necho \"hello $1\"\n}\n"
	joined := Join(Bootstrap{Orders: []string{order}}, Bootstrap{Orders: []string{"order_fail() {\nfail \"on purpose\"\n}\n"}})
	got, err := Node("ubuntu_22_04", v1beta1.Bootstrap{NodePackages: "Image"}, "v1.34.2", joined.Orders...)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		args   []string
		says   string
		fails  bool
	}{
		"Order":    {reason: "An order gets its arguments.", args: []string{"greet", "you"}, says: "hello you\n"},
		"Fails":    {reason: "An order's failure is the script's.", args: []string{"fail"}, says: "l2cluster-node: on purpose\n", fails: true},
		"Unknown":  {reason: "A typo is not taken for an order.", args: []string{"gret"}, says: "l2cluster-node: unknown order: gret\n", fails: true},
		"Function": {reason: "A function is no order.", args: []string{"prepare"}, says: "l2cluster-node: unknown order: prepare\n", fails: true},
		"None":     {reason: "Without an order nothing is done.", says: "l2cluster-node: unknown order: \n", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", append([]string{"-s", "--"}, tc.args...)...)
			cmd.Stdin = strings.NewReader(got.Files[0].Content)
			out, err := cmd.CombinedOutput()
			if string(out) != tc.says || (err != nil) != tc.fails {
				t.Errorf("%s\ngot %q and error %v, want %q and an error: %t", tc.reason, out, err, tc.says, tc.fails)
			}
		})
	}
}

func TestNodeHoldsNoTemplate(t *testing.T) {
	for way := range ways {
		got, err := node(way, "", nil)
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
