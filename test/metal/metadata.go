package metal

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// The codes that a user-state event may have.
const (
	minUserCode = 1000
	maxUserCode = 1099
)

// errUnreachable is what a server sees that has no way to its metadata
// service: no answer at all.
var errUnreachable = errors.New("unreachable")

// nodeRoutes are the metadata service, which asks for no token: it knows a
// server by where it comes from. Here that is a part of the path, or the
// handler of NodeHandler.
func nodeRoutes() routes {
	return routes{
		"GET /nodes/{id}/metadata": (*Cloud).getMetadata,
		"GET /nodes/{id}/userdata": (*Cloud).getNodeUserData,
		"POST /nodes/{id}/events":  (*Cloud).postUserState,
	}
}

// rooted marks a request that came through NodeHandler.
type rooted struct{}

// NodeHandler is the metadata service as one server sees it: /metadata,
// /userdata and, for user-state events, /events.
func (c *Cloud) NodeHandler(deviceID string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner := r.Clone(context.WithValue(r.Context(), rooted{}, true))
		inner.URL.Path = "/nodes/" + deviceID + r.URL.Path
		inner.URL.RawPath = ""
		c.handler.ServeHTTP(w, inner)
	})
}

// MetadataURL returns where a started cloud serves the metadata of a server.
func (c *Cloud) MetadataURL(deviceID string) string {
	return c.Address() + "/nodes/" + deviceID + "/metadata"
}

// node finds the server that asks for its metadata. It gets no answer unless
// its operating system runs and bond0 is in Layer 3.
func (c *Cloud) node(q *query) (*device, error) {
	d, known := c.devices.get(q.PathValue("id"))
	if !known || !d.powered || !d.routed() {
		return nil, errUnreachable
	}
	return d, nil
}

// routed tells whether a server has its Layer 3 network.
func (d *device) routed() bool {
	for _, p := range d.ports {
		if p.isUplink() {
			return !p.layer2
		}
	}
	return false
}

// metadata is the document of the metadata service. The SDK's model of it
// differs from what servers really get.
type metadata struct {
	ID           string                 `json:"id"`
	Hostname     string                 `json:"hostname"`
	IQN          string                 `json:"iqn"`
	OS           metadataOS             `json:"operating_system"`
	Plan         string                 `json:"plan"`
	Class        string                 `json:"class"`
	Reserved     bool                   `json:"reserved"`
	Facility     string                 `json:"facility"`
	Metro        string                 `json:"metro"`
	State        metalv1.DeviceState    `json:"state"`
	Tags         []string               `json:"tags"`
	SSHKeys      []string               `json:"ssh_keys"`
	Network      metadataNetwork        `json:"network"`
	CustomData   json.RawMessage        `json:"customdata"`
	Spot         map[string]any         `json:"spot"`
	Volumes      []string               `json:"volumes"`
	APIURL       string                 `json:"api_url"`
	PhoneHomeURL string                 `json:"phone_home_url"`
	UserStateURL string                 `json:"user_state_url"`
	Neighbors    []metadataBGPNeighbors `json:"bgp_neighbors,omitempty"`
}

type metadataOS struct {
	Slug    string `json:"slug"`
	Distro  string `json:"distro"`
	Version string `json:"version"`
}

type metadataNetwork struct {
	Bonding    metadataBonding        `json:"bonding"`
	Interfaces []metadataInterface    `json:"interfaces"`
	Addresses  []metalv1.IPAssignment `json:"addresses"`
}

type metadataBonding struct {
	Mode            int    `json:"mode"`
	LinkAggregation string `json:"link_aggregation"`
	MAC             string `json:"mac"`
}

// metadataInterface is a network card; Bond is null when it is in none.
type metadataInterface struct {
	Name string  `json:"name"`
	MAC  string  `json:"mac"`
	Bond *string `json:"bond"`
}

type metadataBGPNeighbors struct {
	AddressFamily int   `json:"address_family"`
	CustomerAS    int64 `json:"customer_as"`
}

func (c *Cloud) getMetadata(q *query) (reply, error) {
	d, err := c.node(q)
	if err != nil {
		return reply{}, err
	}
	distro, version := distroOf(d.os)
	base := q.nodeBase(d)
	out := metadata{
		ID: d.id, Hostname: d.hostname, IQN: "iqn." + stamp(d.created).Format("2006-01") + ".net.packet:device." + d.id[:8],
		OS:   metadataOS{Slug: d.os, Distro: distro, Version: version},
		Plan: d.plan, Class: d.plan, Facility: d.facility, Metro: d.metro, State: d.state,
		Tags: append([]string{}, d.tags...), SSHKeys: []string{}, Network: c.metadataNetwork(d),
		CustomData: json.RawMessage(d.customdata), Spot: map[string]any{}, Volumes: []string{},
		APIURL: base, PhoneHomeURL: base + "/phone-home", UserStateURL: base + "/events",
	}
	for _, s := range c.sessionsOf(d.id) {
		number := map[metalv1.BgpSessionAddressFamily]int{metalv1.BGPSESSIONADDRESSFAMILY_IPV4: 4, metalv1.BGPSESSIONADDRESSFAMILY_IPV6: 6}
		out.Neighbors = append(out.Neighbors, metadataBGPNeighbors{AddressFamily: number[s.family], CustomerAS: c.asnOf(d)})
	}
	return ok(out)
}

func (c *Cloud) asnOf(d *device) int64 {
	p, known := c.projects.get(d.project)
	if !known || p.bgp == nil {
		return 0
	}
	return p.bgp.asn
}

func (c *Cloud) metadataNetwork(d *device) metadataNetwork {
	out := metadataNetwork{
		Bonding:    metadataBonding{Mode: 4, LinkAggregation: "bonded"},
		Interfaces: []metadataInterface{}, Addresses: []metalv1.IPAssignment{},
	}
	for _, p := range d.ports {
		if p.isBond() {
			continue
		}
		card := metadataInterface{Name: p.name, MAC: p.mac}
		if p.bonded {
			card.Bond = &p.bond.name
		}
		out.Interfaces = append(out.Interfaces, card)
		if out.Bonding.MAC == "" {
			out.Bonding.MAC = p.mac
		}
	}
	for _, a := range d.addresses {
		out.Addresses = append(out.Addresses, c.assignmentView(a))
	}
	return out
}

// nodeBase is the URL below which the server that asks finds its metadata
// service.
func (q *query) nodeBase(d *device) string {
	base := "http://" + q.Host
	if through, _ := q.Context().Value(rooted{}).(bool); through {
		return base
	}
	return base + "/nodes/" + d.id
}

func (c *Cloud) getNodeUserData(q *query) (reply, error) {
	d, err := c.node(q)
	if err != nil {
		return reply{}, err
	}
	return ok(d.userdata)
}

// userState is what a server may say about itself, see
// https://deploy.equinix.com/developers/docs/metal/server-metadata/user-state/.
type userState struct {
	State   string `json:"state"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (c *Cloud) postUserState(q *query) (reply, error) {
	d, err := c.node(q)
	if err != nil {
		return reply{}, err
	}
	var in userState
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	switch in.State {
	case "running", "succeeded", "failed":
	default:
		return reply{}, unprocessable("state must be running, succeeded or failed")
	}
	if in.Code < minUserCode || in.Code > maxUserCode {
		return reply{}, unprocessable("code must be an integer from %d to %d", minUserCode, maxUserCode)
	}
	c.addUserEvent(d, in.State, in.Code, strings.TrimRight(in.Message, "\n"))
	return reply{status: http.StatusOK}, nil
}
