"""Brings up interfaces by netplan with systemd-networkd behind it."""

class Netplan(Backend):
    """Netplan, which writes files of systemd-networkd."""

    def load(self, changed):
        if any(name.startswith("/etc/netplan/") for name in changed):
            run("netplan", "generate")
        super().load(changed)


# What the rest of the script takes.
Backend = Netplan
