package bootstrap

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The programs of a server that the script may use as they are.
var realPrograms = []string{"awk", "cat", "chmod", "dirname", "env", "grep", "mkdir", "mv", "rm", "sed", "sleep", "tail", "timeout"}

// The programs of a server that tests replace: each writes its name and arguments
// to $CALLS, then does what the case says.
var stubs = map[string]string{
	"apt-cache":  `printf 'containerd:\n  Installed: (none)\n  Candidate: %s\n' "$CANDIDATE"`,
	"apt-get":    `[ "$1" != -qy ] || shift; case "$*" in *update) exit 0;; esac; "$INSTALL" "$@"`,
	"apt-mark":   ``,
	"curl":       `while [ $# -gt 1 ]; do [ "$1" != -o ] || out=$2; shift; done; echo "key of $1" >"$out"`,
	"dnf":        `"$INSTALL" "$@"`,
	"getenforce": `echo Enforcing`,
	"modprobe":   ``,
	"setenforce": ``,
	"swapoff":    ``,
	"swapon":     ``,
	"sysctl":     ``,
	"systemctl":  `case "$*" in *is-active*) [ -e "$L2CLUSTER_ROOT/active" ];; *restart*) touch "$L2CLUSTER_ROOT/active";; esac`,
}

// install is what a package manager does: the programs appear.
const install = `#!/bin/sh
bin=$(dirname "$0")
program() { printf '#!/bin/sh\necho "$(basename "$0") $*" >>"$CALLS"\n%s\n' "$2" >"$bin/$1"; chmod 0755 "$bin/$1"; }
version=
for arg in "$@"; do case $arg in
kubelet=*-\*) version=${arg#kubelet=}; version=${version%-\*} ;;
kubelet-*) version=${arg#kubelet-} ;;
containerd) program containerd "echo containerd github.com/containerd/containerd $CANDIDATE" ;;
containerd.io) program containerd "echo containerd containerd.io ${DOCKER:-v2.1.4} abc" ;;
esac; done
program kubelet "echo Kubernetes v$version"
program kubectl ""
program kubeadm "case \"\$*\" in version*) echo v$version;; *) echo registry.example/coredns:1; echo registry.example/pause:3.10;; esac"
`

// server is a folder that plays one, with programs that record how they are called.
type server struct {
	t    *testing.T
	root string
	env  []string
}

func newServer(t *testing.T, osRelease string) *server {
	t.Helper()
	s := &server{t: t, root: t.TempDir()}
	for _, p := range realPrograms {
		path, err := exec.LookPath(p)
		if err != nil {
			t.Fatalf("cannot find %q, which every server has: %v", p, err)
		}
		s.mkdir("bin")
		if err := os.Symlink(path, filepath.Join(s.root, "bin", p)); err != nil {
			t.Fatal(err)
		}
	}
	for p, body := range stubs {
		s.stub(p, body)
	}
	s.write("bin/basename", "#!/bin/sh\necho \"${1##*/}\"\n", 0o700)
	s.write("bin/touch", "#!/bin/sh\n: >\"$1\"\n", 0o700)
	s.write("bin/install", install, 0o700)
	s.write("etc/os-release", osRelease, 0o600)
	s.write("etc/selinux/config", "SELINUX=enforcing\n", 0o600)
	s.write("etc/fstab", "UUID=1 / ext4 defaults 0 1\n", 0o600)
	s.mkdir("etc")
	s.env = []string{
		"PATH=" + filepath.Join(s.root, "bin"), "CALLS=" + filepath.Join(s.root, "calls"),
		"INSTALL=" + filepath.Join(s.root, "bin", "install"), "CANDIDATE=1.7.28-0ubuntu1",
		"L2CLUSTER_ROOT=" + s.root, "L2CLUSTER_PAUSE=0", "L2CLUSTER_TIME_LIMIT=60",
	}
	return s
}

func (s *server) mkdir(path string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Join(s.root, path), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) write(path, content string, mode os.FileMode) {
	s.t.Helper()
	s.mkdir(filepath.Dir(path))
	if err := os.WriteFile(filepath.Join(s.root, path), []byte(content), mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) stub(program, body string) {
	s.t.Helper()
	s.write("bin/"+program, "#!/bin/sh\necho \""+program+" $*\" >>\"$CALLS\"\n"+body+"\n", 0o700)
}

func (s *server) read(path string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.root, path))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// run runs the script and returns its exit status, what it said, and the calls
// that change something.
func (s *server) run(shell string, args ...string) (status int, output string, calls []string) {
	s.t.Helper()
	s.write("calls", "", 0o600)
	script, err := NodeScript(args[0])
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("node.sh", script, 0o600)
	cmd := exec.Command(shell, append([]string{filepath.Join(s.root, "node.sh"), "setup"}, args[1:]...)...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(s.read("calls")) {
		line = strings.TrimSuffix(strings.ReplaceAll(line, s.root, ""), "\n")
		if i := strings.Index(line, " -o DPkg"); i >= 0 {
			line = line[:i] + line[strings.Index(line, "--force-confold")+len("--force-confold"):]
			line = strings.Replace(line, " -o APT::Update::Error-Mode=any", "", 1)
		}
		switch verb, rest, _ := strings.Cut(line, " "); {
		case verb == "containerd", verb == "kubelet", verb == "getenforce", verb == "apt-cache", verb == "swapon":
		case verb == "kubeadm" && rest == "version -o short":
		case verb == "curl":
			fields := strings.Fields(rest)
			calls = append(calls, "curl "+fields[len(fields)-1])
		default:
			calls = append(calls, line)
		}
	}
	return status, string(out), calls
}

// shells are those that are /bin/sh on the operating systems we install on.
func shells(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, shell := range []string{"dash", "bash"} {
		if _, err := exec.LookPath(shell); err == nil {
			out = append(out, shell)
		}
	}
	if len(out) == 0 {
		t.Skip("neither dash nor bash is installed")
	}
	return out
}

const (
	ubuntu = "ID=ubuntu\nVERSION_CODENAME=jammy\n"
	rocky  = "ID=\"rocky\"\nVERSION_ID=\"9.4\"\n"
	rhel   = "ID=\"rhel\"\n"

	containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "registry.example/pause:3.10"
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
`
)

func TestNodeSetupInstalls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	prepare := []string{"swapoff -a", "modprobe -a overlay br_netfilter", "sysctl -q -p /etc/sysctl.d/99-l2cluster.conf"}
	start := []string{"systemctl enable containerd kubelet", "systemctl is-active -q containerd", "systemctl restart containerd"}

	cases := map[string]struct {
		reason    string
		osRelease string
		candidate string
		args      []string
		calls     []string
		files     map[string]string
	}{
		"DistributionContainerd": {
			reason:    "A Kubernetes that works with containerd 1 gets the distribution's own, and no foreign key.",
			osRelease: ubuntu, candidate: "1.7.28-0ubuntu1~22.04.1",
			args: []string{"apt", "v1.34.2", "https://pkgs.k8s.io/core:/stable:"},
			calls: []string{
				"apt-get -qy update", "apt-get -qy install ca-certificates curl",
				"curl https://pkgs.k8s.io/core:/stable:/v1.34/deb/Release.key", "apt-get -qy update",
				"apt-get -qy install --allow-change-held-packages containerd kubelet=1.34.2-* kubeadm=1.34.2-* kubectl=1.34.2-*",
				"apt-mark -q hold kubelet kubeadm kubectl",
				"kubeadm config images list --kubernetes-version v1.34.2",
			},
			files: map[string]string{
				"etc/apt/keyrings/kubernetes.asc":        "key of https://pkgs.k8s.io/core:/stable:/v1.34/deb/Release.key\n",
				"etc/apt/sources.list.d/kubernetes.list": "deb [signed-by=/etc/apt/keyrings/kubernetes.asc] https://pkgs.k8s.io/core:/stable:/v1.34/deb/ /\n",
				"etc/containerd/config.toml":             containerdConfig,
				"etc/selinux/config":                     "SELINUX=enforcing\n",
				"etc/crictl.yaml":                        "runtime-endpoint: unix:///run/containerd/containerd.sock\nimage-endpoint: unix:///run/containerd/containerd.sock\n",
				"etc/modules-load.d/l2cluster.conf":      "overlay\nbr_netfilter\n",
				"etc/sysctl.d/99-l2cluster.conf":         "net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\nnet.bridge.bridge-nf-call-ip6tables = 1\n",
			},
		},
		"DockerContainerd": {
			reason:    "A Kubernetes that needs containerd 2 gets Docker's build where the distribution has 1.",
			osRelease: ubuntu, candidate: "1.7.28-0ubuntu1~22.04.1",
			args: []string{"apt", "v1.36.0", "https://mirror.example/k8s"},
			calls: []string{
				"apt-get -qy update", "apt-get -qy install ca-certificates curl",
				"curl https://mirror.example/k8s/v1.36/deb/Release.key", "curl https://download.docker.com/linux/ubuntu/gpg", "apt-get -qy update",
				"apt-get -qy install --allow-change-held-packages containerd.io kubelet=1.36.0-* kubeadm=1.36.0-* kubectl=1.36.0-*",
				"apt-mark -q hold kubelet kubeadm kubectl",
				"kubeadm config images list --kubernetes-version v1.36.0",
			},
			files: map[string]string{
				"etc/apt/keyrings/docker.asc":        "key of https://download.docker.com/linux/ubuntu/gpg\n",
				"etc/apt/sources.list.d/docker.list": "deb [signed-by=/etc/apt/keyrings/docker.asc] https://download.docker.com/linux/ubuntu jammy stable\n",
				"etc/containerd/config.toml":         containerdConfig,
			},
		},
		"NewDistributionContainerd": {
			reason:    "A distribution with containerd 2 serves every Kubernetes.",
			osRelease: ubuntu, candidate: "2.1.3-0ubuntu3",
			args: []string{"apt", "v1.36.0", "https://pkgs.k8s.io/core:/stable:"},
			calls: []string{
				"apt-get -qy update", "apt-get -qy install ca-certificates curl",
				"curl https://pkgs.k8s.io/core:/stable:/v1.36/deb/Release.key", "apt-get -qy update",
				"apt-get -qy install --allow-change-held-packages containerd kubelet=1.36.0-* kubeadm=1.36.0-* kubectl=1.36.0-*",
				"apt-mark -q hold kubelet kubeadm kubectl",
				"kubeadm config images list --kubernetes-version v1.36.0",
			},
		},
		"NoDistributionContainerd": {
			reason:    "A distribution without containerd gets Docker's build.",
			osRelease: "ID=debian\nVERSION_CODENAME=bookworm\n", candidate: "(none)",
			args: []string{"apt", "v1.34.2", "https://pkgs.k8s.io/core:/stable:"},
			calls: []string{
				"apt-get -qy update", "apt-get -qy install ca-certificates curl",
				"curl https://pkgs.k8s.io/core:/stable:/v1.34/deb/Release.key", "curl https://download.docker.com/linux/debian/gpg", "apt-get -qy update",
				"apt-get -qy install --allow-change-held-packages containerd.io kubelet=1.34.2-* kubeadm=1.34.2-* kubectl=1.34.2-*",
				"apt-mark -q hold kubelet kubeadm kubectl",
				"kubeadm config images list --kubernetes-version v1.34.2",
			},
		},
		"Rocky": {
			reason:    "Rocky has no containerd of its own; the Kubernetes packages are excluded from upgrades.",
			osRelease: rocky,
			args:      []string{"dnf", "v1.34.2", "https://pkgs.k8s.io/core:/stable:"},
			calls: []string{
				"setenforce 0",
				"dnf -qy install --disableexcludes=kubernetes containerd.io kubelet-1.34.2 kubeadm-1.34.2 kubectl-1.34.2",
				"kubeadm config images list --kubernetes-version v1.34.2",
			},
			files: map[string]string{
				"etc/selinux/config": "SELINUX=permissive\n",
				"etc/yum.repos.d/kubernetes.repo": `[kubernetes]
name=kubernetes
baseurl=https://pkgs.k8s.io/core:/stable:/v1.34/rpm/
enabled=1
gpgcheck=1
gpgkey=https://pkgs.k8s.io/core:/stable:/v1.34/rpm/repodata/repomd.xml.key
exclude=kubelet kubeadm kubectl cri-tools kubernetes-cni
`,
				"etc/yum.repos.d/docker-ce.repo": `[docker-ce]
name=docker-ce
baseurl=https://download.docker.com/linux/centos/$releasever/$basearch/stable
enabled=1
gpgcheck=1
gpgkey=https://download.docker.com/linux/centos/gpg
exclude=
`,
				"etc/containerd/config.toml": containerdConfig,
			},
		},
		"RHEL": {
			reason:    "Docker has a repository of its own for RHEL.",
			osRelease: rhel,
			args:      []string{"dnf", "v1.34.2", "https://pkgs.k8s.io/core:/stable:"},
			calls: []string{
				"setenforce 0",
				"dnf -qy install --disableexcludes=kubernetes containerd.io kubelet-1.34.2 kubeadm-1.34.2 kubectl-1.34.2",
				"kubeadm config images list --kubernetes-version v1.34.2",
			},
			files: map[string]string{
				"etc/yum.repos.d/docker-ce.repo": `[docker-ce]
name=docker-ce
baseurl=https://download.docker.com/linux/rhel/$releasever/$basearch/stable
enabled=1
gpgcheck=1
gpgkey=https://download.docker.com/linux/rhel/gpg
exclude=
`,
			},
		},
	}
	for name, tc := range cases {
		for _, shell := range shells(t) {
			t.Run(name+"/"+shell, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, tc.osRelease)
				s.env = append(s.env, "CANDIDATE="+tc.candidate)
				status, output, calls := s.run(shell, tc.args...)
				if status != 0 {
					t.Fatalf("%s\nstatus %d\n%s", tc.reason, status, output)
				}
				want := append(append(append([]string{}, prepare...), tc.calls...), start[0], start[2])
				if diff := cmp.Diff(want, calls); diff != "" {
					t.Errorf("%s\ncalls: -want, +got:\n%s", tc.reason, diff)
				}
				for path, content := range tc.files {
					if diff := cmp.Diff(content, s.read(path)); diff != "" {
						t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, path, diff)
					}
				}

				status, output, calls = s.run(shell, tc.args...)
				if status != 0 {
					t.Fatalf("second run: status %d\n%s", status, output)
				}
				want = append(append([]string{}, prepare...), "kubeadm config images list --kubernetes-version "+tc.args[1], start[0], start[1])
				if diff := cmp.Diff(want, calls); diff != "" {
					t.Errorf("A second run installs and restarts nothing.\ncalls: -want, +got:\n%s", diff)
				}
				for path, content := range tc.files {
					if diff := cmp.Diff(content, s.read(path)); diff != "" {
						t.Errorf("second run: %s: -want, +got:\n%s", path, diff)
					}
				}
			})
		}
	}
}

func TestNodeSetupFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	apt := []string{"apt", "v1.34.2", "https://pkgs.k8s.io/core:/stable:"}
	dnf := []string{"dnf", "v1.36.1", "https://pkgs.k8s.io/core:/stable:"}

	cases := map[string]struct {
		reason string
		args   []string
		stubs  map[string]string
		files  map[string]string
		env    []string
		says   string
	}{
		"NoArguments":     {reason: "A call without arguments is a mistake.", args: []string{"apt"}, says: ""},
		"ImageWithout":    {reason: "An image that lacks kubeadm is named as the cause.", args: []string{"image"}, says: "the image has no kubeadm"},
		"SwapStays":       {reason: "The kubelet does not start with swap.", args: apt, stubs: map[string]string{"swapon": "echo /dev/sda2"}, says: "swap is still on"},
		"SwapoffFails":    {reason: "A failing step ends the script.", args: apt, stubs: map[string]string{"swapoff": "exit 3"}, says: ""},
		"ModuleMissing":   {reason: "A failing step ends the script.", args: apt, stubs: map[string]string{"modprobe": "exit 1"}, says: ""},
		"SettingRefused":  {reason: "A failing step ends the script.", args: apt, stubs: map[string]string{"sysctl": "exit 1"}, says: ""},
		"NoRepository":    {reason: "A repository that never answers is given up in time.", args: apt, stubs: map[string]string{"curl": "exit 22"}, env: []string{"L2CLUSTER_TIME_LIMIT=2", "L2CLUSTER_PAUSE=1"}, says: "gave up after 2s"},
		"Hangs":           {reason: "A step that hangs is ended.", args: apt, stubs: map[string]string{"apt-get": "sleep 60"}, env: []string{"L2CLUSTER_TIME_LIMIT=1", "L2CLUSTER_PAUSE=1"}, says: "gave up after 1s: env"},
		"OldContainerd":   {reason: "A containerd that Kubernetes does not support is refused.", args: dnf, env: []string{"DOCKER=v1.7.28"}, says: "Kubernetes v1.36.1 needs containerd 2 or later"},
		"NoPauseImage":    {reason: "A kubeadm that names no pause image is no reason for a default.", args: apt, env: []string{"INSTALL=/nowhere"}, stubs: map[string]string{"apt-get": ":", "containerd": "echo containerd x 1.7.1", "kubeadm": ":"}, says: "kubeadm names no pause image for v1.34.2"},
		"RestartFails":    {reason: "A containerd that does not start ends the script.", args: apt, stubs: map[string]string{"systemctl": `[ "$1" != restart ]`}, says: ""},
		"FileNotWritable": {reason: "A file that cannot be written ends the script.", args: apt, files: map[string]string{"etc/containerd": "in the way"}, says: ""},
	}
	for name, tc := range cases {
		for _, shell := range shells(t) {
			t.Run(name+"/"+shell, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, ubuntu)
				s.env = append(s.env, tc.env...)
				for path, content := range tc.files {
					s.write(path, content, 0o600)
				}
				for p, body := range tc.stubs {
					if err := os.RemoveAll(filepath.Join(s.root, "bin", p)); err != nil {
						t.Fatal(err)
					}
					s.stub(p, body)
				}
				status, output, calls := s.run(shell, tc.args...)
				if status == 0 {
					t.Errorf("%s\nstatus 0, calls:\n%s", tc.reason, strings.Join(calls, "\n"))
				}
				if !strings.Contains(output, tc.says) {
					t.Errorf("%s\nwant %q in:\n%s", tc.reason, tc.says, output)
				}
			})
		}
	}
}

func TestNodeSetupTriesAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	for _, shell := range shells(t) {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, ubuntu)
			// A package manager that works from its third call on.
			s.stub("apt-get", `echo x >>"$L2CLUSTER_ROOT/tries"; [ "$(grep -c x "$L2CLUSTER_ROOT/tries")" -gt 2 ] || exit 100; case "$*" in *update) exit 0;; esac; "$INSTALL" "$@"`)
			status, output, _ := s.run(shell, "apt", "v1.34.2", "https://pkgs.k8s.io/core:/stable:")
			if status != 0 {
				t.Errorf("status %d\n%s", status, output)
			}
			if got := strings.Count(output, "failed, trying again"); got != 2 {
				t.Errorf("tries that failed: got %d, want 2\n%s", got, output)
			}
		})
	}
}

func TestNodeSetupImage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	for _, shell := range shells(t) {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "ID=debian\n")
			s.stub("kubeadm", "")
			s.stub("kubelet", "")
			status, output, calls := s.run(shell, "image")
			if status != 0 {
				t.Errorf("status %d\n%s", status, output)
			}
			want := []string{"swapoff -a", "modprobe -a overlay br_netfilter", "sysctl -q -p /etc/sysctl.d/99-l2cluster.conf"}
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Errorf("Nothing is installed where the image has everything.\ncalls: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestNodeSetupFstab(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	const before = "# /etc/fstab\nUUID=1 / ext4 defaults 0 1\n/dev/sda2 none swap sw 0 0\n\t/swap.img\tnone\tswap\tsw\t0\t0\n#/dev/sdb none swap sw 0 0\nUUID=2 /swap ext4 defaults,noswap 0 2\nserver:/swap /mnt nfs swap 0 0\n"
	const after = "# /etc/fstab\nUUID=1 / ext4 defaults 0 1\n# /dev/sda2 none swap sw 0 0\n# \t/swap.img\tnone\tswap\tsw\t0\t0\n#/dev/sdb none swap sw 0 0\nUUID=2 /swap ext4 defaults,noswap 0 2\nserver:/swap /mnt nfs swap 0 0\n"
	for _, shell := range shells(t) {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, ubuntu)
			s.stub("kubeadm", "")
			s.stub("kubelet", "")
			s.write("etc/fstab", before, 0o600)
			for run := range 2 {
				if status, output, _ := s.run(shell, "image"); status != 0 {
					t.Fatalf("run %d: status %d\n%s", run, status, output)
				}
				if diff := cmp.Diff(after, s.read("etc/fstab")); diff != "" {
					t.Errorf("run %d: only lines of type swap are commented, once: -want, +got:\n%s", run, diff)
				}
			}
		})
	}
}

func TestSSHKeys(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	const allowed = "root/.ssh/authorized_keys"
	cases := map[string]struct {
		reason string
		before string
		want   string
	}{
		"None":       {reason: "A server without keys gets the cluster's.", want: "ssh-ed25519 A a\nssh-ed25519 B b\n"},
		"Others":     {reason: "Keys that are there stay.", before: "ssh-rsa X x\nssh-ed25519 B b\n", want: "ssh-rsa X x\nssh-ed25519 B b\nssh-ed25519 A a\n"},
		"NoLastLine": {reason: "A last line without its end is not spoiled.", before: "ssh-rsa X x", want: "ssh-rsa X x\nssh-ed25519 A a\nssh-ed25519 B b\n"},
	}
	for name, tc := range cases {
		for _, shell := range shells(t) {
			t.Run(name+"/"+filepath.Base(shell), func(t *testing.T) {
				t.Parallel()
				s := newServer(t, "ID=debian\n")
				for _, program := range []string{"kubeadm", "kubelet"} {
					s.stub(program, "")
				}
				s.write("etc/l2cluster/authorized_keys", "ssh-ed25519 A a\nssh-ed25519 B b\n", 0o600)
				if tc.before != "" {
					s.write(allowed, tc.before, 0o600)
				}
				for range 2 {
					if status, output, _ := s.run(shell, "image"); status != 0 {
						t.Fatalf("%s\nstatus %d:\n%s", tc.reason, status, output)
					}
					if got := s.read(allowed); got != tc.want {
						t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
					}
				}
				for path, want := range map[string]os.FileMode{"root/.ssh": 0o700, allowed: 0o600} {
					info, err := os.Stat(filepath.Join(s.root, path))
					if err != nil {
						t.Fatal(err)
					}
					if got := info.Mode().Perm(); got != want {
						t.Errorf("%s\npermissions of %s: got %o, want %o", tc.reason, path, got, want)
					}
				}
			})
		}
	}
}

// A server whose keys cannot be let in still becomes a node.
func TestSSHKeysFail(t *testing.T) {
	t.Parallel()
	s := newServer(t, "ID=debian\n")
	for _, program := range []string{"kubeadm", "kubelet"} {
		s.stub(program, "")
	}
	s.write("etc/l2cluster/authorized_keys", "ssh-ed25519 A a\n", 0o600)
	s.write("root", "no folder", 0o600)
	status, output, calls := s.run("sh", "image")
	if status != 0 || !strings.Contains(output, "not all keys") || len(calls) == 0 {
		t.Errorf("got status %d and calls %v, want success with a complaint:\n%s", status, calls, output)
	}
}
