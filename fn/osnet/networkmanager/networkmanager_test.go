package networkmanager_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/osnet/internal/pooltest"
	"github.com/l2cluster/function-l2cluster/fn/osnet/networkmanager"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

func TestGolden(t *testing.T) {
	pooltest.RunGolden(t, pooltest.Sure(networkmanager.Port, networkmanager.Link, networkmanager.Machine))
}

// TestClearing runs what takes the platform's addresses off a bond at every boot
// after they are gone: else its default route would come back with a reboot.
func TestClearing(t *testing.T) {
	cleared := func(device string) string {
		return strings.ReplaceAll("-4 address flush dev D\n-6 address flush dev D scope global\n-4 route flush dev D\n-6 route flush dev D exact default\n", "D", device)
	}
	cases := map[string]struct {
		bonds, event []string
		want         string
	}{
		"Up":       {[]string{"bond0"}, []string{"bond0", "up"}, cleared("bond0")},
		"Second":   {[]string{"bond0", "bond1"}, []string{"bond1", "up"}, cleared("bond1")},
		"Down":     {[]string{"bond0"}, []string{"bond0", "down"}, ""},
		"Other":    {[]string{"bond0", "bond1"}, []string{"vlan1000", "up"}, ""},
		"Hostname": {[]string{"bond0"}, []string{"", "hostname"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var layout node.Layout
			for _, bond := range tc.bonds {
				layout.Ports = append(layout.Ports, node.Port{Port: plan.Port{Name: bond}, Cleared: true})
			}
			got := calls(t, networkmanager.Machine(layout)[0].Content, tc.event)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("calls of ip: -want, +got:\n%s", diff)
			}
		})
	}
}

// calls of ip by a script, which has to succeed.
func calls(t *testing.T, script string, args []string) string {
	t.Helper()
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	for name, content := range map[string]string{"script": script, "ip": "#!/bin/sh\necho \"$*\" >>" + log + "\n", "log": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "script"), args...)
	cmd.Env = []string{"PATH=" + folder + ":/bin:/usr/bin"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the script fails: %v: %s", err, out)
	}
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
