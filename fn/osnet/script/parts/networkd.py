"""Brings up interfaces by systemd-networkd."""
import os
import time


class Backend:
    """systemd-networkd with files of its own."""

    def __init__(self, node):
        self.node = node

    def unit(self, device):
        """Returns the name of the image's file from which an interface is configured."""
        for link in ip("link", "show", "dev", device):
            for line in read("/run/systemd/netif/links/%d" % link["ifindex"]).splitlines():
                key, _, value = line.partition("=")
                if key == "NETWORK_FILE":
                    return os.path.basename(value)
        raise Wrong("%s: systemd-networkd has no file for it" % device)

    def before_files(self, devices):
        """Nothing: systemd-networkd takes away what its files do not say any more."""
        pass

    def load(self, changed):
        if changed:
            run("networkctl", "reload")
            time.sleep(2)

    def up(self, devices):
        """Configures interfaces anew; those below missing VLANs first, since they make them."""
        here = Snapshot().links
        missing = [self.node.port(link) for link in self.node.links if self.node.device(link) in devices and self.node.device(link) not in here]
        for device in sorted(set(missing)) + [d for d in devices if d in here and d not in missing]:
            run("networkctl", "reconfigure", device)

    def down(self, device):
        if device in Snapshot().links and not device.startswith("bond"):
            run("ip", "link", "del", "dev", device, check=False)
