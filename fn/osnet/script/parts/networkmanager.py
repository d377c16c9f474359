"""Brings up interfaces by NetworkManager."""

class Backend:
    """NetworkManager with keyfiles."""

    def __init__(self, node):
        self.node = node

    def unit(self, device):
        return device

    def before_files(self, devices):
        """Nothing: NetworkManager takes away what a connection does not say any more."""
        pass

    def load(self, changed):
        if any("/conf.d/" in name for name in changed):
            run("nmcli", "general", "reload", "conf")
        if changed:
            run("nmcli", "connection", "reload")

    def up(self, devices):
        names = {self.node.port(port): port["name"] for port in self.node.ports if port.get("released")}
        names.update({self.node.device(link): link["network"] for link in self.node.links})
        later = [self.node.device(link) for link in self.node.links if link.get("later")]
        for device in devices:
            if device in names:
                wait = "0" if device in later else "60"
                run("nmcli", "--wait", wait, "connection", "up", "id", "l2cluster-" + names[device])

    def down(self, device):
        """Takes an interface down; bonds are the image's."""
        if device.startswith("bond"):
            return
        run("nmcli", "device", "disconnect", device, check=False)
        if kind(Snapshot().links.get(device, {})) == "vlan":
            run("ip", "link", "del", "dev", device, check=False)
