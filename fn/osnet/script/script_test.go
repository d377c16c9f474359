package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/fn/osnet/internal/pooltest"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// service is the metadata service.
type service struct {
	mutex sync.Mutex
	// metadata answers that come first, in order: a status, or a body.
	metadata []any
	// customData of the server.
	customData any
	// events are the statuses of answers to the first events, in order.
	events []int
	got    []string
	url    string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if r.Method == http.MethodPost {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		if len(s.events) > 0 {
			status := s.events[0]
			s.events = s.events[1:]
			w.WriteHeader(status)
			return
		}
		s.got = append(s.got, body.String())
		return
	}
	if len(s.metadata) > 0 {
		first := s.metadata[0]
		s.metadata = s.metadata[1:]
		if status, isStatus := first.(int); isStatus {
			w.WriteHeader(status)
			return
		}
		_, _ = fmt.Fprint(w, first)
		return
	}
	_ = json.NewEncoder(w).Encode(object{
		"network": object{"interfaces": []object{
			{"name": "eth0", "mac": "0C:42:A1:00:00:10", "bond": "bond0"},
			{"name": "eth1", "mac": "0C:42:A1:00:00:11", "bond": "bond0"},
		}},
		"customdata":     s.customData,
		"user_state_url": s.url + "/userstate",
	})
}

// give the server custom data, after these answers.
func (s *service) give(data any, first ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.customData, s.metadata = data, first
}

// arrived are the events as they came.
func (s *service) arrived() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.got)
}

// reports are the events that arrived, each as state, code and message.
func (s *service) reports(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, text := range s.arrived() {
		var e struct {
			State   string `json:"state"`
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatalf("event %s: %v", text, err)
		}
		out = append(out, fmt.Sprintf("%s %d %s", e.State, e.Code, e.Message))
	}
	return out
}

// server is a machine that the script runs on.
type server struct {
	t       *testing.T
	root    string
	kernel  kernel
	service *service
	url     string
}

const (
	started   = "running 1000 network_configuration_started"
	succeeded = "succeeded 1001 network_configuration_success"
	failed    = "failed 1002 network_configuration_failed: "
)

// newServer has the pool's files, and an empty root beside.
func newServer(t *testing.T, pool plan.Pool, timeout time.Duration) server {
	t.Helper()
	return newServerOf(t, pool, osnet.Ifupdown, timeout)
}

// newServerOf is one with a certain back end.
func newServerOf(t *testing.T, pool plan.Pool, backend osnet.Backend, timeout time.Duration) server {
	t.Helper()
	s := &service{customData: object{osnet.CustomDataKey: object{"vlan1000.ipv4": "10.60.10.2/24", "vlan1001.ipv4": "10.60.20.2/24"}, "other": 1}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.url = web.URL
	files, err := osnet.Render(pool, backend, osnet.Options{Metadata: web.URL, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	out := server{t: t, root: t.TempDir(), kernel: newKernel(t), service: s, url: web.URL}
	for _, f := range files {
		out.write(f.Path, f.Content)
	}
	out.write("/etc/network/interfaces", "auto lo\niface lo inet loopback\n")
	for _, folder := range []string{"/run/kubeadm", "/sys/module/8021q"} {
		if err := os.MkdirAll(filepath.Join(out.root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (s server) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s server) read(name string) string {
	content, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return ""
	}
	return string(content)
}

// run the script; it returns its exit status and what it said.
func (s server) run(args ...string) (int, string) {
	s.t.Helper()
	return s.runFor(10*time.Minute, args...)
}

// runFor at most that long: then it is killed, and its exit status is -1.
func (s server) runFor(limit time.Duration, args ...string) (int, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	script := filepath.Join(s.root, node.ScriptPath)
	cmd := exec.CommandContext(ctx, python(s.t), append([]string{script, "--root", s.root}, args...)...)
	cmd.Env = []string{"PATH=" + s.kernel.folder + ":" + os.Getenv("PATH"), "http_proxy=http://127.0.0.1:1"}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// files that are the script's business, with their contents.
func (s server) files() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"/etc/network/*", "/etc/network/*/*", "/etc/modules-load.d/*", "/etc/dhcp/*/*", "/var/lib/l2cluster/*"} {
		names, err := filepath.Glob(s.root + pattern)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, name := range names {
			if content, err := os.ReadFile(name); err == nil {
				out[strings.TrimPrefix(name, s.root)] = string(content)
			}
		}
	}
	return out
}

// twoVLANs is the pool of most tests.
func twoVLANs() plan.Pool { return pooltest.Pools()["HybridBondedTwoVLANs"] }

// hardware of every server: two ports in a bond that has the platform's
// addresses, of which nothing may change.
func hardware() state {
	return member("enp193s0f0np0", "0c:42:a1:00:00:10").with(
		member("enp193s0f1np1", "0c:42:a1:00:00:11"),
		bond("198.51.100.11/31"), via("198.51.100.10", "bond0"))
}

func good() map[string]state {
	return map[string]state{
		"vlan1000": vlan("vlan1000", 1000, "10.60.10.2/24"),
		"vlan1001": vlan("vlan1001", 1001, "10.60.20.2/24"),
	}
}

// but is good with one interface that comes up otherwise.
func but(name string, s ...state) map[string]state {
	out := good()
	delete(out, name)
	if len(s) > 0 {
		out[name] = s[0]
	}
	return out
}

func TestRun(t *testing.T) {
	t.Parallel()
	type want struct {
		code   int
		events []string
	}
	ok := want{0, []string{started, succeeded}}
	fails := func(why string) want { return want{1, []string{started, failed + why}} }
	cases := map[string]struct {
		reason string
		have   state
		up     map[string]state
		change func(*service)
		want   want
	}{
		"Good": {reason: "Everything comes up.", have: hardware(), up: good(), want: ok},
		"CannotComeUp": {
			reason: "What configures the network fails.", have: hardware(), up: map[string]state{},
			want: fails("ifup vlan1001: ifup: failed to bring up vlan1001"),
		},
		"OtherAddress": {
			reason: "An address that only begins like the right one is wrong.", have: hardware(),
			up:   but("vlan1000", vlan("vlan1000", 1000, "10.60.10.20/24")),
			want: fails("vlan1000: does not have the address 10.60.10.2/24; vlan1000: has the unwanted address 10.60.10.20/24"),
		},
		"OtherPrefix": {
			reason: "The prefix length counts.", have: hardware(),
			up:   but("vlan1000", vlan("vlan1000", 1000, "10.60.10.2/16")),
			want: fails("vlan1000: does not have the address 10.60.10.2/24; vlan1000: has the unwanted address 10.60.10.2/16"),
		},
		"OtherVLAN": {
			reason: "The VLAN id counts.", have: hardware(),
			up:   but("vlan1000", vlan("vlan1000", 100, "10.60.10.2/24")),
			want: fails("vlan1000: is not VLAN 1000 on bond0"),
		},
		"SecondMissing": {
			reason: "One that is right does not make up for one that is not there.", have: hardware(), up: but("vlan1001"),
			want: fails("ifup vlan1001: ifup: failed to bring up vlan1001"),
		},
		"UnwantedRoute": {
			reason: "A route that nobody asked for, such as a second default route, is wrong.", have: hardware(),
			up:   but("vlan1000", good()["vlan1000"].with(via("10.60.10.1", "vlan1000"))),
			want: fails("vlan1000: has the unwanted route to 0.0.0.0/0 via 10.60.10.1"),
		},
		"EventsFailFirst": {
			reason: "An event is sent again until it arrives.", have: hardware(), up: good(),
			change: func(s *service) { s.events = []int{500, 500} }, want: ok,
		},
		"MetadataFailFirst": {
			reason: "Metadata are asked for again.", have: hardware(), up: good(),
			change: func(s *service) { s.metadata = []any{500, "<html>", "[]", "{}"} }, want: ok,
		},
		"ForeignAddress": {
			reason: "An address outside the network's block cannot become right.", have: hardware(), up: good(),
			change: func(s *service) {
				s.customData = object{osnet.CustomDataKey: object{"vlan1000.ipv4": "10.60.10.2/24", "vlan1001.ipv4": "10.9.9.9/24"}}
			},
			want: fails("vlan1001: address 10.9.9.9/24 is not in 10.60.20.0/24"),
		},
		"NoAddressAtAll": {
			reason: "What is no address cannot become right.", have: hardware(), up: good(),
			change: func(s *service) {
				s.customData = object{osnet.CustomDataKey: object{"vlan1000.ipv4": "10.60.10.2/24", "vlan1001.ipv4": "$(reboot)"}}
			},
			want: fails("vlan1001: '$(reboot)' does not appear to be an IPv4 or IPv6 interface"),
		},
		"NameIsTaken": {
			reason: "An interface of that name that is no VLAN is left alone.",
			have:   hardware().with(nic("vlan1000", "0c:42:a1:00:00:99")), up: good(),
			want: fails("vlan1000: there is an interface of this name that is no VLAN"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 3 * time.Minute
			if tc.want.code != 0 {
				limit = 40 * time.Second
			}
			s := newServer(t, twoVLANs(), limit)
			s.kernel.write("state.json", tc.have)
			s.kernel.write("up.json", tc.up)
			if tc.change != nil {
				tc.change(s.service)
			}
			code, said := s.run()
			if diff := cmp.Diff(tc.want, want{code, s.service.reports(t)}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s\n%s", tc.reason, diff, said)
			}
			for _, call := range s.kernel.calls() {
				if strings.Contains(call, " bond0") && !strings.HasPrefix(call, "ip link show") {
					t.Errorf("\n%s\nthe bond is touched: %s", tc.reason, call)
				}
			}
		})
	}
}

// A server whose addresses do not come in its time says so and waits on, since the
// range may be extended or an address cool down at any time; then it goes on.
func TestAddressesComeLate(t *testing.T) {
	t.Parallel()
	const late = failed + "vlan1001: the server's custom data have no address vlan1001.ipv4 yet"
	cases := map[string]struct {
		reason string
		up     any
		// comes says that the addresses do, after these answers.
		comes   bool
		answers []any
		limit   time.Duration
		code    int
		want    []string
	}{
		"Never": {reason: "It waits until somebody ends it.", up: good(), limit: 30 * time.Second, code: -1, want: []string{started, late}},
		"Late":  {reason: "They come after its time.", up: good(), comes: true, limit: time.Minute, want: []string{started, late, succeeded}},
		"Silence": {
			reason: "The service is away for a while after its time.", up: good(), comes: true, answers: []any{500, 500, 500, 500},
			limit: time.Minute, want: []string{started, late, succeeded},
		},
		"Hang": {
			reason: "What it does with them has its time again.", up: object{"vlan1001": "hangs"}, comes: true, limit: time.Minute,
			code: 1, want: []string{started, late, failed + "the time limit of 8 s is over"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, twoVLANs(), 8*time.Second)
			s.kernel.write("state.json", hardware())
			s.kernel.write("up.json", tc.up)
			addresses := s.service.customData
			s.service.give(object{"other": 1})
			if tc.comes {
				go func() {
					for len(s.service.arrived()) < 2 {
						time.Sleep(100 * time.Millisecond)
					}
					s.service.give(addresses, tc.answers...)
				}()
			}
			code, said := s.runFor(tc.limit)
			if diff := cmp.Diff(tc.want, s.service.reports(t)); diff != "" || code != tc.code {
				t.Errorf("\n%s\ngot %d, want %d, -want, +got:\n%s\n%s", tc.reason, code, tc.code, diff, said)
			}
		})
	}
}

// An address that another machine has too, which the kernel notices of IPv6, is not
// this machine's.
func TestDuplicateAddress(t *testing.T) {
	t.Parallel()
	pool := pooltest.Pool(spec.HybridBonded, []plan.Port{pooltest.Bond0("six")}, pooltest.Tagged("six", "bond0", 1002, "2001:db8:0:1::/64"))
	s := newServer(t, pool, 40*time.Second)
	s.service.give(object{osnet.CustomDataKey: object{"vlan1002.ipv6": "2001:db8:0:1::2/64"}})
	s.kernel.write("state.json", hardware())
	taken := vlan("vlan1002", 1002, "2001:db8:0:1::2/64")
	taken.Addresses[0]["addr_info"].([]object)[0]["dadfailed"] = true
	s.kernel.write("up.json", map[string]state{"vlan1002": taken})
	code, said := s.run()
	want := []string{started, failed + "vlan1002: another machine has the address 2001:db8:0:1::2 too"}
	if diff := cmp.Diff(want, s.service.reports(t)); diff != "" || code != 1 {
		t.Errorf("got %d, -want, +got:\n%s\n%s", code, diff, said)
	}
}

// What nobody expected is reported like every other failure: here a route without
// a destination.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	s := newServer(t, twoVLANs(), 40*time.Second)
	s.kernel.write("state.json", hardware().with(state{Routes: []object{{"gateway": "198.51.100.10", "dev": "bond0"}}}))
	s.kernel.write("up.json", good())
	code, said := s.run()
	if diff := cmp.Diff([]string{started, failed + "'dst'"}, s.service.reports(t)); diff != "" || code != 1 {
		t.Errorf("got %d, -want, +got:\n%s\n%s", code, diff, said)
	}
}

// A route that nobody asked for is wrong if it goes through one of our routers;
// those to other nodes are a network plugin's.
func TestOtherRoutes(t *testing.T) {
	t.Parallel()
	storage := pooltest.With(pooltest.Tagged("storage", "bond0", 1000, "10.60.10.0/24"), pooltest.RouteTo("10.61.0.0/16", "10.60.10.1", 0))
	pool := pooltest.Pool(spec.HybridBonded, []plan.Port{pooltest.Bond0("storage")}, storage)
	cases := map[string]struct {
		reason  string
		gateway string
		code    int
		want    string
	}{
		"Plugin": {"Another node is the way to its pods.", "10.60.10.7", 0, succeeded},
		"Router": {"Nobody asked for this.", "10.60.10.1", 1, failed + "vlan1000: has the unwanted route to 10.244.7.0/24 via 10.60.10.1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, pool, 40*time.Second)
			s.kernel.write("state.json", hardware())
			routes := state{Routes: []object{
				{"dst": "10.61.0.0/16", "gateway": "10.60.10.1", "dev": "vlan1000"}, {"dst": "10.244.7.0/24", "gateway": tc.gateway, "dev": "vlan1000"},
			}}
			s.kernel.write("up.json", map[string]state{"vlan1000": vlan("vlan1000", 1000, "10.60.10.2/24").with(routes)})
			code, said := s.run()
			if diff := cmp.Diff([]string{started, tc.want}, s.service.reports(t)); diff != "" || code != tc.code {
				t.Errorf("\n%s\ngot %d, want %d, -want, +got:\n%s\n%s", tc.reason, code, tc.code, diff, said)
			}
		})
	}
}

// What is there already is left alone, or made right; either way nothing fails.
func TestRunAgain(t *testing.T) {
	s := newServer(t, twoVLANs(), 3*time.Minute)
	old := vlan("vlan1000", 1000, "10.60.10.77/24").with(vlan("bond0.1001", 1001))
	s.kernel.write("state.json", hardware().with(old))
	s.kernel.write("up.json", good())
	code, said := s.run()
	if code != 0 {
		t.Fatalf("on a machine with other VLAN interfaces: got %d:\n%s", code, said)
	}
	if calls := s.kernel.calls(); !slices.Contains(calls, "ip link del dev bond0.1001") {
		t.Errorf("the other interface of VLAN 1001 is in the way, and stays: %q", calls)
	}
	first, calls := s.files(), len(s.kernel.calls())
	wantLine := "source /etc/network/interfaces.d/*-l2cluster-*\n"
	if got := strings.Count(first["/etc/network/interfaces"], wantLine); got != 1 {
		t.Errorf("the line that includes our files is there %d times, want once", got)
	}
	if got, want := first["/etc/modules-load.d/l2cluster-network.conf"], "8021q\n"; got != want {
		t.Errorf("modules to load: got %q, want %q", got, want)
	}
	if code, said = s.run(); code != 0 {
		t.Fatalf("second run: got %d:\n%s", code, said)
	}
	if diff := cmp.Diff(first, s.files()); diff != "" {
		t.Errorf("files change in the second run: -first, +second:\n%s", diff)
	}
	if more := s.kernel.calls()[calls:]; len(more) > 0 {
		t.Errorf("the second run changes what is right: %q", more)
	}
	if code, said = s.run("--check"); code != 0 {
		t.Errorf("--check: got %d:\n%s", code, said)
	}
}

// Another address replaces the first, in the files and on the interface.
func TestAddressChanges(t *testing.T) {
	s := newServer(t, twoVLANs(), 3*time.Minute)
	s.kernel.write("state.json", hardware())
	s.kernel.write("up.json", good())
	if code, said := s.run(); code != 0 {
		t.Fatalf("first run: got %d:\n%s", code, said)
	}
	s.service.customData = object{osnet.CustomDataKey: object{"vlan1000.ipv4": "10.60.10.3/24", "vlan1001.ipv4": "10.60.20.2/24"}}
	s.kernel.write("up.json", but("vlan1000", vlan("vlan1000", 1000, "10.60.10.3/24")))
	if code, said := s.run(); code != 0 {
		t.Fatalf("second run: got %d:\n%s", code, said)
	}
	for name, content := range s.files() {
		if strings.Contains(content, "10.60.10.2") {
			t.Errorf("%s still has the old address:\n%s", name, content)
		}
	}
	if got, want := s.read("/etc/network/interfaces.d/91-l2cluster-storage"), "    address 10.60.10.3/24\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant %q in it", got, want)
	}
}

// Without the metadata service the script goes on with what it remembers.
func TestMetadataIsGone(t *testing.T) {
	s := newServer(t, twoVLANs(), 3*time.Minute)
	s.kernel.write("state.json", hardware())
	s.kernel.write("up.json", good())
	if code, said := s.run(); code != 0 {
		t.Fatalf("first run: got %d:\n%s", code, said)
	}
	s.service.metadata = slices.Repeat([]any{500}, 50)
	s.kernel.write("state.json", hardware())
	if code, said := s.run(); code != 0 {
		t.Errorf("second run: got %d:\n%s", code, said)
	}
	want := []string{started, succeeded, started, succeeded}
	if diff := cmp.Diff(want, s.service.reports(t)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A command that never ends does not outlast the time limit, which ends the run
// once for all: what failed before is the reason, if anything did.
func TestHangs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		up     any
		want   string
	}{
		"Silently": {"Nothing has failed yet.", object{"vlan1001": "hangs"}, "the time limit of 16 s is over"},
		"AfterAFailure": {
			"It fails at once, and then hangs.", object{"vlan1001": "hangs later"},
			"ifup vlan1001: ifup: failed to bring up vlan1001",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, twoVLANs(), 16*time.Second)
			s.kernel.write("state.json", hardware())
			s.kernel.write("up.json", tc.up)
			begin := time.Now()
			code, said := s.run()
			if took := time.Since(begin); code != 1 || took > time.Minute {
				t.Errorf("\n%s\ngot %d after %s, want 1 within the limit:\n%s", tc.reason, code, took, said)
			}
			if diff := cmp.Diff([]string{started, failed + tc.want}, s.service.reports(t)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A report that cannot be made does not undo the network.
func TestReportsAreLost(t *testing.T) {
	s := newServer(t, twoVLANs(), 12*time.Second)
	s.kernel.write("state.json", hardware())
	s.kernel.write("up.json", good())
	s.service.events = slices.Repeat([]int{500}, 99)
	if code, said := s.run(); code != 0 {
		t.Errorf("got %d:\n%s", code, said)
	}
}

func TestCheckChangesNothing(t *testing.T) {
	s := newServer(t, twoVLANs(), 3*time.Minute)
	s.kernel.write("state.json", hardware().with(good()["vlan1000"]))
	before := s.files()
	code, said := s.run("--check")
	if code != 1 {
		t.Errorf("got %d, want 1", code)
	}
	for _, want := range []string{
		"vlan1001: there is no such interface\n",
		"/etc/network/interfaces.d/91-l2cluster-data: is not as described\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("got\n%s\nwant %q in it", said, want)
		}
	}
	if diff := cmp.Diff(before, s.files()); diff != "" {
		t.Errorf("files change: -before, +after:\n%s", diff)
	}
	if calls := s.kernel.calls(); len(calls) > 0 {
		t.Errorf("--check runs %q", calls)
	}
	if got := s.service.reports(t); len(got) > 0 {
		t.Errorf("--check reports %q", got)
	}
}

// Ports are found by their permanent address, which members of a bond do not
// show.
func TestPorts(t *testing.T) {
	t.Parallel()
	pool := pooltest.Pools()["HybridUntagged"]
	released := nic("enp193s0f1np1", "0c:42:a1:00:00:11", "10.60.10.2/24")
	cases := map[string]struct {
		reason string
		have   state
		code   int
		events []string
	}{
		"InBond": {"A member is found, and leaves its bond.", hardware(), 0, []string{started, succeeded}},
		"Unknown": {
			"A MAC address that no interface has cannot become right.",
			member("enp193s0f0np0", "0c:42:a1:00:00:10").with(bond("198.51.100.11/31")), 1,
			[]string{started, failed + "eth1: 0 interfaces have the permanent address 0c:42:a1:00:00:11"},
		},
		"Twice": {
			"Two interfaces with one address cannot be told apart.",
			hardware().with(nic("eth9", "0c:42:a1:00:00:11")), 1,
			[]string{started, failed + "eth1: 2 interfaces have the permanent address 0c:42:a1:00:00:11"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, pool, 3*time.Minute)
			s.kernel.write("state.json", tc.have)
			s.kernel.write("up.json", map[string]state{"enp193s0f1np1": released})
			code, said := s.run()
			if code != tc.code {
				t.Errorf("\n%s\ngot %d, want %d:\n%s", tc.reason, code, tc.code, said)
			}
			if diff := cmp.Diff(tc.events, s.service.reports(t)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// The node's address goes where kubeadm's configuration waits for it.
func TestNodeIP(t *testing.T) {
	s := newServer(t, pooltest.Pools()["NodeIP"], 3*time.Minute)
	s.kernel.write("state.json", hardware())
	s.kernel.write("up.json", good())
	s.write("/run/kubeadm/kubeadm.yaml", "a: "+osnet.NodeIPPlaceholder+"\nb: "+osnet.NodeIPsPlaceholder+"\nc: "+osnet.NodeIPPlaceholder+"\n")
	for range 2 {
		if code, said := s.run(); code != 0 {
			t.Fatalf("got %d:\n%s", code, said)
		}
		if got, want := s.read("/run/kubeadm/kubeadm.yaml"), "a: 10.60.10.2\nb: 10.60.10.2\nc: 10.60.10.2\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A network that is not described any more leaves nothing behind.
func TestNetworkIsGone(t *testing.T) {
	s := newServer(t, twoVLANs(), 3*time.Minute)
	s.kernel.write("state.json", hardware())
	s.kernel.write("up.json", good())
	if code, said := s.run(); code != 0 {
		t.Fatalf("first run: got %d:\n%s", code, said)
	}
	files, err := osnet.Render(pooltest.Pools()["HybridBondedOneVLAN"], osnet.Ifupdown, osnet.Options{Metadata: s.url, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s.write(node.DescriptionPath, files[len(files)-1].Content)
	if code, said := s.run(); code != 0 {
		t.Fatalf("second run: got %d:\n%s", code, said)
	}
	for _, name := range slices.Sorted(maps.Keys(s.files())) {
		if strings.HasSuffix(name, "-data") {
			t.Errorf("%s is left behind", name)
		}
	}
	if !slices.Contains(s.kernel.calls(), "ip link del dev vlan1001") {
		t.Errorf("the interface is left behind: %q", s.kernel.calls())
	}
}

// A bond is the image's: whatever configures the network, it stays as it is when
// none of our networks is on it any more.
func TestBondStays(t *testing.T) {
	t.Parallel()
	for _, backend := range osnet.Backends() {
		t.Run(string(backend), func(t *testing.T) {
			t.Parallel()
			s := newServerOf(t, pooltest.Pools()["HybridUntagged"], backend, time.Minute)
			s.write(node.StatePath, `{"devices": ["bond0", "vlan1001"]}`)
			s.kernel.write("state.json", member("enp193s0f0np0", "0c:42:a1:00:00:10").with(
				nic("enp193s0f1np1", "0c:42:a1:00:00:11", "10.60.10.2/24"), vlan("vlan1001", 1001, "10.60.20.2/24"),
				bond("198.51.100.11/31"), via("198.51.100.10", "bond0")))
			if code, said := s.run(); code != 0 {
				t.Fatalf("got %d:\n%s", code, said)
			}
			calls := strings.Join(s.kernel.calls(), "\n")
			if strings.Contains(calls, "bond0") {
				t.Errorf("the bond is touched: %s", calls)
			}
			if !strings.Contains(calls, "vlan1001") {
				t.Errorf("the VLAN on it is left behind: %s", calls)
			}
		})
	}
}

// What netplan reads becomes what systemd-networkd reads before that is loaded.
func TestNetplanGenerates(t *testing.T) {
	t.Parallel()
	s := newServerOf(t, twoVLANs(), osnet.Netplan, time.Minute)
	s.kernel.write("state.json", hardware().with(good()["vlan1000"], good()["vlan1001"]))
	if code, said := s.run(); code != 0 {
		t.Fatalf("got %d:\n%s", code, said)
	}
	if diff := cmp.Diff([]string{"netplan generate", "networkctl reload"}, s.kernel.calls()); diff != "" {
		t.Errorf("calls: -want, +got:\n%s", diff)
	}
}

// An image whose file includes ours already is not changed.
func TestInclude(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"Glob":     "source /etc/network/interfaces.d/*",
		"Relative": "source interfaces.d/*",
		"Folder":   "source-directory /etc/network/interfaces.d",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, twoVLANs(), 3*time.Minute)
			s.kernel.write("state.json", hardware())
			s.kernel.write("up.json", good())
			s.write("/etc/network/interfaces", line+"\nauto lo\n")
			if code, said := s.run(); code != 0 {
				t.Fatalf("got %d:\n%s", code, said)
			}
			if got, want := s.read("/etc/network/interfaces"), line+"\nauto lo\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// The command stops the list of commands, as Cluster API runs them, exactly when
// the script fails.
func TestCommand(t *testing.T) {
	for name, want := range map[string]string{"0": "user\nkubeadm\n", "1": ""} {
		t.Run(name, func(t *testing.T) {
			stub := filepath.Join(t.TempDir(), "stub")
			if err := os.WriteFile(stub, []byte("#!/bin/sh\nexit "+name+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			list := strings.ReplaceAll(osnet.Command, node.ScriptPath, stub) + "\necho user\necho kubeadm\n"
			out, err := exec.CommandContext(t.Context(), "sh", "-c", list).Output()
			if got := string(out); got != want || (err == nil) != (name == "0") {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestFilesRefuses(t *testing.T) {
	if _, err := osnet.Render(plan.Pool{
		Mode: spec.HybridBonded, Ports: []plan.Port{pooltest.Bond0("a")},
		Links: []plan.Link{pooltest.Tagged("a", "bond0", 2, "10.0.0.0/24")},
	}, "", osnet.Options{}); err == nil {
		t.Error("a back end without a name: got no error")
	}
}

// In a pure layer-2 mode the platform's own network stays as it is until it is
// gone, and then nothing of it is left. Gateways are on loopback, since the
// script asks them.
func TestHandover(t *testing.T) {
	t.Parallel()
	storage := pooltest.With(pooltest.Tagged("storage", "bond0", 1000, "127.60.10.0/24"), pooltest.Default)
	pool := pooltest.Pool(spec.Layer2Bonded, []plan.Port{{Name: "bond0", Bonded: true, Layer2: true, Networks: []string{"storage"}}}, storage)
	have := member("enp193s0f0np0", "0c:42:a1:00:00:10").with(
		bond("127.0.0.11/31"), via("127.0.0.10", "bond0"))
	link := vlan("vlan1000", 1000, "127.60.10.2/24")
	cases := map[string]struct {
		reason             string
		platform, networks string
		over               bool
	}{
		"PlatformAnswers": {reason: "Without a change of the ports everything stays.", platform: "REACHABLE", networks: "FAILED"},
		"NobodyAnswers":   {reason: "When nothing answers at all, something else is wrong.", platform: "FAILED", networks: "FAILED"},
		"NetworksAnswer":  {reason: "The platform's network is gone and ours answer: ours remain.", platform: "FAILED", networks: "REACHABLE", over: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, pool, 50*time.Second)
			s.service.customData = object{osnet.CustomDataKey: object{"vlan1000.ipv4": "127.60.10.2/24"}}
			s.kernel.write("state.json", have.with(neighbour("127.0.0.10", tc.platform), neighbour("127.60.10.1", tc.networks)))
			s.kernel.write("up.json", map[string]state{"vlan1000": link})
			s.leavesTheRestToAService(tc.reason)

			s.kernel.write("up.json", map[string]state{"vlan1000": link.with(via("127.60.10.1", "vlan1000"))})
			code, said := s.runFor(25*time.Second, "--handover")
			if want := map[bool]int{true: 0, false: -1}[tc.over]; code != want {
				t.Errorf("\n%s\ngot %d, want %d (-1 is still waiting):\n%s", tc.reason, code, want, said)
			}
			for what, got := range map[string]bool{
				"the service is switched off":            slices.Contains(s.kernel.calls(), "systemctl disable l2cluster-handover.service"),
				"the platform's address is taken away":   slices.Contains(s.kernel.calls(), "ip -4 address flush dev bond0 scope global"),
				"the claim's default route is in a file": s.read("/etc/network/interfaces.d/92-l2cluster-storage") != "",
			} {
				if got != tc.over {
					t.Errorf("\n%s\n%s: %t", tc.reason, what, got)
				}
			}
		})
	}
}

// leavesTheRestToAService checks the first run in pure layer 2. It does not wait
// for the platform to change the ports: that happens only after the server has
// joined, and so after this run.
func (s server) leavesTheRestToAService(reason string) {
	s.t.Helper()
	begin := time.Now()
	code, said := s.run()
	if took := time.Since(begin); code != 0 || took > 20*time.Second {
		s.t.Errorf("\n%s\ngot %d after %s, want 0 at once:\n%s", reason, code, took, said)
	}
	if diff := cmp.Diff([]string{started, succeeded}, s.service.reports(s.t)); diff != "" {
		s.t.Errorf("\n%s\n-want, +got:\n%s", reason, diff)
	}
	for _, call := range []string{"systemctl enable l2cluster-handover.service", "systemctl start --no-block l2cluster-handover.service"} {
		if !slices.Contains(s.kernel.calls(), call) {
			s.t.Errorf("\n%s\nno call of %q in %q", reason, call, s.kernel.calls())
		}
	}
}
