package metal

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// An event is something that the API tells about a server.
type event struct {
	id, kind, state, body string
	device                *device
	at                    time.Time
}

func eventRoutes() routes {
	return routes{
		"GET /devices/{id}/events":  (*Cloud).listDeviceEvents,
		"GET /projects/{id}/events": (*Cloud).listProjectEvents,
		"GET /events/{id}":          (*Cloud).getEvent,
	}
}

// emit adds an event to a server.
func (c *Cloud) emit(d *device, kind, body string) {
	c.record(&event{kind: kind, state: "succeeded", body: body, device: d})
}

func (c *Cloud) record(e *event) {
	e.id = c.newID("event", e.device.id)
	e.at = c.now
	e.device.events = append(e.device.events, e)
	c.events.put(e.id, e)
}

// addUserEvent adds what a server said about itself.
func (c *Cloud) addUserEvent(d *device, state string, code int, message string) {
	c.record(&event{kind: "user." + strconv.Itoa(code), state: state, body: message, device: d})
	c.note(Change{
		Kind: UserEvent, Subject: d.id, Device: d.id, Hostname: d.hostname,
		After: strings.TrimSpace(strconv.Itoa(code) + " " + message),
	})
}

func (c *Cloud) listDeviceEvents(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(eventList(q, d.events))
}

func (c *Cloud) listProjectEvents(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(eventList(q, c.events.where(func(e *event) bool { return e.device.project == p.id })))
}

// eventList shows a page of events, the newest first.
func eventList(q *query, events []*event) metalv1.EventList {
	newest := slices.Clone(events)
	slices.Reverse(newest)
	list, meta := page(q, newest, 10)
	out := metalv1.EventList{Events: []metalv1.Event{}, Meta: meta}
	for _, e := range list {
		out.Events = append(out.Events, e.view())
	}
	return out
}

func (c *Cloud) getEvent(q *query) (reply, error) {
	e, known := c.events.get(q.PathValue("id"))
	if !known {
		return reply{}, notFound()
	}
	return ok(e.view())
}

func (e *event) view() metalv1.Event {
	return metalv1.Event{
		Id: &e.id, Href: new(href("events", e.id)), Type: &e.kind, State: &e.state, Body: &e.body, Interpolated: &e.body,
		Relationships: []metalv1.Href{{Href: href("devices", e.device.id)}}, CreatedAt: new(stamp(e.at)),
	}
}
