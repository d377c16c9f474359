package metal

import (
	"strings"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// deviceView shows a server as the API does.
func (c *Cloud) deviceView(d *device, f fields) metalv1.Device {
	custom, err := exactObject([]byte(d.customdata))
	if err != nil {
		custom = map[string]any{}
	}
	out := metalv1.Device{
		Id: &d.id, ShortId: new(d.id[:8]), Href: new(href("devices", d.id)),
		Hostname: &d.hostname, Description: &d.description, State: &d.state,
		Tags: append([]string{}, d.tags...), BillingCycle: &d.billing, User: new("root"),
		Iqn:       new("iqn." + stamp(d.created).Format("2006-01") + ".net.packet:device." + d.id[:8]),
		CreatedAt: new(stamp(d.created)), UpdatedAt: new(stamp(d.updated)),
		AlwaysPxe: &d.alwaysPXE, Locked: &d.locked, NetworkFrozen: &d.frozen, SpotInstance: new(false),
		IpxeScriptUrl: &d.ipxe, Userdata: &d.userdata, Customdata: custom, BondingMode: new(int32(4)),
		OperatingSystem: osView(d.os), Plan: c.planView(d.plan),
		Metro:       &metalv1.DeviceMetro{Id: new(uuidOf("metro", d.metro)), Code: &d.metro, Name: new(metroName(d.metro))},
		Facility:    &metalv1.Facility{Id: new(uuidOf("facility", d.facility)), Code: &d.facility, Name: &d.facility},
		Project:     c.projectView(d.project, f.full("project", false)),
		ProjectLite: &metalv1.DeviceProjectLite{Href: href("projects", d.project)},
		SshKeys:     []metalv1.Href{}, Volumes: []metalv1.Href{},
		Sos: new(d.id + "@sos." + d.facility + ".platformequinix.com"),
	}
	if c.now.Sub(d.created) < passwordKept {
		out.RootPassword = &d.rootPassword
	}
	for _, p := range d.ports {
		out.NetworkPorts = append(out.NetworkPorts, c.portRef(p, f, "network_ports", true))
	}
	for _, a := range d.addresses {
		out.IpAddresses = append(out.IpAddresses, c.assignmentView(a))
	}
	return out
}

func (c *Cloud) planView(slug string) *metalv1.Plan {
	return &metalv1.Plan{
		Id: new(uuidOf("plan", slug)), Slug: new(slug), Name: new(slug), Class: new(slug),
		Line: new("baremetal"), Legacy: new(false),
	}
}

func osView(slug string) *metalv1.OperatingSystem {
	distro, version := distroOf(slug)
	return &metalv1.OperatingSystem{
		Id: new(uuidOf("os", slug)), Slug: new(slug), Name: new(slug), Distro: new(distro), Version: new(version),
	}
}

// distroOf splits a slug such as ubuntu_22_04.
func distroOf(slug string) (distro, version string) {
	distro, version, _ = strings.Cut(slug, "_")
	return distro, strings.ReplaceAll(version, "_", ".")
}

func metroName(code string) string {
	return "Metro " + strings.ToUpper(code)
}

func (c *Cloud) metroView(code string) *metalv1.Metro {
	return &metalv1.Metro{Id: new(uuidOf("metro", code)), Code: new(code), Name: new(metroName(code))}
}
