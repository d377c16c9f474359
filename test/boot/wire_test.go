package boot_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/test/boot/lab"
)

// Two machines on one wire, a bridge in a network namespace of its own: they
// reach each other over a VLAN, and without one, and the frames between them
// have the right tag, or none.
func TestWire(t *testing.T) {
	boots(t)
	cases := map[string]struct {
		claimPorts, tag string
	}{
		"Tagged":   {"[{name: bond0, networks: [{name: storage}]}]", "vlan 1000"},
		"Untagged": {"[{name: eth1, bonded: false, networks: [{name: storage}]}]", "untagged"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := fmt.Sprintf("l2boot-%d-%s", os.Getpid(), strings.ToLower(name))
			run(t, "ip", "netns", "add", namespace)
			t.Cleanup(func() { run(t, "ip", "netns", "del", namespace) })
			captured := capture(t, namespace)
			var machines [2]*lab.Machine
			for i := range machines {
				machines[i] = wired(t, namespace, i, tc.claimPorts)
			}
			var wait sync.WaitGroup
			for i, m := range machines {
				wait.Go(func() {
					// The other one may boot more slowly.
					ping := fmt.Sprintf("shell for n in $(seq 60); do ping -c 1 -W 5 10.60.10.%d && break; sleep 5; done", 2-i)
					if err := m.Boot(t.Context(), 2*limit, ping, "sleep 60"); err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			for _, m := range machines {
				if got := m.Read("1", "shell.1"); !strings.Contains(got, " 0% packet loss") {
					t.Errorf("no answer from the other machine: %s", got)
				}
			}
			if got := captured(); got != tc.tag {
				t.Errorf("frames between the machines: got %q, want %q", got, tc.tag)
			}
		})
	}
}

// wired is a machine whose ports are taps in the namespace's bridge. It has its
// metadata service inside, where the wire does not reach.
func wired(t *testing.T, namespace string, number int, claimPorts string) *lab.Machine {
	t.Helper()
	ports := []lab.Port{
		{Name: "vec0", MAC: fmt.Sprintf("0c:42:a1:00:0%d:10", number), Port: "eth0", Bond: "bond0"},
		{Name: "vec1", MAC: fmt.Sprintf("0c:42:a1:00:0%d:11", number), Port: "eth1", Bond: "bond0"},
	}
	c := cell{
		ports: ports, networks: "[{name: storage, vxlan: 1000, ipAddresses: [10.60.10.0/24]}]", claimPorts: claimPorts,
		customData: map[string]any{"vlan1000.ipv4": fmt.Sprintf("10.60.10.%d/24", number+1)},
		image:      withoutLACP,
	}
	l := c.lab()
	l.Before, l.After = lab.Switch{}, nil
	m := machineNamed(t, fmt.Sprintf("-%d", number), c, osnet.Ifupdown, l, "8m")
	if err := m.Write("/lab/ports.list", "0644", ""); err != nil {
		t.Fatal(err)
	}
	m.Namespace = namespace
	for i, p := range ports {
		tap := fmt.Sprintf("tap%d%d", number, i)
		for _, args := range []string{"tuntap add " + tap + " mode tap", "link set " + tap + " master wire", "link set " + tap + " up"} {
			run(t, "ip", append([]string{"-n", namespace}, strings.Fields(args)...)...)
		}
		m.Network = append(m.Network, fmt.Sprintf("vec%d:transport=tap,ifname=%s,depth=128,gro=0,mac=%s", i, tap, p.MAC))
	}
	return m
}

// withoutLACP is an image whose bond needs no speed of its ports: taps say none, and
// by 802.3ad such ports carry nothing.
func withoutLACP(m *lab.Machine, ports []lab.Port) error {
	if err := m.Ifupdown(ports); err != nil {
		return err
	}
	return m.Replace("/etc/network/interfaces", "bond-mode 4", "bond-mode active-backup")
}

// capture makes the bridge, and looks at the frames on it; the function that it
// returns says what their tags are.
func capture(t *testing.T, namespace string) func() string {
	t.Helper()
	run(t, "ip", "-n", namespace, "link", "add", "wire", "type", "bridge")
	run(t, "ip", "-n", namespace, "link", "set", "wire", "up")
	out := filepath.Join(t.TempDir(), "frames")
	cmd := exec.CommandContext(t.Context(), "ip", "netns", "exec", namespace, "python3", "lab/capture.py", "wire", out)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() string {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(content))
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	// Cleaning up comes after the test's own context.
	if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %v: %v: %s", name, args, err, out)
	}
}
