package metal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// story makes changes of servers, each at a second.
type story struct{ changes []metal.Change }

func (s *story) add(second int, device string, kind metal.Kind, after string) *story {
	s.changes = append(s.changes, metal.Change{
		Kind: kind, At: epoch.Add(time.Duration(second) * time.Second), Subject: device, Device: device, Hostname: device, After: after,
	})
	return s
}

func (s *story) given(second int, device, address string) *story {
	return s.add(second, device, metal.CustomData, `{"l2cluster":{"vlan1000.ipv4":"`+address+`"},"others":{"a":"b"}}`)
}

func (s *story) off(second int, device string) *story {
	return s.add(second, device, metal.DevicePower, "off")
}

// TestHoldings: who had an address, who had it together, and how long it rested.
func TestHoldings(t *testing.T) {
	type held struct {
		Device   string
		From, To int
	}
	cases := map[string]struct {
		reason string
		story  *story
		held   []held
		shared int
		rested []time.Duration
	}{
		"Rested": {
			reason: "One goes, and later another comes.", story: new(story).given(0, "a", ".2").off(5, "a").given(15, "b", ".2"),
			held: []held{{"a", 0, 5}, {"b", 15, -1}}, rested: []time.Duration{10 * time.Second},
		},
		"Shared": {
			reason: "Both are there.", story: new(story).given(0, "a", ".2").given(30, "b", ".2"),
			held: []held{{"a", 0, -1}, {"b", 30, -1}}, shared: 1, rested: []time.Duration{0},
		},
		"Own": {
			reason: "Each has its own.", story: new(story).given(0, "a", ".2").given(1, "b", ".3"),
			held: []held{{"a", 0, -1}, {"b", 1, -1}},
		},
		"TakenFromAServerThatRuns": {
			reason: "It has its address, whatever its custom data say now.",
			story:  new(story).given(0, "a", ".2").add(5, "a", metal.CustomData, "{}").given(30, "b", ".2").off(40, "a"),
			held:   []held{{"a", 0, 40}, {"b", 30, -1}}, shared: 1, rested: []time.Duration{-10 * time.Second},
		},
		"TheSameAgain": {
			reason: "What is said twice counts once.", story: new(story).given(0, "a", ".2").given(3, "a", ".2").off(5, "a"),
			held: []held{{"a", 0, 5}},
		},
		"NeverOn": {
			reason: "A server that is gone without ever having been on has nothing more.",
			story:  new(story).given(0, "a", ".2").add(5, "a", metal.DeviceState, ""), held: []held{{"a", 0, 5}},
		},
		"Foreign": {reason: "Other custom data are no addresses.", story: new(story).add(0, "a", metal.CustomData, `{"l2cluster":7}`)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spans := metal.Holdings(tc.story.changes, "l2cluster")
			var got []held
			for _, s := range spans {
				h := held{s.Device, int(s.From.Sub(epoch).Seconds()), -1}
				if !s.To.IsZero() {
					h.To = int(s.To.Sub(epoch).Seconds())
				}
				got = append(got, h)
			}
			if diff := cmp.Diff(tc.held, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if shared := len(metal.Overlaps(spans)); shared != tc.shared {
				t.Errorf("%s\n%d are shared, want %d", tc.reason, shared, tc.shared)
			}
			var rested []time.Duration
			for _, s := range metal.Successions(spans) {
				rested = append(rested, s.Rested)
			}
			if diff := cmp.Diff(tc.rested, rested); diff != "" {
				t.Errorf("%s\nrested: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
