package main

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

func TestParse(t *testing.T) {
	type want struct {
		Listen string
		Opts   metal.Options
		Fails  bool
	}
	life := metal.Life{Queued: time.Second, Provisioning: 10 * time.Second, Deprovisioning: 30 * time.Second}
	usual := metal.Schedule{Life: life, Batch: time.Second, Gateway: time.Second, GatewayDeletion: time.Second}
	quick := usual
	quick.Provisioning = 0
	cases := map[string]struct {
		reason string
		args   []string
		want   want
	}{
		"Defaults": {
			reason: "Everything has a default.",
			want:   want{Listen: "127.0.0.1:0", Opts: metal.Options{Projects: map[string]string{}, Schedule: usual}},
		},
		"All": {
			reason: "Lists are separated by commas.",
			args: []string{
				"-listen", "127.0.0.1:8080", "-seed", "s", "-tokens", "a,b", "-projects", "x=one,y=two", "-metros", "da,sv", "-provisioning", "0s",
			},
			want: want{Listen: "127.0.0.1:8080", Opts: metal.Options{
				Seed: "s", Tokens: []string{"a", "b"}, Projects: map[string]string{"x": "one", "y": "two"},
				Metros: []string{"da", "sv"}, Schedule: quick,
			}},
		},
		"Unknown": {reason: "Unknown flags are refused.", args: []string{"-nothing"}, want: want{Fails: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			listen, opts, err := parse(tc.args)
			got := want{Listen: listen, Opts: opts, Fails: err != nil}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRun(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(done, nil); err != nil {
		t.Errorf("an interrupted server: %v", err)
	}
	if err := run(done, []string{"-listen", "0.0.0.0:0"}); err == nil {
		t.Error("it listens on all interfaces")
	}
}
