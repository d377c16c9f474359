"""The end of the platform's own network, which it takes away when it changes the ports."""
import fcntl
import time

from __main__ import AFTER, BEFORE, Snapshot, Wanted, answers, log, run

SERVICE = "l2cluster-handover.service"


class Handover:
    """How a server in a pure layer-2 mode goes on with its own networks alone."""

    def __init__(self, node):
        self.node = node

    def begin(self):
        """Leaves the wait to a service that survives reboots: the ports change once this server has joined its cluster."""
        if self.node.stage == BEFORE:
            run("systemctl", "enable", SERVICE)
            run("systemctl", "start", "--no-block", SERVICE)

    def wait(self, lock):
        """Waits as long as it takes; what it does then, it does alone, from what others remember."""
        while self.node.stage == BEFORE and not self.over():
            time.sleep(2)
        fcntl.flock(lock, fcntl.LOCK_EX)
        Wanted.__init__(self.node, self.node.want)
        self.node.remember(stage=AFTER)
        log("the platform's own network is gone")
        run("systemctl", "disable", SERVICE, check=False)
        self.node.apply()
        return 0

    silent = 0

    def over(self):
        """Looks once. Silence counts when our networks answer, or, where nothing of theirs can, when it lasts."""
        self.silent = 0 if self.platform_answers() else self.silent + 1
        ways = self.ways()
        return (self.silent >= 3 and any(answers(way) for way in ways)) or (self.silent >= 20 and not ways)

    def cleared(self):
        return [self.node.port(port) for port in self.node.ports if port.get("cleared")]

    def platform_answers(self):
        return any([answers(r["gateway"]) for r in Snapshot().defaults() if r["dev"] in self.cleared()])

    def ways(self):
        """Lists the gateways that show that our networks are there: those of default routes, else any."""
        last = [r for link in self.node.want["links"] for r in link.get("routes", []) if r.get("stage") == AFTER]
        routes = [r for link in self.node.links for r in link.get("routes", []) if "table" not in r]
        return sorted({r["via"] for r in routes if not last or r.get("stage") == AFTER})

    def clear(self):
        """Takes what is left of the platform's own network away."""
        for device in self.cleared() if self.node.stage == AFTER else []:
            for family in "-4", "-6":
                run("ip", family, "address", "flush", "dev", device, "scope", "global", check=False)
                run("ip", family, "route", "flush", "dev", device, "exact", "default", check=False)
