package stack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program that runs until it is ended: when it ends by itself, or a
// test kills it, it is started again, as Kubernetes does with a pod's container.
// It dies with this program.
type Process struct {
	// Name is what its log is called, in the stack's folder.
	Name string
	// Path and Args are what is started, with Env added to this program's own
	// environment.
	Path string
	Args []string
	Env  []string

	dir      string
	mu       sync.Mutex
	cmd      *exec.Cmd
	done     chan struct{}
	over     bool
	restarts int
}

// Start it; its output is added to its log.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.start()
}

func (p *Process) start() error {
	log, err := os.OpenFile(p.Log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the log of %q: %w", p.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %q: %w", p.Name, err)
	}
	done := make(chan struct{})
	p.cmd, p.done = cmd, done
	go func() {
		_ = cmd.Wait()
		close(done)
		p.again()
	}()
	return nil
}

// again starts it after a while, the longer the more often that was needed.
func (p *Process) again() {
	p.mu.Lock()
	if !p.over {
		p.restarts++
	}
	wait := min(time.Second<<min(max(p.restarts-1, 0), 4), 10*time.Second)
	p.mu.Unlock()
	time.Sleep(wait)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		// It cannot be started only if its file is gone, and then its log says
		// nothing either; whoever waits for it tells.
		_ = p.start()
	}
}

// Restarts is how often it was started again.
func (p *Process) Restarts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts
}

// Log is the path of its log.
func (p *Process) Log() string { return filepath.Join(p.dir, p.Name+".log") }

// PID of the running process, or 0.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Memory that it takes now and took at most, in bytes: what Linux calls its
// resident set.
func (p *Process) Memory() (now, most int64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, 0, fmt.Errorf("cannot read the memory of %q: %w", p.Name, err)
	}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			now = kilobytes << 10
		case name == "VmHWM":
			most = kilobytes << 10
		}
	}
	return now, most, nil
}

// Kill ends it at once, as kill -9 does, and waits until it is gone. It comes
// back.
func (p *Process) Kill() { p.end(syscall.SIGKILL, time.Minute) }

// abandon it: it does not come back when it ends.
func (p *Process) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}

// Stop asks it to end, and kills it after ten seconds. It does not come back.
func (p *Process) Stop() {
	p.abandon()
	p.end(syscall.SIGTERM, 10*time.Second)
	p.end(syscall.SIGKILL, time.Minute)
}

func (p *Process) end(signal syscall.Signal, wait time.Duration) {
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(signal)
	select {
	case <-done:
	case <-time.After(wait):
	}
}
