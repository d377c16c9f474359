"""Brings up this server's layer-2 networks, exactly as they are described.

Without options: waits for the server's addresses, writes the network's files,
brings up what is not right yet, checks everything, and reports the end to the
platform. It can run at any time, as often as wanted, with the same end.
"""
import argparse
import fcntl
import glob
import http.client
import importlib
import json
import os
import signal
import sys
import time
import urllib.request


DESCRIPTION = "/etc/l2cluster/network.json"
LOST = (OSError, ValueError, http.client.HTTPException)


class Late(Exception):
    """The time limit, which nothing but the end of the run may answer."""

    pass


class Metadata:
    """The platform's metadata service, asked directly and for a bounded time."""

    def __init__(self, base):
        self.base = base.rstrip("/")
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, url, body=None):
        request = urllib.request.Request(url, headers={"Accept": "application/json"})
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        with self.opener.open(request, timeout=10) as answer:
            return answer.read(1 << 22)

    def get(self):
        """Returns the metadata, or None and why there are none."""
        try:
            found = json.loads(self.call(self.base + "/metadata").decode())
            if isinstance(found, dict):
                return found, ""
            return None, "the metadata service's answer is no JSON object"
        except LOST as e:
            return None, "the metadata service does not answer as it should: %s" % e

    def report(self, url, event, detail="", limit=45):
        """Reports an event within a limit of seconds, or not at all."""
        body = dict(event, message=event["message"] + (": " + detail[:400] if detail else ""))
        log("event", json.dumps(body, sort_keys=True))
        until = time.monotonic() + limit
        while url:
            try:
                self.call(url, body)
                return
            except LOST as e:
                log("cannot report:", e)
            if time.monotonic() + 3 > until:
                break
            time.sleep(3)


class Node(Wanted):
    """This server, and how it becomes what it must be."""

    # Why it still waits, or what failed last.
    reason = ""

    def __init__(self, description):
        super().__init__(description)
        self.backend = Backend(self)
        self.handover = None
        if description.get("handover"):
            sys.dont_write_bytecode = True
            sys.path.insert(0, path("/usr/local/lib/l2cluster"))
            self.handover = importlib.import_module("handover").Handover(self)

    def learn(self, metadata, until, tell):
        """Waits for what only the platform knows: for addresses as long as it takes."""
        silent, told = 0, False
        while True:
            found, reason = metadata.get()
            if found is not None:
                silent = 0
                self.state["url"] = found.get("user_state_url")
            else:
                silent += 1
            known = silent >= 3 and "addresses" in self.state
            if not told and (known or not silent):
                told = self.state["url"]
                tell("started")
            if not silent:
                reason = self.take(found)
            self.reason = "" if known else reason
            if not self.reason:
                return
            log("waits:", reason)
            if time.monotonic() > until and not 0 < silent < 3:
                if silent:
                    raise Wrong(reason)
                # Somebody may extend the range, or an address cool down, at any time.
                signal.alarm(0)
                tell("failed", reason)
                until = float("inf")
            time.sleep(3)

    def apply(self):
        """Writes the files and brings up what is not as described."""
        devices = self.devices()
        for device in self.state.get("devices", []):
            if device not in devices:
                self.backend.down(device)
        if any("vlan" in link for link in self.links) and not os.path.isdir(path("/sys/module/8021q")):
            run("modprobe", "8021q")
        files = self.files(self.backend.unit)
        known = self.state.get("files", [])
        self.remember(files=sorted(set(known) | set(files)), devices=devices)
        wrong = {device for device, _ in self.problems()}
        self.backend.before_files([d for d in devices if d in wrong])
        gone = [name for name in known if name not in files]
        for name in gone:
            if os.path.exists(path(name)):
                os.unlink(path(name))
        changed = [name for name in sorted(files) if write(name, *files[name])]
        self.remember(files=sorted(files))
        self.backend.load(changed + gone)
        self.settle()

    def settle(self):
        """Brings up what is wrong, a few times at most."""
        wrong, failure = self.problems(), None
        patience = min(20, self.want["timeout"] // 10)
        for _ in range(3):
            if not wrong:
                return
            failure = self.attempt({device for device, _ in wrong})
            until = time.monotonic() + (2 if failure else patience)
            while True:
                wrong = self.problems()
                if not wrong or time.monotonic() > until:
                    break
                time.sleep(1)
        if wrong:
            raise failure or Wrong("; ".join("%s: %s" % pair for pair in wrong))

    def attempt(self, names):
        """Brings up the named interfaces; returns what went wrong."""
        try:
            self.make_room(names)
            for port in self.ports:
                if "mtu" in port and self.port(port) in names:
                    run("ip", "link", "set", "dev", self.port(port), "mtu", str(port["mtu"]))
            self.backend.up([d for d in self.devices() if d in names])
            if self.handover:
                self.handover.clear()
        except Wrong as e:
            log("attempt failed:", e)
            self.reason = str(e)
            return e
        return None

    def make_room(self, names):
        """Removes what is in the way of VLANs: old rules, other interfaces of the same VLAN."""
        now = Snapshot()
        for family, priority, source, table in self.unwanted_rules(now):
            run("ip", "-%d" % family, "rule", "del", "from", source, "lookup", table, "priority", str(priority), check=False)
        for link in self.links:
            device = self.device(link)
            if "vlan" not in link or device not in names:
                continue
            there = now.links.get(device)
            if there and kind(there) != "vlan":
                raise Wrong("%s: there is an interface of this name that is no VLAN" % device)
            for other in now.links.values():
                if self.is_vlan(other, link) != (other["ifname"] == device) and (other is there or self.is_vlan(other, link)):
                    run("ip", "link", "del", "dev", other["ifname"])

    def name_node(self):
        """Puts the node's addresses where kubeadm's configuration waits for them."""
        kubeadm = self.want.get("kubeadm")
        if not kubeadm:
            return
        now = Snapshot()
        first = {}
        for link in self.links:
            for address in now.addresses.get(self.device(link), []) if link.get("nodeIP") else []:
                first.setdefault(address["family"], address["local"])
        addresses = [first[family] for family in sorted(first)]
        for name in glob.glob(path(kubeadm["files"])):
            text = read(name[len(root):])
            filled = text.replace(kubeadm["ips"], ",".join(addresses)).replace(kubeadm["ip"], addresses[0])
            write(name[len(root):], filled, os.stat(name).st_mode & 0o7777)


def describe():
    return Node(json.loads(read(DESCRIPTION)))


def check(node):
    """Prints what is not as described, and changes nothing."""
    if "addresses" not in node.state:
        found, reason = Metadata(node.want["metadata"]).get()
        reason = reason or node.take(found)
        if reason:
            raise Wrong(reason)
    wrong = node.problems()
    for name, (content, _) in sorted(node.files(node.backend.unit).items()):
        if not os.path.exists(path(name)) or read(name) != content:
            wrong.append((name, "is not as described"))
    for what, why in wrong:
        print("%s: %s" % (what, why))
    return 1 if wrong else 0


def bring_up(node):
    """Does what depends on this server alone within the time limit, and keeps some of it for the report."""
    metadata = Metadata(node.want["metadata"])
    events = node.want["events"]
    limit = node.want["timeout"]
    reserve = min(45, limit // 4)

    def tell(event, detail=""):
        metadata.report(node.state.get("url"), events[event], detail, limit=reserve)

    def late(*_):
        raise Late(node.reason or "the time limit of %d s is over" % limit)

    signal.signal(signal.SIGALRM, late)
    signal.alarm(limit - reserve)
    event, detail = "succeeded", ""
    try:
        # One more look at the metadata can take as long as this.
        node.learn(metadata, time.monotonic() + limit - reserve - 15, tell)
        signal.alarm(signal.alarm(0) or limit - reserve)
        node.apply()
        node.name_node()
        if node.handover:
            node.handover.begin()
    except Exception as e:
        log("failed:", repr(e))
        event, detail = "failed", str(e)
    finally:
        signal.alarm(0)
    tell(event, detail)
    return event == "failed"


def main():
    global root
    parser = argparse.ArgumentParser(description="Brings up this server's layer-2 networks.")
    parser.add_argument("--check", action="store_true", help="say what is not as described, and change nothing")
    parser.add_argument("--handover", action="store_true", help="wait until the platform's own network is gone")
    parser.add_argument("--root", default="", help="the folder to take for /")
    options = parser.parse_args()
    root = options.root
    try:
        if options.check:
            return check(describe())
        with open(path("/run/l2cluster-network.lock"), "w") as lock:
            if options.handover:
                return describe().handover.wait(lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
            return bring_up(describe())
    except (Wrong, OSError, ValueError) as e:
        log("failed:", e)
        return 1


if __name__ == "__main__":
    sys.exit(main())
