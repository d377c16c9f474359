package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inside is set in the environment of a process that has a network of its own.
const inside = "L2CLUSTER_E2E_INSIDE"

// ErrNoNamespace is why Isolate fails where a process may not make a network
// namespace.
var ErrNoNamespace = errors.New("this process may not make a network namespace")

// Inside tells whether this process runs in a network namespace that Isolate
// made.
func Inside() bool { return os.Getenv(inside) != "" }

// Isolate runs this very program again in a network namespace that has nothing
// but a loopback interface, and returns its exit status. Some of the
// controllers listen on all addresses and cannot be told otherwise; there that
// means loopback, ports are free, and nothing can be reached by mistake.
//
// When the context ends, that program is asked to end, and half a minute later it
// is killed. It fails with ErrNoNamespace where a process may not make one.
func Isolate(ctx context.Context, env ...string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("cannot find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), append(env, inside+"=1")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		// A program that was killed has no status.
		return max(exit.ExitCode(), 1), nil
	case ctx.Err() != nil:
		return 1, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOSPC):
		return 0, fmt.Errorf("%w: %w", ErrNoNamespace, err)
	case err != nil:
		return 0, fmt.Errorf("cannot start a program in a network namespace: %w", err)
	}
	return 0, nil
}

// loopbackUp switches on the only interface of a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return fmt.Errorf("cannot open a socket: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("cannot name the loopback interface: %w", err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("cannot switch on the loopback interface: %w", err)
	}
	return nil
}
