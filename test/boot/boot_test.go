// Package boot_test boots real machines with the user data that the whole line
// makes of a claim, and looks at what their kernels have in the end.
package boot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/test/boot/lab"
)

// limit of one boot of a machine, which takes half a minute of one core.
const limit = 20 * time.Minute

var builtImage = sync.OnceValues(func() (lab.Image, error) { return lab.Build(context.Background()) })

// boots says whether machines boot here: they take root and half an hour, so
// they have to be asked for.
func boots(t *testing.T) lab.Image {
	t.Helper()
	if os.Getenv("L2CLUSTER_BOOT") == "" {
		t.Skip("set L2CLUSTER_BOOT=1 to boot machines: see README.md")
	}
	if missing := lab.Missing(); missing != "" {
		t.Skipf("machines cannot boot here: they need %s", missing)
	}
	image, err := builtImage()
	if err != nil {
		t.Fatal(err)
	}
	return image
}

const claim = `
apiVersion: l2cluster.io/v1alpha1
kind: L2Cluster
metadata: {name: edge, namespace: team-a}
spec:
  kubernetesVersion: v1.34.2
  projectID: 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11
  metro: da
  networks: %s
  controlPlane: {replicas: 1, machineType: c3.small.x86, os: ubuntu_22_04}
  workers:
  - {name: general, replicas: 1, machineType: c3.small.x86, os: ubuntu_22_04, ports: %s}
`

const input = `
apiVersion: l2cluster.fn.crossplane.io/v1beta1
kind: Input
bootstrap: {nodePackages: Image}
network: {timeout: %s, backends: [{osPrefix: ubuntu, name: %s}]}
`

// events that a machine reported.
func events(m *lab.Machine) []string { return reports(m.Read("events")) }

func reports(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		var e struct {
			State   string `json:"state"`
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			out = append(out, line)
			continue
		}
		out = append(out, fmt.Sprintf("%s %d %s", e.State, e.Code, e.Message))
	}
	return out
}

// folder of a machine, in memory: disks make everything wait.
func folder(t *testing.T, name string) string {
	t.Helper()
	if keep := os.Getenv("L2CLUSTER_BOOT_KEEP"); keep != "" {
		out := filepath.Join(keep, strings.ReplaceAll(t.Name(), "/", "-")+name)
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	out, err := os.MkdirTemp("/dev/shm", "l2cluster-machine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(out); err != nil {
			t.Error(err)
		}
	})
	return out
}

// machine of a cell, ready to boot.
func machine(t *testing.T, c cell, backend osnet.Backend, l lab.Lab, timeout string) *lab.Machine {
	t.Helper()
	return machineNamed(t, "", c, backend, l, timeout)
}

// machineNamed is one of several of a test.
func machineNamed(t *testing.T, name string, c cell, backend osnet.Backend, l lab.Lab, timeout string) *lab.Machine {
	t.Helper()
	image := boots(t)
	m, err := lab.New(image, folder(t, name))
	if err != nil {
		t.Fatal(err)
	}
	network, err := c.configure(m, backend)
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.userData(t, backend, timeout)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Seed(data, network); err != nil {
		t.Fatal(err)
	}
	if err := m.Connect(c.ports, l); err != nil {
		t.Fatal(err)
	}
	return m
}

// userData of the cell's machine.
func (c cell) userData(t *testing.T, backend osnet.Backend, timeout string) ([]byte, error) {
	t.Helper()
	return lab.UserData(t.Context(), fmt.Sprintf(claim, c.networks, c.claimPorts), fmt.Sprintf(input, timeout, backend), "general")
}

func (c cell) lab() lab.Lab {
	return lab.Lab{
		Before: c.before(), After: &c.after, Listen: lab.MetadataAddress,
		Metadata: lab.Metadata(c.ports), CustomData: map[string]any{osnet.CustomDataKey: c.customData, "others": "stay"}, CustomDataAfter: 5,
	}
}

// before is the switch of a new server.
func (c cell) before() lab.Switch {
	bonds := map[string][]string{}
	for _, p := range c.ports {
		name := strings.Replace(p.Bond, "bond", "sw", 1)
		bonds[name] = append(bonds[name], p.Port)
	}
	return lab.Switch{Bonds: bonds, Addresses: []lab.Router{lab.Platform("sw0")}}
}

// succeeded are the events of a run that ends well.
func succeeded() []string {
	return []string{"running 1000 network_configuration_started", "succeeded 1001 network_configuration_success"}
}

// run boots a cell: for the first time, again, and then with the script by hand.
func (c cell) run(t *testing.T, backend osnet.Backend) { c.runIn(t, backend, c.lab()) }

func (c cell) runIn(t *testing.T, backend osnet.Backend, l lab.Lab) {
	if testing.Short() {
		c.firstIn(t, backend, l)
		return
	}
	m := machine(t, c, backend, l, "8m")
	c.firstBoot(t, m)
	c.secondBoot(t, m)
}

// first boots a cell for the first time only, with the script once more by hand.
func (c cell) first(t *testing.T, backend osnet.Backend) { c.firstIn(t, backend, c.lab()) }

func (c cell) firstIn(t *testing.T, backend osnet.Backend, l lab.Lab) {
	m := machine(t, c, backend, l, "8m")
	c.firstBoot(t, m, "script", "snapshot once")
	status(t, m, "1", 3+len(c.reaches), "0")
	state(t, m, "1", "once", c.want)
	sameFiles(t, m, "1/end", "1/once")
}

// changed is a step that waits until the platform has changed the ports, and, in
// pure layer 2, until the machine has noticed.
const changed = "shell sleep 8; while systemctl -q is-active l2cluster-handover || systemctl -q is-enabled l2cluster-handover 2>/dev/null; do sleep 1; done"

// pings are steps that see whether others answer.
func (c cell) pings() []string {
	out := make([]string, 0, len(c.reaches))
	for _, address := range c.reaches {
		out = append(out, "shell ping -c 1 -W 2 "+address+" || ping -c 3 -W 5 "+address)
	}
	return out
}

func (c cell) firstBoot(t *testing.T, m *lab.Machine, more ...string) {
	boot(t, m, slices.Concat([]string{changed}, c.pings(), []string{"snapshot end"}, more)...)
	state(t, m, "1", "end", c.want)
	if diff := cmp.Diff(succeeded(), reports(m.Read("1", "end", "events"))); diff != "" {
		t.Errorf("events of the first boot: -want, +got:\n%s", diff)
	}
	if got := m.Read("kubeadm"); !strings.HasPrefix(got, "join --config /run/kubeadm/kubeadm-join-config.yaml") || strings.Count(got, "\n") != 1 {
		t.Errorf("kubeadm: got calls %q, want one", got)
	}
	answered(t, m, "1", len(c.reaches))
}

// secondBoot is without cloud-init's commands; then the script runs twice by
// hand, and changes nothing.
func (c cell) secondBoot(t *testing.T, m *lab.Machine) {
	boot(t, m, slices.Concat([]string{"shell sleep 5; " + c.leased}, c.pings(),
		[]string{"snapshot again", "script", "snapshot once", "script", "snapshot twice", "script --check"})...)
	for _, name := range []string{"again", "once", "twice"} {
		state(t, m, "2", name, c.want)
	}
	answered(t, m, "2", len(c.reaches))
	for _, pair := range [][2]string{{"1/end", "2/again"}, {"2/again", "2/once"}, {"2/once", "2/twice"}} {
		sameFiles(t, m, pair[0], pair[1])
	}
	for _, n := range []int{3, 5, 7} {
		status(t, m, "2", n+len(c.reaches), "0")
	}
}

// sameFiles looks for differences between the files of two snapshots.
func sameFiles(t *testing.T, m *lab.Machine, a, b string) {
	t.Helper()
	if diff := cmp.Diff(ours(m.Read(a, "files")), ours(m.Read(b, "files"))); diff != "" {
		t.Errorf("files: -%s, +%s:\n%s", a, b, diff)
	}
}

// status of the script's run that was the step of that number.
func status(t *testing.T, m *lab.Machine, boot string, step int, want string) {
	t.Helper()
	name := fmt.Sprintf("script.%d", step)
	if got := strings.TrimSpace(m.Read(boot, name+".status")); got != want {
		t.Errorf("boot %s, step %d: the script's status is %q, want %s: %s", boot, step, got, want, m.Read(boot, name))
	}
}

// ours are the lines of files that are the script's business.
func ours(files string) []string {
	var out []string
	for line := range strings.Lines(files) {
		if strings.Contains(line, "l2cluster") || strings.Contains(line, "/network") || strings.Contains(line, "/netplan") {
			out = append(out, line)
		}
	}
	return out
}

func boot(t *testing.T, m *lab.Machine, steps ...string) {
	t.Helper()
	start := time.Now()
	if err := m.Boot(t.Context(), limit, steps...); err != nil {
		t.Fatal(err)
	}
	t.Logf("booted in %s", time.Since(start).Round(time.Second))
}

func state(t *testing.T, m *lab.Machine, boot, name string, want []string) {
	t.Helper()
	got, err := m.State(boot, name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("boot %s, %s: -want, +got:\n%s", boot, name, diff)
	}
}

// answered looks at the pings, which are the steps from the second on.
func answered(t *testing.T, m *lab.Machine, boot string, count int) {
	t.Helper()
	for n := range count {
		if got := m.Read(boot, fmt.Sprintf("shell.%d", n+2)); !strings.Contains(got, " 0% packet loss") {
			t.Errorf("boot %s: no answer: %s", boot, got)
		}
	}
}

// Every back end in every mode.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, backend := range osnet.Backends() {
		for name, c := range modes() {
			t.Run(string(backend)+"/"+name, func(t *testing.T) {
				t.Parallel()
				c.run(t, backend)
			})
		}
	}
}
