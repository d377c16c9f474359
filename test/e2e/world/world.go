// Package world is a control plane together with those who play what cannot be
// run: the provider of the Equinix resources, and servers.
package world

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/l2cluster/function-l2cluster/test/e2e/equinix"
	"github.com/l2cluster/function-l2cluster/test/e2e/node"
	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/metal"
)

// World is a running control plane and its players.
type World struct {
	*stack.Stack
	Nodes *node.Player

	// equinix begins the player of the provider; endEquinix ends it.
	equinix    func() context.CancelFunc
	endEquinix context.CancelFunc
}

// Options of a world.
type Options struct {
	// Schedule of the fake cloud.
	Schedule metal.Schedule
	// CoolDown of addresses, and Timeout of servers' networks.
	CoolDown, Timeout time.Duration
	// Poll is how often the Equinix provider looks at resources that nobody
	// changed.
	Poll time.Duration
}

// Quick is like the real cloud, but hours take minutes.
func Quick() Options {
	return Options{
		Schedule: metal.Schedule{
			Life:  metal.Life{Queued: time.Second, Provisioning: 4 * time.Second, Deprovisioning: 8 * time.Second},
			Batch: 500 * time.Millisecond, Gateway: time.Second, GatewayDeletion: time.Second,
		},
		CoolDown: 20 * time.Second, Timeout: time.Minute, Poll: 10 * time.Second,
	}
}

// Begin a world in a network namespace of its own, with its files in dir. The
// players end with the context, the rest with Stop.
func Begin(ctx context.Context, dir string, o Options, say func(format string, args ...any)) (*World, error) {
	tools, err := stack.FromVariable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make folder %q: %w", dir, err)
	}
	s, err := stack.Start(ctx, dir, tools, o.Schedule, say)
	if err != nil {
		return nil, err
	}
	players, err := os.OpenFile(filepath.Join(dir, "players.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("cannot open a log: %w", err)
	}
	logger := log.New(players, "", log.LstdFlags)
	if err := s.Platform(ctx, o.CoolDown, o.Timeout); err != nil {
		s.Stop()
		return nil, err
	}
	w := &World{Stack: s, Nodes: node.New(s.Cloud, s.Client, s.WorkloadURL(), logger)}
	w.equinix = func() context.CancelFunc {
		ctx, end := context.WithCancel(ctx)
		go equinix.New(s.Client, o.Poll, logger).Run(ctx)
		return end
	}
	w.endEquinix = w.equinix()
	go w.Nodes.Run(ctx)
	return w, nil
}

// RestartEquinix ends the player of the Equinix provider in the middle of what it
// does, and begins it again: what it remembered is forgotten.
func (w *World) RestartEquinix() {
	w.endEquinix()
	w.endEquinix = w.equinix()
}

// Isolated builds what a world needs, below dir, and runs this program again in
// a network namespace, where Begin works. It returns the program's exit status,
// or an error if something cannot be built or isolated.
func Isolated(ctx context.Context, dir string, say func(format string, args ...any)) (int, error) {
	tools, err := stack.Build(ctx, dir, say)
	if err != nil {
		return 0, err
	}
	variable, err := tools.Variable()
	if err != nil {
		return 0, err
	}
	return stack.Isolate(ctx, variable)
}
