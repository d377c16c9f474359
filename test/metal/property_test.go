package metal_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// drawStep draws one request that changes a port, sensible or not.
func drawStep(t *rapid.T, ports []string) step {
	port := rapid.SampledFrom(ports).Draw(t, "port")
	number := rapid.SampledFrom([]string{"1000", "1001", "1002"}).Draw(t, "vlan")
	second := rapid.SampledFrom([]string{"+1000", "-1000", "*1001", "-1001", "+1002"}).Draw(t, "line")
	return rapid.SampledFrom([]step{
		assign(port, number), unassign(port, number), native(port, number), noNative(port), bond(port), disbond(port),
		toLayer2(port), toLayer3(port), batch(port, "+"+number, second),
	}).Draw(t, "do")
}

// TestPortsStayConsistent changes ports at random: whatever is refused or
// accepted, the ports never contradict the rules of the modes or the log.
func TestPortsStayConsistent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newUnstarted(t, metal.Options{})
		for _, n := range []int32{1000, 1001, 1002} {
			w.vlan("da", n)
		}
		plan := rapid.SampledFrom([]string{"c3.small.x86", "n3.xlarge.x86"}).Draw(rt, "plan")
		s := w.server(plan)
		var names []string
		for name := range s.ports {
			names = append(names, name)
		}
		slices.Sort(names)
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			if got := text(drawStep(rt, names)(s)); strings.HasPrefix(got, "5") {
				rt.Fatalf("server error: %s", got)
			}
			if err := consistent(s); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// consistent checks what is true of a server's ports in every mode.
func consistent(s *server) error {
	d := s.cloud.Snapshot().Devices[0]
	free := map[string]int{} // members outside of their bonds
	for _, p := range d.NetworkPorts {
		if p.Bond != nil && !p.Data.GetBonded() {
			free[p.Bond.GetName()]++
		}
	}
	for _, p := range d.NetworkPorts {
		if p.Bond != nil && p.Data.GetBonded() && len(p.VirtualNetworks) > 0 {
			return fmt.Errorf("%s is bonded and has VLANs", p.GetName())
		}
		if p.Bond == nil && !p.Data.GetBonded() && len(p.VirtualNetworks) > 0 {
			return fmt.Errorf("%s has no members and has VLANs", p.GetName())
		}
		if p.NativeVirtualNetwork != nil && (p.Bond == nil || !slices.ContainsFunc(p.VirtualNetworks, func(v metalv1.VirtualNetwork) bool {
			return v.GetId() == p.NativeVirtualNetwork.GetId()
		})) {
			return fmt.Errorf("%s has a native VLAN that it must not have", p.GetName())
		}
		if p.Bond == nil {
			if err := modeFits(p, free[p.GetName()]); err != nil {
				return err
			}
		}
	}
	return logAgrees(s, &d)
}

func modeFits(p metalv1.Port, free int) error {
	whole := p.Data.GetBonded() && free == 0
	fits := map[metalv1.PortNetworkType]bool{
		metalv1.PORTNETWORKTYPE_LAYER3:            whole && len(p.VirtualNetworks) == 0,
		metalv1.PORTNETWORKTYPE_HYBRID_BONDED:     whole && len(p.VirtualNetworks) > 0,
		metalv1.PORTNETWORKTYPE_HYBRID:            !whole,
		metalv1.PORTNETWORKTYPE_LAYER2_BONDED:     whole,
		metalv1.PORTNETWORKTYPE_LAYER2_INDIVIDUAL: !whole,
	}
	if !fits[p.GetNetworkType()] {
		return fmt.Errorf("%s is %s with bonded=%t, %d members outside and %d VLANs",
			p.GetName(), p.GetNetworkType(), p.Data.GetBonded(), free, len(p.VirtualNetworks))
	}
	return nil
}

// logAgrees compares the spans of the log that have not ended with the state.
func logAgrees(s *server, d *metalv1.Device) error {
	var want, got []string
	for _, p := range d.NetworkPorts {
		want = append(want, fmt.Sprintf("%s %s %t", metal.PortBonded, p.GetName(), p.Data.GetBonded()))
		if p.NetworkType != nil {
			want = append(want, fmt.Sprintf("%s %s %s", metal.NetworkType, p.GetName(), p.GetNetworkType()))
		}
		for _, v := range p.VirtualNetworks {
			want = append(want, fmt.Sprintf("%s %s %s", metal.PortVLAN, p.GetName(), v.GetId()))
		}
		if p.NativeVirtualNetwork != nil {
			want = append(want, fmt.Sprintf("%s %s %s", metal.NativeVLAN, p.GetName(), p.NativeVirtualNetwork.GetId()))
		}
	}
	for _, kind := range []metal.Kind{metal.PortBonded, metal.NetworkType, metal.PortVLAN, metal.NativeVLAN} {
		for _, span := range metal.Spans(s.cloud.Changes(0), kind) {
			if span.To.IsZero() {
				got = append(got, fmt.Sprintf("%s %s %s", kind, span.Port, span.Value))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the log says something else (-state +log):\n%s", diff)
	}
	return nil
}

// TestConcurrentClients lets many clients work at once, for the race detector
// and for what must be unique.
func TestConcurrentClients(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: metal.Schedule{Batch: time.Second}})
	v := w.vlan("da", 1000)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := w.serverOf(w.create(fmt.Sprintf("node-%d", i), "c3.small.x86", "da"))
			_ = assign("bond0", v.GetId())(s)
			_, _ = w.tryVLAN(project, metalv1.VirtualNetworkCreateInput{Metro: new("da")})
			_, _ = w.tryReserve(metalv1.IPReservationRequestInput{Type: "public_ipv4", Quantity: 1, Metro: new("da")})
			remove := w.cloud.Inject(metal.Fault{Path: "/projects", Status: 500})
			_, _ = fetch(t, w.cloud.MetadataURL(s.id))
			w.clock.Advance(time.Second)
			w.cloud.Changes(0)
			w.cloud.Snapshot()
			remove()
			if i%2 == 0 {
				_, _ = w.client.DevicesApi.DeleteDevice(w.ctx, s.id).Execute()
			}
		})
	}
	wg.Wait()
	snap := w.cloud.Snapshot()
	if len(snap.Devices) != 4 || len(snap.VLANs) != 9 || len(snap.Reservations) != 8 {
		t.Errorf("%d devices, %d VLANs, %d reservations; want 4, 9, 8", len(snap.Devices), len(snap.VLANs), len(snap.Reservations))
	}
	if got := metal.Overlaps(metal.Spans(w.cloud.Changes(0), metal.Address)); len(got) != 0 {
		t.Errorf("shared addresses: %+v", got)
	}
}

// FuzzRequest sends anything to a few paths: the answer is JSON, or nothing,
// and never an error of the server's own making.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"POST", "/projects/" + project + "/devices", `{"metro":"da","plan":"c3.small.x86","operating_system":"debian_12"}`},
		{"POST", "/projects/" + project + "/virtual-networks", `{"metro":"da","vxlan":1000}`},
		{"POST", "/projects/" + project + "/ips", `{"type":"public_ipv4","quantity":1,"metro":"da"}`},
		{"POST", "/projects/" + project + "/ips", `{"type":"vrf","cidr":200,"network":"fd00::","vrf_id":"x"}`},
		{"POST", "/projects/" + project + "/vrfs", `{"metro":"da","name":"x","ip_ranges":["::/0"]}`},
		{"POST", "/projects/" + project + "/metal-gateways", `{"virtual_network_id":"x","private_ipv4_subnet_size":-8}`},
		{"PUT", "/devices/{device}", `{"customdata":{"a":1e999}}`},
		{"POST", "/ports/{port}/assign", `{"vnid":"1000"}`},
		{"POST", "/ports/{port}/vlan-assignments/batches", `{"vlan_assignments":[{"vlan":"1000","state":"assigned"}]}`},
		{"POST", "/ports/{port}/convert/layer-3", `{"request_ips":[{}]}`},
		{"POST", "/devices/{device}/ips", `{"address":"127.66.0.1/33"}`},
		{"GET", "/devices/{device}/events?page=9223372036854775807&per_page=1000", ``},
		{"GET", "/devices/{device}/events?page=-1&per_page=9999999999999999999&include=,.,", ``},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		clock := metal.NewManualClock(epoch)
		c := metal.New(metal.Options{Projects: map[string]string{project: "ours"}, Now: clock.Now})
		serve(c, "POST", "/projects/"+project+"/virtual-networks", `{"metro":"da","vxlan":1000}`)
		serve(c, "POST", "/projects/"+project+"/devices", `{"metro":"da","plan":"c3.small.x86","operating_system":"debian_12"}`)
		d := c.Snapshot().Devices[0]
		path = strings.NewReplacer("{device}", d.GetId(), "{port}", d.NetworkPorts[0].GetId()).Replace(path)
		for range 2 {
			status, answer := serve(c, method, path, body)
			if status >= 500 {
				t.Errorf("%s %s: %d %s", method, path, status, answer)
			}
		}
		c.Snapshot()
	})
}

// serve runs one request without a network; a request that is none and a broken
// connection have status 0.
func serve(c *metal.Cloud, method, path, body string) (status int, answer string) {
	req, err := http.NewRequest(method, "http://localhost/metal/v1"+path, io.NopCloser(strings.NewReader(body)))
	if err != nil {
		return 0, ""
	}
	req.Header.Set("X-Auth-Token", "any")
	rec := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil && fmt.Sprint(p) != http.ErrAbortHandler.Error() {
			panic(p)
		}
	}()
	c.ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}
