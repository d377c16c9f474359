package object

// Key of a composed object from its parts, which must be DNS labels: stable, a
// DNS label, and without an index of any list.
func Key(parts ...string) string { return Name(LabelLimit, parts...) }

// DeploymentKey is the key of a worker pool's MachineDeployment.
func DeploymentKey(pool string) string { return Key("pool", pool) }

// PortKey is the key of a port of a machine.
func PortKey(machine, port string) string { return Key("machine", machine, "port", port) }

// CustomDataKey is the key of what brings a machine its addresses.
func CustomDataKey(machine string) string { return Key("machine", machine, "custom-data") }
