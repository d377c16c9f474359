// Package stack starts a whole control plane for bare-metal clusters on one
// machine: Kubernetes, Crossplane, Cluster API and its providers as users run
// them, the function, and in place of the Equinix cloud the fake of test/metal.
package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// Project and Token are what the fake cloud knows.
const (
	Project = "2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11"
	Token   = "e2e-token"
)

// Stack is a running control plane.
type Stack struct {
	// Dir has the logs, certificates and data of everything.
	Dir   string
	Tools Tools
	// Cloud is the fake cloud.
	Cloud *metal.Cloud
	// Client reaches the API server as an administrator.
	Client *Client

	ca        *authority
	processes map[string]*Process
	started   []string // names of processes, in order
	closers   []func()
	say       func(format string, args ...any)
}

// Start everything, in a network namespace that Isolate made. On an error what
// was started is ended again.
func Start(ctx context.Context, dir string, tools Tools, schedule metal.Schedule, say func(format string, args ...any)) (*Stack, error) {
	s := &Stack{Dir: dir, Tools: tools, processes: map[string]*Process{}, say: say}
	s.Cloud = metal.New(metal.Options{
		Seed: "e2e", Tokens: []string{Token}, Projects: map[string]string{Project: "e2e"}, Schedule: schedule,
	})
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	steps := []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"the network and the cloud", s.startCloud},
		{"etcd, API server and controller manager", s.startControlPlane},
		{"CRDs of the Equinix provider", s.applyEquinix},
		{"Crossplane under its own roles", s.startCrossplane},
		{"the function and its packages", s.startPackages},
		{"roles of composites", s.finishRoles},
		{"Cluster API, CAPP and the IPAM provider", s.startClusterAPI},
		{"provider-http", s.startHTTPProvider},
		{"workload clusters", s.startWorkload},
	}
	for _, step := range steps {
		begin := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("cannot start %s: %w", step.name, err)
		}
		s.say("started %s in %s", step.name, time.Since(begin).Round(100*time.Millisecond))
	}
	return nil
}

func (s *Stack) startCloud(context.Context) error {
	if err := loopbackUp(); err != nil {
		return err
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	s.ca = ca
	return s.Cloud.Start(local(portCloud))
}

func (s *Stack) applyEquinix(ctx context.Context) error {
	crds, err := equinixCRDs()
	if err != nil {
		return err
	}
	return s.applyCRDs(ctx, crds)
}

func (s *Stack) startPackages(ctx context.Context) error {
	if err := s.startRegistry(); err != nil {
		return err
	}
	if err := s.startFunction(ctx); err != nil {
		return err
	}
	return s.install(ctx)
}

// finishRoles waits until the RBAC manager has made the roles for the function's
// composites, and ends it: it and provider-http both want port 8080, and cannot
// be told otherwise.
func (s *Stack) finishRoles(ctx context.Context) error {
	role := Ref{
		APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole",
		Name: "crossplane:composite:xl2clusters.l2cluster.io:aggregate-to-crossplane",
	}
	if err := Wait(ctx, time.Minute, func(ctx context.Context) error {
		o, err := s.Client.Get(ctx, role)
		if err == nil && o == nil {
			err = NotYet("there is no ClusterRole %q", role.Name)
		}
		return err
	}); err != nil {
		return err
	}
	s.processes["crossplane-rbac"].Stop()
	return nil
}

func (s *Stack) startWorkload(ctx context.Context) error {
	if err := s.spawn("workload-clusters", s.Tools.Binaries["workload-clusters"], nil, "--listen="+local(portWorkload)); err != nil {
		return err
	}
	return s.listening(ctx, "workload-clusters", portWorkload)
}

// Process by the name of its log; it panics on a name that there is none of,
// since that is a mistake in a test.
func (s *Stack) Process(name string) *Process {
	p := s.processes[name]
	if p == nil {
		panic("no process " + name)
	}
	return p
}

// WorkloadURL is where the clusters that Cluster API makes are told about.
func (s *Stack) WorkloadURL() string { return "http://" + local(portWorkload) }

// Stop everything, the last that was started first.
func (s *Stack) Stop() {
	// All at once: one that another one relies on would be missed meanwhile.
	for _, name := range s.started {
		s.processes[name].abandon()
	}
	for _, name := range slices.Backward(s.started) {
		s.processes[name].Kill()
	}
	for _, c := range slices.Backward(s.closers) {
		c()
	}
	_ = s.Cloud.Close()
}

func (s *Stack) spawn(name, path string, env []string, args ...string) error {
	p := &Process{Name: name, Path: path, Args: args, Env: env, dir: s.Dir}
	s.processes[name] = p
	s.started = append(s.started, name)
	return p.Start()
}

// dir makes a folder below the stack's own.
func (s *Stack) dir(name string) string {
	path := filepath.Join(s.Dir, name)
	_ = os.MkdirAll(path, 0o700)
	return path
}

// Restarts are how often programs were started again, by name.
func (s *Stack) Restarts() map[string]int {
	out := map[string]int{}
	for name, p := range s.processes {
		if n := p.Restarts(); n > 0 {
			out[name] = n
		}
	}
	return out
}
