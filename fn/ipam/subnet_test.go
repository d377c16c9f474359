package ipam

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
)

func TestUsable(t *testing.T) {
	type args struct {
		subnet   string
		gateways []string
		exclude  []string
		choices  [][]string
	}
	type want struct {
		Ranges []string
		Count  int64
		Err    string
	}
	cases := map[string]struct {
		reason string
		args   args
		want   want
	}{
		"WholeSubnetAsRange": {
			reason: "65536 addresses less network, broadcast and gateway.",
			args:   args{subnet: "192.168.0.0/16", gateways: []string{"192.168.0.1"}, choices: [][]string{{"192.168.0.0/16"}}},
			want:   want{Ranges: []string{"192.168.0.2-192.168.255.254"}, Count: 65533},
		},
		"OnlyOneLeft": {
			reason: ".0 is the network, .1 the gateway, .2 excluded.",
			args: args{
				subnet: "10.60.10.0/24", gateways: []string{"10.60.10.1"}, exclude: []string{"10.60.10.2"},
				choices: [][]string{{"10.60.10.0-10.60.10.3"}},
			},
			want: want{Ranges: []string{"10.60.10.3"}, Count: 1},
		},
		"GatewayOutside": {
			reason: "A gateway that hosts cannot reach is an error.",
			args:   args{subnet: "10.60.10.0/24", gateways: []string{"10.61.0.1"}},
			want:   want{Err: `gateway "10.61.0.1"`},
		},
		"GatewayOfTheOtherFamily": {
			reason: "It lies outside as well.",
			args:   args{subnet: "10.60.10.0/24", gateways: []string{"2001:db8::1"}},
			want:   want{Err: `gateway "2001:db8::1"`},
		},
		"V6": {
			reason: "The all-zero host part is skipped, and there is no broadcast address.",
			args:   args{subnet: "2001:db8:0:1::/64", choices: [][]string{{"2001:db8:0:1::/64"}}},
			want:   want{Ranges: []string{"2001:db8:0:1::1-2001:db8:0:1:ffff:ffff:ffff:ffff"}, Count: MaxCount},
		},
		"NoRanges": {
			reason: "By default all hosts: 256 less network, broadcast, gateway.",
			args:   args{subnet: "10.60.10.0/24", gateways: []string{"10.60.10.1"}},
			want:   want{Ranges: []string{"10.60.10.2-10.60.10.254"}, Count: 253},
		},
		"FirstChoice": {
			reason: "The port's range beats the network's: .50-.99.",
			args:   args{subnet: "10.60.20.0/24", choices: [][]string{{"10.60.20.50-10.60.20.99"}, {"10.60.20.2-10.60.20.10"}}},
			want:   want{Ranges: []string{"10.60.20.50-10.60.20.99"}, Count: 50},
		},
		"SecondChoice": {
			reason: "Without one, the network's counts.",
			args:   args{subnet: "10.60.20.0/24", choices: [][]string{nil, {"10.60.20.2-10.60.20.10", "10.60.20.9-10.60.20.12"}}},
			want:   want{Ranges: []string{"10.60.20.2-10.60.20.12"}, Count: 11},
		},
		"ExcludeElsewhere": {
			reason: "An endpoint in another network is no fault of this one.",
			args:   args{subnet: "10.60.10.0/30", exclude: []string{"147.75.1.2", "2001:db8::/64"}},
			want:   want{Ranges: []string{"10.60.10.1-10.60.10.2"}, Count: 2},
		},
		"ExcludeInTheMiddle": {
			reason: "10 addresses less the block of 4.",
			args:   args{subnet: "10.60.10.0/24", exclude: []string{"10.60.10.16/30"}, choices: [][]string{{"10.60.10.15-10.60.10.24"}}},
			want:   want{Ranges: []string{"10.60.10.15", "10.60.10.20-10.60.10.24"}, Count: 6},
		},
		"Slash31":           {"Both addresses of a point-to-point link are hosts.", args{subnet: "10.60.10.4/31"}, want{Ranges: []string{"10.60.10.4-10.60.10.5"}, Count: 2}},
		"Slash32":           {"The only address is a host.", args{subnet: "10.60.10.4/32"}, want{Ranges: []string{"10.60.10.4"}, Count: 1}},
		"Slash127":          {"As for /31.", args{subnet: "2001:db8::4/127"}, want{Ranges: []string{"2001:db8::4-2001:db8::5"}, Count: 2}},
		"Slash128":          {"As for /32.", args{subnet: "2001:db8::4/128"}, want{Ranges: []string{"2001:db8::4"}, Count: 1}},
		"Slash30":           {"4 less network and broadcast.", args{subnet: "10.60.10.4/30"}, want{Ranges: []string{"10.60.10.5-10.60.10.6"}, Count: 2}},
		"Slash126":          {"4 less the router anycast address.", args{subnet: "2001:db8::4/126"}, want{Ranges: []string{"2001:db8::5-2001:db8::7"}, Count: 3}},
		"NothingLeft":       {"An empty result is not an error.", args{subnet: "10.60.10.0/31", exclude: []string{"10.60.10.0/31"}}, want{}},
		"RangeOutside":      {"A range of another subnet is an error.", args{subnet: "10.60.10.0/24", choices: [][]string{{"10.60.11.2-10.60.11.9"}}}, want{Err: `range "10.60.11.2-10.60.11.9"`}},
		"RangePartlyInside": {"So is one that sticks out.", args{subnet: "10.60.10.0/24", choices: [][]string{{"10.60.10.200-10.60.11.9"}}}, want{Err: "10.60.10.0/24"}},
		"HostBits":          {"The error names the masked form.", args{subnet: "10.60.10.5/24"}, want{Err: "write 10.60.10.0/24"}},
		"NoSubnet":          {"The zero prefix is an error.", args{}, want{Err: "not a valid prefix"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s Subnet
			if tc.args.subnet != "" {
				s.Prefix = netip.MustParsePrefix(tc.args.subnet)
			}
			for _, g := range tc.args.gateways {
				s.Gateways = append(s.Gateways, netip.MustParseAddr(g))
			}
			s.Exclude = mustRanges(t, tc.args.exclude...)
			var choices [][]netipx.IPRange
			for _, c := range tc.args.choices {
				choices = append(choices, mustRanges(t, c...))
			}
			set, err := s.Usable(choices...)
			if tc.want.Err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want.Err) {
					t.Fatalf("\n%s\nUsable: want an error with %q, got %v", tc.reason, tc.want.Err, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("\n%s\nUsable: %v", tc.reason, err)
			}
			got := want{Ranges: texts(set.Ranges()), Count: Count(set)}
			if diff := cmp.Diff(tc.want, got, values); diff != "" {
				t.Errorf("\n%s\nUsable: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
