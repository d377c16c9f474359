package equinix

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
)

// host is a folder that a server's program takes for its disk, and the commands
// that it finds there.
type host struct {
	root string
}

// newHost has an endpoint and stubs that write down how they are called. A stub
// fails when its call stands in the file "refused".
func newHost(t *testing.T, files map[string]string) host {
	t.Helper()
	h := host{root: t.TempDir()}
	stub := `#!/bin/sh
call="$(basename "$0") $*"
echo "$call" >>"$L2CLUSTER_ROOT/calls"
if [ -f "$L2CLUSTER_ROOT/refused" ] && grep -qxF -e "$call" "$L2CLUSTER_ROOT/refused"; then exit 1; fi
`
	for _, name := range []string{"ip", "systemctl", "curl", "kubectl", "crictl"} {
		h.write(t, "bin/"+name, stub, 0o700)
	}
	for path, content := range files {
		h.write(t, path, content, 0o600)
	}
	return h
}

func (h host) write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	path = filepath.Join(h.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func (h host) read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(h.root, path))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// calls of commands since the last time.
func (h host) calls(t *testing.T) []string {
	t.Helper()
	calls := strings.ReplaceAll(h.read(t, "calls"), h.root, "")
	if err := os.RemoveAll(filepath.Join(h.root, "calls")); err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(calls, func(r rune) bool { return r == '\n' })
}

// run the node script that obeys the orders, with arguments.
func (h host) run(t *testing.T, orders string, args ...string) error {
	t.Helper()
	script, err := bootstrap.NodeScript("image", orders, cloudControllerOrders)
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, "node.sh", script, 0o600)
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(h.root, "node.sh")}, args...)...)
	cmd.Env = []string{
		"PATH=" + filepath.Join(h.root, "bin") + ":" + os.Getenv("PATH"),
		"L2CLUSTER_ROOT=" + h.root, "L2CLUSTER_TRIES=3", "L2CLUSTER_PAUSE=0",
	}
	out, err := cmd.CombinedOutput()
	t.Logf("%v: %v\n%s", args, err, out)
	return err
}

const endpointOK = "etc/l2cluster/endpoint"

func TestEndpoint(t *testing.T) {
	address := []string{"147.75.0.9"}
	starts := map[string]string{"run/kubeadm/kubeadm.yaml": ""}
	first := map[string]string{endpointOK: "147.75.0.9\n", "run/kubeadm/kubeadm.yaml": ""}
	joins := map[string]string{endpointOK: "147.75.0.9\n"}
	add, remove := "ip address replace 147.75.0.9/32 dev lo", "ip address delete 147.75.0.9/32 dev lo"
	own, other := "curl -ks -m 5 -o /dev/null https://127.0.0.1:6443/livez", "curl -ks -m 5 -o /dev/null https://147.75.0.9:6443/livez"
	enable := []string{
		"systemctl daemon-reload", "systemctl enable l2cluster-endpoint.service",
		"systemctl restart l2cluster-endpoint.service",
	}
	cases := map[string]struct {
		reason  string
		files   map[string]string
		refused []string
		order   string
		address []string
		calls   []string
		fails   bool
	}{
		"FirstStarts":      {reason: "kubeadm init reaches the endpoint on this server.", files: starts, order: "first", address: address, calls: []string{add}},
		"FirstJoins":       {reason: "kubeadm join must reach the others.", order: "first", address: address},
		"Keep":             {reason: "After kubeadm the address stays, also after a boot.", files: joins, order: "keep", calls: append([]string{own}, enable...)},
		"KeepWithoutAPI":   {reason: "An API server that never answers is waited for a limited time.", files: joins, refused: []string{own}, order: "keep", calls: append([]string{own, own, own}, enable...)},
		"Up":               {reason: "The unit adds the address.", files: joins, order: "up", calls: []string{add}},
		"Release":          {reason: "The load balancer answers, so the address goes.", files: first, order: "release", calls: []string{remove, other}},
		"ReleaseTooEarly":  {reason: "Without the load balancer the address comes back.", files: first, refused: []string{other}, order: "release", calls: []string{remove, other, other, other, add}, fails: true},
		"ReleaseJoined":    {reason: "Only the server that started the cluster has it.", files: joins, order: "release"},
		"ReleaseTwice":     {reason: "Once it is gone there is nothing to do.", files: first, refused: []string{remove}, order: "release", calls: []string{remove}},
		"NoEndpoint":       {reason: "Without an endpoint nothing is done.", order: "first", fails: true},
		"NoFirst":          {reason: "Without the first order nothing is known.", order: "keep", fails: true},
		"UnfilledEndpoint": {reason: "A placeholder without a value is no address.", order: "first", address: []string{"<no value>"}, fails: true},
		"UnknownOrder":     {reason: "A typo is not taken for an order.", files: joins, order: "frist", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, tc.files)
			h.write(t, "refused", strings.Join(tc.refused, "\n")+"\n", 0o600)
			err := h.run(t, endpointOrders, append([]string{tc.order}, tc.address...)...)
			if (err != nil) != tc.fails {
				t.Errorf("%s\ngot error %v, want one: %t", tc.reason, err, tc.fails)
			}
			if diff := cmp.Diff(tc.calls, h.calls(t), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Only lo is touched, and no command restarts networking as a whole.
func TestEndpointTouchesOnlyLoopback(t *testing.T) {
	for _, order := range []string{"first", "keep", "up", "release", "keep"} {
		h := newHost(t, map[string]string{endpointOK: "147.75.0.9", "run/kubeadm/kubeadm.yaml": ""})
		if err := h.run(t, endpointOrders, order, "147.75.0.9"); err != nil {
			t.Errorf("%s: %v", order, err)
		}
		for _, call := range h.calls(t) {
			if strings.HasPrefix(call, "ip ") && !strings.HasSuffix(call, " dev lo") ||
				strings.HasPrefix(call, "systemctl restart") && call != "systemctl restart l2cluster-endpoint.service" {
				t.Errorf("%s calls %q", order, call)
			}
		}
	}
}

func TestCloudController(t *testing.T) {
	const secret = "etc/l2cluster/cpem.yaml"
	applySecret := "kubectl apply --server-side --force-conflicts --filename /" + secret
	apply := "kubectl apply --server-side --force-conflicts --filename https://example.org/d.yaml"
	cases := map[string]struct {
		reason  string
		files   map[string]string
		refused []string
		calls   []string
		fails   bool
		left    string
	}{
		"Starts": {reason: "The first server applies both.", files: map[string]string{secret: "s", "run/kubeadm/kubeadm.yaml": ""}, calls: []string{applySecret, apply}},
		"Joins":  {reason: "Others apply nothing, and keep no token.", files: map[string]string{secret: "s"}},
		"Again":  {reason: "A second run has no Secret left to apply.", files: map[string]string{"run/kubeadm/kubeadm.yaml": ""}, calls: []string{apply}},
		"Refused": {
			reason: "It tries again, gives up, and leaves the Secret for another run.",
			files:  map[string]string{secret: "s", "run/kubeadm/kubeadm.yaml": ""}, refused: []string{applySecret},
			calls: []string{applySecret, applySecret, applySecret}, fails: true, left: "s",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, tc.files)
			h.write(t, "refused", strings.ReplaceAll(strings.Join(tc.refused, "\n"), "/etc", h.root+"/etc")+"\n", 0o600)
			err := h.run(t, endpointOrders, "controller", "https://example.org/d.yaml")
			if (err != nil) != tc.fails {
				t.Errorf("%s\ngot error %v, want one: %t", tc.reason, err, tc.fails)
			}
			if diff := cmp.Diff(tc.calls, h.calls(t), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}
			if got := h.read(t, secret); got != tc.left {
				t.Errorf("%s\nthe Secret's file holds %q, want %q", tc.reason, got, tc.left)
			}
		})
	}
}

const withBGP = `{"network": {"addresses": [
	{"address_family": 4, "public": true, "gateway": "147.75.1.1"},
	{"address_family": 6, "public": true, "gateway": "2604::1"},
	{"address_family": 4, "public": false, "gateway": "10.66.1.0"}]},
 "bgp_neighbors": [
	{"address_family": 6, "peer_ips": ["fc00::e"], "peer_as": 1, "customer_as": 2, "customer_ip": "fc00::1"},
	{"address_family": 4, "customer_as": 65000, "customer_ip": "10.66.1.1", "md5_enabled": true, "md5_password": "secret",
	 "multihop": true, "peer_as": 65530, "peer_ips": ["169.254.255.1", "169.254.255.2"]}]}`

func TestKubeVIP(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	const manifest = "etc/kubernetes/manifests/l2cluster-kube-vip.yaml"
	routes := []string{"ip route replace 169.254.255.1/32 via 10.66.1.0", "ip route replace 169.254.255.2/32 via 10.66.1.0"}
	enable := []string{"systemctl daemon-reload", "systemctl enable l2cluster-bgp-routes.service"}
	pull := "crictl pull kube-vip:v0.8.1"
	cases := map[string]struct {
		reason   string
		starts   bool
		order    string
		metadata []string
		endpoint string
		refused  string
		calls    []string
		pod      bool
		fails    bool
	}{
		"FirstStarts": {reason: "Where the cluster starts, kube-vip runs before kubeadm.", starts: true, order: "first", metadata: []string{withBGP}, calls: append(routes[:2:2], pull), pod: true},
		"NoImageYet":  {reason: "Without the image the kubelet tries by itself.", starts: true, order: "first", metadata: []string{withBGP}, refused: pull, calls: append(routes[:2:2], pull, pull, pull), pod: true},
		"FirstJoins":  {reason: "A server that joins only reaches its peers.", order: "first", metadata: []string{withBGP}, calls: routes},
		"Keep":        {reason: "After kubeadm every server runs it.", order: "keep", metadata: []string{withBGP}, calls: append(routes[:2:2], enable...), pod: true},
		"Routes":      {reason: "The unit only adds routes.", order: "routes", metadata: []string{withBGP}, calls: routes},
		"Later":       {reason: "The session may take a while.", order: "routes", metadata: []string{"oops", `{"bgp_neighbors": null}`, withBGP}, calls: routes},
		"Never":       {reason: "It does not wait for ever.", order: "routes", metadata: []string{`{"bgp_neighbors": []}`}, fails: true},
		"Unfilled":    {reason: "A placeholder without a value is no address.", order: "first", starts: true, metadata: []string{withBGP}, endpoint: "<no value>", fails: true},
		"Password":    {reason: "A password that kube-vip would misread is refused.", order: "keep", metadata: []string{strings.Replace(withBGP, "secret", "se:cret", 1)}, calls: routes, fails: true},
		"Typo":        {reason: "A typo is not taken for an order.", order: "kepp", metadata: []string{withBGP}, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, tc.metadata[min(asked, len(tc.metadata)-1)])
				asked++
			}))
			t.Cleanup(server.Close)
			address := "147.75.0.9"
			if tc.endpoint != "" {
				address = tc.endpoint
			}
			settings := []string{address, server.URL + "/metadata", "kube-vip:v0.8.1"}
			files := map[string]string{}
			args := []string{tc.order}
			if tc.order == "first" {
				args = append(args, settings...)
			} else {
				files[endpointOK] = strings.Join(settings, " ")
			}
			if tc.starts {
				files["run/kubeadm/kubeadm.yaml"] = ""
			}
			h := newHost(t, files)
			h.write(t, "refused", tc.refused+"\n", 0o600)
			err := h.run(t, kubeVIPOrders, args...)
			if (err != nil) != tc.fails {
				t.Errorf("%s\ngot error %v, want one: %t", tc.reason, err, tc.fails)
			}
			if diff := cmp.Diff(tc.calls, h.calls(t), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}
			got := h.read(t, manifest)
			if (got != "") != tc.pod {
				t.Errorf("%s\ngot the manifest %q, want one: %t", tc.reason, got, tc.pod)
			}
			if tc.pod {
				checkPod(t, got)
			}
		})
	}
}

func checkPod(t *testing.T, manifest string) {
	t.Helper()
	var pod struct {
		Spec struct {
			HostNetwork bool `json:"hostNetwork"`
			Containers  []struct {
				Image string `json:"image"`
				Env   []struct {
					Name  string `json:"name"`
					Value string `json:"value"`
				} `json:"env"`
			} `json:"containers"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(manifest), &pod); err != nil {
		t.Fatalf("the manifest is not to be read: %v", err)
	}
	if len(pod.Spec.Containers) != 1 || !pod.Spec.HostNetwork || pod.Spec.Containers[0].Image != "kube-vip:v0.8.1" {
		t.Fatalf("got pod %+v", pod)
	}
	got := map[string]string{}
	for _, e := range pod.Spec.Containers[0].Env {
		got[e.Name] = e.Value
	}
	want := map[string]string{
		"address": "147.75.0.9", "port": "6443", "vip_interface": "lo", "vip_cidr": "32", "vip_subnet": "32", "vip_arp": "false",
		"cp_enable": "true", "cp_namespace": "kube-system", "bgp_enable": "true",
		"bgp_as": "65000", "bgp_routerid": "10.66.1.1",
		"bgp_peers": "169.254.255.1:65530:secret:true,169.254.255.2:65530:secret:true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment: -want, +got:\n%s", diff)
	}
}

// Units run the program at every boot with what it was told.
func TestUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, withBGP) }))
	t.Cleanup(server.Close)
	cases := map[string]struct {
		reason string
		orders string
		args   []string
		unit   string
		want   string
	}{
		"Endpoint": {
			reason: "The address is there before the kubelet.", orders: endpointOrders, args: []string{"keep"}, unit: "l2cluster-endpoint",
			want: "[Unit]\nAfter=network.target\nBefore=kubelet.service\n[Service]\nType=oneshot\nRemainAfterExit=yes\n" +
				"ExecStart=/usr/local/sbin/l2cluster-node up\n[Install]\nWantedBy=multi-user.target\n",
		},
		"KubeVIP": {
			reason: "The peers can be reached once there is a network.", orders: kubeVIPOrders, args: []string{"keep"}, unit: "l2cluster-bgp-routes",
			want: "[Unit]\nWants=network-online.target\nAfter=network-online.target\n[Service]\nType=oneshot\nRemainAfterExit=yes\n" +
				"ExecStart=/usr/local/sbin/l2cluster-node routes\n[Install]\nWantedBy=multi-user.target\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, map[string]string{endpointOK: "147.75.0.9 " + server.URL + " kube-vip:v0.8.1"})
			for range 2 {
				if err := h.run(t, tc.orders, tc.args...); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, h.read(t, "etc/systemd/system/"+tc.unit+".service")); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
			}
			if left := h.read(t, "etc/l2cluster.part"); left != "" {
				t.Errorf("%s\na part is left: %q", tc.reason, left)
			}
		})
	}
}

// A BGP password is in kube-vip's manifest, and only root may read it.
func TestKubeVIPManifestIsSecret(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Replace(withBGP, "secret", `se\"c'r$et \\`, 1))
	}))
	t.Cleanup(server.Close)
	h := newHost(t, map[string]string{endpointOK: "147.75.0.9 " + server.URL + " kube-vip:v0.8.1"})
	if err := h.run(t, kubeVIPOrders, "keep"); err != nil {
		t.Fatal(err)
	}
	const manifest = "etc/kubernetes/manifests/l2cluster-kube-vip.yaml"
	info, err := os.Stat(filepath.Join(h.root, manifest))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("the manifest's permissions: got %o, want 600", got)
	}
	var pod struct {
		Spec struct {
			Containers []struct {
				Env []struct{ Name, Value string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(h.read(t, manifest)), &pod); err != nil {
		t.Fatal(err)
	}
	want := `169.254.255.1:65530:se"c'r$et \:true,169.254.255.2:65530:se"c'r$et \:true`
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name == "bgp_peers" && e.Value != want {
			t.Errorf("the peers: got %q, want %q", e.Value, want)
		}
	}
}

// None of the orders holds what a template engine on its way would take for its
// own.
func TestOrdersHoldNoTemplate(t *testing.T) {
	for name, orders := range map[string]string{"endpoint": endpointOrders, "kube-vip": kubeVIPOrders, "cloud-controller": cloudControllerOrders} {
		for _, opener := range []string{"{{", "{%", "{#"} {
			if strings.Contains(orders, opener) {
				t.Errorf("%s contains %q", name, opener)
			}
		}
	}
}

// The committed orders are what go generate makes of their parts.
func TestOrdersAreFresh(t *testing.T) {
	for orders, parts := range map[*string][]string{
		&endpointOrders: {"control-plane", "endpoint"}, &kubeVIPOrders: {"control-plane", "kube-vip"}, &cloudControllerOrders: {"cloud-controller"},
	} {
		var want strings.Builder
		for line := range strings.Lines(source(t, parts...)) {
			line = strings.TrimLeft(line, "\t")
			if line != "\n" && !strings.HasPrefix(line, "#") {
				want.WriteString(line)
			}
		}
		if diff := cmp.Diff(want.String(), *orders); diff != "" {
			t.Errorf("orders of %v are stale, run go generate: -want, +got:\n%s", parts, diff)
		}
	}
}

// source of orders, with its comments.
func source(t *testing.T, parts ...string) string {
	t.Helper()
	var out strings.Builder
	for _, part := range parts {
		b, err := os.ReadFile(filepath.Join("node", "parts", part+".sh"))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	return out.String()
}

func TestShellcheck(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("shellcheck is not installed")
	}
	for _, vip := range []string{"endpoint", "kube-vip"} {
		script, err := bootstrap.NodeScript("image", source(t, "control-plane", vip, "cloud-controller"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "shellcheck", "-")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("shellcheck of %s: %v\n%s", vip, err, out)
		}
	}
}
