package metal

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// A batch is a list of VLANs to assign and unassign in the background.
type batch struct {
	id               string
	port             *port
	items            []batchItem
	state            metalv1.PortVlanAssignmentBatchState
	messages         []string
	created, updated time.Time
}

type batchItem struct {
	vlan           *vlan
	assign, native bool
}

func batchRoutes() routes {
	return routes{
		"GET /ports/{id}/vlan-assignments":                    (*Cloud).listAssignments,
		"GET /ports/{id}/vlan-assignments/{assignment}":       (*Cloud).getAssignment,
		"GET /ports/{id}/vlan-assignments/batches":            (*Cloud).listBatches,
		"POST /ports/{id}/vlan-assignments/batches":           (*Cloud).createBatch,
		"GET /ports/{id}/vlan-assignments/batches/{batch_id}": (*Cloud).getBatch,
	}
}

func (c *Cloud) createBatch(q *query) (reply, error) {
	p, err := c.port(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if err := c.changeable(p); err != nil {
		return reply{}, err
	}
	items, err := c.batchItems(q, p)
	if err != nil {
		return reply{}, err
	}
	b := &batch{
		id: c.newID("batch", p.id), port: p, items: items,
		state: metalv1.PORTVLANASSIGNMENTBATCHSTATE_QUEUED, created: c.now, updated: c.now,
	}
	p.batches = append(p.batches, b)
	half := c.opts.Schedule.Batch / 2
	c.after(half, func() { b.state, b.updated = metalv1.PORTVLANASSIGNMENTBATCHSTATE_IN_PROGRESS, c.now })
	c.after(c.opts.Schedule.Batch, func() { c.finish(b) })
	return created(c.batchView(b, q.fields))
}

func (c *Cloud) batchItems(q *query, p *port) ([]batchItem, error) {
	var in metalv1.PortVlanAssignmentBatchCreateInput
	if err := q.decode(&in); err != nil {
		return nil, err
	}
	if len(in.VlanAssignments) == 0 {
		return nil, unprocessable("Vlan assignments can't be blank")
	}
	var items []batchItem
	for _, a := range in.VlanAssignments {
		v, err := c.vlanFor(p, a.GetVlan())
		if err != nil {
			return nil, err
		}
		items = append(items, batchItem{
			vlan:   v,
			assign: a.GetState() != metalv1.PORTVLANASSIGNMENTBATCHVLANASSIGNMENTSINNERSTATE_UNASSIGNED,
			native: a.GetNative(),
		})
	}
	return items, nil
}

// finish does all of a batch, or nothing if one part of it breaks a rule.
func (c *Cloud) finish(b *batch) {
	b.updated = c.now
	want, err := b.outcome(c)
	if err != nil {
		b.state = metalv1.PORTVLANASSIGNMENTBATCHSTATE_FAILED
		b.messages = messagesOf(err)
		c.noteRefusal(http.MethodPost, "/ports/"+b.port.id+"/vlan-assignments/batches", b.messages)
		return
	}
	b.state = metalv1.PORTVLANASSIGNMENTBATCHSTATE_COMPLETED
	c.attach(b.port, want)
}

// outcome is what hangs on the port after the batch: what goes is taken off
// before anything is added, and natives come last, whatever the order of the
// lines.
func (b *batch) outcome(c *Cloud) (attachment, error) {
	if _, there := c.ports.get(b.port.id); !there {
		return attachment{}, unprocessable("Port %s is gone", b.port.name)
	}
	if err := c.changeable(b.port); err != nil {
		return attachment{}, err
	}
	want := b.port.attachment
	for _, phase := range []func(attachment, batchItem) (attachment, error){b.takeOff, c.add(b), b.makeNative} {
		for _, item := range b.items {
			next, err := phase(want, item)
			if err != nil {
				return attachment{}, err
			}
			want = next
		}
	}
	return want, nil
}

func (b *batch) takeOff(a attachment, i batchItem) (attachment, error) {
	if i.assign {
		return a, nil
	}
	return a.without(b.port, i.vlan)
}

func (c *Cloud) add(b *batch) func(attachment, batchItem) (attachment, error) {
	return func(a attachment, i batchItem) (attachment, error) {
		if !i.assign {
			return a, nil
		}
		if _, there := c.vlans.get(i.vlan.id); !there {
			return a, unprocessable("Virtual network %d is gone", i.vlan.vxlan)
		}
		return a.with(b.port, i.vlan)
	}
}

func (b *batch) makeNative(a attachment, i batchItem) (attachment, error) {
	if !i.assign || !i.native {
		return a, nil
	}
	return a.withNative(b.port, i.vlan)
}

func messagesOf(err error) []string {
	var no *apiError
	if errors.As(err, &no) {
		return no.messages
	}
	return strings.Split(err.Error(), "\n")
}

func (c *Cloud) listBatches(q *query) (reply, error) {
	p, err := c.port(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	out := metalv1.PortVlanAssignmentBatchList{Batches: []metalv1.PortVlanAssignmentBatch{}}
	for _, b := range p.batches {
		out.Batches = append(out.Batches, c.batchView(b, q.fields))
	}
	return ok(out)
}

func (c *Cloud) getBatch(q *query) (reply, error) {
	p, err := c.port(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	for _, b := range p.batches {
		if b.id == q.PathValue("batch_id") {
			return ok(c.batchView(b, q.fields))
		}
	}
	return reply{}, notFound()
}

func (c *Cloud) batchView(b *batch, f fields) metalv1.PortVlanAssignmentBatch {
	out := metalv1.PortVlanAssignmentBatch{
		Id: &b.id, State: &b.state, Quantity: new(int32(len(b.items))), ErrorMessages: append([]string{}, b.messages...),
		Port: new(c.portRef(b.port, f, "port", false)), Project: ref(href("projects", b.port.device.project)),
		CreatedAt: new(stamp(b.created)), UpdatedAt: new(stamp(b.updated)),
	}
	for _, i := range b.items {
		state := metalv1.PORTVLANASSIGNMENTBATCHVLANASSIGNMENTSINNERSTATE_UNASSIGNED
		if i.assign {
			state = metalv1.PORTVLANASSIGNMENTBATCHVLANASSIGNMENTSINNERSTATE_ASSIGNED
		}
		out.VlanAssignments = append(out.VlanAssignments, metalv1.PortVlanAssignmentBatchVlanAssignmentsInner{
			Id: new(assignmentID(b.port, i.vlan)), Vlan: new(int32(i.vlan.vxlan)), Native: new(i.native), State: state.Ptr(),
		})
	}
	return out
}

// assignmentID is the UUID of a VLAN's being attached to a port.
func assignmentID(p *port, v *vlan) string {
	return uuidOf("vlan assignment", p.id, v.id)
}

func (c *Cloud) listAssignments(q *query) (reply, error) {
	p, err := c.port(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	out := metalv1.PortVlanAssignmentList{VlanAssignments: []metalv1.PortVlanAssignment{}}
	for _, v := range p.vlans {
		out.VlanAssignments = append(out.VlanAssignments, p.assignmentView(v))
	}
	return ok(out)
}

func (c *Cloud) getAssignment(q *query) (reply, error) {
	p, err := c.port(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	for _, v := range p.vlans {
		if assignmentID(p, v) == q.PathValue("assignment") {
			return ok(p.assignmentView(v))
		}
	}
	return reply{}, notFound()
}

func (p *port) assignmentView(v *vlan) metalv1.PortVlanAssignment {
	return metalv1.PortVlanAssignment{
		Id: new(assignmentID(p, v)), Native: new(p.native == v), State: metalv1.PORTVLANASSIGNMENTSTATE_ASSIGNED.Ptr(),
		Vlan: new(int32(v.vxlan)), Port: ref(href("ports", p.id)), VirtualNetwork: ref(href("virtual-networks", v.id)),
		CreatedAt: new(stamp(p.since[v])), UpdatedAt: new(stamp(p.since[v])),
	}
}
