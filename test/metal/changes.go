package metal

import (
	"cmp"
	"slices"
	"time"
)

// Kind is what a change is about.
type Kind string

const (
	// DeviceState is a server's state; it ends when the server is gone.
	DeviceState Kind = "device-state"
	// DevicePower is whether a server's operating system runs: "on" or "off".
	// Only a server that is on can hold an address of a VLAN on the wire.
	DevicePower Kind = "device-power"
	// CustomData is a server's custom data, as canonical JSON.
	CustomData Kind = "custom-data"
	// Address is an address that the API assigned to a server.
	Address Kind = "address"
	// PortVLAN is the UUID of a VLAN that is attached to a port.
	PortVLAN Kind = "port-vlan"
	// NativeVLAN is the UUID of a port's native VLAN.
	NativeVLAN Kind = "native-vlan"
	// PortBonded is "true" or "false" for each port.
	PortBonded Kind = "port-bonded"
	// NetworkType is a bond port's mode, such as hybrid-bonded.
	NetworkType Kind = "network-type"
	// VLAN is a virtual network's existence: "<project> <metro> <vxlan>".
	VLAN Kind = "vlan"
	// VRF is a VRF's existence: its name.
	VRF Kind = "vrf"
	// Reservation is an IP reservation's existence: its prefix.
	Reservation Kind = "reservation"
	// Gateway is a Metal Gateway's state.
	Gateway Kind = "gateway"
	// UserEvent is a user-state event of a server: "<code> <message>". It has no
	// end.
	UserEvent Kind = "user-event"
)

// Change is one change of the cloud's state. Before and After are values of
// its kind; an empty Before is a beginning, an empty After an end.
type Change struct {
	// Seq counts from 1 without gaps, At never goes back.
	Seq int
	At  time.Time

	Kind Kind
	// Subject is the UUID of what changed: of the server for DeviceState,
	// DevicePower, CustomData, Address and UserEvent, of the port for PortVLAN,
	// NativeVLAN, PortBonded and NetworkType, else of the thing itself.
	Subject string
	// Device and Hostname are the server that the subject is or belongs to, Port
	// is the port's name; both empty for what belongs to no server.
	Device, Hostname, Port string
	Before, After          string
}

// Changes returns the changes after the one with that number; 0 returns all.
func (c *Cloud) Changes(after int) []Change {
	defer c.work()()
	after = min(max(after, 0), len(c.log))
	return slices.Clone(c.log[after:])
}

// note adds a change to the log, unless nothing changed.
func (c *Cloud) note(ch Change) {
	if ch.Before == ch.After {
		return
	}
	ch.Seq, ch.At = len(c.log)+1, c.now
	c.log = append(c.log, ch)
}

// Span is the time during which a subject had one value.
type Span struct {
	Kind                            Kind
	Subject, Device, Hostname, Port string
	Value                           string
	// From is when it began and To when it ended; a zero To has not ended.
	From, To time.Time
}

// Spans returns who had which value of a kind, and when, in order of
// beginnings.
func Spans(changes []Change, kind Kind) []Span {
	type holding struct{ subject, value string }
	open := map[holding]int{}
	var out []Span
	for _, ch := range changes {
		if ch.Kind != kind {
			continue
		}
		if i, held := open[holding{ch.Subject, ch.Before}]; held && ch.Before != "" {
			out[i].To = ch.At
			delete(open, holding{ch.Subject, ch.Before})
		}
		if ch.After != "" {
			open[holding{ch.Subject, ch.After}] = len(out)
			out = append(out, Span{
				Kind: kind, Subject: ch.Subject, Device: ch.Device, Hostname: ch.Hostname, Port: ch.Port,
				Value: ch.After, From: ch.At,
			})
		}
	}
	return out
}

// Overlap is two servers that had the same value at the same time.
type Overlap struct {
	First, Second Span
}

// Overlaps returns the pairs of spans of different servers with one value
// whose times overlap. A span that begins at the moment when another ends
// does not overlap it.
func Overlaps(spans []Span) []Overlap {
	byValue := map[string][]Span{}
	for _, s := range spans {
		byValue[s.Value] = append(byValue[s.Value], s)
	}
	var out []Overlap
	for _, same := range byValue {
		out = append(out, overlapsOf(same)...)
	}
	slices.SortFunc(out, func(a, b Overlap) int {
		return cmp.Or(a.Second.From.Compare(b.Second.From), cmp.Compare(a.First.Value, b.First.Value),
			cmp.Compare(a.First.Device, b.First.Device), cmp.Compare(a.Second.Device, b.Second.Device))
	})
	return out
}

// overlapsOf compares every span with those that began earlier and have not
// ended yet.
func overlapsOf(same []Span) []Overlap {
	slices.SortStableFunc(same, func(a, b Span) int { return a.From.Compare(b.From) })
	var out []Overlap
	var open []Span
	for _, s := range same {
		open = slices.DeleteFunc(open, func(o Span) bool { return !o.To.IsZero() && !o.To.After(s.From) })
		for _, o := range open {
			if o.Device != s.Device {
				out = append(out, Overlap{First: o, Second: s})
			}
		}
		open = append(open, s)
	}
	return out
}
