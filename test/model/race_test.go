package model

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestChosenTwice lets two claims that share a whole subnet choose again and
// again at the same moment, neither seeing what the other has just chosen. Both
// then hold the same address in their records: neither may deliver it before the
// other has let go.
func TestChosenTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing runs beside it")
	}
	set(t, "rapid.nofailfile", "true")
	set(t, "rapid.checks", "8")
	twice := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := newDriver(rt)
		defer d.w.Close()
		claims := []*Composite{d.sharing("a"), d.sharing("b")}
		for range 40 {
			for range d.int("steps of the others", 1, 3) {
				d.w.ActAll()
				d.w.Advance(5 * time.Second)
			}
			for _, c := range claims {
				d.w.Reconcile(c, Trouble{OldOthers: true})
			}
			d.w.noteTwice()
			for range d.int("rounds", 1, 2) {
				d.w.Reconcile(pick(d, "claim", claims), Trouble{})
			}
			if d.chance("scale", 4) {
				c := pick(d, "claim", claims)
				s := c.now().spec.clone()
				s.pools[1].replicas = d.int("replicas", 0, maxAutoscaled)
				d.w.edit(c, s)
			}
			check(rt, d.w)
		}
		d.w.Settle()
		check(rt, d.w)
		twice += d.w.Happened()["address chosen twice"]
	})
	t.Logf("an address was chosen twice %d times", twice)
	if twice == 0 {
		t.Error("no address was ever chosen twice")
	}
}

// sharing is a new claim whose machines draw from the whole subnet of the first
// shared VLAN.
func (d *driver) sharing(name string) *Composite {
	const vxlan = 1000
	n := network{name: "net", vxlan: vxlan, assignment: static, adopted: d.adopted["da"][vxlan]}
	ports := []port{{name: bond, networks: []portNetwork{{name: n.name}}}}
	return d.w.create(name, &spec{
		metro: "da", version: "v1.34.2", networks: []network{n},
		pools: []pool{
			{name: controlPlanePool, machineType: "c3.small.x86", replicas: 1, surge: 1, ports: ports},
			{name: "w1", machineType: "c3.small.x86", replicas: 2, surge: 1, ports: ports},
		},
	})
}
