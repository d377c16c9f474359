package metal

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Refusal is a request that broke a rule of the API: it was answered with HTTP
// 422, or it made a batch that failed for such a rule later. It had no effect.
type Refusal struct {
	At time.Time
	// Method and Path are the request's, the path without the base path and with
	// real UUIDs.
	Method, Path string
	// Messages are what the API said.
	Messages []string
}

// Refusals returns what the API refused, in order, without the first that many.
// Injected faults are not among them.
func (c *Cloud) Refusals(after int) []Refusal {
	defer c.work()()
	after = min(max(after, 0), len(c.refused))
	return slices.Clone(c.refused[after:])
}

// refusal writes down that a request was refused. The cloud must be locked.
func (c *Cloud) refusal(q *query, no *apiError) {
	if no.status != http.StatusUnprocessableEntity {
		return
	}
	c.noteRefusal(q.Method, strings.TrimPrefix(q.URL.Path, basePath), no.messages)
}

func (c *Cloud) noteRefusal(method, path string, messages []string) {
	c.refused = append(c.refused, Refusal{At: c.now, Method: method, Path: path, Messages: slices.Clone(messages)})
}
