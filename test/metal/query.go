package metal

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// A query is one request, with its body read.
type query struct {
	*http.Request
	body   []byte
	fields fields
}

func newQuery(r *http.Request, body []byte) *query {
	return &query{Request: r, body: body, fields: fieldsOf(r)}
}

// param returns a value of the query string.
func (q *query) param(name string) string {
	return q.URL.Query().Get(name)
}

// flag tells whether a value of the query string is true.
func (q *query) flag(name string) bool {
	on, err := strconv.ParseBool(q.param(name))
	return err == nil && on
}

// decode reads the body into a model of the SDK. No body is an empty object.
func (q *query) decode(into any) error {
	body := q.body
	if len(body) == 0 {
		body = []byte("{}")
	}
	err := json.Unmarshal(body, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return malformed(err)
	}
	if err != nil {
		return unprocessable("%v", err)
	}
	return nil
}

// A reply is an answer that says yes; a nil body is an empty one.
type reply struct {
	status int
	body   any
}

func ok(body any) (reply, error)      { return reply{http.StatusOK, body}, nil }
func created(body any) (reply, error) { return reply{http.StatusCreated, body}, nil }
func noContent() (reply, error)       { return reply{http.StatusNoContent, nil}, nil }

// fields says which nested objects of an answer are spelled out. The API
// shows the others as references that hold an href only.
type fields struct {
	include, exclude []string
}

func fieldsOf(r *http.Request) fields {
	list := func(name string) []string {
		var out []string
		for _, v := range r.URL.Query()[name] {
			out = append(out, strings.Split(v, ",")...)
		}
		return out
	}
	return fields{include: list("include"), exclude: list("exclude")}
}

// everything spells out what a snapshot needs.
func everything() fields {
	return fields{include: []string{
		"virtual_networks", "native_virtual_network", "network_ports.virtual_networks",
		"network_ports.native_virtual_network", "ip_reservation", "virtual_network", "vrf",
		"assigned_to", "project", "instances", "metal_gateways", "assignments",
	}}
}

// full tells whether the nested object of that name is spelled out.
func (f fields) full(name string, byDefault bool) bool {
	if slices.Contains(f.exclude, name) {
		return false
	}
	return byDefault || slices.ContainsFunc(f.include, func(s string) bool {
		return s == name || strings.HasPrefix(s, name+".")
	})
}

// under returns what was asked for inside the nested object of that name.
func (f fields) under(name string) fields {
	cut := func(in []string) []string {
		var out []string
		for _, s := range in {
			if rest, found := strings.CutPrefix(s, name+"."); found {
				out = append(out, rest)
			}
		}
		return out
	}
	return fields{include: cut(f.include), exclude: cut(f.exclude)}
}

// The largest values that the API takes for the parameters of a page.
const (
	maxPerPage = 1000
	maxPage    = 100000
)

// page returns the part of items that the request asks for, and where it lies.
// perPage is the API's default for that list.
func page[T any](q *query, items []T, perPage int) ([]T, *metalv1.Meta) {
	size := min(positive(q.param("per_page"), perPage), maxPerPage)
	number := min(positive(q.param("page"), 1), maxPage)
	last := max(1, (len(items)+size-1)/size)
	from := min((number-1)*size, len(items))
	meta := &metalv1.Meta{
		Total:       new(int32(len(items))),
		CurrentPage: new(int32(number)),
		LastPage:    new(int32(last)),
		Self:        q.pageRef(number),
		First:       q.pageRef(1),
		Last:        q.pageRef(last),
	}
	if number < last {
		meta.Next = q.pageRef(number + 1)
	}
	if number > 1 {
		meta.Previous = q.pageRef(number - 1)
	}
	return items[from:min(from+size, len(items))], meta
}

func (q *query) pageRef(number int) *metalv1.Href {
	values := q.URL.Query()
	values.Set("page", strconv.Itoa(number))
	return ref(fmt.Sprintf("%s?%s", q.URL.Path, values.Encode()))
}

func positive(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return otherwise
	}
	return n
}

func ref(href string) *metalv1.Href {
	return &metalv1.Href{Href: href}
}

// href returns the path of a thing, as the API writes it.
func href(kind, id string) string {
	return basePath + "/" + kind + "/" + id
}
