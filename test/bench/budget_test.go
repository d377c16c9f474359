//go:build slow

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Budgets. Time is measured against the floor in the same run, since machines
// differ; what a machine does beside the test is allowed for by tolerance and by
// a few attempts.
const (
	ratioBudget  = 2.0
	growthBudget = 10.5
	tolerance    = 1.15
	attempts     = 3

	messagesBudget = 16 << 20
	binaryBudget   = 45 << 20
	memoryBudget   = 40 << 20
	startBudget    = 100 * time.Millisecond
)

// within reports when not one of a few attempts stays within a budget.
func within(t *testing.T, what string, budget float64, attempt func() float64) {
	t.Helper()
	var got []string
	for range attempts {
		v := attempt()
		if v <= budget*tolerance {
			t.Logf("%s: %.2f, budget %.2f", what, v, budget)
			return
		}
		got = append(got, fmt.Sprintf("%.2f", v))
	}
	t.Errorf("%s: %s in %d attempts, budget %.2f and %.0f%% tolerance", what, strings.Join(got, ", "), attempts, budget, 100*(tolerance-1))
}

// calls that were settled already: a thousand machines take a while.
var calls = map[size]call{}

func settled(t *testing.T, s size) call {
	t.Helper()
	if _, ok := calls[s]; !ok {
		c, err := settle(t.Context(), served(), s)
		if err != nil {
			t.Fatal(err)
		}
		calls[s] = c
	}
	return calls[s]
}

func measured(t *testing.T, c call) measurement {
	t.Helper()
	m, err := measure(t.Context(), served(), c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRatioToFloor(t *testing.T) {
	for _, s := range []size{{3, 2, 4}, {3, 250, 4}, {3, 1000, 4}} {
		t.Run(s.String(), func(t *testing.T) {
			c := settled(t, s)
			within(t, "time of the function in times of the floor", ratioBudget, func() float64 { return measured(t, c).ratio() })
		})
	}
}

func TestGrowth(t *testing.T) {
	few, many := settled(t, size{3, 100, 4}), settled(t, size{3, 1000, 4})
	within(t, "time of 1,000 machines in times of 100", growthBudget, func() float64 {
		return float64(measured(t, many).function.median) / float64(measured(t, few).function.median)
	})
}

// TestMessageSizes counts what depends on the function: what API servers note
// about the owners of fields comes on top and is as large again.
func TestMessageSizes(t *testing.T) {
	c := settled(t, size{3, 1000, 4})
	whole := proto.Size(c.request)
	c.request = proto.CloneOf(c.request)
	for _, r := range c.request.GetObserved().GetResources() {
		withoutManagedFields(r.GetResource())
	}
	for _, list := range c.request.GetRequiredResources() {
		for _, r := range list.GetItems() {
			withoutManagedFields(r.GetResource())
		}
	}
	withoutManagedFields(c.request.GetObserved().GetComposite().GetResource())
	if got := proto.Size(c.request) + proto.Size(c.response); got > messagesBudget {
		t.Errorf("request and response of 1,000 machines: %s, budget %s", mebi(got), mebi(messagesBudget))
	}
	if limit := receiveLimit(t); whole > limit {
		t.Errorf("request of 1,000 machines with managed fields: %s, and the function takes at most %s by default", mebi(whole), mebi(limit))
	}
}

func withoutManagedFields(s *structpb.Struct) {
	delete(s.GetFields()["metadata"].GetStructValue().GetFields(), "managedFields")
}

// binary of the function as it is shipped.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "function-l2cluster")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "../../fn")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the function: %v\n%s", err, out)
	}
	return path
}

// receiveLimit is the largest request that the function takes by default.
func receiveLimit(t *testing.T) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(t), "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(out), "--max-recv-message-size=")
	if !ok {
		t.Fatalf("no default of --max-recv-message-size in:\n%s", out)
	}
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n << 20
}

func TestBinarySize(t *testing.T) {
	info, err := os.Stat(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > binaryBudget {
		t.Errorf("binary: %s, budget %s", mebi(int(info.Size())), mebi(binaryBudget))
	}
}

// TestStart starts the function a few times, and looks at the memory that it
// takes when nothing has called it yet.
func TestStart(t *testing.T) {
	bin := binary(t)
	var memory []int
	within(t, "milliseconds until the function serves", float64(startBudget.Milliseconds()), func() float64 {
		var starts []time.Duration
		for range 5 {
			took, rss := start(t, bin)
			starts, memory = append(starts, took), append(memory, rss)
		}
		slices.Sort(starts)
		return float64(starts[len(starts)/2].Microseconds()) / 1000
	})
	slices.Sort(memory)
	if got := memory[len(memory)/2]; got > memoryBudget {
		t.Errorf("idle memory: %s, budget %s", mebi(got), mebi(memoryBudget))
	}
}

// start the function, wait until it says that it serves, and stop it. It returns
// how long that took and how much memory was resident then, in bytes.
func start(t *testing.T, bin string) (time.Duration, int) {
	t.Helper()
	address := free(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()

	cmd := exec.CommandContext(ctx, bin, "--insecure", "--address", address)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	for {
		// A connection first: gRPC would wait long before it tries again.
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = c.Close()
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the function does not serve")
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin), resident(t, cmd.Process.Pid)
}

// free address on loopback.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// resident memory of a process, in bytes; 0 where the system does not say.
func resident(t *testing.T, pid int) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatal("no resident memory in the process's status")
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
