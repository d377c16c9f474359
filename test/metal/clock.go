package metal

import (
	"container/heap"
	"sync"
	"time"
)

// ManualClock is a clock that stands still until a test moves it. It is safe
// for concurrent use.
type ManualClock struct {
	mu  sync.Mutex
	now time.Time
}

// NewManualClock returns a clock that shows start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start}
}

// Now returns what the clock shows. It fits Options.Now.
func (m *ManualClock) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock forward by d.
func (m *ManualClock) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// A timer is something that the cloud does by itself at a later moment.
type timer struct {
	at  time.Time
	seq int
	run func()
}

// timers is a heap of timers, the earliest first; timers of the same moment
// keep the order in which they were set.
type timers struct {
	list []timer
	seq  int
}

func (t *timers) Len() int      { return len(t.list) }
func (t *timers) Swap(i, j int) { t.list[i], t.list[j] = t.list[j], t.list[i] }
func (t *timers) Push(x any)    { t.list = append(t.list, x.(timer)) }

func (t *timers) Less(i, j int) bool {
	if t.list[i].at.Equal(t.list[j].at) {
		return t.list[i].seq < t.list[j].seq
	}
	return t.list[i].at.Before(t.list[j].at)
}

func (t *timers) Pop() any {
	last := t.list[len(t.list)-1]
	t.list = t.list[:len(t.list)-1]
	return last
}

// after does run when d has passed since the moment that is being worked on.
func (c *Cloud) after(d time.Duration, run func()) {
	c.timers.seq++
	heap.Push(&c.timers, timer{at: c.now.Add(d), seq: c.timers.seq, run: run})
}

// advance does everything that is due at the clock's present moment, each at
// its own moment, so that the log tells true times however seldom somebody
// looks.
func (c *Cloud) advance() {
	present := c.opts.Now()
	for c.timers.Len() > 0 && !c.timers.list[0].at.After(present) {
		next := heap.Pop(&c.timers).(timer)
		c.now = next.at
		next.run()
	}
	c.now = present
}
