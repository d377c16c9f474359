package equinix

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

const testProject = "2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11"

// provider does to ports what provider-jet-equinix does: the same calls in the
// same order as the Terraform provider below it.
type provider struct {
	client *metalv1.APIClient
	ports  map[string]string
}

func (p provider) read(name string) (portState, error) {
	found, _, err := p.client.PortsApi.FindPortById(context.Background(), p.ports[name]).
		Include([]string{"virtual_networks", "native_virtual_network"}).Execute()
	if err != nil {
		return portState{}, err
	}
	data := found.GetData()
	kind := found.GetNetworkType()
	s := portState{
		bonded: data.GetBonded(), layer2: kind == metalv1.PORTNETWORKTYPE_LAYER2_BONDED || kind == metalv1.PORTNETWORKTYPE_LAYER2_INDIVIDUAL,
		native: found.NativeVirtualNetwork.GetId(),
	}
	for _, v := range found.GetVirtualNetworks() {
		s.vlans = append(s.vlans, v.GetId())
	}
	slices.Sort(s.vlans)
	return s, nil
}

// bring a port to a state, or return the first refusal of the API.
func (p provider) bring(name string, want portState) error {
	is, err := p.read(name)
	if err != nil {
		return err
	}
	ctx, id, api := context.Background(), p.ports[name], p.client.PortsApi
	if is.native != "" && is.native != want.native {
		if _, _, err := api.DeleteNativeVlan(ctx, id).Execute(); err != nil {
			return fmt.Errorf("%s: remove native VLAN: %w", name, err)
		}
	}
	for _, v := range is.vlans {
		if !slices.Contains(want.vlans, v) {
			if _, _, err := api.UnassignPort(ctx, id).PortAssignInput(metalv1.PortAssignInput{Vnid: &v}).Execute(); err != nil {
				return fmt.Errorf("%s: detach: %w", name, err)
			}
		}
	}
	if !want.bonded && is.bonded {
		if _, _, err := api.DisbondPort(ctx, id).BulkDisable(isBond(name)).Execute(); err != nil {
			return fmt.Errorf("%s: disbond: %w", name, err)
		}
	}
	if isBond(name) && want.layer2 && !is.layer2 {
		if _, _, err := api.ConvertLayer2(ctx, id).PortAssignInput(metalv1.PortAssignInput{}).Execute(); err != nil {
			return fmt.Errorf("%s: convert to layer 2: %w", name, err)
		}
	}
	if want.bonded && !is.bonded {
		if _, _, err := api.BondPort(ctx, id).BulkEnable(isBond(name)).Execute(); err != nil {
			return fmt.Errorf("%s: bond: %w", name, err)
		}
	}
	if isBond(name) && !want.layer2 && is.layer2 {
		if _, _, err := api.ConvertLayer3(ctx, id).PortConvertLayer3Input(metalv1.PortConvertLayer3Input{}).Execute(); err != nil {
			return fmt.Errorf("%s: convert to layer 3: %w", name, err)
		}
	}
	return p.add(name, is, want)
}

func (p provider) add(name string, is, want portState) error {
	ctx, id, api := context.Background(), p.ports[name], p.client.PortsApi
	for _, v := range want.vlans {
		if !slices.Contains(is.vlans, v) {
			if _, _, err := api.AssignPort(ctx, id).PortAssignInput(metalv1.PortAssignInput{Vnid: &v}).Execute(); err != nil {
				return fmt.Errorf("%s: attach: %w", name, err)
			}
		}
	}
	if want.native != "" && want.native != is.native {
		if _, _, err := api.AssignNativeVlan(ctx, id).Vnid(want.native).Execute(); err != nil {
			return fmt.Errorf("%s: set native VLAN: %w", name, err)
		}
	}
	return nil
}

// modes are pools' ports in every mode of a server with two ports.
func modes(vlans []string) *rapid.Generator[map[string]portState] {
	some := func(t *rapid.T, least int) []string {
		picked := rapid.SliceOfNDistinct(rapid.SampledFrom(vlans), least, len(vlans), rapid.ID).Draw(t, "vlans")
		slices.Sort(picked)
		return picked
	}
	member := func(t *rapid.T) portState {
		s := portState{vlans: some(t, 1)}
		if len(s.vlans) > 1 && rapid.Bool().Draw(t, "native") {
			s.native = s.vlans[0]
		}
		return s
	}
	return rapid.Custom(func(t *rapid.T) map[string]portState {
		switch rapid.SampledFrom([]string{
			"layer3", "hybrid-bonded", "hybrid", "layer2-bonded", "layer2-individual",
		}).Draw(t, "mode") {
		case "hybrid-bonded":
			return map[string]portState{"bond0": want(true, false, some(t, 1)...)}
		case "hybrid":
			out := map[string]portState{"eth1": member(t)}
			if rapid.Bool().Draw(t, "bond carries VLANs too") {
				free := slices.DeleteFunc(some(t, 1), func(v string) bool { return slices.Contains(out["eth1"].vlans, v) })
				if len(free) > 0 {
					out["bond0"] = want(true, false, free...)
				}
			}
			return out
		case "layer2-bonded":
			return map[string]portState{"bond0": want(true, true, some(t, 1)...)}
		case "layer2-individual":
			out := map[string]portState{"bond0": want(false, true), "eth1": member(t), "eth0": {}}
			return out
		default:
			return map[string]portState{}
		}
	})
}

// settles is how many rounds any change needs at most, with a provider that
// skips some and observations that are late.
const settles = 30

// A machine's ports go from any mode to any other, changed again at any moment,
// without one refusal of the platform, and arrive.
func TestTransitionsAreNeverRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, vlans := newServer(t, metal.New(metal.Options{Projects: map[string]string{testProject: "ours"}}))

		have := map[string]observedPort{}
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			wanted := modes(vlans).Draw(t, "wanted")
			rounds := rapid.IntRange(0, 14).Draw(t, "rounds before the next change")
			for range rounds {
				round(t, p, transition{want: wanted, have: have, verified: true})
			}
		}
		last := modes(vlans).Draw(t, "last")
		for range settles {
			round(t, p, transition{want: last, have: have, verified: true})
		}
		arrived(t, p, last)
	})
}

// inside answers requests without a network.
type inside struct{ handler http.Handler }

func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	i.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

func newServer(t *rapid.T, cloud *metal.Cloud) (provider, []string) {
	ctx := context.Background()
	a := newAPI("http://127.0.0.1/metal/v1", "any", defaultCallTimeout)
	client := a.client
	client.GetConfig().HTTPClient = &http.Client{Transport: inside{cloud}}
	name := "node"
	d, _, err := client.DevicesApi.CreateDevice(ctx, testProject).CreateDeviceRequest(metalv1.CreateDeviceRequest{
		DeviceCreateInMetroInput: &metalv1.DeviceCreateInMetroInput{
			Metro: "da", Plan: "c3.small.x86", OperatingSystem: "ubuntu_22_04", Hostname: &name,
		},
	}).Execute()
	if err != nil {
		t.Fatal(err)
	}
	ports, err := a.ports(ctx, d.GetId())
	if err != nil {
		t.Fatal(err)
	}
	var vlans []string
	for _, vxlan := range []int32{1000, 1001, 1002} {
		metro := "da"
		v, _, err := client.VLANsApi.CreateVirtualNetwork(ctx, testProject).
			VirtualNetworkCreateInput(metalv1.VirtualNetworkCreateInput{Metro: &metro, Vxlan: &vxlan}).Execute()
		if err != nil {
			t.Fatal(err)
		}
		vlans = append(vlans, v.GetId())
	}
	return provider{client: client, ports: ports}, vlans
}

// round is one run of the function, after which the provider works on the ports
// in any order, and not always on all of them.
func round(t *rapid.T, p provider, tr transition) {
	composed := map[string]portState{}
	for _, s := range tr.steps() {
		was, exists := tr.have[s.port]
		switch {
		case s.state != nil:
			composed[s.port] = *s.state
		case exists:
			composed[s.port] = was.asked
		}
	}
	for _, name := range slices.Sorted(maps.Keys(composed)) {
		port := tr.have[name]
		port.asked = composed[name]
		tr.have[name] = port
	}
	names := rapid.Permutation(slices.Sorted(maps.Keys(tr.have))).Draw(t, "order")
	for _, name := range names {
		if rapid.IntRange(0, 9).Draw(t, "busy") == 0 {
			continue
		}
		port, kept := tr.have[name], composed[name]
		if _, stays := composed[name]; !stays {
			// resetOnDelete.
			if err := p.bring(name, portState{bonded: true}); err != nil {
				t.Fatalf("reset: %v", err)
			}
			delete(tr.have, name)
			continue
		}
		if err := p.bring(name, kept); err != nil {
			t.Fatal(err)
		}
		port.ready = true
		tr.have[name] = port
	}
	for _, name := range slices.Sorted(maps.Keys(tr.have)) {
		if rapid.IntRange(0, 4).Draw(t, "stale") == 0 {
			continue
		}
		port := tr.have[name]
		is, err := p.read(name)
		if err != nil {
			t.Fatal(err)
		}
		port.is = &is
		tr.have[name] = port
	}
}

func arrived(t *rapid.T, p provider, wanted map[string]portState) {
	for name := range p.ports {
		is, err := p.read(name)
		if err != nil {
			t.Fatal(err)
		}
		want, named := wanted[name]
		if !named {
			want = portState{bonded: true}
			if bond := wanted["bond0"]; !isBond(name) && bond.layer2 && !bond.bonded {
				want.bonded = false
			}
		}
		is.layer2 = is.layer2 && isBond(name)
		if want.bonded != is.bonded || want.layer2 != is.layer2 || want.native != is.native || !slices.Equal(want.vlans, is.vlans) {
			t.Fatalf("port %s: want %+v, is %+v", name, want, is)
		}
	}
}
