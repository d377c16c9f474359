package metal_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// TestFaults makes a few requests for one device with a fault and looks at the
// status of each; 0 is a broken connection.
func TestFaults(t *testing.T) {
	cases := map[string]struct {
		reason string
		fault  metal.Fault
		want   []int
	}{
		"Always":       {"Without limits it goes on.", metal.Fault{Status: 500}, []int{500, 500, 500}},
		"Twice":        {"A number of times.", metal.Fault{Status: 503, Times: 2}, []int{503, 503, 200}},
		"Span":         {"A span of time: the clock moves a second a request.", metal.Fault{Status: 502, For: 2 * time.Second}, []int{502, 502, 200}},
		"Pattern":      {"A pattern of the API's paths.", metal.Fault{Path: "/devices/{id}", Status: 500, Times: 1}, []int{500, 200, 200}},
		"Glob":         {"A glob of paths.", metal.Fault{Path: "/devices/*", Status: 500, Times: 1}, []int{500, 200, 200}},
		"OtherPath":    {"Another path.", metal.Fault{Path: "/ports/*", Status: 500}, []int{200, 200, 200}},
		"OtherMethod":  {"Another method.", metal.Fault{Method: http.MethodPost, Status: 500}, []int{200, 200, 200}},
		"Dropped":      {"A connection that breaks.", metal.Fault{Drop: true, Times: 1}, []int{0, 200, 200}},
		"Unauthorized": {"Any status.", metal.Fault{Status: 401, Errors: []string{"no"}, Times: 1}, []int{401, 200, 200}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, metal.Options{})
			d := w.create("node", "c3.small.x86", "da")
			w.cloud.Inject(tc.fault)
			var got []int
			for range tc.want {
				// Go repeats a request whose kept connection broke; it must see it.
				http.DefaultClient.CloseIdleConnections()
				_, resp, err := w.client.DevicesApi.FindDeviceById(w.ctx, d.GetId()).Execute()
				status := 0
				if resp != nil {
					status = resp.StatusCode
				}
				if (err == nil) != (status == 200) {
					t.Fatalf("%s: status %d with error %v", tc.reason, status, err)
				}
				got = append(got, status)
				w.clock.Advance(time.Second)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRemovedFault(t *testing.T) {
	w := newWorld(t, metal.Options{})
	remove := w.cloud.Inject(metal.Fault{Status: 500})
	if _, _, err := w.client.ProjectsApi.FindProjects(w.ctx).Execute(); err == nil {
		t.Error("the fault does not happen")
	}
	remove()
	remove()
	if _, _, err := w.client.ProjectsApi.FindProjects(w.ctx).Execute(); err != nil {
		t.Errorf("the fault goes on: %v", err)
	}
}

func TestRefusedOnDemand(t *testing.T) {
	w := newWorld(t, metal.Options{})
	w.cloud.Inject(metal.Fault{
		Method: http.MethodPost, Path: "/projects/{id}/devices", Status: 422, Errors: []string{"Plan is out of stock"},
	})
	_, err := w.tryCreate(&metalv1.DeviceCreateInMetroInput{Metro: "da", Plan: "c3.small.x86", OperatingSystem: "debian_12"})
	if got := text(err); got != "422 Unprocessable Entity Plan is out of stock" {
		t.Errorf("%q", got)
	}
	if got := len(w.cloud.Snapshot().Devices); got != 0 {
		t.Errorf("%d devices exist", got)
	}
}

func TestLostAnswerHasItsEffect(t *testing.T) {
	w := newWorld(t, metal.Options{})
	w.cloud.Inject(metal.Fault{Method: http.MethodPost, Lost: true, Times: 1})
	_, err := w.tryCreate(&metalv1.DeviceCreateInMetroInput{Metro: "da", Plan: "c3.small.x86", OperatingSystem: "debian_12"})
	if err == nil {
		t.Error("the answer arrived")
	}
	if got := len(w.cloud.Snapshot().Devices); got != 1 {
		t.Errorf("%d devices exist, want the one that nobody was told about", got)
	}
}

func TestDelay(t *testing.T) {
	w := newWorld(t, metal.Options{})
	w.cloud.Inject(metal.Fault{Path: "/projects", Delay: time.Minute})
	ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	_, _, err := w.client.ProjectsApi.FindProjects(ctx).Execute()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a slow answer: %v", err)
	}
	if _, _, err := w.client.ProjectsApi.FindProjectById(w.ctx, project).Execute(); err != nil {
		t.Errorf("others are slow as well: %v", err)
	}
	w = newWorld(t, metal.Options{})
	w.cloud.Inject(metal.Fault{Delay: 30 * time.Millisecond, Times: 1})
	begin := time.Now()
	if _, _, err := w.client.ProjectsApi.FindProjects(w.ctx).Execute(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took < 30*time.Millisecond {
		t.Errorf("the answer took %s", took)
	}
}

func TestRateLimit(t *testing.T) {
	w := newWorld(t, metal.Options{})
	w.cloud.LimitRate(2, time.Minute)
	type got struct {
		Status     int
		RetryAfter string
	}
	ask := func() got {
		_, resp, _ := w.client.ProjectsApi.FindProjects(w.ctx).Execute()
		return got{resp.StatusCode, resp.Header.Get("Retry-After")}
	}
	steps := []struct {
		wait time.Duration
		want got
	}{
		{0, got{200, ""}},
		{0, got{200, ""}},
		{0, got{429, "60"}},
		{15500 * time.Millisecond, got{429, "45"}},
		{44500 * time.Millisecond, got{200, ""}},
		{0, got{200, ""}},
		{0, got{429, "60"}},
	}
	for i, s := range steps {
		w.clock.Advance(s.wait)
		if diff := cmp.Diff(s.want, ask()); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
	}
	w.cloud.LimitRate(0, 0)
	if diff := cmp.Diff(got{200, ""}, ask()); diff != "" {
		t.Errorf("without a limit (-want +got):\n%s", diff)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	w := newWorld(t, metal.Options{})
	d := w.create("node", "c3.small.x86", "da")
	w.cloud.ResetRequests()
	w.device(d.GetId())
	w.device(d.GetId())
	w.post(http.MethodGet, "/metal/v1/devices/x", "")
	w.post(http.MethodGet, "/metal/v1/nothing", "")
	w.cloud.Inject(metal.Fault{Drop: true, Times: 1})
	http.DefaultClient.CloseIdleConnections()
	_, _, _ = w.client.ProjectsApi.FindProjects(w.ctx).Execute()
	fetch(t, w.cloud.MetadataURL(d.GetId()))
	want := map[metal.Request]int{
		{Method: "GET", Path: "/devices/{id}", Status: 200}:        2,
		{Method: "GET", Path: "/devices/{id}", Status: 404}:        1,
		{Method: "GET", Path: "/", Status: 404}:                    1,
		{Method: "GET", Path: "/projects", Status: 0}:              1,
		{Method: "GET", Path: "/nodes/{id}/metadata", Status: 200}: 1,
	}
	if diff := cmp.Diff(want, w.cloud.Requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		method, path string
		want         int
	}{
		"Pattern": {"GET", "/devices/{id}", 3}, "All": {"", "", 6}, "Method": {"POST", "", 0}, "Path": {"", "/projects", 1},
	} {
		if got := w.cloud.Count(tc.method, tc.path); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestStartOnLoopbackOnly(t *testing.T) {
	cases := map[string]struct {
		reason string
		addr   string
		fails  bool
	}{
		"Free":     {"A free port.", "", false},
		"Loopback": {"Another loopback address.", "127.0.0.9:0", false},
		"All":      {"All interfaces.", "0.0.0.0:0", true},
		"Empty":    {"All interfaces, too.", ":0", true},
		"Name":     {"A name may be anywhere.", "localhost:0", true},
		"Private":  {"An address of the machine.", "10.0.0.1:0", true},
		"Nonsense": {"No address at all.", "x", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := metal.New(metal.Options{})
			err := c.Start(tc.addr)
			if (err != nil) != tc.fails {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
