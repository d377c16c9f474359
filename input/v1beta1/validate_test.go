package v1beta1

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestValidate(t *testing.T) {
	wait := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	files := func(paths ...string) func(*Input) {
		return func(in *Input) {
			for _, p := range paths {
				in.Bootstrap.Files = append(in.Bootstrap.Files, File{Path: p})
			}
		}
	}
	cases := map[string]struct {
		reason string
		change func(in *Input)
		want   []string
		says   string
	}{
		"Empty": {reason: "No field has to be given.", change: func(*Input) {}},
		"OwnAddresses": {
			reason: "Installations answer elsewhere, with a port, on IPv6, without TLS.",
			change: func(in *Input) {
				in.Equinix.APIURL, in.Equinix.MetadataURL = "http://127.0.0.1:8080/metal/v1", "https://[2001:db8::1]:8443"
				in.Network.CoolDown = wait(0)
			},
		},
		"Platform": {
			reason: "There is one platform.",
			change: func(in *Input) { in.Platform = "hetzner" },
			want:   []string{"input.platform: Unsupported value"},
			says:   `input.platform: Unsupported value: "hetzner": supported values: "equinix"`,
		},
		"Namespace": {
			reason: "Namespaces are DNS labels.",
			change: func(in *Input) { in.Namespace = "a.b" },
			want:   []string{"input.namespace: Invalid value"},
		},
		"Allowed": {
			reason: "A typo would forbid everything.",
			change: func(in *Input) {
				in.Allowed = Allowed{Metros: []string{"DA", "sv", "sv"}, MachineTypes: []string{""}, OperatingSystems: []string{"Ubuntu 22.04"}}
			},
			want: []string{
				"input.allowed.machineTypes[0]: Required value", "input.allowed.metros[0]: Invalid value",
				"input.allowed.metros[2]: Duplicate value", "input.allowed.operatingSystems[0]: Invalid value",
			},
		},
		"ProviderConfigs": {
			reason: "They are names of objects.",
			change: func(in *Input) { in.Equinix.ProviderConfig, in.Equinix.HTTPProviderConfig = "a/b", "A" },
			want:   []string{"input.equinix.httpProviderConfig: Invalid value", "input.equinix.providerConfig: Invalid value"},
		},
		"URLs": {
			reason: "Paths are appended; users, queries and other schemes have no place.",
			change: func(in *Input) {
				in.Equinix.APIURL, in.Equinix.MetadataURL = "https://api.example.org/v1/", "ftp://metadata.example.org"
				in.Equinix.CloudController.ManifestURL = "https://user@example.org/x.yaml"
				in.Bootstrap.KubernetesRepository = "https://pkgs.example.org/{{ .x }}"
			},
			want: []string{
				"input.bootstrap.kubernetesRepository: Invalid value", "input.equinix.apiURL: Invalid value",
				"input.equinix.cloudController.manifestURL: Invalid value", "input.equinix.metadataURL: Invalid value",
			},
			says: "must not end in a slash",
		},
		"URLsWithoutHost": {
			reason: "The patterns let them through, the parser does not.",
			change: func(in *Input) {
				in.Equinix.APIURL, in.Equinix.MetadataURL = "https://:8443/v1", "https://api.example.org:metal"
				in.Equinix.CloudController.ManifestURL, in.Bootstrap.KubernetesRepository = "https:///x", "https:///x"
			},
			want: []string{
				"input.bootstrap.kubernetesRepository: Invalid value", "input.equinix.apiURL: Invalid value",
				"input.equinix.cloudController.manifestURL: Invalid value", "input.equinix.metadataURL: Invalid value",
			},
		},
		"TokenSecret": {
			reason: "A Secret that is named by halves is not found.",
			change: func(in *Input) { in.Equinix.TokenSecret = SecretKey{Name: "Metal", Key: "a/b"} },
			want: []string{
				"input.equinix.tokenSecret.key: Invalid value", "input.equinix.tokenSecret.name: Invalid value",
				"input.equinix.tokenSecret.namespace: Required value",
			},
		},
		"Blocks": {
			reason: "Blocks are compared with networks, so they must be blocks.",
			change: func(in *Input) { in.Equinix.Blocks = []string{"10.51.43.129/25", "10.51.43.128/25", "10.51.43.128/25"} },
			want:   []string{"input.equinix.blocks[0]: Invalid value", "input.equinix.blocks[2]: Duplicate value"},
			says:   "has host bits; the block is 10.51.43.128/25",
		},
		"CloudController": {
			reason: "Enumerations.",
			change: func(in *Input) { in.Equinix.CloudController.Kind, in.Equinix.CloudController.Delivery = "cpem", "Helm" },
			want:   []string{"input.equinix.cloudController.delivery: Unsupported value", "input.equinix.cloudController.kind: Unsupported value"},
		},
		"Image": {
			reason: "It stands in a manifest.",
			change: func(in *Input) { in.Equinix.KubeVIP.Image = "kube vip" },
			want:   []string{"input.equinix.kubeVIP.image: Invalid value"},
		},
		"Timeouts": {
			reason: "Calls end, and before Crossplane's patience does.",
			change: func(in *Input) { in.Equinix.CallTimeout, in.Equinix.TotalTimeout = wait(0), wait(2*time.Minute) },
			want:   []string{"input.equinix.callTimeout: Invalid value", "input.equinix.totalTimeout: Invalid value"},
			says:   `input.equinix.totalTimeout: Invalid value: "2m0s": must be between 1ms and 1m0s`,
		},
		"CallLongerThanAll": {
			reason: "One call cannot take longer than all.",
			change: func(in *Input) { in.Equinix.CallTimeout = wait(20 * time.Second) },
			want:   []string{"input.equinix.callTimeout: Invalid value"},
		},
		"NetworkTimes": {
			reason: "A network comes up within half an hour or never; nothing rests for less than no time.",
			change: func(in *Input) { in.Network.Timeout, in.Network.CoolDown = wait(59*time.Second), wait(-time.Second) },
			want:   []string{"input.network.coolDown: Invalid value", "input.network.timeout: Invalid value"},
			says:   `input.network.timeout: Invalid value: "59s": must be between 1m0s and 30m0s`,
		},
		"NetworkTimeoutTooLong": {
			reason: "A network comes up within half an hour or never.",
			change: func(in *Input) { in.Network.Timeout = wait(31 * time.Minute) },
			want:   []string{"input.network.timeout: Invalid value"},
		},
		"Backends": {
			reason: "Each beginning once, each back end known.",
			change: func(in *Input) {
				in.Network.Backends = []Backend{{OSPrefix: "debian", Name: "netplan"}, {OSPrefix: "debian", Name: "systemd"}, {Name: "netplan"}}
			},
			want: []string{
				"input.network.backends[1].name: Unsupported value", "input.network.backends[1].osPrefix: Duplicate value",
				"input.network.backends[2].osPrefix: Required value",
			},
		},
		"NodePackages": {
			reason: "Enumerations.",
			change: func(in *Input) { in.Bootstrap.NodePackages = "Snap" },
			want:   []string{"input.bootstrap.nodePackages: Unsupported value"},
		},
		"Files": {
			reason: "Paths are plain, absolute, free and there once.",
			change: files("opt/a", "/opt/../etc/a", "/opt/a/", "/opt/a", "/opt/a", "/opt/a b", "/"),
			want: []string{
				"input.bootstrap.files[0].path: Invalid value", "input.bootstrap.files[1].path: Invalid value",
				"input.bootstrap.files[2].path: Invalid value", "input.bootstrap.files[4].path: Duplicate value",
				"input.bootstrap.files[5].path: Invalid value", "input.bootstrap.files[6].path: Invalid value",
			},
			says: "must be the plain path of a file, here /etc/a",
		},
		"FilesOfOthers": {
			reason: "Two writers of one file lose one.",
			change: files("/usr/local/sbin/l2cluster-network", "/etc/network/interfaces.d/90-l2cluster-a", "/run/kubeadm/kubeadm.yaml", "/etc/kubernetes/pki/ca.crt", "/etc/crictl.yaml"),
			want: []string{
				"input.bootstrap.files[0].path: Invalid value", "input.bootstrap.files[1].path: Invalid value",
				"input.bootstrap.files[2].path: Invalid value", "input.bootstrap.files[3].path: Invalid value",
				"input.bootstrap.files[4].path: Invalid value",
			},
		},
		"FilePermissions": {
			reason: "Permissions are octal; contents have a length.",
			change: func(in *Input) {
				in.Bootstrap.Files = []File{{Path: "/opt/a", Permissions: "755", Content: strings.Repeat("a", 7681)}}
			},
			want: []string{"input.bootstrap.files[0].content: Invalid value", "input.bootstrap.files[0].permissions: Invalid value"},
		},
		"LongestFile": {
			reason: "7,680 bytes are 10,240 characters in base64, which Cluster API accepts.",
			change: func(in *Input) {
				in.Bootstrap.Files = []File{{Path: "/opt/a", Permissions: "0644", Content: strings.Repeat("a", 7680)}}
			},
		},
		"WideFile": {
			reason: "Bytes count, not characters: 2,561 times three bytes.",
			change: func(in *Input) {
				in.Bootstrap.Files = []File{{Path: "/opt/a", Permissions: "0644", Content: strings.Repeat("€", 2561)}}
			},
			want: []string{"input.bootstrap.files[0].content: Invalid value"},
			says: "has 7683 bytes, and 7680 fit",
		},
		"FilesOfContainerd": {
			reason: "The function writes containerd's settings where it installs containerd.",
			change: files("/etc/containerd/config.toml", "/etc/crictl.yaml", "/etc/containerd/certs.d/docker.io/hosts.toml"),
			want:   []string{"input.bootstrap.files[0].path: Invalid value", "input.bootstrap.files[1].path: Invalid value"},
			says:   "nodePackages: Image",
		},
		"FilesOfContainerdInImage": {
			reason: "An image's containerd is the platform team's own.",
			change: func(in *Input) {
				files("/etc/containerd/config.toml", "/etc/crictl.yaml")(in)
				in.Bootstrap.NodePackages = NodePackagesImage
			},
		},
		"BracesInCommand": {
			reason: "1,280 pairs of braces travel as 8 bytes each, which is all that Cluster API accepts; one more is too much.",
			change: func(in *Input) {
				in.Bootstrap.PreKubeadmCommands = []string{strings.Repeat("{{", 1280), strings.Repeat("{{", 1281)}
			},
			want: []string{"input.bootstrap.preKubeadmCommands[1]: Invalid value"},
			says: "has 10248 bytes as it travels",
		},
		"Commands": {
			reason: "A command does something, within limits.",
			change: func(in *Input) {
				in.Bootstrap.PreKubeadmCommands = []string{"", " ", "echo {{ ds.meta_data.hostname }}"}
				in.Bootstrap.PostKubeadmCommands = []string{strings.Repeat("a", 4097)}
			},
			want: []string{
				"input.bootstrap.postKubeadmCommands[0]: Too long", "input.bootstrap.preKubeadmCommands[0]: Required value",
				"input.bootstrap.preKubeadmCommands[1]: Required value",
			},
		},
		"AddOns": {
			reason: "Each name once, with something to apply.",
			change: func(in *Input) {
				cni := AddOnResource{Kind: "ConfigMap", Name: "cni"}
				in.AddOns = []AddOn{
					{Name: "cni", Strategy: "Always", Resources: []AddOnResource{cni, cni, {Kind: "Pod", Name: "A"}}}, {Name: "cni"},
				}
			},
			want: []string{
				"input.addOns[0].resources[1]: Duplicate value", "input.addOns[0].resources[2].kind: Unsupported value",
				"input.addOns[0].resources[2].name: Invalid value", "input.addOns[0].strategy: Unsupported value",
				"input.addOns[1].name: Duplicate value", "input.addOns[1].resources: Required value",
			},
		},
		"TooMany": {
			reason: "Lists are bounded.",
			change: func(in *Input) {
				for i := range 257 {
					in.Equinix.Blocks = append(in.Equinix.Blocks, fmt.Sprintf("10.51.%d.0/24", i%256))
					in.Bootstrap.PreKubeadmCommands = append(in.Bootstrap.PreKubeadmCommands, "true")
				}
			},
			want: []string{
				"input.bootstrap.preKubeadmCommands: Too many", "input.equinix.blocks: Too many", "input.equinix.blocks[256]: Duplicate value",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := &Input{}
			tc.change(in)
			Default(in)
			errs := Validate(in)
			got, texts := make([]string, 0, len(errs)), make([]string, 0, len(errs))
			for _, err := range errs {
				got = append(got, fmt.Sprintf("%s: %s", err.Field, err.Type))
				texts = append(texts, err.Error())
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nValidate(): -want, +got:\n%s%s", tc.reason, diff, strings.Join(texts, "\n"))
			}
			if all := strings.Join(texts, "\n"); !strings.Contains(all, tc.says) {
				t.Errorf("%s\nValidate() must say %q, and says:\n%s", tc.reason, tc.says, all)
			}
		})
	}
}
