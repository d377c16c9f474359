package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// theAPI answers for the clouds of all worlds. The function's client of the
// platform sends through http.DefaultTransport, which tests point to it.
var theAPI = &api{worlds: map[string]*World{}}

// api is an http.RoundTripper that finds a world by the request's host.
type api struct {
	mu     sync.Mutex
	serial int
	worlds map[string]*World
}

// host of a new world.
func (a *api) host() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serial++
	return fmt.Sprintf("world-%d.invalid", a.serial)
}

func (a *api) register(host string, w *World) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.worlds[host] = w
}

func (a *api) forget(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.worlds, host)
}

// RoundTrip answers reads of servers and of their events. Nothing else is asked
// for by the function; an answer of 403 is one that the client does not retry.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	w := a.worlds[r.URL.Host]
	a.mu.Unlock()
	if w == nil {
		return nil, fmt.Errorf("there is no world %q", r.URL.Host)
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/metal/v1/devices/"), "/")
	s := w.cloud.server(parts[0])
	switch {
	case w.APIDown || r.Method != http.MethodGet:
		return answer(r, http.StatusForbidden, fields{"errors": []string{"the API is away"}})
	case s == nil:
		return answer(r, http.StatusNotFound, fields{"errors": []string{"Not found"}})
	case len(parts) > 1:
		return answer(r, http.StatusOK, s.eventList())
	default:
		return answer(r, http.StatusOK, s.device())
	}
}

func answer(r *http.Request, code int, body any) (*http.Response, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("cannot write an answer: %w", err)
	}
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)), Request: r,
	}, nil
}
