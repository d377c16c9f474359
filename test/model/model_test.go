package model

import (
	"flag"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	http.DefaultTransport = theAPI
	// Worlds are small and make much garbage.
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

const (
	// quick is how many steps are taken unless MODEL_STEPS says otherwise.
	quick = 2000
	// sequence is how many steps are drawn before a world is left to settle.
	sequence = 250
	// workers drive worlds side by side.
	workers = 2
)

// tally is what many worlds together have come to.
type tally struct {
	mu                      sync.Mutex
	worlds, steps, settling int
	happened                map[string]int
}

func (a *tally) add(d *driver, settling int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.worlds, a.steps, a.settling = a.worlds+1, a.steps+d.steps, a.settling+settling
	for what, n := range d.w.Happened() {
		a.happened[what] += n
	}
}

func (a *tally) taken() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.steps
}

// TestWorld drives worlds at random and checks after every step what must hold.
// MODEL_STEPS is how many steps it takes at least in all: a step is an event, or
// one step of one controller, or one reconcile. MODEL_SEED repeats the worlds of
// a failure, which prints it.
func TestWorld(t *testing.T) {
	steps, n := envInt(t, "MODEL_STEPS", quick), workers
	if seed := os.Getenv("MODEL_SEED"); seed != "" {
		set(t, "rapid.seed", seed)
		n = 1
	}
	set(t, "rapid.checks", strconv.Itoa(steps/sequence+1))
	set(t, "rapid.nofailfile", "true")
	all, began := tally{happened: map[string]int{}}, time.Now()
	t.Run("Random", func(t *testing.T) { sideBySide(t, n, steps, &all) })
	t.Logf("%d worlds, %d steps (%d of them to settle) in %s", all.worlds, all.steps, all.settling, time.Since(began).Round(time.Millisecond))
	for _, what := range slices.Sorted(maps.Keys(all.happened)) {
		t.Logf("%8d %s", all.happened[what], what)
	}
	if all.steps < enough {
		return
	}
	for _, what := range interesting {
		if all.happened[what] == 0 {
			t.Errorf("in %d steps it never happened: %s", all.steps, what)
		}
	}
}

// sideBySide lets n workers drive worlds until they have taken enough steps.
func sideBySide(t *testing.T, n, steps int, all *tally) {
	t.Helper()
	for i := range n {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				if all.taken() < steps {
					live(rt, all)
				}
			})
		})
	}
}

// enough steps make certain that everything interesting happens.
const enough = 200000

// interesting is what a model has to reach to be worth something.
var interesting = []string{
	"address delivered", "address used again", "address chosen twice", "at rest without an address", "machine joined", "network failed",
	"VLAN in use not deleted", "machine set dropped", "refused", "status lost",
	"given up: Request", "given up: Port", "given up: Vlan", "given up: IPAddressClaim",
	"given up: PacketMachineTemplate", "given up: KubeadmConfigTemplate", "given up: MachineDeployment",
}

// live through one world: first at random, then until it comes to rest.
func live(t *rapid.T, all *tally) {
	d := newDriver(t)
	defer d.w.Close()
	for range sequence {
		d.step()
		check(t, d.w)
	}
	for _, c := range d.w.alive() {
		if c.now().spec.broken {
			s := c.now().spec.clone()
			s.broken = false
			d.w.edit(c, s)
		}
	}
	settling := d.w.Settle()
	check(t, d.w)
	d.steps += settling
	all.add(d, settling)
}

func check(t *rapid.T, w *World) {
	if v := w.Violations(); len(v) > 0 {
		t.Fatal(strings.Join(v, "\n"))
	}
}

func envInt(t *testing.T, name string, otherwise int) int {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatalf("%s must be a number: %v", name, err)
	}
	return n
}

func set(t *testing.T, name, value string) {
	t.Helper()
	if err := flag.Set(name, value); err != nil {
		t.Fatalf("cannot set %s: %v", name, err)
	}
}
