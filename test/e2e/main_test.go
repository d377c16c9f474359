package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/e2e/world"
)

// here is the world that all tests share; TestMain makes it.
var here *world.World

func say(format string, args ...any) {
	fmt.Printf("e2e %s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !stack.Inside() {
		os.Exit(outside(ctx))
	}
	os.Exit(inside(ctx, m))
}

// outside builds what is needed and runs this program again where it can do no
// harm. Where a process may not make a network namespace, nothing can be tested.
func outside(ctx context.Context) int {
	dir, err := os.MkdirTemp("", "l2cluster-e2e-")
	if err != nil {
		say("cannot make a folder: %v", err)
		return 1
	}
	defer os.RemoveAll(dir)
	code, err := world.Isolated(ctx, dir, say)
	switch {
	case errors.Is(err, stack.ErrNoNamespace):
		say("SKIPPED, nothing was tested: %v", err)
		return 0
	case err != nil:
		say("cannot start: %v", err)
		return 1
	}
	return code
}

// inside begins the world and runs the tests in it. Logs of all programs are
// kept where L2CLUSTER_E2E_LOGS says, else only when a test fails.
func inside(ctx context.Context, m *testing.M) (code int) {
	dir := os.Getenv("L2CLUSTER_E2E_LOGS")
	if dir == "" {
		made, err := os.MkdirTemp("", "l2cluster-e2e-stack-")
		if err != nil {
			say("cannot make a folder: %v", err)
			return 1
		}
		dir = made
		defer func() {
			if code == 0 {
				_ = os.RemoveAll(made)
			}
		}()
	}
	w, err := world.Begin(ctx, dir, world.Quick(), say)
	if err != nil {
		say("cannot start: %v", err)
		return 1
	}
	defer w.Stop()
	here = w
	context.AfterFunc(ctx, func() {
		w.Stop()
		os.Exit(1)
	})
	return m.Run()
}
