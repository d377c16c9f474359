package metal

import "github.com/equinix/equinix-sdk-go/services/metalv1"

// Snapshot is everything that exists in a cloud, with nested objects spelled
// out, oldest first.
type Snapshot struct {
	Devices      []metalv1.Device
	VLANs        []metalv1.VirtualNetwork
	VRFs         []metalv1.Vrf
	Reservations []metalv1.IPReservation
	// VRFReservations are the reservations inside VRFs.
	VRFReservations []metalv1.VrfIpReservation
	Gateways        []metalv1.MetalGateway
	VRFGateways     []metalv1.VrfMetalGateway
}

// Snapshot returns everything that exists.
func (c *Cloud) Snapshot() Snapshot {
	defer c.work()()
	var out Snapshot
	f := everything()
	for _, d := range c.devices.all() {
		out.Devices = append(out.Devices, c.deviceView(d, f))
	}
	for _, v := range c.vlans.all() {
		out.VLANs = append(out.VLANs, c.vlanView(v, f))
	}
	for _, v := range c.vrfs.all() {
		out.VRFs = append(out.VRFs, c.vrfView(v, f))
	}
	for _, r := range c.reservations.all() {
		switch view := c.reservationView(r, f).(type) {
		case metalv1.IPReservation:
			out.Reservations = append(out.Reservations, view)
		case metalv1.VrfIpReservation:
			out.VRFReservations = append(out.VRFReservations, view)
		}
	}
	for _, g := range c.gateways.all() {
		switch view := c.gatewayView(g, f).(type) {
		case metalv1.MetalGateway:
			out.Gateways = append(out.Gateways, view)
		case metalv1.VrfMetalGateway:
			out.VRFGateways = append(out.VRFGateways, view)
		}
	}
	return out
}
