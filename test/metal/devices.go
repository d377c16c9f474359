package metal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

type device struct {
	id, project, hostname, description string
	plan, metro, facility, os, billing string
	ipxe, userdata, rootPassword       string
	tags                               []string
	customdata                         string // canonical JSON
	alwaysPXE, locked, frozen          bool
	state                              metalv1.DeviceState
	powered                            bool
	life                               Life
	ports                              []*port
	addresses                          []*assignment
	events                             []*event
	created, updated                   time.Time
}

// passwordKept is how long the API shows a server's first root password.
const passwordKept = 24 * time.Hour

func deviceRoutes() routes {
	return routes{
		"POST /projects/{id}/devices":  (*Cloud).createDevice,
		"GET /projects/{id}/devices":   (*Cloud).listDevices,
		"GET /devices/{id}":            (*Cloud).getDevice,
		"PUT /devices/{id}":            (*Cloud).updateDevice,
		"DELETE /devices/{id}":         (*Cloud).deleteDevice,
		"POST /devices/{id}/actions":   (*Cloud).actOnDevice,
		"GET /devices/{id}/customdata": (*Cloud).getCustomData,
		"GET /devices/{id}/userdata":   (*Cloud).getUserData,
	}
}

// place is where a server is to be created, and what the SDK's models cannot
// hold without loss.
type place struct {
	Metro      string          `json:"metro"`
	Facility   facilities      `json:"facility"`
	Customdata json.RawMessage `json:"customdata"`
}

// facilities is a facility's code or a list of them.
type facilities []string

// UnmarshalJSON accepts both forms that the API accepts.
func (f *facilities) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*f = facilities{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(f))
}

func (c *Cloud) createDevice(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.DeviceCreateInput
	if err := (&query{body: withoutEmpty(q.body, "billing_cycle")}).decode(&in); err != nil {
		return reply{}, err
	}
	var at place
	if err := q.decode(&at); err != nil {
		return reply{}, err
	}
	custom, err := canonical(at.Customdata)
	if err != nil {
		return reply{}, err
	}
	metro, facility := c.locate(at)
	if err := refuse(c.wrongWithDevice(in, metro)); err != nil {
		return reply{}, err
	}
	d := c.newDevice(p, in, metro, facility)
	c.note(Change{Kind: DeviceState, Subject: d.id, Device: d.id, Hostname: d.hostname, After: string(d.state)})
	c.setCustomData(d, custom)
	c.emit(d, "provisioning.101", "Provisioning started")
	c.after(d.life.Queued, func() { c.provision(d) })
	return created(c.deviceView(d, q.fields))
}

// withoutEmpty drops an empty string from a JSON object: clients send it where
// the model of the SDK knows only certain words.
func withoutEmpty(body []byte, key string) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || string(object[key]) != `""` {
		return body
	}
	delete(object, key)
	out, err := json.Marshal(object)
	if err != nil {
		return body
	}
	return out
}

// locate returns the metro and facility of a request. A facility's code is its
// metro's code and a number.
func (c *Cloud) locate(at place) (metro, facility string) {
	if len(at.Facility) > 0 && at.Metro == "" {
		return strings.ToLower(strings.TrimRight(at.Facility[0], "0123456789")), at.Facility[0]
	}
	metro = strings.ToLower(at.Metro)
	return metro, metro + "11"
}

func (c *Cloud) wrongWithDevice(in metalv1.DeviceCreateInput, metro string) []string {
	var wrong []string
	if !slices.Contains(c.opts.Metros, metro) {
		wrong = append(wrong, fmt.Sprintf("Metro %q is not a metro", metro))
	}
	if _, known := c.opts.Plans[in.Plan]; !known {
		wrong = append(wrong, fmt.Sprintf("Plan %q is not a plan", in.Plan))
	}
	if in.OperatingSystem == "" {
		wrong = append(wrong, "Operating system can't be blank")
	}
	if in.GetHardwareReservationId() != "" {
		wrong = append(wrong, "There are no available hardware reservations for this project")
	}
	if !userDataFormat(in.GetUserdata()) {
		wrong = append(wrong, "Userdata unrecognized userdata format")
	}
	return wrong
}

// userDataFormat tells whether the API takes user data of that form: none, a
// script, cloud-config, either of them behind the header of a jinja template,
// or Ignition's JSON.
func userDataFormat(s string) bool {
	if first, rest, found := strings.Cut(s, "\n"); found && strings.HasPrefix(first, "## template: jinja") {
		s = rest
	}
	var ignition struct {
		Ignition json.RawMessage `json:"ignition"`
	}
	return s == "" || strings.HasPrefix(s, "#!") || strings.HasPrefix(s, "#cloud-config") ||
		json.Unmarshal([]byte(s), &ignition) == nil && len(ignition.Ignition) > 0
}

func (c *Cloud) newDevice(p *project, in metalv1.DeviceCreateInput, metro, facility string) *device {
	d := &device{
		project: p.id, hostname: in.GetHostname(), description: in.GetDescription(),
		plan: in.Plan, metro: metro, facility: facility, os: in.OperatingSystem,
		billing: string(in.GetBillingCycle()), ipxe: in.GetIpxeScriptUrl(), userdata: in.GetUserdata(),
		tags: slices.Clone(in.Tags), alwaysPXE: in.GetAlwaysPxe(), locked: in.GetLocked(), frozen: in.GetNetworkFrozen(),
		state: metalv1.DEVICESTATE_QUEUED, created: c.now, updated: c.now,
	}
	if d.hostname == "" {
		d.hostname = in.Plan + "-01"
	}
	if d.billing == "" {
		d.billing = "hourly"
	}
	d.id = c.newID("device", p.id, d.hostname)
	d.rootPassword = secretOf(c.opts.Seed, "root password", d.id)
	d.life = c.opts.Schedule.Life
	if of := c.opts.Schedule.Of; of != nil {
		d.life = of(d.hostname, d.life)
	}
	c.devices.put(d.id, d)
	return d
}

// provision gives a queued server its hardware: ports, and addresses on bond0.
func (c *Cloud) provision(d *device) {
	if d.state != metalv1.DEVICESTATE_QUEUED {
		return
	}
	c.setState(d, metalv1.DEVICESTATE_PROVISIONING)
	c.addPorts(d)
	c.emit(d, "provisioning.103", "Network configured")
	c.addManagementAddress(d, true)
	c.addManagementAddress(d, false)
	c.emit(d, "provisioning.104", "Addresses configured")
	c.after(d.life.Provisioning, func() { c.activate(d) })
}

// activate ends the installation of a server's operating system.
func (c *Cloud) activate(d *device) {
	if d.state != metalv1.DEVICESTATE_PROVISIONING && d.state != metalv1.DEVICESTATE_REINSTALLING {
		return
	}
	c.emit(d, "provisioning.109", "Provision complete! Your device is ready to go.")
	c.setState(d, metalv1.DEVICESTATE_ACTIVE)
	c.setPower(d, true)
}

// remove ends a server: whatever it held is free from now on.
func (c *Cloud) remove(d *device) {
	if _, there := c.devices.get(d.id); !there {
		return
	}
	for _, a := range slices.Clone(d.addresses) {
		c.unassign(a)
	}
	for _, p := range d.ports {
		c.attach(p, attachment{})
		c.note(p.change(PortBonded, fmt.Sprint(p.bonded), ""))
		if p.isBond() {
			c.note(p.change(NetworkType, string(p.networkType()), ""))
		}
		c.ports.drop(p.id)
	}
	for _, s := range c.sessionsOf(d.id) {
		c.sessions.drop(s.id)
	}
	for _, e := range d.events {
		c.events.drop(e.id)
	}
	c.setPower(d, false)
	c.setCustomData(d, "")
	c.setState(d, "")
	c.devices.drop(d.id)
}

func (c *Cloud) setState(d *device, s metalv1.DeviceState) {
	c.note(Change{Kind: DeviceState, Subject: d.id, Device: d.id, Hostname: d.hostname, Before: string(d.state), After: string(s)})
	d.state, d.updated = s, c.now
}

func (c *Cloud) setPower(d *device, on bool) {
	word := map[bool]string{true: "on"}
	c.note(Change{Kind: DevicePower, Subject: d.id, Device: d.id, Hostname: d.hostname, Before: word[d.powered], After: word[on]})
	d.powered = on
}

func (c *Cloud) setCustomData(d *device, custom string) {
	c.note(Change{Kind: CustomData, Subject: d.id, Device: d.id, Hostname: d.hostname, Before: d.customdata, After: custom})
	d.customdata = custom
}

// device finds a server. One whose provisioning failed is not the project's any
// more: the API says 403.
func (c *Cloud) device(id string) (*device, error) {
	if c.failed[id] {
		return nil, forbidden("device")
	}
	d, known := c.devices.get(id)
	if !known {
		return nil, notFound()
	}
	return d, nil
}

func (c *Cloud) listDevices(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	found := c.devices.where(func(d *device) bool { return d.project == p.id && d.matches(q) })
	list, meta := page(q, found, 10)
	out := metalv1.DeviceList{Devices: []metalv1.Device{}, Meta: meta}
	for _, d := range list {
		out.Devices = append(out.Devices, c.deviceView(d, q.fields))
	}
	return ok(out)
}

// matches tells whether a server passes the filters of a list.
func (d *device) matches(q *query) bool {
	search := strings.ToLower(q.param("search"))
	found := strings.Contains(strings.ToLower(d.hostname+" "+d.description), search) ||
		slices.Contains(d.tags, q.param("search"))
	return found && same(q.param("hostname"), d.hostname) && same(q.param("metro"), d.metro) &&
		same(q.param("facility"), d.facility) &&
		(q.param("tag") == "" || slices.Contains(d.tags, q.param("tag")))
}

// same tells whether a filter is absent or equal.
func same(filter, value string) bool {
	return filter == "" || strings.EqualFold(filter, value)
}

func (c *Cloud) getDevice(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(c.deviceView(d, q.fields))
}

func (c *Cloud) updateDevice(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if d.state == metalv1.DEVICESTATE_DEPROVISIONING {
		return reply{}, unprocessable("Cannot update a device while it is deprovisioning")
	}
	var in metalv1.DeviceUpdateInput
	var exact place
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	if err := q.decode(&exact); err != nil {
		return reply{}, err
	}
	custom := d.customdata
	if len(exact.Customdata) > 0 {
		if custom, err = canonical(exact.Customdata); err != nil {
			return reply{}, err
		}
	}
	if in.Userdata != nil && !userDataFormat(*in.Userdata) {
		return reply{}, unprocessable("Userdata unrecognized userdata format")
	}
	d.update(in)
	d.updated = c.now
	c.setCustomData(d, custom)
	return ok(c.deviceView(d, q.fields))
}

// update changes what the request names and nothing else.
func (d *device) update(in metalv1.DeviceUpdateInput) {
	set(&d.hostname, in.Hostname)
	set(&d.description, in.Description)
	set(&d.billing, in.BillingCycle)
	set(&d.ipxe, in.IpxeScriptUrl)
	set(&d.userdata, in.Userdata)
	set(&d.alwaysPXE, in.AlwaysPxe)
	set(&d.locked, in.Locked)
	set(&d.frozen, in.NetworkFrozen)
	if in.Tags != nil {
		d.tags = slices.Clone(in.Tags)
	}
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func (c *Cloud) deleteDevice(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if d.locked {
		return reply{}, unprocessable("Cannot delete a locked device")
	}
	switch d.state {
	case metalv1.DEVICESTATE_DEPROVISIONING:
		return noContent()
	case metalv1.DEVICESTATE_QUEUED, metalv1.DEVICESTATE_PROVISIONING, metalv1.DEVICESTATE_REINSTALLING:
		return reply{}, unprocessable("Cannot delete a device while it is provisioning")
	}
	c.setState(d, metalv1.DEVICESTATE_DEPROVISIONING)
	c.emit(d, "deprovisioning.306", "Deprovisioning started")
	c.after(d.life.Deprovisioning, func() { c.remove(d) })
	return noContent()
}

func (c *Cloud) actOnDevice(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.DeviceActionInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	if d.state != metalv1.DEVICESTATE_ACTIVE && d.state != metalv1.DEVICESTATE_INACTIVE {
		return reply{}, unprocessable("Cannot %s a device while it is %s", in.Type, d.state)
	}
	if d.locked && in.Type == metalv1.DEVICEACTIONINPUTTYPE_REINSTALL {
		return reply{}, unprocessable("Cannot reinstall a locked device")
	}
	c.act(d, in)
	return reply{status: http.StatusAccepted}, nil
}

func (c *Cloud) act(d *device, in metalv1.DeviceActionInput) {
	c.emit(d, "instance."+string(in.Type), "Instance action "+string(in.Type))
	switch in.Type {
	case metalv1.DEVICEACTIONINPUTTYPE_POWER_OFF:
		c.setState(d, metalv1.DEVICESTATE_INACTIVE)
		c.setPower(d, false)
	case metalv1.DEVICEACTIONINPUTTYPE_REINSTALL:
		set(&d.os, in.OperatingSystem)
		set(&d.ipxe, in.IpxeScriptUrl)
		c.setState(d, metalv1.DEVICESTATE_REINSTALLING)
		c.setPower(d, false)
		c.after(d.life.Provisioning, func() { c.activate(d) })
	default:
		c.setPower(d, false)
		c.setState(d, metalv1.DEVICESTATE_ACTIVE)
		c.setPower(d, true)
	}
}

func (c *Cloud) getCustomData(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(json.RawMessage(d.customdata))
}

func (c *Cloud) getUserData(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(metalv1.Userdata{Userdata: &d.userdata})
}

// canonical returns a JSON object with its keys sorted and its numbers as they
// were written; nothing and null are an empty object.
func canonical(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "{}", nil
	}
	object, err := exactObject(raw)
	if err != nil {
		return "", unprocessable("Customdata must be a JSON object")
	}
	out, err := json.Marshal(object)
	if err != nil {
		return "", unprocessable("Customdata must be a JSON object")
	}
	return string(out), nil
}

// exactObject reads a JSON object without losing digits of its numbers.
func exactObject(raw []byte) (map[string]any, error) {
	var out map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return out, nil
}

// FailDevice ends a server before it is active, as when its hardware is
// broken: it is gone, and the API answers 403 for it. It fails if there is no
// such server or it is active already.
func (c *Cloud) FailDevice(id string) error {
	defer c.work()()
	d, known := c.devices.get(id)
	if !known {
		return fmt.Errorf("cannot fail device %q: there is none", id)
	}
	if d.state != metalv1.DEVICESTATE_QUEUED && d.state != metalv1.DEVICESTATE_PROVISIONING {
		return fmt.Errorf("cannot fail device %q: it is %s", id, d.state)
	}
	c.setState(d, metalv1.DEVICESTATE_FAILED)
	c.failed[id] = true
	c.remove(d)
	return nil
}
