package equinix

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/test/metal"
)

const (
	device2 = "22222222-2222-4222-8222-222222222222"
	token   = "a-token-of-the-test"
)

func packetMachine(name, providerID string) view {
	labels := map[string]any{clusterLabel: "edge-1a2b3c", "l2cluster.io/pool": "general"}
	return view{
		"metadata": map[string]any{"name": name, "labels": labels, "ownerReferences": []any{
			map[string]any{"kind": "PacketCluster", "name": "edge-1a2b3c"}, map[string]any{"kind": "Machine", "name": "m1"},
		}},
		"spec": map[string]any{"providerID": providerID},
	}
}

func capiMachine(name, joined string, labels map[string]any) view {
	v := view{"metadata": map[string]any{"name": name, "labels": labels}}
	if joined != "" {
		v["status"] = map[string]any{"nodeRef": map[string]any{"name": joined}}
	}
	return v
}

func fetched(items ...object.View) object.Required {
	return object.Required{Fetched: true, Items: items}
}

func TestFacts(t *testing.T) {
	leaving := packetMachine("m1", "equinixmetal://"+device1)
	leaving["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	wrongVLAN := view{"status": map[string]any{"atProvider": map[string]any{"id": vlanUUID, "vxlan": int64(1001)}}}
	rightVLAN := view{"status": map[string]any{"atProvider": map[string]any{"id": vlanUUID, "vxlan": int64(1000)}}}
	seed := vlan(clusterOf(t, baseClaim, ""), clusterOf(t, baseClaim, "").Spec.Networks[0]).seed(clusterOf(t, baseClaim, ""))

	cases := map[string]struct {
		reason   string
		servers  object.Required
		machines object.Required
		status   view
		observed map[string]object.View
		want     infra.Facts
	}{
		"NotFetched": {
			reason: "Without both lists nobody knows which machines there are.", machines: fetched(),
			want: infra.Facts{},
		},
		"NoneYet": {
			reason: "Two empty lists mean that there are none.", servers: fetched(), machines: fetched(),
			want: infra.Facts{MachinesKnown: true},
		},
		"Joined": {
			reason:   "Cluster API and its provider tell one machine's story; one that joined has its network.",
			servers:  fetched(packetMachine("server-of-m1", "equinixmetal://"+device1)),
			machines: fetched(capiMachine("m1", "m1", nil)),
			want: infra.Facts{MachinesKnown: true, Machines: []infra.Machine{
				{Name: "m1", Pool: "general", Device: device1, Joined: true, Network: infra.NetworkVerified},
			}, Warnings: []string{"the ports of m1 are not known and stay as they are: the pipeline step has no credentials " +
				`with the key "auth_token" to ask the Metal API`}},
		},
		"ControlPlane": {
			reason:   "Cluster API's own label tells the control plane.",
			machines: fetched(capiMachine("cp", "", map[string]any{controlPlaneLabel: ""})), servers: fetched(),
			want: infra.Facts{MachinesKnown: true, Machines: []infra.Machine{{Name: "cp", Pool: "control-plane"}}},
		},
		"LabelLost": {
			reason:  "Without our label Cluster API's own names the deployment.",
			servers: fetched(), machines: fetched(capiMachine("m1", "", map[string]any{deploymentLabel: "edge-general"}), capiMachine("m2", "", nil)),
			observed: map[string]object.View{"pool-general": view{"kind": "MachineDeployment", "metadata": map[string]any{
				"name": "edge-general", "labels": map[string]any{"l2cluster.io/pool": "general"},
			}}},
			want: infra.Facts{MachinesKnown: true, Machines: []infra.Machine{{Name: "m1", Pool: "general"}, {Name: "m2"}}},
		},
		"Leaving": {
			reason:  "A machine on its way out exists, as long as anything has it.",
			servers: fetched(leaving), machines: fetched(),
			want: infra.Facts{MachinesKnown: true, Machines: []infra.Machine{{Name: "m1", Pool: "general", Device: device1, Deleting: true}}},
		},
		"ForeignProviderID": {
			reason:  "What is no server's UUID does not get into a URL.",
			servers: fetched(packetMachine("m1", "equinixmetal://../../projects")), machines: fetched(),
			want: infra.Facts{MachinesKnown: true, Machines: []infra.Machine{{Name: "m1", Pool: "general"}}},
		},
		"Remembered": {
			reason:  "Ports and a network that came up are remembered in the status.",
			servers: fetched(packetMachine("m1", "equinixmetal://"+device1)), machines: fetched(),
			status: view{
				"ports":    map[string]any{"m1": map[string]any{"bond0": "P0"}},
				"machines": []any{map[string]any{"name": "m1", "network": "Verified"}},
			},
			want: infra.Facts{MachinesKnown: true, Machines: []infra.Machine{
				{Name: "m1", Pool: "general", Device: device1, Ports: map[string]string{"bond0": "P0"}, Network: infra.NetworkVerified},
			}},
		},
		"RememberedFailure": {
			reason:  "A failure is remembered with its cause until the server says something else.",
			servers: fetched(packetMachine("m1", "equinixmetal://"+device1)), machines: fetched(),
			status: view{
				"ports":    map[string]any{"m1": map[string]any{"bond0": "P0"}},
				"machines": []any{map[string]any{"name": "m1", "network": "Failed", "message": "no carrier"}},
			},
			want: infra.Facts{MachinesKnown: true, Machines: []infra.Machine{
				{Name: "m1", Pool: "general", Device: device1, Ports: map[string]string{"bond0": "P0"}, Network: infra.NetworkFailed, Message: "no carrier"},
			}},
		},
		"VLAN": {
			reason: "A VLAN that exists has the UUID of its status.", servers: fetched(), machines: fetched(),
			observed: map[string]object.View{"vlan-1000": rightVLAN},
			want:     infra.Facts{MachinesKnown: true, VLANs: map[string]string{"storage": vlanUUID}},
		},
		"VLANSeeded": {
			reason: "The UUID of nothing is not a VLAN's.", servers: fetched(), machines: fetched(),
			observed: map[string]object.View{"vlan-1000": view{"status": map[string]any{"atProvider": map[string]any{"id": seed}}}},
			want:     infra.Facts{MachinesKnown: true},
		},
		"VLANOfOtherID": {
			reason: "A VLAN with another id than the claim's is attached to nothing.", servers: fetched(), machines: fetched(),
			observed: map[string]object.View{"vlan-1000": wrongVLAN},
			want: infra.Facts{MachinesKnown: true, Warnings: []string{"VLAN " + vlanUUID + ` of network "storage" has VLAN id 1001, not 1000: ` +
				"no port is attached to it until vlanID or vxlan is corrected"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, baseClaim, "")
			c.Observed = tc.observed
			got, err := Platform{}.Facts(t.Context(), infra.Sources{
				Cluster: c, Status: tc.status,
				Required: map[string]object.Required{packetMachines: tc.servers, infra.CAPIMachines: tc.machines},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nFacts(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAdoptedVLAN: after another vlanID in the claim the object that is observed is
// still the one before, until the provider looks again.
func TestAdoptedVLAN(t *testing.T) {
	for id, want := range map[string]map[string]string{
		"8f0b6c1e-0000-4000-8000-000000000001": {"backup": "8f0b6c1e-0000-4000-8000-000000000001"},
		vlanUUID:                               nil,
	} {
		c := clusterOf(t, adoptedClaim, "")
		c.Observed["vlan-1001"] = view{"status": map[string]any{"atProvider": map[string]any{"id": id, "vxlan": int64(1001)}}}
		got, warnings := vlansOf(c)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || len(warnings) > 0 {
			t.Errorf("VLAN %s is observed, got warnings %q and the VLANs -want, +got:\n%s", id, warnings, diff)
		}
	}
}

// TestMachinesListed: lists without machines are believed only where nobody counts
// any.
func TestMachinesListed(t *testing.T) {
	counts := func(kind string, n int64) map[string]object.View {
		return map[string]object.View{"it": view{"kind": kind, "metadata": map[string]any{"name": "it"}, "status": map[string]any{"replicas": n}}}
	}
	cases := map[string]struct {
		reason            string
		servers, machines object.Required
		observed          map[string]object.View
		refused           bool
	}{
		"ControlPlane": {"a control plane counts its machines", fetched(), fetched(), counts("KubeadmControlPlane", 3), true},
		"Deployment":   {"so does a deployment", fetched(), fetched(), counts("MachineDeployment", 1), true},
		"None":         {"nobody counts any", fetched(), fetched(), counts("KubeadmControlPlane", 0), false},
		"NotFetched":   {"what was not fetched is no list", object.Required{}, fetched(), counts("KubeadmControlPlane", 3), false},
		"One":          {"one list is enough", fetched(packetMachine("m1", "")), fetched(), counts("KubeadmControlPlane", 3), false},
		"Others":       {"a cluster's status counts nothing", fetched(), fetched(), counts("Cluster", 3), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, baseClaim, "")
			c.Observed = tc.observed
			_, err := Platform{}.Facts(t.Context(), infra.Sources{
				Cluster: c, Status: view{}, Required: map[string]object.Required{packetMachines: tc.servers, infra.CAPIMachines: tc.machines},
			})
			if (err != nil) != tc.refused {
				t.Errorf("%s: got %v, want refused: %t", tc.reason, err, tc.refused)
			}
		})
	}
}

// TestOutage: what could not be asked is not verified because a node has joined,
// and a failure that was read is not forgotten.
func TestOutage(t *testing.T) {
	c := newCloud(t)
	failedOnce := view{"machines": []any{map[string]any{"name": "m1", "network": "Failed", "message": "no carrier"}}}
	cases := map[string]struct {
		reason string
		away   bool
		token  string
		status view
		want   infra.NetworkState
	}{
		"Asked":        {"a server that says nothing of its end, and whose node has joined, lost its report", false, token, view{}, infra.NetworkVerified},
		"Away":         {"nobody could ask", true, token, view{}, infra.NetworkUnknown},
		"AwayFailed":   {"nobody could ask again", true, token, failedOnce, infra.NetworkFailed},
		"NoToken":      {"nobody can ever ask", false, "", view{}, infra.NetworkVerified},
		"NoTokenFails": {"a node that joined is all that can be known", false, "", failedOnce, infra.NetworkVerified},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.away {
				defer c.Inject(metal.Fault{Status: http.StatusInternalServerError})()
			}
			cluster := clusterOf(t, baseClaim, "equinix: {apiURL: '"+c.URL()+"', callTimeout: 200ms, totalTimeout: 1s}")
			got, err := Platform{}.Facts(t.Context(), infra.Sources{
				Cluster: cluster, Status: tc.status,
				Credentials: map[string]map[string][]byte{"metal": {"auth_token": []byte(tc.token)}},
				Required: map[string]object.Required{
					packetMachines:     fetched(packetMachine("m1", "equinixmetal://"+c.device)),
					infra.CAPIMachines: fetched(capiMachine("m1", "m1", map[string]any{"l2cluster.io/pool": "general"})),
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got.Machines[0].Network != tc.want || (len(got.Unheard) > 0) != tc.away {
				t.Errorf("%s: got %v, unheard %q; want %v", tc.reason, got.Machines[0].Network, got.Unheard, tc.want)
			}
		})
	}
}

// cloud is a fake API with one server.
type cloud struct {
	*metal.Cloud

	device string
}

func newCloud(t *testing.T) cloud {
	t.Helper()
	c := metal.New(metal.Options{Projects: map[string]string{testProject: "ours"}, Tokens: []string{token}})
	if err := c.Start(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return cloud{Cloud: c, device: createServer(t, c)}
}

// call the fake API without a network.
func call(handler http.Handler, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r := httptest.NewRequest(method, "/metal/v1"+path, bytes.NewReader(body))
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(w.Body.Bytes(), out)
}

// createServer and return its UUID.
func createServer(t tb, handler http.Handler) string {
	t.Helper()
	var d metalv1.Device
	if err := call(handler, http.MethodPost, "/projects/"+testProject+"/devices", map[string]any{
		"metro": "da", "plan": "c3.small.x86", "operating_system": "ubuntu_22_04", "hostname": "m1",
	}, &d); err != nil {
		t.Fatal(err)
	}
	return d.GetId()
}

// say lets the server report a state through its metadata service.
func (c cloud) say(t *testing.T, state string, code int, message string) {
	t.Helper()
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Address()+"/nodes/"+c.device+"/metadata", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	var about struct {
		URL string `json:"user_state_url"`
	}
	c.do(t, get, &about)
	body, err := json.Marshal(map[string]any{"state": state, "code": code, "message": message})
	if err != nil {
		t.Fatal(err)
	}
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, about.URL, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Content-Type", "application/json")
	c.do(t, post, nil)
}

func (c cloud) do(t *testing.T, r *http.Request, into any) {
	t.Helper()
	rsp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rsp.Body.Close() }()
	if rsp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s", r.Method, r.URL, rsp.Status)
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(rsp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// look asks for the facts of the cloud's one machine.
func (c cloud) look(t *testing.T, input, token string) (infra.Machine, []string) {
	t.Helper()
	cluster := clusterOf(t, baseClaim, "equinix: {apiURL: '"+c.URL()+"', "+input+"}")
	got, err := Platform{}.Facts(t.Context(), infra.Sources{
		Cluster: cluster, Status: view{},
		Credentials: map[string]map[string][]byte{"metal": {"auth_token": []byte(token + "\n")}},
		Required: map[string]object.Required{
			packetMachines:     fetched(packetMachine("m1", "equinixmetal://"+c.device)),
			infra.CAPIMachines: fetched(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return got.Machines[0], slices.Concat(got.Warnings, got.Unheard)
}

func TestLookUp(t *testing.T) {
	started, succeeded, failed := node.Started(), node.Succeeded(), node.Failed()
	say := func(events ...node.Event) func(*testing.T, cloud) {
		return func(t *testing.T, c cloud) {
			t.Helper()
			for _, e := range events {
				c.say(t, e.State, e.Code, e.Message)
			}
		}
	}
	broken := failed
	broken.Message += ": vlan1000 has no address 10.60.10.2/24"
	other := succeeded
	other.Message = "my own script is done"
	longer := succeeded
	longer.Message += "fully"
	inject := func(faults ...metal.Fault) func(*testing.T, cloud) {
		return func(_ *testing.T, c cloud) {
			for _, f := range faults {
				c.Inject(f)
			}
		}
	}
	many := make([]node.Event, 0, 130)
	many = append(many, broken)
	for i := range 129 {
		many = append(many, node.Event{State: "running", Code: 1003, Message: fmt.Sprint("progress ", i)})
	}
	type want struct {
		ports    bool
		network  infra.NetworkState
		message  string
		warnings int
	}
	cases := map[string]struct {
		reason string
		world  func(*testing.T, cloud)
		token  string
		want   want
	}{
		"NothingSaid": {reason: "A server that said nothing has ports and no report.", world: say(), want: want{ports: true}},
		"Started":     {reason: "The beginning is not the end.", world: say(started), want: want{ports: true, network: infra.NetworkStarted}},
		"Succeeded":   {reason: "The newest report counts.", world: say(started, broken, started, succeeded), want: want{ports: true, network: infra.NetworkVerified}},
		"Failed": {reason: "A failure comes with its cause.", world: say(started, succeeded, broken), want: want{
			ports: true, network: infra.NetworkFailed, message: "vlan1000 has no address 10.60.10.2/24",
		}},
		"ForeignReport": {reason: "Another program's report with the same code is not ours.", world: say(started, other, longer), want: want{ports: true, network: infra.NetworkStarted}},
		"FarBack":       {reason: "Older pages are read, too.", world: say(many...), want: want{ports: true, network: infra.NetworkFailed, message: "vlan1000 has no address 10.60.10.2/24"}},
		"Hiccups": {
			reason: "Too many requests and trouble on the other side pass.",
			world:  inject(metal.Fault{Status: 429, RetryAfter: time.Millisecond, Times: 1}, metal.Fault{Status: 503, Times: 1}, metal.Fault{Drop: true, Times: 1}),
			want:   want{ports: true},
		},
		"EventsAway": {
			reason: "Ports are known although events cannot be read.",
			world:  inject(metal.Fault{Path: "/devices/{id}/events", Status: 500}),
			want:   want{ports: true, warnings: 1},
		},
		"Away":       {reason: "An outage is told and changes nothing.", world: inject(metal.Fault{Status: 500}), want: want{warnings: 2}},
		"Refused":    {reason: "A wrong token is told.", world: say(), token: "wrong", want: want{warnings: 2}},
		"ServerGone": {reason: "A server that is gone is told, without asking twice.", world: inject(metal.Fault{Status: 404}), want: want{warnings: 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			tc.world(t, c)
			with := token
			if tc.token != "" {
				with = tc.token
			}
			m, warnings := c.look(t, "totalTimeout: 3s", with)
			got := want{ports: m.Ports["bond0"] != "" && m.Ports["eth1"] != "", network: m.Network, message: m.Message, warnings: len(warnings)}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s\nwarnings: %q", tc.reason, diff, warnings)
			}
			for _, w := range warnings {
				if strings.Contains(w, with) {
					t.Errorf("the warning %q shows the token", w)
				}
			}
		})
	}
}

// A slow API costs no more than the time limits say.
func TestLookUpIsBounded(t *testing.T) {
	c := newCloud(t)
	c.Inject(metal.Fault{Delay: time.Minute})
	begin := time.Now()
	m, warnings := c.look(t, "callTimeout: 200ms, totalTimeout: 600ms", token)
	if spent := time.Since(begin); spent > 3*time.Second {
		t.Errorf("asking took %v, with a limit of 600ms", spent)
	}
	if m.Ports != nil || m.Network != infra.NetworkUnknown || len(warnings) == 0 {
		t.Errorf("got %+v and warnings %q, want nothing known and warnings", m, warnings)
	}
}

// Calls are under way together, but not too many.
func TestEachIsBounded(t *testing.T) {
	devices := make([]string, 100)
	under, most := make(chan int, 1), 0
	under <- 0
	answers, errs := each(context.Background(), devices, func(context.Context, string) (int, error) {
		n := <-under + 1
		most = max(most, n)
		under <- n
		time.Sleep(time.Millisecond)
		under <- <-under - 1
		return 1, nil
	})
	if len(answers) != len(devices) || len(errs) != len(devices) {
		t.Errorf("got %d answers and %d errors for %d questions", len(answers), len(errs), len(devices))
	}
	if most > callsAtOnce || most < 2 {
		t.Errorf("%d calls were under way at once, want 2 to %d", most, callsAtOnce)
	}
}
