package metal

import (
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

type project struct {
	id, name string
	created  time.Time
	bgp      *bgpConfig
}

func projectRoutes() routes {
	return routes{
		"GET /projects":      (*Cloud).listProjects,
		"GET /projects/{id}": (*Cloud).getProject,
	}
}

// AddProject adds a project, or renames one that exists.
func (c *Cloud) AddProject(id, name string) {
	defer c.work()()
	if p, known := c.projects.get(id); known {
		p.name = name
		return
	}
	c.projects.put(id, &project{id: id, name: name, created: c.now})
}

func (c *Cloud) listProjects(q *query) (reply, error) {
	list, meta := page(q, c.projects.all(), 10)
	out := metalv1.ProjectList{Meta: meta}
	for _, p := range list {
		out.Projects = append(out.Projects, p.view())
	}
	return ok(out)
}

func (c *Cloud) getProject(q *query) (reply, error) {
	p, err := c.project(q.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(p.view())
}

func (c *Cloud) project(id string) (*project, error) {
	p, known := c.projects.get(id)
	if !known {
		return nil, notFound()
	}
	return p, nil
}

func (p *project) view() metalv1.Project {
	return metalv1.Project{
		Id:        &p.id,
		Name:      &p.name,
		Href:      new(href("projects", p.id)),
		CreatedAt: new(stamp(p.created)),
		UpdatedAt: new(stamp(p.created)),
		Tags:      []string{},
	}
}

// projectView shows a project that something belongs to.
func (c *Cloud) projectView(id string, full bool) *metalv1.Project {
	if p, known := c.projects.get(id); known && full {
		return new(p.view())
	}
	return &metalv1.Project{Href: new(href("projects", id))}
}

// stamp is a moment as the API writes it: UTC, in whole seconds.
func stamp(t time.Time) time.Time {
	return t.UTC().Truncate(time.Second)
}
