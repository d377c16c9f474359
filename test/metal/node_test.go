package metal_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// say posts a user-state event and returns the answer's status.
func say(t *testing.T, url, body string) int {
	t.Helper()
	resp, err := http.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}

// fetch reads a URL without a token; it tells whether anything answered.
func fetch(t *testing.T, url string) (string, bool) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return "", false
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), resp.StatusCode == http.StatusOK
}

// node is what a node script needs of its metadata.
type node struct {
	ID       string `json:"id"`
	Hostname string `json:"hostname"`
	Network  struct {
		Interfaces []map[string]any `json:"interfaces"`
		Addresses  []map[string]any `json:"addresses"`
	} `json:"network"`
	CustomData   map[string]any `json:"customdata"`
	UserStateURL string         `json:"user_state_url"`
}

func readNode(t *testing.T, url string) node {
	t.Helper()
	body, answered := fetch(t, url)
	if !answered {
		t.Fatalf("no metadata at %s: %s", url, body)
	}
	var out node
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMetadata(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d, err := w.tryCreate(&metalv1.DeviceCreateInMetroInput{
		Metro: "da", Plan: "c3.small.x86", OperatingSystem: "ubuntu_22_04", Hostname: new("node"),
		Userdata: new("#!/bin/sh\nexit 0\n"), Customdata: map[string]any{"ours": map[string]any{"a": "10.60.10.2/24"}},
	})
	must(w, d, err)
	s := w.serverOf(w.device(d.GetId()))
	if err := disbond("eth1")(s); err != nil {
		t.Fatal(err)
	}
	got := readNode(t, w.cloud.MetadataURL(s.id))
	if got.ID != s.id || got.Hostname != "node" || len(got.Network.Addresses) != 2 {
		t.Errorf("metadata: %+v", got)
	}
	macs := map[string]string{}
	for _, p := range w.device(s.id).NetworkPorts {
		macs[p.GetName()] = p.Data.GetMac()
	}
	want := []map[string]any{
		{"name": "eth0", "mac": macs["eth0"], "bond": "bond0"},
		{"name": "eth1", "mac": macs["eth1"], "bond": nil},
	}
	if diff := cmp.Diff(want, got.Network.Interfaces); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"ours": map[string]any{"a": "10.60.10.2/24"}}, got.CustomData); diff != "" {
		t.Errorf("custom data (-want +got):\n%s", diff)
	}
	if body, _ := fetch(t, strings.TrimSuffix(w.cloud.MetadataURL(s.id), "metadata")+"userdata"); body != "#!/bin/sh\nexit 0\n" {
		t.Errorf("user data: %q", body)
	}
	if status := say(t, got.UserStateURL, `{"state":"running","code":1000,"message":"started"}`); status != 200 {
		t.Errorf("user state: %d", status)
	}
}

// TestNodeHandler reads the metadata service as a server sees it: at the root.
func TestNodeHandler(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d := w.create("node", "c3.small.x86", "da")
	srv := httptest.NewServer(w.cloud.NodeHandler(d.GetId()))
	defer srv.Close()
	got := readNode(t, srv.URL+"/metadata")
	if got.ID != d.GetId() || got.UserStateURL != srv.URL+"/events" {
		t.Errorf("metadata: %+v", got)
	}
	if status := say(t, got.UserStateURL, `{"state":"succeeded","code":1001,"message":"done"}`); status != 200 {
		t.Errorf("user state: %d", status)
	}
	list, _, err := w.client.EventsApi.FindDeviceEvents(w.ctx, d.GetId()).Execute()
	if must(w, list, err); list.Events[0].GetType() != "user.1001" || list.Events[0].GetBody() != "done" {
		t.Errorf("newest event: %+v", list.Events[0])
	}
}

func TestWhoReachesTheMetadataService(t *testing.T) {
	act := func(action metalv1.DeviceActionInputType) step {
		return func(s *server) error {
			_, err := s.client.DevicesApi.PerformAction(s.ctx, s.id).DeviceActionInput(metalv1.DeviceActionInput{Type: action}).Execute()
			return err
		}
	}
	remove := func(s *server) error {
		_, err := s.client.DevicesApi.DeleteDevice(s.ctx, s.id).Execute()
		return err
	}
	pass := func(d time.Duration) step {
		return func(s *server) error { s.clock.Advance(d); return nil }
	}
	boot := pass(5 * time.Minute)
	cases := map[string]struct {
		reason string
		plan   string
		steps  []step
		want   bool
	}{
		"Provisioning":     {reason: "Nothing runs yet."},
		"Layer3":           {reason: "A new server.", steps: []step{boot}, want: true},
		"HybridBonded":     {reason: "Layer 3 is there.", steps: []step{boot, assign("bond0", "1000")}, want: true},
		"Hybrid":           {reason: "bond0 has Layer 3.", steps: []step{boot, disbond("eth1")}, want: true},
		"Layer2Bonded":     {reason: "Layer 3 is gone.", steps: []step{boot, toLayer2("bond0")}},
		"Layer2Individual": {reason: "Layer 3 is gone.", steps: []step{boot, toLayer2("bond0"), disbond("bond0")}},
		"SecondBond":       {reason: "bond1 may be in Layer 2.", plan: "n3.xlarge.x86", steps: []step{boot, toLayer2("bond1")}, want: true},
		"Back":             {reason: "Layer 3 is back.", steps: []step{boot, toLayer2("bond0"), toLayer3("bond0")}, want: true},
		"PoweredOff":       {reason: "Nothing runs.", steps: []step{boot, act("power_off")}},
		"PoweredOn":        {reason: "It runs again.", steps: []step{boot, act("power_off"), act("power_on")}, want: true},
		"Deprovisioning":   {reason: "It still runs for minutes.", steps: []step{boot, remove}, want: true},
		"Gone":             {reason: "It does not.", steps: []step{boot, remove, pass(3 * time.Minute)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{Schedule: minutes(0, 5, 3)})
			w.vlan("da", 1000)
			plan := "c3.small.x86"
			if tc.plan != "" {
				plan = tc.plan
			}
			s := w.server(plan)
			for i, do := range tc.steps {
				if err := do(s); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			if _, got := fetch(t, w.cloud.MetadataURL(s.id)); got != tc.want {
				t.Errorf("%s: metadata service answers: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestUserState(t *testing.T) {
	cases := map[string]struct {
		reason string
		body   string
		status int
		kind   string
		text   string
	}{
		"Running":     {"A beginning.", `{"state":"running","code":1000,"message":"network_configuration_started"}`, 200, "user.1000", "network_configuration_started"},
		"Succeeded":   {"A good end.", `{"state":"succeeded","code":1001,"message":"network_configuration_success"}`, 200, "user.1001", "network_configuration_success"},
		"Failed":      {"A bad end.", `{"state":"failed","code":1002,"message":"network_configuration_failed: eth1: no carrier"}`, 200, "user.1002", "network_configuration_failed: eth1: no carrier"},
		"Highest":     {"The highest code.", `{"state":"running","code":1099,"message":"x"}`, 200, "user.1099", "x"},
		"NoMessage":   {"A message may be missing.", `{"state":"running","code":1005}`, 200, "user.1005", ""},
		"TooLow":      {"999 is no code.", `{"state":"running","code":999,"message":"x"}`, 422, "", ""},
		"TooHigh":     {"1100 is no code.", `{"state":"running","code":1100,"message":"x"}`, 422, "", ""},
		"CodeString":  {"A code is a number.", `{"state":"running","code":"1000","message":"x"}`, 422, "", ""},
		"CodeMissing": {"A code is needed.", `{"state":"running","message":"x"}`, 422, "", ""},
		"OtherState":  {"There are three states.", `{"state":"done","code":1000,"message":"x"}`, 422, "", ""},
		"Malformed":   {"An event is JSON.", `{"state":`, 400, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{})
			d := w.create("node", "c3.small.x86", "da")
			before, _, err := w.client.EventsApi.FindDeviceEvents(w.ctx, d.GetId()).Execute()
			must(w, before, err)
			url := readNode(t, w.cloud.MetadataURL(d.GetId())).UserStateURL
			if got := say(t, url, tc.body); got != tc.status {
				t.Errorf("%s: status %d, want %d", tc.reason, got, tc.status)
			}
			after, _, err := w.client.EventsApi.FindDeviceEvents(w.ctx, d.GetId()).Execute()
			must(w, after, err)
			if tc.status != 200 {
				if diff := cmp.Diff(before.Events, after.Events); diff != "" {
					t.Errorf("%s: a refused event is there:\n%s", tc.reason, diff)
				}
				return
			}
			newest := after.Events[0]
			if newest.GetType() != tc.kind || newest.GetBody() != tc.text {
				t.Errorf("%s: newest event is %q with body %q, want %q with %q", tc.reason, newest.GetType(), newest.GetBody(), tc.kind, tc.text)
			}
		})
	}
}

func TestEventsAreNewestFirstAndPaged(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d := w.create("node", "c3.small.x86", "da")
	url := readNode(t, w.cloud.MetadataURL(d.GetId())).UserStateURL
	for i := range 15 {
		w.clock.Advance(time.Second)
		if got := say(t, url, fmt.Sprintf(`{"state":"running","code":%d,"message":"m%d"}`, 1000+i, i)); got != 200 {
			t.Fatalf("status %d", got)
		}
	}
	first, _, err := w.client.EventsApi.FindDeviceEvents(w.ctx, d.GetId()).Execute()
	must(w, first, err)
	if len(first.Events) != 10 || first.Events[0].GetBody() != "m14" || first.Events[9].GetBody() != "m5" {
		t.Errorf("first page: %d events from %q on", len(first.Events), first.Events[0].GetBody())
	}
	second, _, err := w.client.EventsApi.FindDeviceEvents(w.ctx, d.GetId()).Page(2).Execute()
	must(w, second, err)
	if second.Events[0].GetBody() != "m4" {
		t.Errorf("second page begins with %q, want m4", second.Events[0].GetBody())
	}
	all, err := w.client.EventsApi.FindDeviceEvents(w.ctx, d.GetId()).PerPage(4).ExecuteWithPagination()
	must(w, all, err)
	// Four events of provisioning came before the fifteen of the server.
	if len(all.Events) != 19 || all.Events[18].GetType() != "provisioning.101" {
		t.Errorf("%d events, the oldest one is %q", len(all.Events), all.Events[len(all.Events)-1].GetType())
	}
	for i := 1; i < len(all.Events); i++ {
		if all.Events[i].GetCreatedAt().After(all.Events[i-1].GetCreatedAt()) {
			t.Errorf("event %d is newer than the one before it", i)
		}
	}
	one, _, err := w.client.EventsApi.FindEventById(w.ctx, all.Events[0].GetId()).Execute()
	if must(w, one, err); one.GetBody() != "m14" {
		t.Errorf("one event: %+v", one)
	}
	ofProject, _, err := w.client.EventsApi.FindProjectEvents(w.ctx, project).Execute()
	if must(w, ofProject, err); ofProject.Events[0].GetBody() != "m14" {
		t.Errorf("newest event of the project: %q", ofProject.Events[0].GetBody())
	}
}
