package metal

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// maxBody is the longest body that is read, in bytes.
const maxBody = 4 << 20

// An endpoint answers one kind of request. It runs with the cloud locked.
type endpoint func(*Cloud, *query) (reply, error)

// routes are endpoints by method and path below the base path.
type routes map[string]endpoint

// newHandler puts all routes together.
func (c *Cloud) newHandler() http.Handler {
	mux := http.NewServeMux()
	for _, group := range []routes{
		projectRoutes(), deviceRoutes(), eventRoutes(), portRoutes(), batchRoutes(),
		vlanRoutes(), vrfRoutes(), ipRoutes(), gatewayRoutes(), bgpRoutes(),
	} {
		for pattern, run := range group {
			method, path, _ := strings.Cut(pattern, " ")
			mux.Handle(method+" "+basePath+path, c.serve(path, authenticated(run)))
		}
	}
	for pattern, run := range nodeRoutes() {
		_, path, _ := strings.Cut(pattern, " ")
		mux.Handle(pattern, c.serve(path, run))
	}
	mux.Handle("/", c.serve("/", authenticated(func(*Cloud, *query) (reply, error) {
		return reply{}, notFound()
	})))
	return mux
}

// authenticated lets a request through only with an accepted token.
func authenticated(run endpoint) endpoint {
	return func(c *Cloud, q *query) (reply, error) {
		token := q.Header.Get("X-Auth-Token")
		if token == "" || len(c.opts.Tokens) > 0 && !slices.Contains(c.opts.Tokens, token) {
			return reply{}, unauthorized()
		}
		return run(c, q)
	}
}

// serve answers requests of one path pattern: counts them, lets faults happen,
// and runs the endpoint.
func (c *Cloud) serve(path string, run endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			return
		}
		happens := c.faultOf(r, path)
		if !pause(r.Context(), happens.Delay) {
			return
		}
		answer, answered := happens.answer()
		if !answered {
			answer = c.run(run, newQuery(r, body))
		}
		if happens.Lost || answer.status == 0 {
			c.count(r.Method, path, 0)
			panic(http.ErrAbortHandler)
		}
		c.count(r.Method, path, answer.status)
		answer.write(w)
	})
}

// run runs an endpoint on the locked cloud and makes one answer of its outcome.
// The answer is encoded while the lock is held, since it refers to the state.
func (c *Cloud) run(run endpoint, q *query) answer {
	defer c.work()()
	got, err := run(c, q)
	var no *apiError
	switch {
	case errors.Is(err, errUnreachable):
		return answer{}
	case errors.As(err, &no):
		c.refusal(q, no)
		return encode(no.status, no.body(), nil)
	case err != nil:
		return encode(http.StatusInternalServerError, (&apiError{messages: []string{err.Error()}}).body(), nil)
	}
	return encode(got.status, got.body, nil)
}

// An answer is what goes over the wire; status 0 is a connection that breaks.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func encode(status int, body any, header http.Header) answer {
	if body == nil {
		return answer{status: status, header: header}
	}
	if text, isText := body.(string); isText {
		return answer{status: status, header: plain(header), body: []byte(text)}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{status: http.StatusInternalServerError, header: header, body: []byte(`{"errors":["cannot encode"]}`)}
	}
	return answer{status: status, header: header, body: raw}
}

func plain(header http.Header) http.Header {
	out := header.Clone()
	if out == nil {
		out = http.Header{}
	}
	out.Set("Content-Type", "text/plain; charset=utf-8")
	return out
}

func (a answer) write(w http.ResponseWriter) {
	if len(a.body) > 0 {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}
