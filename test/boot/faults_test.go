package boot_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/test/boot/lab"
)

// fault is one thing that goes wrong, on a machine that is otherwise as after
// its first boot.
type fault struct {
	reason string
	// prepare and repair are shell commands around the script's run.
	prepare, repair string
	// change the lab; nil leaves it.
	change func(*lab.Lab)
	// status of the script, and the events that it reports, of which the last
	// may go on.
	status string
	events []string
}

const (
	running     = "running 1000 network_configuration_started"
	success     = "succeeded 1001 network_configuration_success"
	failure     = "failed 1002 network_configuration_failed: "
	forget      = "rm -rf /var/lib/l2cluster; ip link del vlan1000; ip link del vlan1001; "
	interfaces  = "/etc/network/interfaces.d"
	hideModules = "ip link del vlan1000; ip link del vlan1001; rmmod 8021q; mv /lib/modules /lib/modules.away; "
)

func faults() []fault {
	return []fault{
		{
			reason: "The metadata service fails twice, and the script asks again.", prepare: forget,
			change: func(l *lab.Lab) { l.Faults = map[string][]string{"metadata": {"error", "error", ""}} },
			status: "0", events: []string{running, success},
		},
		{
			reason: "Events are not accepted twice, and the script reports again.", prepare: forget,
			change: func(l *lab.Lab) { l.Faults = map[string][]string{"events": {"error", "error", ""}} },
			status: "0", events: []string{running, success},
		},
		{
			reason:  "The metadata service is unreachable, but the server knows its addresses: the network comes up, nobody is told.",
			prepare: "ip link del vlan1000; ip -n switch address del 192.0.2.53/32 dev lo", repair: "ip -n switch address add 192.0.2.53/32 dev lo",
			status: "0",
		},
		{
			reason: "Without an answer that makes sense nobody can be told, and nothing comes up.", prepare: forget,
			change: func(l *lab.Lab) { l.Faults = map[string][]string{"metadata": {"garbage"}} },
			status: "1",
		},
		{
			reason:  "The metadata service is unreachable, and the server has never been told its addresses.",
			prepare: forget + "ip -n switch address del 192.0.2.53/32 dev lo", repair: "ip -n switch address add 192.0.2.53/32 dev lo",
			status: "1",
		},
		{
			reason: "The kernel has no VLANs.", prepare: hideModules, repair: "mv /lib/modules.away /lib/modules",
			status: "1", events: []string{running, failure + "modprobe 8021q: "},
		},
		{
			reason:  "The interface is there, with another address and without its route.",
			prepare: "ip address flush dev vlan1000; ip address add 10.60.10.99/24 dev vlan1000",
			status:  "0", events: []string{running, success},
		},
		{
			reason: "The metadata name a MAC address that no interface has.",
			change: func(l *lab.Lab) {
				ports := append([]lab.Port{}, twoPorts...)
				ports[1].MAC = "0c:42:a1:00:00:99"
				l.Metadata = lab.Metadata(ports)
			},
			status: "1", events: []string{running, failure + "eth1: 0 interfaces have the permanent address 0c:42:a1:00:00:99"},
		},
		{
			reason:  "The disk is full.",
			prepare: forget + "mkdir -p /kept; cp -a " + interfaces + "/. /kept; mount -t tmpfs -o size=4k,nr_inodes=64 full " + interfaces + "; head -c 4096 /dev/zero >" + interfaces + "/fill",
			repair:  "umount " + interfaces,
			status:  "1", events: []string{running, failure + "cannot write " + interfaces + "/9"},
		},
		{
			reason: "After all of this the script makes the network right.",
			status: "0", events: []string{running, success},
		},
	}
}

// steps that make the fault happen, run the script, and repair.
func (f fault) steps(t *testing.T, l lab.Lab) []string {
	t.Helper()
	if f.change != nil {
		f.change(&l)
	}
	description, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	prepare := "printf '%s' '" + string(description) + "' >/lab/lab.json; rm -f /lab/out/events; " + f.prepare
	repair := "mkdir -p /lab/out/$(cat /lab/boot); cat /lab/out/events 2>/dev/null"
	if f.repair != "" {
		repair += "; " + f.repair
	}
	return []string{"shell " + prepare, "script", "shell " + repair}
}

// One machine that meets all faults: at its first boot the addresses come only when
// it has given up hope, and it joins; at its second it meets the others.
func TestFaults(t *testing.T) {
	t.Parallel()
	// A network on eth1 too, so that a port has to be found.
	c := modes()["HybridNative"]
	c.after = lab.Switch{}
	l := c.lab()
	l.After = nil
	l.CustomDataLate = true
	m := machine(t, c, osnet.Ifupdown, l, "3m")
	boot(t, m, "snapshot end")
	want := []string{running, failure + "eth1: the server's custom data have no address vlan1001.ipv4 yet", success}
	if diff := cmp.Diff(want, events(m)); diff != "" {
		t.Errorf("addresses arrive after the time limit: -want, +got:\n%s", diff)
	}
	if got := m.Read("kubeadm"); strings.Count(got, "\n") != 1 {
		t.Errorf("kubeadm: got calls %q, want one", got)
	}
	if got := m.Read("kubeadm.addresses"); !strings.Contains(got, "10.60.20.") {
		t.Errorf("kubeadm is called without a network: %s", got)
	}
	l.CustomDataLate, l.CustomDataAfter = false, 0
	var steps []string
	all := append([]fault{{reason: "The addresses are there.", status: "0", events: []string{running, success}}}, faults()...)
	for _, f := range all {
		steps = append(steps, f.steps(t, l)...)
	}
	boot(t, m, append(steps, "snapshot repaired")...)
	for i, f := range all {
		t.Log(f.reason)
		status(t, m, "2", 3*i+2, f.status)
		checkEvents(t, f, m, 3*i+3)
	}
	state(t, m, "2", "repaired", c.want)

	// Power is cut between two files: the machine is killed as soon as the first
	// has its name. What is there is whole, and the script makes it complete.
	if err := m.Write("/lab/cut", "0644", cut); err != nil {
		t.Fatal(err)
	}
	boot(t, m, "shell rm -rf "+interfaces+"/*; "+forget+"python3 /lab/cut", "shell ls "+interfaces)
	if got := strings.Count(m.Read("3", "shell.2"), "l2cluster"); got != 1 {
		t.Errorf("the cut comes after %d files, want 1", got)
	}
	boot(t, m, "script", "snapshot whole")
	status(t, m, "4", 1, "0")
	state(t, m, "4", "whole", c.want)
}

// cut ends the script like a loss of power, at its second file.
const cut = `import os, runpy, sys
real, count = os.rename, []
def rename(a, b):
    real(a, b)
    count.append(b)
    if len([n for n in count if 'interfaces.d' in n]) == 1: os.kill(os.getpid(), 9)
os.rename = rename
sys.argv = ['l2cluster-network']
runpy.run_path('/usr/local/sbin/l2cluster-network', run_name='__main__')
`

func checkEvents(t *testing.T, f fault, m *lab.Machine, step int) {
	t.Helper()
	got := reports(m.Read("2", fmt.Sprintf("shell.%d", step)))
	for i, want := range f.events {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("%s: got events %q, want %q", f.reason, got, f.events)
			return
		}
	}
	if len(got) != len(f.events) {
		t.Errorf("%s: got events %q, want %q", f.reason, got, f.events)
	}
}
