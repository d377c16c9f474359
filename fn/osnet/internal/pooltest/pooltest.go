// Package pooltest has the pools that every back end's golden tests render, and
// the comparison with golden files.
package pooltest

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

var update = flag.Bool("update", false, "write golden files")

// Pool returns a pool in the mode with these ports and links.
func Pool(mode spec.Mode, ports []plan.Port, links ...plan.Link) plan.Pool {
	return plan.Pool{Name: "general", Role: plan.Worker, OS: "ubuntu_22_04", Replicas: 2, Mode: mode, Ports: ports, Links: links}
}

// Bond0 carries networks beside the platform's own.
func Bond0(networks ...string) plan.Port {
	return plan.Port{Name: "bond0", Bonded: true, Networks: networks}
}

// Eth is a port outside the bond.
func Eth(name string, networks ...string) plan.Port {
	return plan.Port{Name: name, Networks: networks}
}

// Tagged is a link with a VLAN interface; every prefix gives the machine an
// address with the prefix's first address as gateway.
func Tagged(network, port string, vlan int, prefixes ...string) plan.Link {
	l := plan.Link{Network: network, ID: vlan, Port: port, VLAN: vlan, Interface: fmt.Sprintf("vlan%d", vlan), Assignment: plan.AssignStatic}
	for _, p := range prefixes {
		prefix := netip.MustParsePrefix(p)
		l.Subnets = append(l.Subnets, plan.LinkSubnet{Key: plan.AddressKey(vlan, prefix), Prefix: prefix, Gateway: prefix.Addr().Next()})
	}
	return l
}

// Untagged is a link on the port's own interface.
func Untagged(network, port string, vlan int, prefixes ...string) plan.Link {
	l := Tagged(network, port, vlan, prefixes...)
	l.VLAN, l.Interface = 0, ""
	return l
}

// With returns a changed copy of a link.
func With(l plan.Link, change func(*plan.Link)) plan.Link {
	l.Subnets, l.Routes = slices.Clone(l.Subnets), slices.Clone(l.Routes)
	change(&l)
	return l
}

// Default makes the gateways of a link the machine's default routes.
func Default(l *plan.Link) {
	for i := range l.Subnets {
		l.Subnets[i].Default = true
	}
}

// RouteTo adds a route.
func RouteTo(destination, gateway string, metric uint32) func(*plan.Link) {
	return func(l *plan.Link) {
		l.Routes = append(l.Routes, plan.Route{
			Destination: netip.MustParsePrefix(destination), Gateway: netip.MustParseAddr(gateway), Metric: metric,
		})
	}
}

// Pools by name: one for each thing that a back end has to be able to do.
func Pools() map[string]plan.Pool {
	storage := Tagged("storage", "bond0", 1000, "10.60.10.0/24")
	data := Tagged("data", "bond0", 1001, "10.60.20.0/24")
	six := Tagged("six", "bond0", 1002, "2001:db8:0:1::/64")
	both := Tagged("both", "bond0", 1003, "10.60.30.0/24", "2001:db8:0:2::/64")
	jumbo := plan.Port{Name: "bond0", Bonded: true, Networks: []string{"data", "storage"}, MTU: 9000}
	layer2 := plan.Port{Name: "bond0", Bonded: true, Layer2: true, Networks: []string{"data", "storage"}}
	dissolved := plan.Port{Name: "bond0", Layer2: true}
	native := plan.Port{Name: "eth1", Networks: []string{"data", "storage"}, Native: "data"}
	none := With(Tagged("none", "bond0", 1004), func(l *plan.Link) { l.Assignment = plan.AssignNone })
	dhcp := With(Tagged("dhcp", "bond0", 1005, "10.60.50.0/24"), func(l *plan.Link) { l.Assignment = plan.AssignDHCP })
	dhcp6 := With(Tagged("dhcp6", "bond0", 1006, "2001:db8:0:6::/64"), func(l *plan.Link) { l.Assignment = plan.AssignDHCP })
	routed := With(With(both, RouteTo("10.60.0.0/16", "10.60.30.1", 0)), RouteTo("2001:db8:1::/48", "2001:db8:0:2::1", 50))
	return map[string]plan.Pool{
		"HybridBondedOneVLAN":  Pool(spec.HybridBonded, []plan.Port{Bond0("storage")}, storage),
		"HybridBondedTwoVLANs": Pool(spec.HybridBonded, []plan.Port{Bond0("data", "storage")}, data, storage),
		"HybridUntagged": Pool(spec.Hybrid, []plan.Port{Eth("eth1", "storage")},
			Untagged("storage", "eth1", 1000, "10.60.10.0/24")),
		"HybridTagged": Pool(spec.Hybrid, []plan.Port{Eth("eth1", "data", "storage")},
			Tagged("data", "eth1", 1001, "10.60.20.0/24"), Tagged("storage", "eth1", 1000, "10.60.10.0/24")),
		"HybridNative": Pool(spec.Hybrid, []plan.Port{native},
			Untagged("data", "eth1", 1001, "10.60.20.0/24"), Tagged("storage", "eth1", 1000, "10.60.10.0/24")),
		"HybridAndBond": Pool(spec.Hybrid, []plan.Port{Bond0("data"), Eth("eth1", "storage")},
			data, Untagged("storage", "eth1", 1000, "10.60.10.0/24")),
		"Layer2Bonded": Pool(spec.Layer2Bonded, []plan.Port{layer2}, data, With(storage, Default)),
		"Layer2Individual": Pool(spec.Layer2Individual, []plan.Port{dissolved, Eth("eth0", "data"), Eth("eth1", "storage")},
			Untagged("data", "eth0", 1001, "10.60.20.0/24"), With(Untagged("storage", "eth1", 1000, "10.60.10.0/24"), Default)),
		"FourPorts": Pool(spec.Hybrid, []plan.Port{Bond0("data"), Eth("eth1", "storage"), Eth("eth3", "six")},
			data, Untagged("six", "eth3", 1002, "2001:db8:0:1::/64"), Untagged("storage", "eth1", 1000, "10.60.10.0/24")),
		"IPv6":      Pool(spec.HybridBonded, []plan.Port{Bond0("six")}, six),
		"DualStack": Pool(spec.HybridBonded, []plan.Port{Bond0("both")}, routed),
		"NoAddress": Pool(spec.HybridBonded, []plan.Port{Bond0("none")}, none),
		"DHCP":      Pool(spec.HybridBonded, []plan.Port{Bond0("dhcp", "dhcp6")}, dhcp, dhcp6),
		"DHCPLater": Pool(spec.Hybrid, []plan.Port{Eth("eth1", "dhcp")},
			With(Untagged("dhcp", "eth1", 1005, "10.60.50.0/24"), func(l *plan.Link) { l.Assignment = plan.AssignDHCP })),
		"Routes": Pool(spec.HybridBonded, []plan.Port{Bond0("storage")},
			With(With(storage, RouteTo("10.60.0.0/16", "10.60.10.1", 0)), RouteTo("10.61.7.9/32", "10.60.10.254", 1_000_000))),
		"MTU": Pool(spec.HybridBonded, []plan.Port{jumbo},
			With(data, func(l *plan.Link) { l.MTU = 1500 }), With(storage, func(l *plan.Link) { l.MTU = 9000 })),
		"SourceRouting": Pool(spec.HybridBonded, []plan.Port{Bond0("both", "storage")},
			With(routed, func(l *plan.Link) { l.Table = plan.RouteTable(1003) }),
			With(storage, func(l *plan.Link) { l.Table = plan.RouteTable(1000) })),
		"NodeIP": Pool(spec.HybridBonded, []plan.Port{Bond0("data", "storage")}, data,
			With(storage, func(l *plan.Link) { l.NodeIP = true })),
	}
}

// Render shows the files of a layout as one text.
func Render(templates []node.Template) string {
	var b strings.Builder
	for _, t := range templates {
		b.WriteString("==> " + t.Path + " " + t.Mode)
		if t.Stage != node.Always {
			b.WriteString(" " + string(t.Stage))
		}
		b.WriteString(" <==\n" + t.Content)
	}
	return b.String()
}

// Golden compares with testdata/<name>, or writes it with -update.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want, +got:\n%s", path, diff)
	}
}

// RunGolden renders every pool and compares it with testdata/<pool>.txt.
func RunGolden(t *testing.T, r node.Renderer) {
	t.Helper()
	for name, pool := range Pools() {
		t.Run(name, func(t *testing.T) {
			layout, err := node.NewLayout(pool)
			if err != nil {
				t.Fatal(err)
			}
			d, err := layout.Describe(r)
			if err != nil {
				t.Fatal(err)
			}
			Golden(t, name+".txt", Render(d.AllFiles()))
		})
	}
}

// Sure makes a renderer of functions that cannot fail.
func Sure(port func(node.Port) []node.Template, link func(node.Link) []node.Template, machine func(node.Layout) []node.Template) node.Renderer {
	return node.Renderer{Port: sure(port), Link: sure(link), Machine: sure(machine)}
}

func sure[T any](render func(T) []node.Template) func(T) ([]node.Template, error) {
	return func(v T) ([]node.Template, error) { return render(v), nil }
}
