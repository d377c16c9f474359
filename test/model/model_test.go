package model

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	http.DefaultTransport = theAPI
	os.Exit(m.Run())
}

// sequence is how many steps are drawn before the world is left to settle.
const sequence = 250

// TestWorld drives worlds at random. MODEL_STEPS is how many steps it takes at
// least in all (a step is one event, or one step of one controller, or one
// reconcile); MODEL_SEED repeats a run.
func TestWorld(t *testing.T) {
	steps := envInt(t, "MODEL_STEPS", 4000)
	if seed := os.Getenv("MODEL_SEED"); seed != "" {
		set(t, "rapid.seed", seed)
	}
	set(t, "rapid.checks", strconv.Itoa(steps/sequence+1))
	set(t, "rapid.nofailfile", "true")
	var done atomic.Int64
	happened := map[string]int{}
	worlds, settling := 0, 0
	began := time.Now()
	defer func() {
		t.Logf("%d worlds, %d steps (%d to settle) in %s: %v",
			worlds, done.Load(), settling, time.Since(began).Round(time.Millisecond), happened)
	}()
	rapid.Check(t, func(rt *rapid.T) {
		if done.Load() >= int64(steps) {
			return
		}
		d := newDriver(rt)
		defer d.w.Close()
		for range sequence {
			d.step()
			check(rt, d.w)
		}
		for _, c := range d.w.alive() {
			if c.now().spec.broken {
				s := c.now().spec.clone()
				s.broken = false
				d.w.edit(c, s)
			}
		}
		settled := d.w.Settle()
		d.steps += settled
		worlds, settling = worlds+1, settling+settled
		check(rt, d.w)
		done.Add(int64(d.steps))
		for what, n := range d.w.Happened() {
			happened[what] += n
		}
	})
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
		t.Fatal(fmt.Errorf("cannot set %s: %w", name, err))
	}
}
