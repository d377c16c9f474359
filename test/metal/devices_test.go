package metal_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// minutes is the life of a server in whole minutes.
func minutes(queued, provisioning, deprovisioning int) metal.Schedule {
	return metal.Schedule{Life: metal.Life{
		Queued:         time.Duration(queued) * time.Minute,
		Provisioning:   time.Duration(provisioning) * time.Minute,
		Deprovisioning: time.Duration(deprovisioning) * time.Minute,
	}}
}

// look is what is seen of a device.
type look struct {
	State            string
	Ports, Addresses int
}

func (w *world) look(id string) look {
	w.t.Helper()
	got, resp, err := w.client.DevicesApi.FindDeviceById(w.ctx, id).Execute()
	if resp != nil && resp.StatusCode == http.StatusNotFound {
		return look{State: "gone"}
	}
	must(w, got, err)
	return look{string(got.GetState()), len(got.NetworkPorts), len(got.IpAddresses)}
}

func TestDeviceLife(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: minutes(1, 5, 3)})
	id := w.create("node", "c3.small.x86", "da").GetId()
	remove := func() error {
		_, err := w.client.DevicesApi.DeleteDevice(w.ctx, id).ForceDelete(true).Execute()
		return err
	}
	const early = "422 Unprocessable Entity Cannot delete a device while it is provisioning"
	steps := []struct {
		reason string
		wait   time.Duration
		want   look
		remove string // what a deletion says then
	}{
		{"A new one is queued and has no hardware.", 0, look{State: "queued"}, early},
		{"It is queued for a minute.", time.Minute - time.Second, look{State: "queued"}, early},
		{"It has ports and addresses while it is installed.", time.Second, look{"provisioning", 3, 2}, early},
		{"It is installed for five minutes.", 5*time.Minute - time.Second, look{"provisioning", 3, 2}, early},
		{"It is active.", time.Second, look{"active", 3, 2}, ""},
		{"A deleted one goes on to exist.", 0, look{"deprovisioning", 3, 2}, ""},
		{"A second deletion does not prolong it.", 3*time.Minute - time.Second, look{"deprovisioning", 3, 2}, ""},
		{"It is gone.", time.Second, look{State: "gone"}, "404 Not Found Not found"},
	}
	for _, s := range steps {
		w.clock.Advance(s.wait)
		if diff := cmp.Diff(s.want, w.look(id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.reason, diff)
		}
		if diff := cmp.Diff(s.remove, text(remove())); diff != "" {
			t.Errorf("%s Deletion (-want +got):\n%s", s.reason, diff)
		}
	}
}

func TestDeprovisioningHoldsEverything(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: minutes(0, 0, 3)})
	v := w.vlan("da", 1000)
	s := w.server("c3.small.x86")
	if err := assign("bond0", "1000")(s); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.DevicesApi.DeleteDevice(w.ctx, s.id).Execute(); err != nil {
		t.Fatal(err)
	}
	deleteVLAN := func() error {
		_, err := w.client.VLANsApi.DeleteVirtualNetwork(w.ctx, v.GetId()).Execute()
		return err
	}
	if got := s.shape("bond0").VLANs; len(got) != 1 {
		t.Errorf("it holds VLANs %v, want the one that it had", got)
	}
	want := "422 Unprocessable Entity Port bond0 cannot be changed while its device is deprovisioning"
	if diff := cmp.Diff(want, text(unassign("bond0", "1000")(s))); diff != "" {
		t.Errorf("unassigning (-want +got):\n%s", diff)
	}
	if status, body := w.post(http.MethodPut, "/metal/v1/devices/"+s.id, `{"customdata":{}}`); status != 422 {
		t.Errorf("changing it: %d %s", status, body)
	}
	if got := text(deleteVLAN()); got != "422 Unprocessable Entity Cannot delete Virtual Network when port is assigned" {
		t.Errorf("deleting its VLAN: %q", got)
	}
	w.clock.Advance(3 * time.Minute)
	if _, resp, _ := w.client.PortsApi.FindPortById(w.ctx, s.ports["bond0"]).Execute(); resp.StatusCode != http.StatusNotFound {
		t.Errorf("its port answers %d at the end, want 404", resp.StatusCode)
	}
	if err := deleteVLAN(); err != nil {
		t.Errorf("deleting its VLAN at the end: %v", err)
	}
}

func TestLifeOfOneDevice(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: metal.Schedule{
		Of: func(hostname string, usual metal.Life) metal.Life {
			if hostname == "slow" {
				usual.Queued = time.Hour
			}
			return usual
		},
	}})
	slow, quick := w.create("slow", "c3.small.x86", "da"), w.create("quick", "c3.small.x86", "da")
	if got := w.device(slow.GetId()).GetState(); got != metalv1.DEVICESTATE_QUEUED {
		t.Errorf("slow is %s, want queued", got)
	}
	if got := w.device(quick.GetId()).GetState(); got != metalv1.DEVICESTATE_ACTIVE {
		t.Errorf("quick is %s, want active", got)
	}
}

func TestCreateDevice(t *testing.T) {
	const no = "422 Unprocessable Entity "
	valid := func(change func(*metalv1.DeviceCreateInMetroInput)) *metalv1.DeviceCreateInMetroInput {
		in := &metalv1.DeviceCreateInMetroInput{Metro: "da", Plan: "c3.small.x86", OperatingSystem: "ubuntu_22_04", Hostname: new("node")}
		change(in)
		return in
	}
	userdata := func(s string) *metalv1.DeviceCreateInMetroInput {
		return valid(func(in *metalv1.DeviceCreateInMetroInput) { in.Userdata = &s })
	}
	cases := map[string]struct {
		reason string
		in     *metalv1.DeviceCreateInMetroInput
		want   string
	}{
		"Valid":           {reason: "The least that is needed.", in: valid(func(*metalv1.DeviceCreateInMetroInput) {})},
		"Script":          {reason: "User data may be a script.", in: userdata("#!/bin/sh\n")},
		"CloudConfig":     {reason: "User data may be cloud-config.", in: userdata("#cloud-config\n")},
		"JinjaTemplate":   {reason: "Cluster API puts a jinja header before it.", in: userdata("## template: jinja\n#cloud-config\n")},
		"Ignition":        {reason: "Flatcar takes Ignition's JSON.", in: userdata(`{"ignition":{"version":"3.0.0"}}`)},
		"UnknownUserData": {reason: "Anything else is refused.", in: userdata("hello"), want: no + "Userdata unrecognized userdata format"},
		"JinjaOfNothing":  {reason: "The header alone does not help.", in: userdata("## template: jinja\nhello"), want: no + "Userdata unrecognized userdata format"},
		"UnknownMetro": {
			reason: "The metro must exist.",
			in:     valid(func(in *metalv1.DeviceCreateInMetroInput) { in.Metro = "xx" }), want: no + `Metro "xx" is not a metro`,
		},
		"UnknownPlan": {
			reason: "The plan must exist.",
			in:     valid(func(in *metalv1.DeviceCreateInMetroInput) { in.Plan = "t1" }), want: no + `Plan "t1" is not a plan`,
		},
		"Everything": {
			reason: "All that is wrong is said at once.",
			in: valid(func(in *metalv1.DeviceCreateInMetroInput) {
				in.Metro, in.Plan, in.OperatingSystem = "xx", "t1", ""
			}),
			want: no + `Metro "xx" is not a metro, Plan "t1" is not a plan, Operating system can't be blank`,
		},
		"NoReservation": {
			reason: "The project has no reserved hardware. CAPP looks for these very words.",
			in:     valid(func(in *metalv1.DeviceCreateInMetroInput) { in.HardwareReservationId = new("next-available") }),
			want:   no + "There are no available hardware reservations for this project",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{})
			_, err := w.tryCreate(tc.in)
			if diff := cmp.Diff(tc.want, text(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got, want := len(w.cloud.Snapshot().Devices), map[bool]int{true: 1}[tc.want == ""]; got != want {
				t.Errorf("%s: %d devices exist, want %d", tc.reason, got, want)
			}
		})
	}
}

// post sends a body as it is and returns the status and the answer.
func (w *world) post(method, path, body string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.ctx, method, w.cloud.Address()+path, strings.NewReader(body))
	must(w, req, err)
	req.Header.Set("X-Auth-Token", "any")
	resp, err := http.DefaultClient.Do(req)
	must(w, resp, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	must(w, raw, err)
	return resp.StatusCode, string(raw)
}

func TestCreateDeviceInOtherForms(t *testing.T) {
	cases := map[string]struct {
		reason string
		body   string
		status int
		metro  string
	}{
		"EmptyBillingCycle": {
			reason: "CAPP sends empty strings for what is not set.",
			body:   `{"metro":"da","plan":"c3.small.x86","operating_system":"flatcar_stable","billing_cycle": "","ipxe_script_url":""}`,
			status: 201, metro: "da",
		},
		"Facilities": {
			reason: "A list of facilities names the metro.",
			body:   `{"facility":["sv15"],"plan":"c3.small.x86","operating_system":"debian_12"}`,
			status: 201, metro: "sv",
		},
		"Facility": {
			reason: "So does one facility, and a metro may be written in capitals.",
			body:   `{"facility":"DA11","plan":"c3.small.x86","operating_system":"debian_12"}`,
			status: 201, metro: "da",
		},
		"Malformed":        {reason: "What is no JSON is the client's fault.", body: `{"metro":`, status: 400},
		"MissingPlan":      {reason: "Required fields are required.", body: `{"metro":"da","operating_system":"debian_12"}`, status: 422},
		"WrongType":        {reason: "Types are checked.", body: `{"metro":"da","plan":7,"operating_system":"debian_12"}`, status: 422},
		"CustomDataString": {reason: "Custom data is an object.", body: `{"metro":"da","plan":"c3.small.x86","operating_system":"debian_12","customdata":"x"}`, status: 422},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{})
			status, body := w.post(http.MethodPost, "/metal/v1/projects/"+project+"/devices", tc.body)
			if status != tc.status {
				t.Fatalf("%s: status %d, want %d: %s", tc.reason, status, tc.status, body)
			}
			if tc.status != 201 {
				return
			}
			var got metalv1.Device
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if got.Metro.GetCode() != tc.metro || got.Facility.GetCode() == "" {
				t.Errorf("%s: metro %q in facility %q", tc.reason, got.Metro.GetCode(), got.Facility.GetCode())
			}
		})
	}
}

func TestToken(t *testing.T) {
	cases := map[string]struct {
		reason string
		tokens []string
		token  string
		want   string
	}{
		"None":       {reason: "A token is needed.", want: "401 Unauthorized Invalid authentication token"},
		"Any":        {reason: "Without a list every token will do.", token: "x"},
		"Listed":     {reason: "A listed token.", tokens: []string{"a", "b"}, token: "b"},
		"NotListed":  {reason: "Another one.", tokens: []string{"a"}, token: "x", want: "401 Unauthorized Invalid authentication token"},
		"NoneListed": {reason: "None where there is a list.", tokens: []string{"a"}, want: "401 Unauthorized Invalid authentication token"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{Tokens: tc.tokens})
			_, _, err := metal.NewClient(w.cloud.URL(), tc.token).ProjectsApi.FindProjectById(w.ctx, project).Execute()
			if diff := cmp.Diff(tc.want, text(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCustomData(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d := w.create("node", "c3.small.x86", "da")
	path := "/metal/v1/devices/" + d.GetId()
	read := func() string {
		status, body := w.post(http.MethodGet, path+"/customdata", "")
		if status != 200 {
			t.Fatalf("status %d: %s", status, body)
		}
		return body
	}
	steps := []struct {
		reason string
		put    string
		status int
		want   string
	}{
		{reason: "At first there is none.", put: `{"tags":["a"]}`, status: 200, want: `{}`},
		{
			reason: "Numbers keep their digits.", put: `{"customdata":{"n":12345678901234567890,"f":1e6,"a":{"b":[1,null]}}}`, status: 200,
			want: `{"a":{"b":[1,null]},"f":1e6,"n":12345678901234567890}`,
		},
		{
			reason: "Another change leaves it alone.", put: `{"description":"x"}`, status: 200,
			want: `{"a":{"b":[1,null]},"f":1e6,"n":12345678901234567890}`,
		},
		{reason: "New data replaces all of it.", put: `{"customdata":{"ours":{}}}`, status: 200, want: `{"ours":{}}`},
		{reason: "A list is refused.", put: `{"customdata":[]}`, status: 422, want: `{"ours":{}}`},
		{reason: "A string is refused.", put: `{"customdata":"{}"}`, status: 422, want: `{"ours":{}}`},
		{reason: "Null empties it.", put: `{"customdata":null}`, status: 200, want: `{}`},
	}
	for _, s := range steps {
		if status, body := w.post(http.MethodPut, path, s.put); status != s.status {
			t.Errorf("%s: status %d, want %d: %s", s.reason, status, s.status, body)
		}
		if diff := cmp.Diff(s.want, read()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.reason, diff)
		}
	}
	got := w.device(d.GetId())
	if diff := cmp.Diff([]string{"a"}, got.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if got.GetDescription() != "x" {
		t.Errorf("description %q, want x", got.GetDescription())
	}
}

func TestUpdateDeviceWithSDK(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d := w.create("node", "c3.small.x86", "da")
	up, _, err := w.client.DevicesApi.UpdateDevice(w.ctx, d.GetId()).DeviceUpdateInput(metalv1.DeviceUpdateInput{
		Customdata: map[string]any{"ours": map[string]any{"eth1.1000": "10.60.10.2/24"}},
	}).Execute()
	must(w, up, err)
	want := map[string]any{"ours": map[string]any{"eth1.1000": "10.60.10.2/24"}}
	if diff := cmp.Diff(want, up.Customdata); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, _, err = w.client.DevicesApi.UpdateDevice(w.ctx, d.GetId()).DeviceUpdateInput(metalv1.DeviceUpdateInput{Userdata: new("x")}).Execute()
	if got := text(err); got != "422 Unprocessable Entity Userdata unrecognized userdata format" {
		t.Errorf("wrong user data: %q", got)
	}
}

func TestLockedDevice(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d, err := w.tryCreate(&metalv1.DeviceCreateInMetroInput{
		Metro: "da", Plan: "c3.small.x86", OperatingSystem: "debian_12", Locked: new(true),
	})
	must(w, d, err)
	_, err = w.client.DevicesApi.DeleteDevice(w.ctx, d.GetId()).Execute()
	if got := text(err); got != "422 Unprocessable Entity Cannot delete a locked device" {
		t.Errorf("deleting a locked device: %q", got)
	}
}

func TestListDevices(t *testing.T) {
	w := newWorld(t, metal.Options{})
	for i := range 23 {
		d, err := w.tryCreate(&metalv1.DeviceCreateInMetroInput{
			Metro: []string{"da", "sv"}[i%2], Plan: "c3.small.x86", OperatingSystem: "debian_12",
			Hostname: new(fmt.Sprintf("node-%02d", i)), Tags: []string{fmt.Sprintf("tag-%d", i%3)},
		})
		must(w, d, err)
	}
	first, _, err := w.client.DevicesApi.FindProjectDevices(w.ctx, project).Execute()
	must(w, first, err)
	if len(first.Devices) != 10 || first.Meta.GetTotal() != 23 || first.Meta.GetLastPage() != 3 || first.Meta.Next == nil || first.Meta.Previous != nil {
		t.Errorf("first page: %d devices, meta %+v", len(first.Devices), first.Meta)
	}
	last, _, err := w.client.DevicesApi.FindProjectDevices(w.ctx, project).Page(3).Execute()
	must(w, last, err)
	if len(last.Devices) != 3 || last.Meta.Next != nil || last.Meta.Previous == nil {
		t.Errorf("last page: %d devices, meta %+v", len(last.Devices), last.Meta)
	}
	all, err := w.client.DevicesApi.FindProjectDevices(w.ctx, project).ExecuteWithPagination()
	must(w, all, err)
	seen := map[string]bool{}
	for _, d := range all.Devices {
		seen[d.GetHostname()] = true
	}
	if len(all.Devices) != 23 || len(seen) != 23 {
		t.Errorf("all pages: %d devices, %d of them different", len(all.Devices), len(seen))
	}
	beyond, _, err := w.client.DevicesApi.FindProjectDevices(w.ctx, project).Page(99).Execute()
	if must(w, beyond, err); len(beyond.Devices) != 0 {
		t.Errorf("beyond the last page: %d devices", len(beyond.Devices))
	}
	filters := map[string]struct {
		list metalv1.ApiFindProjectDevicesRequest
		want int32
	}{
		"Hostname": {w.client.DevicesApi.FindProjectDevices(w.ctx, project).Hostname("node-07"), 1},
		"Tag":      {w.client.DevicesApi.FindProjectDevices(w.ctx, project).Tag("tag-0"), 8},
		"Metro":    {w.client.DevicesApi.FindProjectDevices(w.ctx, project).Metro("sv"), 11},
		"Search":   {w.client.DevicesApi.FindProjectDevices(w.ctx, project).Search("ode-1"), 10},
		"Other":    {w.client.DevicesApi.FindProjectDevices(w.ctx, other), 0},
	}
	for name, tc := range filters {
		got, _, err := tc.list.Execute()
		if must(w, got, err); got.Meta.GetTotal() != tc.want {
			t.Errorf("%s: %d devices, want %d", name, got.Meta.GetTotal(), tc.want)
		}
	}
	if _, resp, _ := w.client.DevicesApi.FindProjectDevices(w.ctx, "x").Execute(); resp.StatusCode != http.StatusNotFound {
		t.Errorf("devices of no project: %d", resp.StatusCode)
	}
}

func TestIdentityDependsOnSeedOnly(t *testing.T) {
	build := func(seed string, names ...string) map[string][]string {
		w := newWorld(t, metal.Options{Seed: seed})
		out := map[string][]string{}
		for _, name := range names {
			d := w.device(w.create(name, "c3.small.x86", "da").GetId())
			for _, p := range d.NetworkPorts {
				out[name] = append(out[name], d.GetId(), p.GetId(), p.Data.GetMac())
			}
		}
		return out
	}
	one := build("s", "a", "b")
	if diff := cmp.Diff(one, build("s", "b", "a")); diff != "" {
		t.Errorf("the order of creation shows:\n%s", diff)
	}
	if cmp.Equal(one, build("t", "a", "b")) {
		t.Error("the seed does not show")
	}
	w := newWorld(t, metal.Options{Seed: "s"})
	if a, b := w.create("a", "c3.small.x86", "da"), w.create("a", "c3.small.x86", "da"); a.GetId() == b.GetId() || a.GetId() != one["a"][0] {
		t.Errorf("two servers of one name are %s and %s, the first one of another cloud %s", a.GetId(), b.GetId(), one["a"][0])
	}
}

func TestRootPasswordIsShownForADay(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d := w.create("node", "c3.small.x86", "da")
	if w.device(d.GetId()).GetRootPassword() == "" {
		t.Error("a new server shows no root password")
	}
	w.clock.Advance(24 * time.Hour)
	if got := w.device(d.GetId()).GetRootPassword(); got != "" {
		t.Errorf("after a day the root password is still %q", got)
	}
}

func TestFailedDeviceIsForbidden(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: minutes(1, 5, 3)})
	d := w.create("node", "c3.small.x86", "da")
	w.clock.Advance(2 * time.Minute)
	if err := w.cloud.FailDevice(d.GetId()); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.client.DevicesApi.FindDeviceById(w.ctx, d.GetId()).Execute()
	if got := text(err); got != "403 Forbidden You are not authorized to view this device" {
		t.Errorf("a failed server: %q", got)
	}
	w.clock.Advance(time.Hour)
	if got := w.cloud.Snapshot(); len(got.Devices) != 0 {
		t.Errorf("%d devices are left", len(got.Devices))
	}
	if err := w.cloud.FailDevice(d.GetId()); err == nil {
		t.Error("a server that is gone could fail again")
	}
	active := w.create("active", "c3.small.x86", "da")
	w.clock.Advance(time.Hour)
	if err := w.cloud.FailDevice(active.GetId()); err == nil {
		t.Error("an active server could fail")
	}
}

func TestActions(t *testing.T) {
	cases := map[string]struct {
		reason string
		action metalv1.DeviceActionInputType
		states []string
		power  []string
	}{
		"PowerOff":  {"A server that is off is inactive.", "power_off", []string{"inactive"}, []string{"off"}},
		"Reboot":    {"A reboot is over at once.", "reboot", nil, []string{"off", "on"}},
		"Reinstall": {"A new installation takes its time.", "reinstall", []string{"reinstalling", "active"}, []string{"off", "on"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{Schedule: minutes(0, 5, 0)})
			d := w.create("node", "c3.small.x86", "da")
			w.clock.Advance(5 * time.Minute)
			before := len(w.cloud.Changes(0))
			resp, err := w.client.DevicesApi.PerformAction(w.ctx, d.GetId()).
				DeviceActionInput(metalv1.DeviceActionInput{Type: tc.action}).Execute()
			if must(w, resp, err); resp.StatusCode != http.StatusAccepted {
				t.Errorf("status %d", resp.StatusCode)
			}
			w.clock.Advance(5 * time.Minute)
			var states, power []string
			for _, ch := range w.cloud.Changes(before) {
				switch ch.Kind {
				case metal.DeviceState:
					states = append(states, ch.After)
				case metal.DevicePower:
					power = append(power, map[string]string{"": "off"}[ch.After]+ch.After)
				}
			}
			if diff := cmp.Diff(tc.states, states, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s states (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.power, power); diff != "" {
				t.Errorf("%s power (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	w := newWorld(t, metal.Options{Schedule: minutes(0, 5, 0)})
	d := w.create("node", "c3.small.x86", "da")
	_, err := w.client.DevicesApi.PerformAction(w.ctx, d.GetId()).
		DeviceActionInput(metalv1.DeviceActionInput{Type: metalv1.DEVICEACTIONINPUTTYPE_REBOOT}).Execute()
	if got := text(err); got != "422 Unprocessable Entity Cannot reboot a device while it is provisioning" {
		t.Errorf("rebooting what does not run: %q", got)
	}
}

func TestUnknownPaths(t *testing.T) {
	w := newWorld(t, metal.Options{})
	for _, path := range []string{"/metal/v1/nothing", "/", "/metal/v1/devices", "/metal/v1/devices/x/customdata"} {
		if status, body := w.post(http.MethodGet, path, ""); status != 404 || body != `{"errors":["Not found"]}` {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestUserData(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d, err := w.tryCreate(&metalv1.DeviceCreateInMetroInput{
		Metro: "da", Plan: "c3.small.x86", OperatingSystem: "debian_12", Userdata: new("#!/bin/sh\n"),
	})
	must(w, d, err)
	got, _, err := w.client.DevicesApi.FindDeviceUserdataByID(w.ctx, d.GetId()).Execute()
	if must(w, got, err); got.GetUserdata() != "#!/bin/sh\n" {
		t.Errorf("user data %q", got.GetUserdata())
	}
}

func TestExclude(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d := w.create("node", "c3.small.x86", "da")
	got, _, err := w.client.DevicesApi.FindDeviceById(w.ctx, d.GetId()).
		Include([]string{"project"}).Exclude([]string{"network_ports"}).Execute()
	must(w, got, err)
	if p := got.NetworkPorts[0]; p.Id != nil || p.GetHref() == "" {
		t.Errorf("an excluded port: %+v", p)
	}
	if got.Project.GetName() != "ours" {
		t.Errorf("an included project: %+v", got.Project)
	}
}

func TestProjects(t *testing.T) {
	w := newWorld(t, metal.Options{})
	w.cloud.AddProject(other, "renamed")
	w.cloud.AddProject("third", "new")
	list, _, err := w.client.ProjectsApi.FindProjects(w.ctx).Execute()
	must(w, list, err)
	var got []string
	for _, p := range list.Projects {
		got = append(got, p.GetName())
	}
	if diff := cmp.Diff([]string{"ours", "renamed", "new"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, _, err = w.client.ProjectsApi.FindProjectById(w.ctx, "fourth").Execute()
	if diff := cmp.Diff("404 Not Found Not found", text(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSetSchedule(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: minutes(1, 1, 1)})
	before := w.create("before", "c3.small.x86", "da")
	w.cloud.SetSchedule(minutes(0, 0, 0))
	after := w.create("after", "c3.small.x86", "da")
	if got := w.device(before.GetId()).GetState(); got != metalv1.DEVICESTATE_QUEUED {
		t.Errorf("what had begun is %s, want queued", got)
	}
	if got := w.device(after.GetId()).GetState(); got != metalv1.DEVICESTATE_ACTIVE {
		t.Errorf("what begins now is %s, want active", got)
	}
}
