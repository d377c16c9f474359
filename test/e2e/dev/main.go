// Command dev keeps a whole control plane running on this machine to try things
// in: make dev starts it, make dev-down ends it.
//
//	dev up DIR    start it in the background, wait, and say how to reach it
//	dev down DIR  end it
//	dev run DIR   be it
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/e2e/world"
)

// Addresses at which this machine reaches what runs in the stack's network, by
// the socket that leads there and the address inside.
var doors = []struct{ socket, outside, inside string }{
	{"kubernetes.sock", "127.0.0.1:16443", "127.0.0.1:6443"},
	{"cloud.sock", "127.0.0.1:18880", "127.0.0.1:8880"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: dev up|down|run DIR")
		os.Exit(2)
	}
	dir, err := filepath.Abs(os.Args[2])
	if err == nil {
		err = command(ctx, os.Args[1], dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dev:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, name, dir string) error {
	switch {
	case name == "run" && stack.Inside():
		return inside(ctx, dir)
	case name == "run":
		return outside(ctx, dir)
	case name == "up":
		return up(ctx, dir)
	case name == "down":
		return down(dir)
	}
	return fmt.Errorf("unknown command %q", name)
}

func say(format string, args ...any) {
	fmt.Printf("%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

func path(dir, name string) string { return filepath.Join(dir, name) }

// up starts a stack that outlives this command and shows how it gets on.
func up(ctx context.Context, dir string) error {
	if pid(dir) != 0 {
		return errors.New("it is running already; make dev-down ends it")
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot clear %q: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make %q: %w", dir, err)
	}
	log, err := os.Create(path(dir, "dev.log"))
	if err != nil {
		return fmt.Errorf("cannot open a log: %w", err)
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program: %w", err)
	}
	// It must stay when go run, which made this program, tidies up.
	kept := path(dir, "dev")
	if err := duplicate(self, kept); err != nil {
		return err
	}
	cmd := exec.Command(kept, "run", dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start: %w", err)
	}
	if err := os.WriteFile(path(dir, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		return fmt.Errorf("cannot write down the process: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return follow(ctx, dir, ended)
}

// follow shows the log until the stack is ready.
func follow(ctx context.Context, dir string, ended <-chan error) error {
	log, err := os.Open(path(dir, "dev.log"))
	if err != nil {
		return fmt.Errorf("cannot read the log: %w", err)
	}
	defer log.Close()
	for {
		_, missing := os.Stat(path(dir, "ready"))
		if _, err := io.Copy(os.Stdout, log); err != nil {
			return fmt.Errorf("cannot read the log: %w", err)
		}
		if missing == nil {
			tellHow(dir)
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it has ended: %w", err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), down(dir))
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// tellHow to reach the stack.
func tellHow(dir string) {
	fmt.Printf(`
  export KUBECONFIG=%s
  kubectl get l2clusters --all-namespaces --watch

More examples are in %s: kubectl apply -f one of them.
The Metal API is at http://%s/metal/v1 with token %s.
Logs are in %s. make dev-down ends everything.
`, path(dir, "kubeconfig.yaml"), path(dir, "examples"), doors[1].outside, stack.Token, dir)
}

func duplicate(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", from, err)
	}
	if err := os.WriteFile(to, raw, 0o700); err != nil {
		return fmt.Errorf("cannot write %q: %w", to, err)
	}
	return nil
}

// pid of the running stack, or 0.
func pid(dir string) int {
	raw, err := os.ReadFile(path(dir, "pid"))
	if err != nil {
		return 0
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0
	}
	// The number may be another program's by now.
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", id))
	if err != nil || program != path(dir, "dev") {
		return 0
	}
	return id
}

// down ends the stack and waits until it has ended.
func down(dir string) error {
	id := pid(dir)
	if id == 0 {
		return errors.New("it is not running")
	}
	if err := syscall.Kill(id, syscall.SIGTERM); err != nil {
		return fmt.Errorf("cannot end process %d: %w", id, err)
	}
	for range 400 {
		if pid(dir) == 0 {
			say("ended; logs stay in %s", dir)
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("process %d does not end", id)
}

// outside builds, opens the doors, and lets the stack run in its own network.
func outside(ctx context.Context, dir string) error {
	for _, d := range doors {
		if err := door(ctx, "tcp", d.outside, "unix", path(dir, d.socket)); err != nil {
			return err
		}
	}
	code, err := world.Isolated(ctx, dir, say)
	if err == nil && code != 0 && ctx.Err() == nil {
		err = fmt.Errorf("the stack ended with status %d", code)
	}
	return err
}

// inside runs the stack with the examples' namespaces until it is told to end.
func inside(ctx context.Context, dir string) error {
	w, err := world.Begin(ctx, dir, world.Quick(), say)
	if err != nil {
		return err
	}
	defer w.Stop()
	for _, d := range doors {
		if err := door(ctx, "unix", path(dir, d.socket), "tcp", d.inside); err != nil {
			return err
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "kubeconfig", "admin"))
	if err != nil {
		return fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	outside := strings.ReplaceAll(string(raw), doors[0].inside, doors[0].outside)
	if err := os.WriteFile(path(dir, "kubeconfig.yaml"), []byte(outside), 0o600); err != nil {
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	if err := examples(ctx, w, path(dir, "examples")); err != nil {
		return err
	}
	if err := os.WriteFile(path(dir, "ready"), nil, 0o600); err != nil {
		return fmt.Errorf("cannot say that it is ready: %w", err)
	}
	<-ctx.Done()
	return nil
}

// door forwards connections from one address to another.
func door(ctx context.Context, network, address, toNetwork, to string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return fmt.Errorf("cannot listen at %q: %w", address, err)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go pass(ctx, from, toNetwork, to)
		}
	}()
	return nil
}

func pass(ctx context.Context, from net.Conn, network, address string) {
	defer from.Close()
	to, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return
	}
	defer to.Close()
	done := make(chan struct{}, 2)
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1])
			done <- struct{}{}
		}()
	}
	<-done
}
