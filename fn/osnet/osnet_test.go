package osnet_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
	"github.com/l2cluster/function-l2cluster/fn/osnet/internal/pooltest"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

func options() osnet.Options {
	return osnet.Options{Metadata: "https://metadata.platformequinix.com", Timeout: 8 * time.Minute}
}

// The description is golden without the contents of files: those are in the back
// ends' own golden files.
func TestRenderDescription(t *testing.T) {
	for name, pool := range pooltest.Pools() {
		t.Run(name, func(t *testing.T) {
			files, err := osnet.Render(pool, osnet.Ifupdown, options())
			if err != nil {
				t.Fatal(err)
			}
			contents := regexp.MustCompile(`"content": ".*"`)
			pooltest.Golden(t, name+".json", contents.ReplaceAllString(files[len(files)-1].Content, `"content": "..."`))
		})
	}
}

func TestRenderFiles(t *testing.T) {
	for name, pool := range pooltest.Pools() {
		for _, backend := range osnet.Backends() {
			t.Run(name+"/"+string(backend), func(t *testing.T) {
				files, err := osnet.Render(pool, backend, options())
				if err != nil {
					t.Fatal(err)
				}
				paths := make([]string, 0, len(files))
				for _, f := range files {
					paths = append(paths, f.Permissions+" "+f.Path)
					if got := decompress(t, f.Gzip); got != f.Content {
						t.Errorf("%s: what travels is not the content: run go generate ./fn/osnet/...", f.Path)
					}
					if n := base64.StdEncoding.EncodedLen(len(f.Gzip)); n > osnet.FileLimit {
						t.Errorf("%s has %d characters as it travels, Cluster API accepts %d", f.Path, n, osnet.FileLimit)
					}
					if found := regexp.MustCompile(`\{\{|\{%|\{#|\de[+]`).FindString(f.Content); found != "" {
						t.Errorf("%s contains %q", f.Path, found)
					}
				}
				if diff := cmp.Diff(wantPaths(pool), paths); diff != "" {
					t.Errorf("-want, +got:\n%s", diff)
				}
				checkOwnPaths(t, files[len(files)-1].Content)
			})
		}
	}
}

func wantPaths(pool plan.Pool) []string {
	out := []string{"0755 /usr/local/sbin/l2cluster-network"}
	if pool.Mode.PureLayer2() {
		out = append(out, "0644 /usr/local/lib/l2cluster/handover.py")
	}
	return append(out, "0644 /etc/l2cluster/network.json")
}

// checkOwnPaths: no file of cloud-init's or of the image's is written.
func checkOwnPaths(t *testing.T, description string) {
	t.Helper()
	var d node.Description
	if err := json.Unmarshal([]byte(description), &d); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.AllFiles() {
		if !strings.Contains(f.Path, "l2cluster") || strings.Contains(f.Path, "50-cloud-init") {
			t.Errorf("%s is not a file of ours", f.Path)
		}
	}
}

func decompress(t *testing.T, compressed []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestRenderNothing(t *testing.T) {
	files, err := osnet.Render(plan.Pool{Name: "general", Mode: spec.Layer3}, osnet.Ifupdown, options())
	if err != nil || files != nil {
		t.Errorf("a pool without links: got %v, %v, want nothing", files, err)
	}
}

func TestRenderRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	bond := []plan.Port{pooltest.Bond0("storage")}
	storage := pooltest.Tagged("storage", "bond0", 1000, "10.60.10.0/24")
	cases := map[string]struct {
		reason  string
		pool    plan.Pool
		backend osnet.Backend
		want    string
	}{
		"UnknownBackend": {
			reason:  "A back end that does not exist is named with those that do.",
			pool:    pooltest.Pool(spec.HybridBonded, bond, storage),
			backend: "wicked",
			want:    `unknown back end "wicked": use ifupdown, netplan, networkd, networkmanager`,
		},
		"NoSubnet": {
			reason:  "Without a subnet no address can be rendered.",
			pool:    pooltest.Pool(spec.HybridBonded, bond, pooltest.Tagged("storage", "bond0", 1000)),
			backend: osnet.Ifupdown,
			want:    "give the network ipAddresses",
		},
		"SourceRoutingByDHCP": {
			reason: "The rule would need the address that only the DHCP server knows.",
			pool: pooltest.Pool(spec.HybridBonded, bond, pooltest.With(storage, func(l *plan.Link) {
				l.Assignment, l.Table = plan.AssignDHCP, 11000
			})),
			backend: osnet.Ifupdown,
			want:    "use assignment cluster-api or ipam",
		},
		"NodeIPWithoutAddress": {
			reason: "A node cannot have an address that does not exist.",
			pool: pooltest.Pool(spec.HybridBonded, bond, pooltest.With(storage, func(l *plan.Link) {
				l.Assignment, l.NodeIP = plan.AssignNone, true
			})),
			backend: osnet.Ifupdown,
			want:    "use another assignment than none",
		},
		"NodeIPLater": {
			reason: "No DHCP server answers on a port that the platform has not changed yet.",
			pool: pooltest.Pool(spec.Hybrid, []plan.Port{pooltest.Eth("eth1", "storage")},
				pooltest.With(pooltest.Untagged("storage", "eth1", 1000), func(l *plan.Link) {
					l.Assignment, l.NodeIP = plan.AssignDHCP, true
				})),
			backend: osnet.Ifupdown,
			want:    "when no DHCP server answers yet",
		},
		"LongName": {
			reason: "The kernel takes 15 bytes.",
			pool: pooltest.Pool(spec.HybridBonded, bond, pooltest.With(storage, func(l *plan.Link) {
				l.Interface = "storage-network1"
			})),
			backend: osnet.Ifupdown,
			want:    "longer than 15 bytes",
		},
		"SameName": {
			reason: "Two links cannot be one interface.",
			pool: pooltest.Pool(spec.HybridBonded, bond, storage, pooltest.With(storage, func(l *plan.Link) {
				l.Network, l.VLAN = "data", 1001
			})),
			backend: osnet.Ifupdown,
			want:    `network "storage" has the same interface`,
		},
		"UnknownPort": {
			reason:  "A link needs its port.",
			pool:    pooltest.Pool(spec.HybridBonded, nil, storage),
			backend: osnet.Ifupdown,
			want:    `its port "bond0" is not among the pool's`,
		},
		"TooLarge": {
			reason:  "What Cluster API refuses is refused before anything is created.",
			pool:    many(64, 64),
			backend: osnet.Ifupdown,
			want:    "Cluster API accepts 10240",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := osnet.Render(tc.pool, tc.backend, options())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("\n%s\ngot %v, want an error with %q", tc.reason, err, tc.want)
			}
		})
	}
}

// many networks, each with that many routes.
func many(networks, routes int) plan.Pool {
	port := pooltest.Bond0()
	pool := pooltest.Pool(spec.HybridBonded, nil)
	for i := range networks {
		name := fmt.Sprintf("network-%d", i)
		port.Networks = append(port.Networks, name)
		l := pooltest.Tagged(name, "bond0", 1000+i, fmt.Sprintf("10.60.%d.0/24", i))
		for r := range routes {
			pooltest.RouteTo(fmt.Sprintf("10.%d.%d.0/24", 100+r, i), fmt.Sprintf("10.60.%d.1", i), 0)(&l)
		}
		pool.Links = append(pool.Links, l)
	}
	pool.Ports = []plan.Port{port}
	return pool
}

// TestGrowth says that each network adds little to what travels with every
// machine, however many there are.
func TestGrowth(t *testing.T) {
	const routes, grows = 4, 1 << 10
	for _, backend := range osnet.Backends() {
		t.Run(string(backend), func(t *testing.T) {
			before := 0
			for _, networks := range []int{1, 2, 8, 9, 63, 64} {
				files, err := osnet.Render(many(networks, routes), backend, options())
				if err != nil {
					t.Fatalf("%d networks: %v", networks, err)
				}
				size := 0
				for _, f := range files {
					size += base64.StdEncoding.EncodedLen(len(f.Gzip))
				}
				t.Logf("%d networks with %d routes: %d bytes", networks, routes, size)
				if (networks == 2 || networks == 9 || networks == 64) && size-before > grows {
					t.Errorf("network %d adds %d bytes, want less than %d", networks, size-before, grows)
				}
				before = size
			}
		})
	}
}

func TestBackendFor(t *testing.T) {
	overrides := []osnet.Override{
		{OSPrefix: "ubuntu", Backend: osnet.Netplan},
		{OSPrefix: "ubuntu_24", Backend: osnet.Networkd},
		{OSPrefix: "talos", Backend: osnet.Networkd},
	}
	cases := map[string]struct {
		reason    string
		os        string
		overrides []osnet.Override
		want      osnet.Backend
		err       string
	}{
		"Ubuntu":          {"The platform's image uses ifupdown.", "ubuntu_22_04", nil, osnet.Ifupdown, ""},
		"Debian":          {"The platform's image uses ifupdown.", "debian_12", nil, osnet.Ifupdown, ""},
		"Rocky":           {"The platform's image uses NetworkManager.", "rocky_9", nil, osnet.NetworkManager, ""},
		"Alma":            {"The platform's image uses NetworkManager.", "alma_9", nil, osnet.NetworkManager, ""},
		"RHEL":            {"The platform's image uses NetworkManager.", "rhel_9", nil, osnet.NetworkManager, ""},
		"CentOS":          {"The platform's image uses NetworkManager.", "centos_8", nil, osnet.NetworkManager, ""},
		"Flatcar":         {"The platform's image uses systemd-networkd.", "flatcar_stable", nil, osnet.Networkd, ""},
		"Override":        {"The platform team's choice wins over the image's.", "ubuntu_22_04", overrides, osnet.Netplan, ""},
		"LongestOverride": {"The longest prefix wins, wherever it stands.", "ubuntu_24_04", overrides, osnet.Networkd, ""},
		"OwnSystem":       {"An override can name a system that is unknown here.", "talos_v1", overrides, osnet.Networkd, ""},
		"Unknown":         {"An unknown system's error says what to write.", "nixos_23", nil, "", "network.backends of the function's Input, for example {osPrefix: nixos, name: ifupdown}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := osnet.BackendFor(tc.os, tc.overrides...)
			if got != tc.want {
				t.Errorf("\n%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
			if text := fmt.Sprint(err); (tc.err == "") != (err == nil) || !strings.Contains(text, tc.err) {
				t.Errorf("\n%s\ngot error %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

func TestNodeIPPlaceholders(t *testing.T) {
	for _, p := range []string{osnet.NodeIPPlaceholder, osnet.NodeIPsPlaceholder} {
		if len(p) > 39 {
			t.Errorf("%q is longer than an address that Cluster API accepts", p)
		}
	}
	if strings.Contains(osnet.NodeIPsPlaceholder, osnet.NodeIPPlaceholder) {
		t.Error("one placeholder contains the other")
	}
}
