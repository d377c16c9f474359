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

// A machine whose description changes becomes what the new one says, and nothing
// of the old one stays: it boots in hybrid-bonded mode and goes on, by the script
// alone, through the other modes in which ports leave their bond.
func TestChanges(t *testing.T) {
	t.Parallel()
	for _, backend := range osnet.Backends() {
		t.Run(string(backend), func(t *testing.T) {
			t.Parallel()
			names := []string{"HybridBonded", "HybridNative", "HybridUntagged", "Layer2Individual"}
			first := modes()[names[0]]
			m := machine(t, first, backend, first.lab(), "8m")
			steps := []string{"sleep 8", "snapshot " + names[0]}
			for _, name := range names[1:] {
				steps = append(steps, modes()[name].become(t, m, name, backend)...)
			}
			boot(t, m, steps...)
			state(t, m, "1", names[0], first.want)
			for i, name := range names[1:] {
				status(t, m, "1", 6*i+4, "0")
				state(t, m, "1", name, modes()[name].want)
				if diff := cmp.Diff(succeeded(), reports(m.Read("1", fmt.Sprintf("shell.%d", 6*i+8)))); diff != "" {
					t.Errorf("%s, events: -want, +got:\n%s", name, diff)
				}
				if got, want := m.Read("1", fmt.Sprintf("shell.%d", 6*i+6)), len(modes()[name].reaches); strings.Count(got, " 0% packet loss") != want {
					t.Errorf("%s: not all of %d answer: %s", name, want, got)
				}
			}
		})
	}
}

// become are six steps that give a machine a cell's description and platform.
func (c cell) become(t *testing.T, m *lab.Machine, name string, backend osnet.Backend) []string {
	t.Helper()
	data, err := c.userData(t, backend, "8m")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Keep("/lab/cells/"+name, data); err != nil {
		t.Fatal(err)
	}
	description, err := json.Marshal(c.lab())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Write("/lab/cells/"+name+".json", "0644", string(description)); err != nil {
		t.Fatal(err)
	}
	ping := "for a in " + strings.Join(c.reaches, " ") + "; do ping -c 1 -W 2 $a || ping -c 3 -W 5 $a; done"
	return []string{
		fmt.Sprintf("shell cp -a /lab/cells/%[1]s/. / && cp /lab/cells/%[1]s.json /lab/lab.json && rm -f /lab/out/changed /lab/out/events", name),
		"script", changed, "shell " + ping, "snapshot " + name, "shell cat /lab/out/events",
	}
}
