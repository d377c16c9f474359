package metal

import (
	"cmp"
	"math"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is something that goes wrong on demand. Of the faults that match a
// request, the one that was injected first happens.
type Fault struct {
	// Method limits the fault to one HTTP method.
	Method string
	// Path limits the fault to some paths: a pattern of the API as counted in
	// Requests, such as "/devices/{id}/events", or a glob of real ones, such as
	// "/devices/*" (see path.Match), both without the base path.
	Path string

	// Delay is how long the answer takes, in real time.
	Delay time.Duration
	// Status is the answer's HTTP status instead of a real answer: the request
	// has no effect. 0 answers as usual.
	Status int
	// Errors are the answer's messages.
	Errors []string
	// RetryAfter is what the answer's header of that name says, in seconds,
	// rounded up.
	RetryAfter time.Duration
	// Drop breaks the connection without an answer: the request has no effect.
	// Go's client repeats a GET at once if it sent it over a kept connection.
	Drop bool
	// Lost breaks the connection instead of answering a request that did have
	// its effect.
	Lost bool

	// Times is how often the fault happens; 0 is without limit.
	Times int
	// For is how long the fault lasts from its injection on the cloud's clock; 0
	// is without limit.
	For time.Duration
}

type fault struct {
	Fault
	left    int
	until   time.Time
	removed bool
}

// Inject lets a fault happen from now on. The returned function ends it; it
// may be called more than once.
func (c *Cloud) Inject(f Fault) (remove func()) {
	defer c.work()()
	live := &fault{Fault: f, left: f.Times}
	if f.For > 0 {
		live.until = c.now.Add(f.For)
	}
	c.faults = append(c.faults, live)
	return func() {
		defer c.work()()
		live.removed = true
	}
}

// faultOf returns what goes wrong with a request, and takes it off the count.
// The zero Fault is nothing.
func (c *Cloud) faultOf(r *http.Request, pattern string) Fault {
	defer c.work()()
	if wait, over := c.limit.take(c.now); over {
		return Fault{Status: http.StatusTooManyRequests, Errors: []string{"Too many requests"}, RetryAfter: wait}
	}
	c.faults = slices.DeleteFunc(c.faults, func(f *fault) bool { return f.over(c.now) })
	i := slices.IndexFunc(c.faults, func(f *fault) bool { return f.matches(r, pattern) })
	if i < 0 {
		return Fault{}
	}
	c.faults[i].left--
	return c.faults[i].Fault
}

func (f *fault) over(now time.Time) bool {
	return f.removed || f.Times > 0 && f.left <= 0 || f.For > 0 && !now.Before(f.until)
}

func (f *fault) matches(r *http.Request, pattern string) bool {
	if f.Method != "" && f.Method != r.Method {
		return false
	}
	if f.Path == "" || f.Path == pattern {
		return true
	}
	fits, err := path.Match(f.Path, strings.TrimPrefix(r.URL.Path, basePath))
	return err == nil && fits
}

// answer returns what a fault answers instead of the API, if it does; a broken
// connection has status 0.
func (f Fault) answer() (answer, bool) {
	if f.Drop {
		return answer{}, true
	}
	if f.Status == 0 {
		return answer{}, false
	}
	header := http.Header{}
	if f.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	no := &apiError{status: f.Status, messages: f.Errors}
	if len(f.Errors) == 0 {
		no.messages = []string{http.StatusText(f.Status)}
	}
	return encode(f.Status, no.body(), header), true
}

// limit is a rate limit with windows of fixed length.
type limit struct {
	most  int
	per   time.Duration
	begin time.Time
	taken int
}

// LimitRate lets at most that many requests through in each span of the
// cloud's clock; the others get HTTP 429 and are told when to come back. 0
// requests lift the limit.
func (c *Cloud) LimitRate(requests int, per time.Duration) {
	defer c.work()()
	c.limit = limit{most: requests, per: per, begin: c.now}
}

// take counts one request; it returns how long to wait if it is one too many.
func (l *limit) take(now time.Time) (time.Duration, bool) {
	if l.most <= 0 {
		return 0, false
	}
	if now.Sub(l.begin) >= l.per {
		l.begin, l.taken = now, 0
	}
	if l.taken >= l.most {
		return l.begin.Add(l.per).Sub(now), true
	}
	l.taken++
	return 0, false
}

// Request is a kind of request and of answer.
type Request struct {
	Method string
	// Path is the pattern of the path, such as "/devices/{id}"; "/" is every path
	// that the API does not have.
	Path string
	// Status is the answer's HTTP status; 0 is a connection that was broken.
	Status int
}

// Requests returns how many requests of each kind were answered.
func (c *Cloud) Requests() map[Request]int {
	defer c.work()()
	out := make(map[Request]int, len(c.requests))
	for r, n := range c.requests {
		out[r] = n
	}
	return out
}

// Count returns how many requests of that method and path pattern were
// answered, whatever the answer; an empty method or pattern is any.
func (c *Cloud) Count(method, pattern string) int {
	n := 0
	for r, times := range c.Requests() {
		if cmp.Or(method, r.Method) == r.Method && cmp.Or(pattern, r.Path) == r.Path {
			n += times
		}
	}
	return n
}

// ResetRequests begins to count again.
func (c *Cloud) ResetRequests() {
	defer c.work()()
	clear(c.requests)
}

func (c *Cloud) count(method, pattern string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[Request{Method: method, Path: pattern, Status: status}]++
}
