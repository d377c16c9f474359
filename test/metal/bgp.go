package metal

import (
	"regexp"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

type bgpConfig struct {
	id         string
	asn        int64
	deployment string
	md5        string
	created    time.Time
}

// A session is a server's BGP session in one address family.
type session struct {
	id           string
	device       *device
	family       metalv1.BgpSessionAddressFamily
	defaultRoute bool
	created      time.Time
}

// md5Password is what the API accepts as a password, apart from an empty one;
// it must hold a digit and letters of both cases too.
var md5Password = regexp.MustCompile(`^[a-zA-Z0-9]{10,20}$`)

func bgpRoutes() routes {
	return routes{
		"POST /projects/{id}/bgp-configs": (*Cloud).createBGPConfig,
		"GET /projects/{id}/bgp-config":   (*Cloud).getBGPConfig,
		"GET /projects/{id}/bgp/sessions": (*Cloud).listProjectSessions,
		"POST /devices/{id}/bgp/sessions": (*Cloud).createSession,
		"GET /devices/{id}/bgp/sessions":  (*Cloud).listDeviceSessions,
		"GET /bgp/sessions/{id}":          (*Cloud).getSession,
		"DELETE /bgp/sessions/{id}":       (*Cloud).deleteSession,
	}
}

func (c *Cloud) createBGPConfig(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.BgpConfigRequestInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	if p.bgp != nil {
		return reply{}, unprocessable("The project has a BGP config already")
	}
	if in.GetMd5() != "" && !md5Password.MatchString(in.GetMd5()) {
		return reply{}, unprocessable("Md5 must be 10 to 20 letters and digits")
	}
	p.bgp = &bgpConfig{
		id: c.newID("bgp config", p.id), asn: in.Asn, deployment: string(in.DeploymentType), md5: in.GetMd5(), created: c.now,
	}
	return noContent()
}

// getBGPConfig answers with an empty object while there is no config, as the
// API does.
func (c *Cloud) getBGPConfig(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if p.bgp == nil {
		return ok(metalv1.BgpConfig{})
	}
	out := metalv1.BgpConfig{
		Id: &p.bgp.id, Href: new(href("bgp-configs", p.bgp.id)), Asn: &p.bgp.asn,
		DeploymentType: new(metalv1.BgpConfigDeploymentType(p.bgp.deployment)), Status: metalv1.BGPCONFIGSTATUS_ENABLED.Ptr(),
		MaxPrefix: new(int32(10)), Project: ref(href("projects", p.id)),
		CreatedAt: new(stamp(p.bgp.created)), RequestedAt: new(stamp(p.bgp.created)),
	}
	if p.bgp.md5 != "" {
		out.Md5 = *metalv1.NewNullableString(&p.bgp.md5)
	}
	for _, s := range c.sessionsIn(p) {
		out.Sessions = append(out.Sessions, s.view())
	}
	return ok(out)
}

func (c *Cloud) createSession(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	var in metalv1.BGPSessionInput
	if err := q.decode(&in); err != nil {
		return reply{}, err
	}
	if p, known := c.projects.get(d.project); !known || p.bgp == nil {
		return reply{}, unprocessable("BGP is not enabled for the project")
	}
	kind := metalv1.BgpSessionAddressFamily(in.GetAddressFamily())
	if kind == "" {
		kind = metalv1.BGPSESSIONADDRESSFAMILY_IPV4
	}
	for _, s := range c.sessionsOf(d.id) {
		if s.family == kind {
			return reply{}, unprocessable("Device already has session for %s", kind)
		}
	}
	s := &session{
		id: c.newID("bgp session", d.id, string(kind)), device: d, family: kind, defaultRoute: in.GetDefaultRoute(), created: c.now,
	}
	c.sessions.put(s.id, s)
	return created(s.view())
}

func (c *Cloud) sessionsOf(device string) []*session {
	return c.sessions.where(func(s *session) bool { return s.device.id == device })
}

func (c *Cloud) sessionsIn(p *project) []*session {
	return c.sessions.where(func(s *session) bool { return s.device.project == p.id })
}

func (c *Cloud) listDeviceSessions(q *query) (reply, error) {
	d, err := c.device(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(sessionList(c.sessionsOf(d.id)))
}

func (c *Cloud) listProjectSessions(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(sessionList(c.sessionsIn(p)))
}

func sessionList(in []*session) metalv1.BgpSessionList {
	out := metalv1.BgpSessionList{BgpSessions: []metalv1.BgpSession{}}
	for _, s := range in {
		out.BgpSessions = append(out.BgpSessions, s.view())
	}
	return out
}

func (c *Cloud) getSession(q *query) (reply, error) {
	s, known := c.sessions.get(q.PathValue("id"))
	if !known {
		return reply{}, notFound()
	}
	return ok(s.view())
}

func (c *Cloud) deleteSession(q *query) (reply, error) {
	s, known := c.sessions.get(q.PathValue("id"))
	if !known {
		return reply{}, notFound()
	}
	c.sessions.drop(s.id)
	return noContent()
}

func (s *session) view() metalv1.BgpSession {
	return metalv1.BgpSession{
		Id: &s.id, Href: new(href("bgp/sessions", s.id)), AddressFamily: s.family, DefaultRoute: &s.defaultRoute,
		Device: ref(href("devices", s.device.id)), Status: new("unknown"), LearnedRoutes: []string{},
		CreatedAt: new(stamp(s.created)), UpdatedAt: new(stamp(s.created)),
	}
}
