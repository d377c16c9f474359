package platform_test

import (
	"strings"
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/platform"
	"github.com/l2cluster/function-l2cluster/fn/platform/equinix"
)

func TestNew(t *testing.T) {
	cases := map[string]struct {
		reason string
		name   string
		want   platform.Platform
		fails  bool
	}{
		"Equinix": {reason: "The platform of the input's default.", name: "equinix", want: equinix.Platform{}},
		"Unknown": {reason: "An unknown platform is an error that names the known ones.", name: "nebula", fails: true},
		"None":    {reason: "No name is no platform: defaults are filled in before.", name: "", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := platform.New(tc.name)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s\ngot %v, error %v", tc.reason, got, err)
			}
			if tc.fails && !strings.Contains(err.Error(), `"equinix"`) {
				t.Errorf("%s\nthe error %q does not name the platform that there is", tc.reason, err)
			}
		})
	}
}
