"""What this server must have, what is known of it, and what is not right yet."""
import ipaddress
import json
import re

BEFORE, AFTER = "before", "after"


class Wanted:
    """The description, and what is remembered: ports, addresses, what was done."""

    def __init__(self, description):
        self.want = description
        try:
            self.state = json.loads(read(description["state"]))
        except (OSError, ValueError):
            self.state = {}

    @property
    def stage(self):
        return self.state.get("stage", BEFORE)

    def remember(self, **values):
        self.state.update(values)
        write(self.want["state"], json.dumps(self.state, indent=1, sort_keys=True) + "\n", 0o644)

    def now(self, items):
        """Picks what counts at this stage."""
        return [item for item in items if item.get("stage") in (None, self.stage)]

    @property
    def links(self):
        return self.now(self.want["links"])

    @property
    def ports(self):
        return self.now(self.want["ports"])

    def routes(self, link):
        return self.now(link.get("routes", []))

    # What the platform's metadata say.

    def take(self, metadata):
        """Takes ports and addresses from the metadata; returns what is missing."""
        try:
            data = metadata.get("customdata") or {}
            given = (json.loads(data) if isinstance(data, str) else data).get(self.want["customDataKey"]) or {}
            macs = {i["name"]: i["mac"].lower() for i in metadata["network"]["interfaces"]}
            addresses = {}
            for link in self.want["links"]:
                for subnet in () if link.get("dynamic") else link.get("subnets", ()):
                    label = link.get("interface") or link["port"]
                    if subnet["key"] not in given:
                        return "%s: the server's custom data have no address %s yet" % (label, subnet["key"])
                    addresses[subnet["key"]] = self.parse(label, given[subnet["key"]], subnet["prefix"])
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            return "the metadata have another form than expected: %r" % e
        self.state.update(ports=self.find_ports(macs), addresses=addresses)
        return ""

    def parse(self, label, text, prefix):
        try:
            address = ipaddress.ip_interface(text)
        except ValueError as e:
            raise Wrong("%s: %s" % (label, e))
        if str(address.network) != prefix:
            raise Wrong("%s: address %s is not in %s" % (label, address, prefix))
        return str(address)

    def find_ports(self, macs):
        """Finds the operating system's names of the ports."""
        here = permanent_addresses()
        names = {}
        for port in self.want["ports"]:
            name = port["name"]
            if name.startswith("bond"):
                names[name] = name
                continue
            if name not in macs:
                raise Wrong("%s: the metadata name no such port" % name)
            found = here.get(macs[name], [])
            if len(found) != 1:
                raise Wrong("%s: %d interfaces have the permanent address %s" % (name, len(found), macs[name]))
            names[name] = found[0]
        return names

    # What the description means on this server.

    def port(self, item):
        return self.state["ports"][item.get("port") or item["name"]]

    def device(self, link):
        return link.get("interface") or self.port(link)

    def devices(self):
        """Lists our interfaces, those below others first."""
        out = []
        for device in [self.port(p) for p in self.ports] + [self.device(l) for l in self.links]:
            if device not in out:
                out.append(device)
        return out

    def address(self, key):
        return ipaddress.ip_interface(self.state["addresses"][key])

    def fill(self, text, unit):
        """Fills in the placeholders of a file's path or content."""
        def value(found):
            what, name = found.groups()
            if what == "address":
                return str(self.address(name).ip)
            return self.state["ports"][name] if what == "port" else unit(self.state["ports"][name])
        return re.sub(r"@(address|port|unit):([a-z0-9.-]+)@", value, text)

    def files(self, unit):
        """Maps the path of each file to its content and mode."""
        parts = [self.want] + self.want["ports"] + self.want["links"]
        return {self.fill(f["path"], unit): (self.fill(f["content"], unit), int(f["mode"], 8))
                for part in parts for f in self.now(part.get("files", []))}

    def rules(self):
        """Maps each wanted rule of the routing policy to the interface that it belongs to."""
        out = {}
        for rule in self.want.get("rules", []):
            source = str(self.address(rule["from"]).ip) if "from" in rule else "all"
            for link in self.links:
                keys = [subnet["key"] for subnet in link.get("subnets", [])]
                shared = "from" not in rule and any("table" in r for r in self.routes(link))
                if shared or rule.get("from") in keys:
                    out[(6 if rule.get("ipv6") else 4, rule["priority"], source, str(rule["table"]))] = self.device(link)
                    break
        return out

    def unwanted_rules(self, now):
        low, high = self.want["rulePriorities"]
        return sorted(r for r in now.rules - set(self.rules()) if low <= r[1] <= high)

    # What is wrong.

    def problems(self):
        """Lists what is not as described: interface and why."""
        now = Snapshot()
        out = []
        for port in self.ports:
            out += [(self.port(port), why) for why in self.port_problems(port, now)]
        for link in self.links:
            out += [(self.device(link), why) for why in self.link_problems(link, now)]
        for rule, device in sorted(self.rules().items()):
            if rule not in now.rules:
                out.append((device, "has no rule from %s to table %s" % rule[2:]))
        out += [("rules", "the one from %s to table %s is unwanted" % rule[2:]) for rule in self.unwanted_rules(now)]
        ours = self.devices() if self.stage == AFTER else [r.get("dev") for r in now.defaults()]
        return out + [(r["dev"], "has the unwanted default route via %s" % r["gateway"]) for r in now.defaults() if r["dev"] not in ours]

    def port_problems(self, port, now):
        name = self.port(port)
        found = now.links.get(name)
        used = port.get("released") or any(link["port"] == port["name"] for link in self.links)
        if found is None:
            return ["there is no such interface"] if used else []
        out = self.up_problems(found, port) if used else []
        if port.get("released") and found.get("master"):
            out.append("is still in %s" % found["master"])
        if port.get("bare") or (port.get("cleared") and self.stage == AFTER):
            out += ["has the unwanted address %s" % a["local"] for a in now.addresses.get(name, [])]
        return out

    def up_problems(self, found, wanted):
        out = []
        if "UP" not in found["flags"]:
            out.append("is not up")
        elif "LOWER_UP" not in found["flags"]:
            out.append("has no carrier")
        if wanted.get("mtu", found["mtu"]) != found["mtu"]:
            out.append("has MTU %d, not %d" % (found["mtu"], wanted["mtu"]))
        return out

    def link_problems(self, link, now):
        found = now.links.get(self.device(link))
        if found is None:
            return ["there is no such interface"]
        out = self.up_problems(found, link)
        if "vlan" in link and not self.is_vlan(found, link):
            out.append("is not VLAN %d on %s" % (link["vlan"], self.port(link)))
        return out + self.address_problems(link, now) + self.route_problems(link, now)

    def is_vlan(self, found, link):
        data = found.get("linkinfo", {}).get("info_data", {})
        return kind(found) == "vlan" and data.get("id") == link["vlan"] and found.get("link") == self.port(link)

    def address_problems(self, link, now):
        found = now.addresses.get(self.device(link), [])
        out = ["another machine has the address %s too" % a["local"] for a in found if a.get("dadfailed")]
        out += ["address %s is not ready" % a["local"] for a in found if a.get("tentative")]
        have = {ipaddress.ip_interface("%s/%d" % (a["local"], a["prefixlen"])) for a in found}
        if link.get("dynamic"):
            if link.get("later"):
                return out
            wanted = [subnet["prefix"] for subnet in link.get("subnets", [{"prefix": "0.0.0.0/0"}])]
            return out + ["has no address in %s yet" % p for p in wanted if not any(a in ipaddress.ip_network(p) for a in have)]
        want = {self.address(subnet["key"]) for subnet in link.get("subnets", [])}
        out += ["does not have the address %s" % a for a in sorted(want - have, key=str)]
        return out + ["has the unwanted address %s" % a for a in sorted(have - want, key=str)]

    def route_problems(self, link, now):
        have = {(r["to"], r["gateway"], r["table"]): r for r in now.routes if r.get("dev") == self.device(link) and "gateway" in r}
        out = []
        for route in self.routes(link):
            found = have.pop((route["to"], route["via"], str(route.get("table", TABLES["main"]))), None)
            if found is None:
                out.append("has no route to %s via %s" % (route["to"], route["via"]))
            elif "metric" in route and found.get("metric") != route["metric"]:
                out.append("has metric %s to %s, not %d" % (found.get("metric"), route["to"], route["metric"]))
        # Those to other nodes are a network plugin's.
        routers = [route["via"] for route in self.routes(link)]
        return out + ["has the unwanted route to %s via %s" % key[:2] for key in sorted(have) if key[0].endswith("/0") or key[1] in routers]
