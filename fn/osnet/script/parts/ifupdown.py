"""Brings up interfaces by ifupdown."""
import fnmatch
import os

MAIN = "/etc/network/interfaces"


class Backend:
    """Debian's and Ubuntu's ifupdown."""

    def __init__(self, node):
        self.node = node

    def unit(self, device):
        return device

    def before_files(self, devices):
        """Takes down what is wrong while the files are there that brought it up."""
        for device in devices:
            self.down(device)

    def load(self, changed):
        """Makes sure that our files are read."""
        text = read(MAIN)
        ours = [name for name in self.node.files(self.unit) if "/interfaces.d/" in name]
        for line in text.splitlines():
            words = line.split()
            if len(words) == 2 and words[0] in ("source", "source-directory"):
                pattern = os.path.join("/etc/network", words[1]) + ("/*" if words[0] == "source-directory" else "")
                ours = [name for name in ours if not fnmatch.fnmatch(name, pattern)]
        if ours:
            text += "" if text.endswith("\n") else "\n"
            write(MAIN, text + "source /etc/network/interfaces.d/*-l2cluster-*\n", os.stat(path(MAIN)).st_mode & 0o7777)

    def up(self, devices):
        for device in devices:
            self.down(device)
        for device in devices:
            if not device.startswith("bond"):
                run("ifup", device)

    def down(self, device):
        """Takes an interface down and leaves nothing on it; bonds are the image's."""
        if device.startswith("bond"):
            return
        run("ifdown", "--force", device, check=False)
        for link in ip("-details", "link", "show", "dev", device):
            if kind(link) == "vlan":
                run("ip", "link", "del", "dev", device)
                continue
            run("ip", "link", "set", "dev", device, "nomaster")
            run("ip", "address", "flush", "dev", device)
