package metal_test

import (
	"testing"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// TestChangesTellTrueTimes lets a server live without anybody looking: the log
// has each change at its own moment.
func TestChangesTellTrueTimes(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: minutes(1, 5, 3)})
	v := w.vlan("da", 1000)
	d := w.create("node", "c3.small.x86", "da")
	w.clock.Advance(10 * time.Minute)
	s := w.serverOf(w.device(d.GetId()))
	if err := assign("bond0", "1000")(s); err != nil {
		t.Fatal(err)
	}
	w.post("PUT", "/metal/v1/devices/"+s.id, `{"customdata":{"a":1}}`)
	if _, err := w.client.DevicesApi.DeleteDevice(w.ctx, s.id).Execute(); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	changes := w.cloud.Changes(0)
	at := func(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }
	span := func(kind metal.Kind, subject, port, value string, from, to int) metal.Span {
		return metal.Span{
			Kind: kind, Subject: subject, Device: s.id, Hostname: "node", Port: port, Value: value, From: at(from), To: at(to),
		}
	}
	want := []metal.Span{
		span(metal.DeviceState, s.id, "", "queued", 0, 1),
		span(metal.DeviceState, s.id, "", "provisioning", 1, 6),
		span(metal.DeviceState, s.id, "", "active", 6, 10),
		span(metal.DeviceState, s.id, "", "deprovisioning", 10, 13),
		span(metal.DevicePower, s.id, "", "on", 6, 13),
		span(metal.CustomData, s.id, "", "{}", 0, 10),
		span(metal.CustomData, s.id, "", `{"a":1}`, 10, 13),
		span(metal.Address, s.id, "", "127.64.0.1", 1, 13),
		span(metal.Address, s.id, "", "127.65.0.1", 1, 13),
		span(metal.PortVLAN, s.ports["bond0"], "bond0", v.GetId(), 10, 13),
		span(metal.NetworkType, s.ports["bond0"], "bond0", "layer3", 1, 10),
		span(metal.NetworkType, s.ports["bond0"], "bond0", "hybrid-bonded", 10, 13),
		span(metal.NetworkType, s.ports["bond0"], "bond0", "layer3", 13, 13),
	}
	var got []metal.Span
	for _, kind := range []metal.Kind{
		metal.DeviceState, metal.DevicePower, metal.CustomData, metal.Address, metal.PortVLAN, metal.NetworkType,
	} {
		got = append(got, metal.Spans(changes, kind)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, ch := range changes {
		if ch.Seq != i+1 || i > 0 && ch.At.Before(changes[i-1].At) {
			t.Errorf("change %d has number %d and time %s", i, ch.Seq, ch.At)
		}
	}
	if diff := cmp.Diff(changes[4:], w.cloud.Changes(4)); diff != "" {
		t.Errorf("changes after the fourth (-want +got):\n%s", diff)
	}
	if got := w.cloud.Changes(len(changes) + 5); len(got) != 0 {
		t.Errorf("changes after the last: %v", got)
	}
}

func TestChangesOfThings(t *testing.T) {
	w := newWorld(t, metal.Options{})
	if err := vrfGateway("da", 1)(w); err != nil {
		t.Fatal(err)
	}
	d := w.create("node", "c3.small.x86", "da")
	say(t, readNode(t, w.cloud.MetadataURL(d.GetId())).UserStateURL, `{"state":"failed","code":1002,"message":"no carrier"}`)
	values := map[metal.Kind][]string{}
	for _, ch := range w.cloud.Changes(0) {
		values[ch.Kind] = append(values[ch.Kind], ch.After)
	}
	want := map[metal.Kind][]string{
		metal.VRF: {"net"}, metal.Reservation: {"10.60.10.0/24"}, metal.VLAN: {project + " da 1000"},
		metal.Gateway: {"ready", "active"}, metal.UserEvent: {"1002 no carrier"},
	}
	for kind, w := range want {
		if diff := cmp.Diff(w, values[kind]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestSpans(t *testing.T) {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	ch := func(s int, subject, before, after string) metal.Change {
		return metal.Change{At: at(s), Kind: metal.PortVLAN, Subject: subject, Device: "d" + subject, Before: before, After: after}
	}
	span := func(subject, value string, from, to int) metal.Span {
		out := metal.Span{Kind: metal.PortVLAN, Subject: subject, Device: "d" + subject, Value: value, From: at(from)}
		if to >= 0 {
			out.To = at(to)
		}
		return out
	}
	changes := []metal.Change{
		ch(0, "1", "", "a"), ch(1, "1", "", "b"), ch(2, "2", "", "a"), ch(3, "1", "a", ""), ch(3, "3", "", "a"),
		ch(4, "2", "a", "b"), ch(5, "1", "", "a"),
		{At: at(6), Kind: metal.VLAN, Subject: "1", Before: "a"},
	}
	spans := metal.Spans(changes, metal.PortVLAN)
	want := []metal.Span{
		span("1", "a", 0, 3), span("1", "b", 1, -1), span("2", "a", 2, 4), span("3", "a", 3, -1), span("2", "b", 4, -1), span("1", "a", 5, -1),
	}
	if diff := cmp.Diff(want, spans); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	overlaps := []metal.Overlap{
		{First: span("1", "a", 0, 3), Second: span("2", "a", 2, 4)},
		{First: span("2", "a", 2, 4), Second: span("3", "a", 3, -1)},
		{First: span("1", "b", 1, -1), Second: span("2", "b", 4, -1)},
		{First: span("3", "a", 3, -1), Second: span("1", "a", 5, -1)},
	}
	if diff := cmp.Diff(overlaps, metal.Overlaps(spans)); diff != "" {
		t.Errorf("overlaps (-want +got):\n%s", diff)
	}
}

// TestAddressesAreNeverShared replaces servers again and again: no address is
// two servers' at once.
func TestAddressesAreNeverShared(t *testing.T) {
	w := newWorld(t, metal.Options{Schedule: minutes(0, 1, 2)})
	for range 6 {
		for range 4 {
			w.create("node", "c3.small.x86", "da")
		}
		w.clock.Advance(time.Minute)
		for _, d := range w.cloud.Snapshot().Devices {
			if d.GetState() == metalv1.DEVICESTATE_ACTIVE {
				if _, err := w.client.DevicesApi.DeleteDevice(w.ctx, d.GetId()).Execute(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	spans := metal.Spans(w.cloud.Changes(0), metal.Address)
	if len(spans) != 48 {
		t.Errorf("%d addresses were given out, want 48", len(spans))
	}
	if got := metal.Overlaps(spans); len(got) != 0 {
		t.Errorf("shared addresses: %+v", got)
	}
}

func TestTwoPortsOfOneServerDoNotOverlap(t *testing.T) {
	spans := []metal.Span{
		{Kind: metal.PortVLAN, Subject: "eth0", Device: "d", Value: "a", From: epoch},
		{Kind: metal.PortVLAN, Subject: "eth1", Device: "d", Value: "a", From: epoch},
	}
	if got := metal.Overlaps(spans); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
