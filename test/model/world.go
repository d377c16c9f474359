package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/l2cluster/function-l2cluster/fn/function"
)

// Start is what a world's clock shows first.
var Start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// CoolDown is how long an address rests, as in the function's input.
const CoolDown = 10 * time.Minute

// World is everything there is. It is not safe for concurrent use.
type World struct {
	fn    fnv1.FunctionRunnerServiceServer
	input *structpb.Struct
	host  string

	now     time.Time
	serial  int
	changes int // counts what has changed, to see when nothing does any more
	writes  int // counts what was written to composites

	composites []*Composite
	objects    []*composed
	byRef      map[ref]*composed
	sets       []*machineSet
	machines   []*machine
	cloud      cloud
	pools      addressPools

	// APIDown makes the cloud's API refuse to answer the function.
	APIDown bool
	// Shuffle calls the function again with everything in another order.
	Shuffle bool

	// Log tells what happens, if anybody wants to know.
	Log func(format string, args ...any)

	violations []string
	// happened counts what is worth knowing that it came to pass.
	happened map[string]int
}

// New returns a world without claims, whose clock shows Start. Close it.
func New() *World {
	host := theAPI.host()
	return newWorld(Start, host, structOf(fields{
		"apiVersion": "l2cluster.fn.crossplane.io/v1beta1", "kind": "Input",
		"equinix": fields{
			"apiURL":      "http://" + host + "/metal/v1",
			"tokenSecret": fields{"namespace": "crossplane-system", "name": "equinix-metal", "key": "auth_token"},
		},
		"network": fields{"coolDown": CoolDown.String()},
	}))
}

// newWorld returns a world that begins at a time, and whose cloud's API answers
// on a host.
func newWorld(start time.Time, host string, input *structpb.Struct) *World {
	w := &World{now: start, host: host, input: input, byRef: map[ref]*composed{}, pools: addressPools{}, happened: map[string]int{}}
	w.cloud = cloud{w: w, vlans: map[string]*vlan{}, ports: map[string]*cloudPort{}, holders: map[place][]*server{}}
	theAPI.register(host, w)
	w.fn = function.New(logging.NewNopLogger(), func() time.Time { return w.now })
	return w
}

// Close forgets the world.
func (w *World) Close() { theAPI.forget(w.host) }

// Now is what the world's clock shows.
func (w *World) Now() time.Time { return w.now }

// Advance the clock.
func (w *World) Advance(d time.Duration) { w.now = w.now.Add(d) }

// Violations are what must never happen and did, each a sentence.
func (w *World) Violations() []string { return w.violations }

func (w *World) violationf(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf("%s: ", w.now.Format("15:04:05"))+fmt.Sprintf(format, args...))
}

func (w *World) changed() { w.changes++ }

// Happened counts what came to pass, by name.
func (w *World) Happened() map[string]int { return w.happened }

func (w *World) note(what string) { w.happened[what]++ }

func (w *World) logf(format string, args ...any) {
	if w.Log != nil {
		w.Log("%s "+format, append([]any{w.now.Format("15:04:05")}, args...)...)
	}
}

// suffix is what others draw by chance: five characters that come only once.
func (w *World) suffix() string {
	w.serial++
	sum := sha256.Sum256([]byte(fmt.Sprint("suffix ", w.serial)))
	return hex.EncodeToString(sum[:])[:5]
}

// uuid is a random UUID that comes only once.
func (w *World) uuid() string {
	w.serial++
	sum := sha256.Sum256([]byte(fmt.Sprint("uuid ", w.serial)))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Actors is how many things there are that Act can pick.
func (w *World) Actors() int {
	return len(w.objects) + len(w.sets) + len(w.machines) + len(w.cloud.servers)
}

// Act lets the controller of one thing take its next step.
func (w *World) Act(i int) {
	if i < len(w.objects) {
		w.tickObject(w.objects[i])
		return
	}
	i -= len(w.objects)
	if i < len(w.sets) {
		w.tickSet(w.sets[i])
		return
	}
	i -= len(w.sets)
	if i < len(w.machines) {
		w.tickMachine(w.machines[i])
		return
	}
	w.cloud.tick(w.cloud.servers[i-len(w.machines)])
}

// Progress lets one thing after the other take its next step, from the i-th on,
// until something has changed or nothing can.
func (w *World) Progress(i int) {
	before, n := w.changes, w.Actors()
	for k := range n {
		if j := (i + k) % n; j < w.Actors() {
			w.Act(j)
		}
		if w.changes != before {
			return
		}
	}
}

// ActAll lets every controller take a step, and returns how many changed
// anything.
func (w *World) ActAll() int {
	n := 0
	for i := w.Actors() - 1; i >= 0; i-- {
		before := w.changes
		if i < w.Actors() {
			w.Act(i)
		}
		if w.changes != before {
			n++
		}
	}
	return n
}
