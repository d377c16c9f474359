package model

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

// Moment of a story: what is seen at one time.
type Moment struct {
	// Name of the moment, a DNS label.
	Name string
	// Composite with its status.
	Composite *structpb.Struct
	// Observed are the composed objects, by key.
	Observed []*structpb.Struct
	// Required are the objects that the function asks for.
	Required []*structpb.Struct
}

// Story tells the life of one cluster.
type Story struct {
	w *World
	c *Composite
}

// apiHost is where the function looks for the platform's API by default.
const apiHost = "api.equinix.com"

// round is how long everybody takes for one step.
const round = 20 * time.Second

// newStory begins with a composite that nobody has seen yet.
func newStory(start time.Time, composite, input *structpb.Struct) *Story {
	w := newWorld(start, apiHost, input)
	c := w.create(text(composite, "spec", "claimRef", "name"), readSpec(object(composite, "spec")))
	c.given = object(composite, "metadata")
	return &Story{w: w, c: c}
}

// readSpec reads as much of a spec as the model has to know.
func readSpec(s *structpb.Struct) *spec {
	out := &spec{text: s, metro: text(s, "metro"), version: text(s, "kubernetesVersion")}
	for _, v := range at(s, "networks").GetListValue().GetValues() {
		n := v.GetStructValue()
		out.networks = append(out.networks, network{name: text(n, "name"), vxlan: number(n, "vxlan"), assignment: static})
	}
	controlPlane := readPool(object(s, "controlPlane"))
	controlPlane.name = controlPlanePool
	out.pools = append(out.pools, controlPlane)
	for _, v := range at(s, "workers").GetListValue().GetValues() {
		out.pools = append(out.pools, readPool(v.GetStructValue()))
	}
	return out
}

func readPool(s *structpb.Struct) pool {
	out := pool{name: text(s, "name"), machineType: text(s, "machineType"), replicas: number(s, "replicas")}
	for _, v := range at(s, "ports").GetListValue().GetValues() {
		p := port{name: text(v.GetStructValue(), "name")}
		for _, n := range at(v.GetStructValue(), "networks").GetListValue().GetValues() {
			p.networks = append(p.networks, portNetwork{name: text(n.GetStructValue(), "name")})
		}
		out.ports = append(out.ports, p)
	}
	return out
}

// worker changes a field of the only worker pool in the claim.
func (s *Story) worker(name string, v any) {
	spec := s.c.now().spec.text
	list := at(spec, "workers").GetListValue().GetValues()
	changed := with(list[0].GetStructValue(), name, v)
	s.w.edit(s.c, readSpec(with(spec, "workers", []any{changed})))
}

// go on, everybody a step, until something is so.
func (s *Story) until(what string, is func() bool) error {
	const most = 200
	for range most {
		if is() {
			return nil
		}
		s.step()
	}
	return fmt.Errorf("it never came to pass that %s", what)
}

func (s *Story) step() {
	s.w.Advance(round)
	s.w.ActAll()
	s.w.Reconcile(s.c, Trouble{})
}

// quiet says whether a step would change nothing.
func (s *Story) quiet() bool {
	before := s.w.changes
	s.step()
	return s.w.changes == before
}

func (s *Story) machines(pool string) []*machine {
	return slices.DeleteFunc(slices.Clone(s.w.machines), func(m *machine) bool { return pool != "" && m.pool != pool })
}

// moments of the story by name, in the order in which it is told: what leads
// from the beginning to each.
var moments = []struct {
	name string
	tell func(*Story) error
}{
	{"no-machines", (*Story).noMachines},
	{"first-control-plane", (*Story).firstControlPlane},
	{"all-ready", (*Story).allReady},
	{"one-failed", (*Story).oneFailed},
	{"scaled-down", (*Story).scaledDown},
	{"rolling", (*Story).rolling},
}

// noMachines: everything but machines exists, and the VLAN is ready.
func (s *Story) noMachines() error {
	s.w.Reconcile(s.c, Trouble{})
	for range 4 {
		s.w.Advance(round)
		for _, o := range slices.Clone(s.w.objects) {
			if o.kind != "KubeadmControlPlane" && o.kind != "MachineDeployment" {
				s.w.tickObject(o)
			}
		}
		s.w.Reconcile(s.c, Trouble{})
	}
	return nil
}

// firstControlPlane: the first machine has a server, and its address is on
// record but not delivered yet.
func (s *Story) firstControlPlane() error {
	if err := s.noMachines(); err != nil {
		return err
	}
	for _, o := range slices.Clone(s.w.objects) {
		if o.kind == "KubeadmControlPlane" {
			s.w.tickObject(o)
		}
	}
	for range 3 {
		s.w.Advance(round)
		s.w.tickMachine(s.w.machines[0])
	}
	s.w.cloud.tick(s.w.cloud.servers[0])
	s.w.Reconcile(s.c, Trouble{})
	return nil
}

// allReady: nothing is left to do.
func (s *Story) allReady() error { return s.until("the cluster is ready", s.quiet) }

// oneFailed: the network of a worker did not come up.
func (s *Story) oneFailed() error {
	var booting *server
	err := s.until("a worker boots", func() bool {
		for _, m := range s.machines("general") {
			if m.server != nil && m.server.active && m.server.configured == nil {
				booting = m.server
			}
		}
		return booting != nil
	})
	if err != nil {
		return err
	}
	s.w.cloud.fail(booting, "vlan1000: no carrier on bond0")
	return s.until("the others are ready", s.quiet)
}

// scaledDown: one worker less; its server still runs and its address rests.
func (s *Story) scaledDown() error {
	if err := s.allReady(); err != nil {
		return err
	}
	s.worker("replicas", 1)
	if err := s.until("a worker is gone", func() bool { return len(s.machines("general")) == 1 }); err != nil {
		return err
	}
	s.w.Reconcile(s.c, Trouble{})
	return nil
}

// rolling: the workers get other servers, and the first of them has come.
func (s *Story) rolling() error {
	if err := s.allReady(); err != nil {
		return err
	}
	s.worker("machineType", "m3.large.x86")
	err := s.until("a third worker has a server", func() bool {
		workers := s.machines("general")
		return len(workers) == 3 && workers[2].known
	})
	if err != nil {
		return err
	}
	s.w.Reconcile(s.c, Trouble{})
	return nil
}

// moment is what is seen now.
func (s *Story) moment(name string) Moment {
	out := Moment{Name: name, Composite: s.c.read(s.c.now())}
	for _, o := range s.w.objects {
		if o.owner == s.c {
			out.Observed = append(out.Observed, o.read())
		}
	}
	for _, m := range s.w.machines {
		out.Required = append(out.Required, m.read("Machine"), m.read("PacketMachine"))
	}
	for _, ms := range s.w.sets {
		out.Required = append(out.Required, ms.read(s.w))
	}
	for _, o := range s.w.objects {
		if o.kind == "Cluster" && o.status != nil {
			out.Required = append(out.Required, kubeconfig(o))
		}
	}
	return out
}

// Tell the moments of a composite's life as they are seen at a time. Each is
// told from its own beginning, so that it ends at that time.
func Tell(now time.Time, composite, input *structpb.Struct) ([]Moment, error) {
	out := make([]Moment, 0, len(moments))
	for _, m := range moments {
		start := now
		for range 2 {
			s := newStory(start, composite, input)
			err := m.tell(s)
			s.w.Close()
			if err != nil {
				return nil, fmt.Errorf("cannot tell the moment %q: %w", m.name, err)
			}
			if v := s.w.Violations(); len(v) > 0 {
				return nil, fmt.Errorf("cannot tell the moment %q: %s", m.name, v[0])
			}
			if s.w.Now().Equal(now) {
				out = append(out, s.moment(m.name))
				break
			}
			start = start.Add(now.Sub(s.w.Now()))
		}
	}
	return out, nil
}
