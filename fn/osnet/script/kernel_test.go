package script_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeKernel stands for the kernel and for what configures its network, in a
// folder: state.json is what the ip command shows, and up.json what each
// interface becomes when ifup brings it up. Every call is written to calls.
//
// It knows only what the script uses; the boot lab has the real ones.
const fakeKernel = `
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
name = os.path.basename(sys.argv[0])
args = sys.argv[1:]
def load(n):
    with open(os.path.join(here, n)) as f: return json.load(f)
def save(state):
    with open(os.path.join(here, "state.json"), "w") as f: json.dump(state, f)
state = {what: found or [] for what, found in load("state.json").items()}
if args[:1] != ["-json"]:
    with open(os.path.join(here, "calls"), "a") as f: f.write(" ".join([name] + args) + "\n")
def remove(device):
    for what in "links", "addresses": state[what] = [x for x in state[what] if x["ifname"] != device]
    state["routes"] = [r for r in state["routes"] if r["dev"] != device]
if name == "ip" and args[0] == "-json":
    words = [a for a in args[1:] if a != "-details"]
    family = words.pop(0) if words[0] in ("-4", "-6") else ""
    what = {"link": "links", "address": "addresses", "route": "routes", "rule": "rules", "neigh": "neighbours"}[words[0]]
    found = [x for x in state.get(what, []) if not family or (":" in json.dumps([x.get("dst"), x.get("src"), x.get("gateway")])) == (family == "-6")]
    if "dev" in words:
        found = [x for x in found if x.get("ifname", x.get("dev")) == words[words.index("dev") + 1]]
        if not found: sys.exit(1)
    if "to" in words: found = [x for x in found if x.get("dst") == words[words.index("to") + 1]]
    print(json.dumps(found))
elif name == "ip":
    words = [a for a in args if a not in ("-4", "-6")]
    device = words[words.index("dev") + 1] if "dev" in words else ""
    if words[:2] == ["link", "del"]: remove(device)
    elif words[:2] == ["address", "flush"]:
        for x in state["addresses"]:
            if x["ifname"] == device: x["addr_info"] = []
    elif words[:2] == ["route", "flush"]:
        state["routes"] = [r for r in state["routes"] if r["dev"] != device or r["dst"] != "default"]
    elif words[:2] == ["rule", "del"]:
        state["rules"] = [r for r in state["rules"] if str(r["priority"]) != words[words.index("priority") + 1] or r["src"] != words[words.index("from") + 1]]
    elif "nomaster" in words:
        for x in state["links"]:
            if x["ifname"] == device: x.pop("master", None)
    elif "mtu" in words:
        for x in state["links"]:
            if x["ifname"] == device: x["mtu"] = int(words[words.index("mtu") + 1])
    save(state)
elif name == "ifup":
    up = load("up.json").get(args[-1])
    if up == "hangs later":
        with open(os.path.join(here, "calls")) as f: up = None if f.read().count("ifup " + args[-1] + "\n") == 1 else "hangs"
    if up == "hangs": time.sleep(600)
    if up is None:
        print("ifup: failed to bring up " + args[-1], file=sys.stderr)
        sys.exit(1)
    remove(args[-1])
    for what in up: state[what] = (state[what] or []) + (up[what] or [])
    save(state)
`

// kernel is a fakeKernel's folder.
type kernel struct {
	t      *testing.T
	folder string
}

type object = map[string]any

func newKernel(t *testing.T) kernel {
	t.Helper()
	k := kernel{t: t, folder: t.TempDir()}
	for _, name := range []string{"ip", "ifup", "ifdown", "modprobe", "systemctl", "networkctl", "nmcli", "netplan"} {
		if err := os.WriteFile(filepath.Join(k.folder, name), []byte("#!"+python(t)+" -IS"+fakeKernel), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// python is the interpreter: the system's own before one that a version manager
// puts into the path, which takes longer to start than the script runs.
func python(t *testing.T) string {
	t.Helper()
	const system = "/usr/bin/python3"
	if _, err := os.Stat(system); err == nil {
		return system
	}
	found, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the script needs python3")
	}
	return found
}

func (k kernel) write(name string, v any) {
	k.t.Helper()
	content, err := json.Marshal(v)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.folder, name), content, 0o644); err != nil {
		k.t.Fatal(err)
	}
}

// calls that the script made.
func (k kernel) calls() []string {
	content, err := os.ReadFile(filepath.Join(k.folder, "calls"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// state is what the kernel has, or what an interface brings when it comes up.
type state struct {
	Links     []object `json:"links"`
	Addresses []object `json:"addresses"`
	Routes    []object `json:"routes"`
	Rules     []object `json:"rules"`
	// Neighbours are those that the kernel knows of, and whether they answer.
	Neighbours []object `json:"neighbours"`
}

func (s state) with(others ...state) state {
	for _, o := range others {
		s.Links = append(slices.Clip(s.Links), o.Links...)
		s.Addresses = append(slices.Clip(s.Addresses), o.Addresses...)
		s.Routes = append(slices.Clip(s.Routes), o.Routes...)
		s.Neighbours = append(slices.Clip(s.Neighbours), o.Neighbours...)
		s.Rules = append(slices.Clip(s.Rules), o.Rules...)
	}
	return s
}

func address(text string) object {
	local, length, _ := strings.Cut(text, "/")
	n := 0
	for _, digit := range length {
		n = 10*n + int(digit-'0')
	}
	family := "inet"
	if strings.Contains(local, ":") {
		family = "inet6"
	}
	return object{"family": family, "local": local, "prefixlen": n, "scope": "global"}
}

// nic is an interface of the hardware.
func nic(name, mac string, addresses ...string) state {
	return interfaceWith(object{"ifname": name, "link_type": "ether", "address": mac}, addresses)
}

// member is an interface in bond0, which shows the bond's address.
func member(name, mac string) state {
	return interfaceWith(object{
		"ifname": name, "link_type": "ether", "address": "0c:42:a1:00:00:10", "master": "bond0",
		"linkinfo": object{"info_slave_kind": "bond", "info_slave_data": object{"perm_hwaddr": mac}},
	}, nil)
}

// bond is a bond.
func bond(addresses ...string) state {
	const name = "bond0"
	return interfaceWith(object{"ifname": name, "link_type": "ether", "address": "0c:42:a1:00:00:10", "linkinfo": object{"info_kind": "bond"}}, addresses)
}

// vlan is a VLAN interface on bond0.
func vlan(name string, id int, addresses ...string) state {
	return interfaceWith(object{
		"ifname": name, "link": "bond0", "link_type": "ether", "address": "0c:42:a1:00:00:10",
		"linkinfo": object{"info_kind": "vlan", "info_data": object{"id": id}},
	}, addresses)
}

func interfaceWith(link object, addresses []string) state {
	link["mtu"], link["flags"] = 1500, []string{"UP", "LOWER_UP"}
	info := []object{}
	for _, a := range addresses {
		info = append(info, address(a))
	}
	return state{Links: []object{link}, Addresses: []object{{"ifname": link["ifname"], "addr_info": info}}}
}

// via is a default route.
func via(gateway, device string) state {
	return state{Routes: []object{{"dst": "default", "gateway": gateway, "dev": device}}}
}

// neighbour that the kernel knows of.
func neighbour(address, answers string) state {
	return state{Neighbours: []object{{"dst": address, "state": []string{answers}}}}
}
