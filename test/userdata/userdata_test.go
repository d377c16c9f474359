package userdata

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
)

// boot is what cloud-init makes of user data.
func boot(t *testing.T, data []byte) Config {
	t.Helper()
	rendered, err := CloudInit(data, Server{InstanceID: instance, Hostname: hostname})
	if errors.Is(err, ErrNoJinja) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.Index(rendered, []byte("CI_MISSING_JINJA_VAR")); i >= 0 {
		t.Errorf("cloud-init misses a variable: %.80s", rendered[i:])
	}
	config, err := Parse(rendered)
	if err != nil {
		t.Fatalf("%v\n%s", err, rendered)
	}
	return config
}

// scenarios are clusters of every kind.
var scenarios = map[string]struct {
	reason string
	claim  string
	input  string
	token  bool // the API token is in the user data of control plane servers
}{
	"CPEM":             {reason: "Without a choice CPEM comes with the user data.", token: true},
	"CPEMAddOn":        {reason: "Delivered by add-ons, no token is in any user data.", input: "equinix: {cloudController: {delivery: AddOn}}"},
	"NoCloud":          {reason: "Without a cloud controller nobody needs a token.", claim: "spec: {vipManager: KUBE_VIP}", input: "equinix: {cloudController: {kind: None}}"},
	"KubeVIP":          {reason: "kube-vip announces the endpoint.", claim: "spec: {vipManager: KUBE_VIP}", token: true},
	"EMLB":             {reason: "A load balancer stands before the control plane.", claim: "spec: {vipManager: EMLB}", token: true},
	"OldKubernetes":    {reason: "kubeadm's configuration had another version before v1.31.", claim: "spec: {kubernetesVersion: v1.30.2}", token: true},
	"NewKubernetes":    {reason: "The newest Kubernetes has no feature gate of Cluster API's.", claim: "spec: {kubernetesVersion: v1.36.1}", token: true},
	"Image":            {reason: "An image that has everything gets no packages.", input: "bootstrap: {nodePackages: Image}", token: true},
	"DualStack":        {reason: "Pods and services may have both families.", claim: "spec: {clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16, 'fd00:1::/48']}, services: {cidrBlocks: [172.26.0.0/16, 'fd00:2::/108']}, serviceDomain: edge.example}}", token: true},
	"Proxy":            {reason: "Another API address reaches CPEM.", input: "equinix: {apiURL: 'https://metal.example/api', metadataURL: 'http://metadata.example'}", token: true},
	"LabelsAndTaints":  {reason: "Labels and taints with every permitted character.", claim: `spec: {workers: [{name: general, replicas: 1, machineType: m, os: debian_12, labels: {"a.example/A-b_c.D": "X-y_z.0", "empty": "", "node-role.kubernetes.io/x": ""}, taints: [{key: "a.example/K-e_y.0", value: "V-a_l.0", effect: NoExecute}]}]}`, token: true},
	"Rocky":            {reason: "Rocky has another package manager.", claim: "spec: {controlPlane: {os: rocky_9}}", token: true},
	"NodeIP":           {reason: "An address on a VLAN is the node's.", claim: "spec: {vipManager: KUBE_VIP, controlPlane: {ports: [{name: bond0, networks: [{name: storage, nodeIP: true}]}]}, workers: [{name: general, machineType: m, os: ubuntu_22_04, ports: [{name: bond0, networks: [{name: storage, nodeIP: true}]}]}]}", input: "equinix: {cloudController: {kind: None}}"},
	"NoNetworks":       {reason: "A cluster without VLANs is a cluster.", claim: "spec: {networks: [], controlPlane: {ports: []}, workers: [{name: general, machineType: m, os: ubuntu_22_04}]}", token: true},
	"ManyCommands":     {reason: "The platform team adds files and commands.", input: "bootstrap: {files: [{path: /opt/x, content: x}], preKubeadmCommands: ['echo a', 'echo b'], postKubeadmCommands: ['echo c']}", token: true},
	"HybridUntagged":   {reason: "A port outside the bond.", claim: "spec: {workers: [{name: general, machineType: m, os: ubuntu_22_04, ports: [{name: eth1, bonded: false, networks: [{name: storage}]}]}]}", token: true},
	"Layer2":           {reason: "Workers with layer 2 alone.", claim: "spec: {networks: [{name: storage, vxlan: 1000, ipAddresses: [10.60.10.0/24], gateway: 10.60.10.1, defaultRoute: true}], workers: [{name: general, machineType: m, os: ubuntu_22_04, ports: [{name: bond0, layer2: true, networks: [{name: storage}]}]}]}", token: true},
	"DebianOnLongName": {reason: "Long names are cut and nothing else.", claim: "metadata: {name: a-cluster-name-that-is-exactly-fifty-characters-ok}", token: true},
}

func TestUserData(t *testing.T) {
	for name, tc := range scenarios {
		t.Run(name, func(t *testing.T) {
			c := expand(t, parse(t, tc.claim), parse(t, tc.input))
			if name == "EMLB" {
				c.BalancerID = "b0000000-0000-4000-8000-000000000001"
			}
			for role, data := range servers(t, c) {
				t.Run(role, func(t *testing.T) {
					config := boot(t, data)
					checkFiles(t, c, role, config)
					checkToken(t, config, data, tc.token && role != "worker")
					checkKubeadm(t, role, config)
					if want := strings.Count(strings.Join(config.Commands, "\n"), "kubeadm "); want == 0 {
						t.Errorf("%s\nthere is no kubeadm command in:\n%s", tc.reason, strings.Join(config.Commands, "\n"))
					}
				})
			}
		})
	}
}

// within a value, the one at the path; nil for none.
func within(o map[string]any, path ...string) map[string]any {
	for _, name := range path {
		o, _ = o[name].(map[string]any)
	}
	return o
}

// composedConfig is the configuration of a role, as composed.
func composedConfig(c Cluster, role string) map[string]any {
	for _, o := range c.Objects {
		switch {
		case role == "worker" && o["kind"] == "KubeadmConfigTemplate":
			return within(o, "spec", "template", "spec")
		case role != "worker" && o["kind"] == "KubeadmControlPlane":
			return within(o, "spec", "kubeadmConfigSpec")
		}
	}
	return nil
}

// composedFiles are the files of a role's configuration, as composed.
func composedFiles(c Cluster, role string) []map[string]any {
	var out []map[string]any
	list, _ := composedConfig(c, role)["files"].([]any)
	for _, f := range list {
		file, _ := f.(map[string]any)
		out = append(out, file)
	}
	return out
}

// composedCommands are the commands of a role's configuration, as composed.
func composedCommands(c Cluster, role string) []string {
	var out []string
	for _, when := range []string{"preKubeadmCommands", "postKubeadmCommands"} {
		list, _ := composedConfig(c, role)[when].([]any)
		for _, command := range list {
			text, _ := command.(string)
			out = append(out, text)
		}
	}
	return out
}

// checkFiles compares every file of ours on the server's disk with what was
// meant, byte for byte.
func checkFiles(t *testing.T, c Cluster, role string, config Config) {
	t.Helper()
	files := composedFiles(c, role)
	if len(files) == 0 {
		t.Error("there are no files of ours")
	}
	for _, f := range files {
		path, _ := f["path"].(string)
		content, _ := f["content"].(string)
		encoding, _ := f["encoding"].(string)
		if encoding == "" {
			content = strings.ReplaceAll(content, "{{ .apiKey }}", apiKey)
			if strings.Contains(content, "{{") {
				t.Errorf("file %q travels with a placeholder that nobody knows:\n%s", path, content)
			}
		}
		want, err := decode(encoding, content)
		if err != nil {
			t.Fatal(err)
		}
		got, found := config.File(path)
		if !found {
			t.Errorf("file %q did not arrive", path)
			continue
		}
		if diff := cmp.Diff(want, got.Content); diff != "" {
			t.Errorf("file %q: -want, +got:\n%s", path, diff)
		}
		permissions, named := f["permissions"].(string)
		if !named {
			permissions = "0644"
		}
		if got.Owner != "root:root" || got.Permissions != permissions {
			t.Errorf("file %q: got owner %q and permissions %q, want root:root and %s", path, got.Owner, got.Permissions, permissions)
		}
	}
}

// checkToken says where the API token may be: in one file of control plane
// servers, which only root reads, and nowhere else.
func checkToken(t *testing.T, config Config, data []byte, allowed bool) {
	t.Helper()
	if !allowed {
		if bytes.Contains(data, []byte(apiKey)) {
			t.Error("the API token is in the user data")
		}
		return
	}
	const holder = "/etc/l2cluster/cpem.yaml"
	if got := bytes.Count(data, []byte(apiKey)); got != 1 {
		t.Errorf("the API token is in the user data %d times, want once", got)
	}
	f, _ := config.File(holder)
	if !strings.Contains(f.Content, apiKey) || f.Permissions != "0600" {
		t.Errorf("the API token is not in %q with permissions 0600: %+v", holder, f)
	}
}

func checkKubeadm(t *testing.T, role string, config Config) {
	t.Helper()
	path := "/run/kubeadm/kubeadm-join-config.yaml"
	if role == "first" {
		path = "/run/kubeadm/kubeadm.yaml"
	}
	f, found := config.File(path)
	if !found {
		t.Fatalf("there is no %q", path)
	}
	if want := "equinixmetal://" + instance; !strings.Contains(f.Content, want) {
		t.Errorf("%q does not hold the provider ID %q:\n%s", path, want, f.Content)
	}
	if strings.Contains(f.Content, "{{") {
		t.Errorf("%q holds a placeholder:\n%s", path, f.Content)
	}
}

func TestEndpointOnControlPlanesOnly(t *testing.T) {
	const order = "/usr/local/sbin/l2cluster-node first '" + endpoint + "' || exit 1"
	for role, data := range servers(t, expand(t, nil, nil)) {
		commands := boot(t, data).Commands
		if got, want := slices.Contains(commands, order), role != "worker"; got != want {
			t.Errorf("%s: the command %q is there: got %t, want %t, in %q", role, order, got, want, commands)
		}
	}
}

// TestEngines: two template engines, one after the other, leave our texts as they
// are.
func TestEngines(t *testing.T) {
	const script = "docker inspect --format '{{.State.Status}}' x; a=(1 2); echo ${#a[@]}"
	c := expand(t, nil, map[string]any{"bootstrap": map[string]any{
		"files":              []any{map[string]any{"path": "/opt/fmt.sh", "content": script}},
		"preKubeadmCommands": []any{"echo {{ ds.meta_data.hostname }}", "echo {{ '{{ .apiKey }}' }}"},
	}})
	for role, data := range servers(t, c) {
		if !bytes.Contains(data, []byte("{{ ds.meta_data.hostname }}")) {
			t.Errorf("%s: cloud-init's placeholder did not survive the infrastructure provider", role)
		}
		config := boot(t, data)
		if f, _ := config.File("/opt/fmt.sh"); f.Content != script {
			t.Errorf("%s: the file: got %q, want %q", role, f.Content, script)
		}
		for _, want := range []string{"echo " + hostname, "echo {{ .apiKey }}"} {
			if !slices.Contains(config.Commands, want) {
				t.Errorf("%s: want the command %q in:\n%s", role, want, strings.Join(config.Commands, "\n"))
			}
		}
	}
}

// TestNodeAddress is about the address with which a node registers, as far as user
// data goes.
func TestNodeAddress(t *testing.T) {
	c := expand(t, parse(t, scenarios["NodeIP"].claim), parse(t, scenarios["NodeIP"].input))
	for role, data := range servers(t, c) {
		path := "/run/kubeadm/kubeadm-join-config.yaml"
		if role == "first" {
			path = "/run/kubeadm/kubeadm.yaml"
		}
		f, _ := boot(t, data).File(path)
		if !strings.Contains(f.Content, "L2CLUSTER_ALL_NODE_IPS") {
			t.Errorf("%s: the kubelet's address is not the node script's to fill in:\n%s", role, f.Content)
		}
		if got := strings.Contains(f.Content, "advertiseAddress: L2CLUSTER_NODE_IP"); got != (role != "worker") {
			t.Errorf("%s: the API server's address is the node script's to fill in: got %t\n%s", role, got, f.Content)
		}
		if strings.Contains(f.Content, "10.60.10.") {
			t.Errorf("%s: a machine's own address is in a template that many share:\n%s", role, f.Content)
		}
	}
}

// TestOrder: the network comes first, and nothing goes on without it. It runs what
// cloud-init makes of the commands, with programs that only write down that they
// ran.
func TestOrder(t *testing.T) {
	c := expand(t, nil, map[string]any{"bootstrap": map[string]any{
		"preKubeadmCommands": []any{"user-before"}, "postKubeadmCommands": []any{"user-after"},
	}})
	cases := map[string]struct {
		reason string
		fails  string
		// want are the first programs that run, and the last one.
		first   []string
		last    string
		kubeadm bool
	}{
		"Works":         {reason: "Network, node, user, kubeadm.", first: []string{"l2cluster-network", "l2cluster-node:setup"}, last: "user-after", kubeadm: true},
		"NetworkFails":  {reason: "A machine without its network does not join.", fails: "l2cluster-network", first: []string{"l2cluster-network"}, last: "l2cluster-network"},
		"PackagesFail":  {reason: "A machine without kubeadm does not go on.", fails: "l2cluster-node:setup", first: []string{"l2cluster-network", "l2cluster-node:setup"}, last: "l2cluster-node:setup"},
		"KubeadmFails":  {reason: "A machine that did not join is no success.", fails: "kubeadm", first: []string{"l2cluster-network", "l2cluster-node:setup"}, last: "user-after"},
		"UserOneFails":  {reason: "The platform team's own commands decide themselves, as everywhere in Cluster API.", fails: "user-before", first: []string{"l2cluster-network", "l2cluster-node:setup"}, last: "user-after", kubeadm: true},
		"UserTwoFailed": {reason: "What fails after kubeadm does not take the node back.", fails: "user-after", first: []string{"l2cluster-network", "l2cluster-node:setup"}, last: "user-after", kubeadm: true},
	}
	for role, data := range servers(t, c) {
		config := boot(t, data)
		for name, tc := range cases {
			t.Run(role+"/"+name, func(t *testing.T) {
				ran, success := runCommands(t, config, tc.fails)
				if len(ran) < len(tc.first) || !slices.Equal(ran[:len(tc.first)], tc.first) || ran[len(ran)-1] != tc.last {
					t.Errorf("%s\nran %v, want %v first and %q last", tc.reason, ran, tc.first, tc.last)
				}
				if success != tc.kubeadm {
					t.Errorf("%s\nthe mark of success: got %t, want %t", tc.reason, success, tc.kubeadm)
				}
				before, after := slices.Index(ran, "user-before"), slices.Index(ran, "kubeadm")
				if after >= 0 && (before < 0 || after != before+1) {
					t.Errorf("%s\nran %v, want kubeadm right after the platform team's commands", tc.reason, ran)
				}
			})
		}
	}
}

// runCommands runs a document's commands in a folder and returns the programs
// that ran, in order, and whether Cluster API's mark of success is there.
func runCommands(t *testing.T, config Config, fails string) (ran []string, success bool) {
	t.Helper()
	dir := t.TempDir()
	script := strings.NewReplacer("/usr/local/sbin/", "", "/run/cluster-api/", dir+"/").Replace(config.Script())
	programs := []string{"kubeadm", "user-before", "user-after"}
	for _, f := range config.Files {
		if name, below := strings.CutPrefix(f.Path, "/usr/local/sbin/"); below {
			programs = append(programs, name)
		}
	}
	for _, p := range programs {
		stub := fmt.Sprintf("#!/bin/sh\nran=%s\n", p)
		if p == "l2cluster-node" {
			stub += "ran=$ran:$1\n"
		}
		stub += fmt.Sprintf("echo $ran >>%s/ran\n[ $ran != '%s' ]\n", dir, fails)
		if err := os.WriteFile(filepath.Join(dir, p), []byte(stub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/sh")
	cmd.Stdin, cmd.Env = strings.NewReader(script), []string{"PATH=" + dir}
	// Its status says nothing: a later command may have succeeded.
	if out, err := cmd.CombinedOutput(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ran"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(dir, "bootstrap-success.complete"))
	return strings.Fields(string(text)), err == nil
}

// TestHostileInput drives texts of every kind through all engines.
func TestHostileInput(t *testing.T) {
	pieces := rapid.OneOf(
		rapid.SampledFrom([]string{
			"{{", "}}", "{{ .apiKey }}", "{{- end -}}", "{%", "%}", "{# c #}", "{", "}", "`", "{{`", `"`, `'`, `\`, "\\n", "\n", "\r", "\t", " ", ": ", "- ", "#", "%", "$", "${#a[@]}",
			"|", ">", "&", "*", "!", "@", "---", "...", "\x00", "\x7f", "\u0085", "\u2028", "\ufeff", "ü", "日本", "\U0001f600", "## template: jinja",
		}),
		rapid.String(),
	)
	text := rapid.Map(rapid.SliceOfN(pieces, 0, 30), func(p []string) string { return strings.Join(p, "") })
	// What opens cloud-init's own templates works in commands, as everywhere in
	// Cluster API.
	command := text.Filter(func(s string) bool {
		return strings.TrimSpace(s) != "" && !strings.Contains(s, "{{") && !strings.Contains(s, "{%") && !strings.Contains(s, "{#")
	})
	for document := range 20 {
		contents := rapid.SliceOfN(text, 20, 20).Example(document)
		commands := rapid.SliceOfN(command, 20, 20).Example(document)
		var files, list []any
		for i, content := range contents {
			files = append(files, map[string]any{"path": fmt.Sprintf("/opt/%d", i), "content": content})
		}
		for _, command := range commands {
			list = append(list, command)
		}
		c := expand(t, nil, map[string]any{"bootstrap": map[string]any{"files": files, "preKubeadmCommands": list}})
		data, err := c.Worker("general")
		if err != nil {
			t.Fatal(err)
		}
		config := boot(t, data)
		for i, content := range contents {
			if f, _ := config.File(fmt.Sprintf("/opt/%d", i)); f.Content != content {
				t.Errorf("file %d: got %q, want %q", i, f.Content, content)
			}
		}
		for _, command := range commands {
			if !slices.Contains(config.Commands, command) {
				t.Errorf("command %q is not in %q", command, config.Commands)
			}
		}
	}
}

// TestCommandEscape says that braces of the platform team's commands reach
// cloud-init, whatever they stand beside.
func TestCommandEscape(t *testing.T) {
	var commands []any
	for _, c := range []string{"{{ '{' }}", "{{ '{{' }}", "a{{ '}' }}}b", "{{- ' x ' -}}", "{{ '`' }}", "{% if true %}y{% endif %}", "z{# gone #}"} {
		commands = append(commands, c)
	}
	want := []string{"{", "{{", "a}}b", " x ", "`", "y", "z"}
	data, err := expand(t, nil, map[string]any{"bootstrap": map[string]any{"preKubeadmCommands": commands}}).Worker("general")
	if err != nil {
		t.Fatal(err)
	}
	got := boot(t, data).Commands
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("want the command %q in %q", w, got)
		}
	}
}

// TestLeak says that the check for values which are not set can fail: a worker
// has neither endpoint nor token.
func TestLeak(t *testing.T) {
	c := expand(t, nil, nil)
	if _, err := c.provider([]byte("{{ .apiKey }}"), false); !errors.Is(err, errLeak) {
		t.Errorf("a worker's user data that asks for the token: got error %v, want %v", err, errLeak)
	}
	if _, err := c.provider([]byte("{{ ds.meta_data.hostname }}"), false); err == nil {
		t.Error("user data with cloud-init's placeholder, unescaped: got no error")
	}
}

// size of our part of a role's user data, in bytes: what Cluster API writes of its
// files and commands.
func size(c Cluster, role string) int {
	out := 0
	for _, f := range composedFiles(c, role) {
		path, _ := f["path"].(string)
		permissions, _ := f["permissions"].(string)
		encoding, _ := f["encoding"].(string)
		content, _ := f["content"].(string)
		out += bootstrap.Encoded{Path: path, Permissions: permissions, Encoding: encoding, Content: content}.Size()
	}
	for _, command := range composedCommands(c, role) {
		out += bootstrap.CommandSize(command)
	}
	return out
}

// bootstrapped is the size of what the bootstrap provider makes for a role, in
// bytes.
func bootstrapped(t *testing.T, c Cluster, role string) int {
	t.Helper()
	assemble := map[string]func() ([]byte, error){
		"first": c.bootstrapFirst, "joining": c.bootstrapJoining,
		"worker": func() ([]byte, error) { return c.bootstrapWorker("general") },
	}[role]
	data, err := assemble()
	if err != nil {
		t.Fatalf("%s: %v", role, err)
	}
	return len(data)
}

// without is that size without our part.
func without(t *testing.T, c Cluster, role string) int {
	t.Helper()
	bare := Cluster{Endpoint: c.Endpoint, APIKey: c.APIKey, BalancerID: c.BalancerID}
	for _, o := range c.Objects {
		o = runtime.DeepCopyJSON(o)
		for _, config := range []map[string]any{within(o, "spec", "kubeadmConfigSpec"), within(o, "spec", "template", "spec")} {
			for _, part := range []string{"files", "preKubeadmCommands", "postKubeadmCommands"} {
				delete(config, part)
			}
		}
		bare.Objects = append(bare.Objects, o)
	}
	return bootstrapped(t, bare, role)
}

// TestSize compares the sizes that the function reckons with to those of what
// Cluster API writes, and every role of every cluster with the budget.
func TestSize(t *testing.T) {
	for name, tc := range scenarios {
		if name == "ManyCommands" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := expand(t, parse(t, tc.claim), parse(t, tc.input))
			for _, role := range []string{"first", "joining", "worker"} {
				whole, ours := bootstrapped(t, c, role), size(c, role)
				t.Logf("%s: %d bytes, %d of them ours", role, whole, ours)
				if got := whole - without(t, c, role); got != ours {
					t.Errorf("%s: our part has %d bytes, and is taken for %d", role, got, ours)
				}
				if ours > bootstrap.Budget {
					t.Errorf("%s: our part has %d bytes, and the budget is %d", role, ours, bootstrap.Budget)
				}
			}
		})
	}
}

// TestGrowth says that user data grows little with networks and not at all with
// machines, and how many networks with four routes each are within the budget,
// whatever makes the endpoint reachable, with the cloud controller in user data.
func TestGrowth(t *testing.T) {
	for vip, networks := range map[string]int{"CPEM": 8, "EMLB": 8, "KUBE_VIP": 8} {
		t.Run(vip, func(t *testing.T) {
			one, more, many := expandMany(t, vip, 1, 2), expandMany(t, vip, networks, 2), expandMany(t, vip, 1, 200)
			for _, role := range []string{"first", "joining", "worker"} {
				before, after := size(one, role), size(more, role)
				t.Logf("%s: one network %d bytes, %d networks %d", role, before, networks, after)
				if growth := (after - before) / (networks - 1); growth >= 1<<10 {
					t.Errorf("%s: each network adds %d bytes, want less than 1024", role, growth)
				}
				if after > bootstrap.Budget {
					t.Errorf("%s: with %d networks our part has %d bytes, and the budget is %d", role, networks, after, bootstrap.Budget)
				}
				if got := size(many, role); got != before {
					t.Errorf("%s: with 200 machines: got %d bytes, want %d as with two", role, got, before)
				}
			}
		})
	}
}

// expandMany expands a cluster with that many networks, with four routes each, on
// all of its machines.
func expandMany(t *testing.T, vip string, networks, replicas int) Cluster {
	t.Helper()
	var list, ports []any
	for i := range networks {
		name := fmt.Sprintf("net-%d", i)
		var routes []any
		for r := range 4 {
			routes = append(routes, map[string]any{"destination": fmt.Sprintf("172.%d.%d.0/24", 16+r, i), "gateway": fmt.Sprintf("10.60.%d.1", i)})
		}
		list = append(list, map[string]any{
			"name": name, "vxlan": 1000 + i, "ipAddresses": []any{fmt.Sprintf("10.60.%d.0/24", i)}, "routes": routes,
		})
		ports = append(ports, map[string]any{"name": name})
	}
	bond := []any{map[string]any{"name": "bond0", "networks": ports}}
	pool := map[string]any{"name": "general", "machineType": "m", "os": "ubuntu_22_04", "replicas": replicas, "ports": bond}
	return expand(t, map[string]any{"spec": map[string]any{
		"vipManager": vip, "networks": list, "controlPlane": map[string]any{"ports": bond}, "workers": []any{pool},
		"clusterNetwork": map[string]any{"services": map[string]any{"cidrBlocks": []any{"192.169.0.0/16"}}},
	}}, nil)
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   string
	}{
		"Header":   {reason: "cloud-init ignores other documents.", data: "write_files: []\n"},
		"YAML":     {reason: "A document must parse.", data: "#cloud-config\nwrite_files: [\n"},
		"Encoding": {reason: "cloud-init would write an unknown encoding as it is.", data: "#cloud-config\nwrite_files:\n- {path: /a, encoding: rot13, content: a}\n"},
		"Base64":   {reason: "Content must be what its encoding says.", data: "#cloud-config\nwrite_files:\n- {path: /a, encoding: base64, content: '*'}\n"},
		"Gzip":     {reason: "Content must be what its encoding says.", data: "#cloud-config\nwrite_files:\n- {path: /a, encoding: gzip+base64, content: " + base64.StdEncoding.EncodeToString([]byte("plain")) + "}\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.data)); err == nil {
				t.Errorf("%s\nParse: got no error", tc.reason)
			}
		})
	}
	if _, err := CloudInit([]byte("#cloud-config\n"), Server{}); err == nil {
		t.Error("user data without the template header: got no error")
	}
}
