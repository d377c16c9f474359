"""What this server has, and what changes it: files, commands, the kernel's answers."""
import glob
import ipaddress
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

# Kinds of interfaces that borrow the MAC address of another one.
STACKED = ("bond", "bridge", "ipvlan", "macvlan", "team", "vlan", "vrf")
TABLES = {"default": "253", "main": "254", "local": "255"}
# The folder to take for /; tests change it.
root = ""


class Wrong(Exception):
    """What cannot become right any more in this run."""

    pass


def log(*words):
    print("l2cluster-network:", *words, file=sys.stderr, flush=True)


def path(name):
    return root + name


def read(name):
    with open(path(name)) as f:
        return f.read()


def write(name, content, mode):
    """Puts a whole file in place at once, if it is not there like that."""
    name = path(name)
    try:
        with open(name) as f:
            if f.read() == content and os.fstat(f.fileno()).st_mode & 0o7777 == mode:
                return False
    except OSError:
        pass
    folder = os.path.dirname(name)
    try:
        os.makedirs(folder, 0o755, exist_ok=True)
        for left in glob.glob(folder + "/.l2cluster-*"):
            os.unlink(left)
        handle, temporary = tempfile.mkstemp(prefix=".l2cluster-", dir=folder)
        with os.fdopen(handle, "w") as f:
            f.write(content)
            f.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        os.rename(temporary, name)
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    except OSError as e:
        raise Wrong("cannot write %s: %s" % (name, e.strerror))
    return True


def command(argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)


def run(*argv, check=True):
    """Runs a command to its end."""
    log("+", *argv)
    try:
        done = command(argv)
    except OSError as e:
        raise Wrong("%s: %s" % (argv[0], e.strerror))
    text = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
    if done.returncode:
        log("exit status %d:" % done.returncode, *text)
        if check:
            raise Wrong("%s: %s" % (" ".join(argv), text[-1]))


def ip(*args):
    """Returns what the ip command answers, nothing when it refuses."""
    done = command(("ip", "-json") + args)
    return [entry for entry in json.loads(done.stdout or "[]") if entry] if not done.returncode else []


def kind(link):
    return link.get("linkinfo", {}).get("info_kind", "")


def permanent_addresses():
    """Maps each permanent MAC address to the interfaces that have it.

    Members of a bond all show the bond's address; the bonding driver knows
    their own, whatever their drivers say.
    """
    found = {}
    for link in ip("-details", "link", "show"):
        if link.get("link_type") == "ether" and kind(link) not in STACKED:
            member = link.get("linkinfo", {}).get("info_slave_data", {})
            mac = member.get("perm_hwaddr") or link.get("permaddr") or link.get("address", "")
            found.setdefault(mac.lower(), []).append(link["ifname"])
    return found


def answers(gateway):
    """Says whether a neighbour answers for its address."""
    with socket.socket(socket.AF_INET6 if ":" in gateway else socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.sendto(b"", (gateway, 9))
        except OSError:
            return False
    time.sleep(1.5)
    states = [state for n in ip("neigh", "show", "to", gateway) for state in n.get("state", [])]
    return any(state not in ("FAILED", "INCOMPLETE", "NONE") for state in states)


class Snapshot:
    """What the kernel has at one moment."""

    def __init__(self):
        self.links = {link["ifname"]: link for link in ip("-details", "link", "show")}
        self.addresses = {}
        for entry in ip("address", "show"):
            self.addresses[entry["ifname"]] = [a for a in entry.get("addr_info", []) if a.get("scope") == "global"]
        self.routes = []
        self.rules = set()
        for family in (4, 6):
            for route in ip("-%d" % family, "route", "show", "table", "all"):
                table = str(route.get("table", "main"))
                if route.get("type", "unicast") == "unicast":
                    everywhere = "0.0.0.0/0" if family == 4 else "::/0"
                    to = ipaddress.ip_network(everywhere if route["dst"] == "default" else route["dst"])
                    self.routes.append(dict(route, to=str(to), table=TABLES.get(table, table)))
            for rule in ip("-%d" % family, "rule", "show"):
                table = str(rule.get("table"))
                self.rules.add((family, rule["priority"], rule["src"], TABLES.get(table, table)))

    def defaults(self):
        """Lists the default routes that count for everything."""
        return [r for r in self.routes if r["dst"] == "default" and r["table"] == TABLES["main"] and "gateway" in r]
