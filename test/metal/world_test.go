package metal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

const (
	project = "2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11"
	other   = "3f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d12"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a started cloud with its client and its clock.
type world struct {
	t      testing.TB
	ctx    context.Context
	cloud  *metal.Cloud
	client *metalv1.APIClient
	clock  *metal.ManualClock
}

func newWorld(t testing.TB, opts metal.Options) *world {
	t.Helper()
	w := newUnstarted(t, opts)
	if err := w.cloud.Start(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	w.client = w.cloud.Client()
	return w
}

// newUnstarted returns a world whose client calls the cloud without a network.
func newUnstarted(t testing.TB, opts metal.Options) *world {
	clock := metal.NewManualClock(epoch)
	opts.Now = clock.Now
	opts.Projects = map[string]string{project: "ours", other: "theirs"}
	cloud := metal.New(opts)
	client := metal.NewClient("http://localhost/metal/v1", "any")
	client.GetConfig().HTTPClient = &http.Client{Transport: direct{cloud}}
	return &world{t: t, ctx: context.Background(), cloud: cloud, client: client, clock: clock}
}

// direct is a transport that calls a handler.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// must ends the test at an error and passes the value on.
func must[T any](w *world, v T, err error) T {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("unexpected error: %v", err)
	}
	return v
}

// text is an error as the SDK tells it; no error is the empty text. Where the
// SDK does not decode an operation's answer the messages are read from its body.
func text(err error) string {
	if err == nil {
		return ""
	}
	var api *metalv1.GenericOpenAPIError
	if !errors.As(err, &api) {
		return "not an error of the API: " + err.Error()
	}
	if api.Model() != nil {
		return err.Error()
	}
	var body metalv1.Error
	if err := json.Unmarshal(api.Body(), &body); err != nil {
		return "not an error of the API: " + string(api.Body())
	}
	return err.Error() + " " + strings.Join(body.Errors, ", ")
}

func (w *world) create(hostname, plan, metro string) *metalv1.Device {
	w.t.Helper()
	d, err := w.tryCreate(&metalv1.DeviceCreateInMetroInput{
		Metro: metro, Plan: plan, OperatingSystem: "ubuntu_22_04", Hostname: &hostname,
	})
	return must(w, d, err)
}

func (w *world) tryCreate(in *metalv1.DeviceCreateInMetroInput) (*metalv1.Device, error) {
	d, _, err := w.client.DevicesApi.CreateDevice(w.ctx, project).
		CreateDeviceRequest(metalv1.CreateDeviceRequest{DeviceCreateInMetroInput: in}).Execute()
	return d, err
}

func (w *world) device(id string) *metalv1.Device {
	w.t.Helper()
	d, _, err := w.client.DevicesApi.FindDeviceById(w.ctx, id).
		Include([]string{"network_ports.virtual_networks", "network_ports.native_virtual_network"}).Execute()
	return must(w, d, err)
}

func (w *world) vlan(metro string, vxlan int32) *metalv1.VirtualNetwork {
	w.t.Helper()
	v, err := w.tryVLAN(project, metalv1.VirtualNetworkCreateInput{Metro: &metro, Vxlan: &vxlan})
	return must(w, v, err)
}

func (w *world) tryVLAN(project string, in metalv1.VirtualNetworkCreateInput) (*metalv1.VirtualNetwork, error) {
	v, _, err := w.client.VLANsApi.CreateVirtualNetwork(w.ctx, project).VirtualNetworkCreateInput(in).Execute()
	return v, err
}

// server is a device with its ports by name.
type server struct {
	*world
	id    string
	ports map[string]string
}

func (w *world) server(plan string) *server {
	w.t.Helper()
	return w.serverOf(w.create("node", plan, "da"))
}

func (w *world) serverOf(d *metalv1.Device) *server {
	w.t.Helper()
	s := &server{world: w, id: d.GetId(), ports: map[string]string{}}
	for _, p := range w.device(s.id).NetworkPorts {
		s.ports[p.GetName()] = p.GetId()
	}
	return s
}

// A step is one request that changes a port.
type step func(s *server) error

func assign(port, vnid string) step {
	return func(s *server) error {
		_, _, err := s.client.PortsApi.AssignPort(s.ctx, s.ports[port]).PortAssignInput(metalv1.PortAssignInput{Vnid: &vnid}).Execute()
		return err
	}
}

func unassign(port, vnid string) step {
	return func(s *server) error {
		_, _, err := s.client.PortsApi.UnassignPort(s.ctx, s.ports[port]).PortAssignInput(metalv1.PortAssignInput{Vnid: &vnid}).Execute()
		return err
	}
}

func native(port, vnid string) step {
	return func(s *server) error {
		_, _, err := s.client.PortsApi.AssignNativeVlan(s.ctx, s.ports[port]).Vnid(vnid).Execute()
		return err
	}
}

func noNative(port string) step {
	return func(s *server) error {
		_, _, err := s.client.PortsApi.DeleteNativeVlan(s.ctx, s.ports[port]).Execute()
		return err
	}
}

func bond(port string) step {
	return func(s *server) error {
		_, _, err := s.client.PortsApi.BondPort(s.ctx, s.ports[port]).Execute()
		return err
	}
}

func disbond(port string) step {
	return func(s *server) error {
		_, _, err := s.client.PortsApi.DisbondPort(s.ctx, s.ports[port]).Execute()
		return err
	}
}

func toLayer2(port string) step {
	return func(s *server) error {
		_, _, err := s.client.PortsApi.ConvertLayer2(s.ctx, s.ports[port]).PortAssignInput(metalv1.PortAssignInput{}).Execute()
		return err
	}
}

func toLayer3(port string) step {
	return func(s *server) error {
		_, _, err := s.client.PortsApi.ConvertLayer3(s.ctx, s.ports[port]).PortConvertLayer3Input(metalv1.PortConvertLayer3Input{
			RequestIps: []metalv1.PortConvertLayer3InputRequestIpsInner{
				{AddressFamily: new(int32(4)), Public: new(true)},
				{AddressFamily: new(int32(4)), Public: new(false)},
				{AddressFamily: new(int32(6)), Public: new(true)},
			},
		}).Execute()
		return err
	}
}

// change is one line of a batch: +vnid, -vnid, or *vnid for a native one.
func batchOf(changes ...string) metalv1.PortVlanAssignmentBatchCreateInput {
	var in metalv1.PortVlanAssignmentBatchCreateInput
	for _, ch := range changes {
		line := metalv1.PortVlanAssignmentBatchCreateInputVlanAssignmentsInner{
			Vlan:   new(ch[1:]),
			State:  metalv1.PORTVLANASSIGNMENTBATCHVLANASSIGNMENTSINNERSTATE_ASSIGNED.Ptr(),
			Native: new(ch[0] == '*'),
		}
		if ch[0] == '-' {
			line.State = metalv1.PORTVLANASSIGNMENTBATCHVLANASSIGNMENTSINNERSTATE_UNASSIGNED.Ptr()
		}
		in.VlanAssignments = append(in.VlanAssignments, line)
	}
	return in
}

// batch runs a batch to its end; a batch that failed is an error of its own.
func batch(port string, changes ...string) step {
	return func(s *server) error {
		b, _, err := s.client.PortsApi.CreatePortVlanAssignmentBatch(s.ctx, s.ports[port]).
			PortVlanAssignmentBatchCreateInput(batchOf(changes...)).Execute()
		if err != nil {
			return err
		}
		b, _, err = s.client.PortsApi.FindPortVlanAssignmentBatchByPortIdAndBatchId(s.ctx, s.ports[port], b.GetId()).Execute()
		if err != nil {
			return err
		}
		if b.GetState() != metalv1.PORTVLANASSIGNMENTBATCHSTATE_COMPLETED {
			return fmt.Errorf("batch %s: %v", b.GetState(), b.ErrorMessages)
		}
		return nil
	}
}

// shape is what a port looks like from outside.
type shape struct {
	Mode   string
	Bonded bool
	VLANs  []int32
	Native int32
	Wire   []metal.Carried
}

func (s *server) shape(port string) shape {
	s.t.Helper()
	p, _, err := s.client.PortsApi.FindPortById(s.ctx, s.ports[port]).
		Include([]string{"virtual_networks", "native_virtual_network"}).Execute()
	must(s.world, p, err)
	wire, err := s.cloud.Wire(s.ports[port])
	must(s.world, wire, err)
	out := shape{Mode: string(p.GetNetworkType()), Bonded: p.Data.GetBonded(), Wire: wire}
	for _, v := range p.VirtualNetworks {
		out.VLANs = append(out.VLANs, v.GetVxlan())
	}
	if p.NativeVirtualNetwork != nil {
		out.Native = p.NativeVirtualNetwork.GetVxlan()
	}
	return out
}
