package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// JSON writes the report for programs. The names of its fields are stable.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// YAML writes what JSON writes, as YAML.
func (r Report) YAML(w io.Writer) error {
	b, err := yaml.Marshal(r)
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// Text writes the report in words: first what becomes of servers, then every
// object with its fields.
func (r Report) Text(w io.Writer) error {
	p := &printer{}
	p.report(r)
	if _, err := io.WriteString(w, p.out.String()); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

type printer struct{ out strings.Builder }

func (p *printer) linef(format string, values ...any) { fmt.Fprintf(&p.out, format+"\n", values...) }

func (p *printer) report(r Report) {
	if len(r.Refused) > 0 {
		for _, reason := range r.Refused {
			p.linef("REFUSED: %s", reason)
		}
		return
	}
	p.head(r)
	p.objects(Now, r.Objects)
	p.objects(Later, r.Objects)
	p.tail(r)
}

func (p *printer) head(r Report) {
	p.linef("Cluster %s: %s", r.Cluster, counted(r.Objects))
	if len(r.Warnings) > 0 || len(r.Pools) > 0 {
		p.linef("")
	}
	for _, warning := range r.Warnings {
		p.linef("WARNING: %s", warning)
	}
	for _, pool := range r.Pools {
		if !pool.replaces() && !pool.removes() {
			p.linef("%s", pool.sentence())
		}
	}
	for _, pool := range r.Due {
		p.linef("NOTE: servers of pool %q are replaced or deleted without the edit as well: what is observed is not what the claim before the edit asks for, or another release of the function made it.", pool)
	}
	switch {
	case r.ControlPlaneRolls:
	case r.Replaces:
		p.linef("The control plane does not roll.")
	default:
		p.linef("No server is replaced.")
	}
}

// counted are the objects by what happens to them.
func counted(objects []Object) string {
	counts := map[Action]int{}
	later := 0
	for _, o := range objects {
		if o.When == Later {
			later++
			continue
		}
		counts[o.Action]++
	}
	var out []string
	for _, a := range []struct {
		action Action
		done   string
	}{{Create, "created"}, {Change, "changed"}, {Replace, "replaced"}, {Delete, "deleted"}} {
		if n := counts[a.action]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, a.done))
		}
	}
	if later > 0 {
		out = append(out, fmt.Sprintf("%d later", later))
	}
	if len(out) == 0 {
		return "no object changes."
	}
	return plural(int64(len(objects)), "object") + ": " + strings.Join(out, ", ") + "."
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// signs of what happens to an object, as in other tools' plans.
func (a Action) sign() string {
	return map[Action]string{Create: "+", Change: "~", Replace: "-/+", Delete: "-"}[a]
}

func (p *printer) objects(when When, all []Object) {
	printed := false
	for _, o := range all {
		if o.When != when {
			continue
		}
		if !printed {
			p.linef("\n%s:", map[When]string{Now: "Now", Later: "Later"}[when])
		}
		printed = true
		p.object(o)
	}
}

func (p *printer) object(o Object) {
	switch {
	case o.Replaces != nil:
		p.linef("%s %s is replaced by %s", o.Action.sign(), o.title(o.Replaces.Name), o.Name)
	default:
		p.linef("%s %s is %s", o.Action.sign(), o.title(o.Name),
			map[Action]string{Create: "created", Change: "changed", Delete: "deleted"}[o.Action])
	}
	for _, f := range o.Fields {
		p.field(f)
	}
	if o.Why != "" {
		p.linef("    (%s)", o.Why)
	}
}

// diffLimit is how many lines of a text's difference are shown; programs get
// all of them.
const diffLimit = 30

func (p *printer) field(f Field) {
	gone, come, isList := itemsOf(f)
	switch {
	case f.Diff != "":
		p.linef("    %s", strings.TrimSuffix(f.Path+": "+f.Note, " "))
		p.block(f.Diff)
	case f.Note != "":
		p.linef("    %s: %s", f.Path, f.Note)
	case isList:
		p.linef("    %s:", f.Path)
		for _, item := range gone {
			p.linef("      - %s", shown(item))
		}
		for _, item := range come {
			p.linef("      + %s", shown(item))
		}
	default:
		p.linef("    %s: %s -> %s", f.Path, shown(f.Old), shown(f.New))
	}
}

// itemsOf a field that is a list.
func itemsOf(f Field) (gone, come []any, isList bool) {
	a, b, isList := both[[]any](f.Old, f.New)
	if !isList || len(a)+len(b) == 0 {
		return nil, nil, false
	}
	gone, come = items(a, b)
	return gone, come, true
}

func (p *printer) block(text string) {
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, row := range rows {
		if i == diffLimit {
			p.linef("      … and %s (--output json has them)", plural(int64(len(rows)-diffLimit), "more line"))
			return
		}
		p.linef("      %s", row)
	}
}

// valueLimit is how much of a value is shown, in characters.
const valueLimit = 160

// shown is a value on one line.
func shown(v any) string {
	if v == nil {
		return "(none)"
	}
	text, isText := v.(string)
	if !isText || text == "" || strings.TrimSpace(text) != text || strings.ContainsAny(text, "\n\t\r") {
		text = encoded(v)
	}
	if runes := []rune(text); len(runes) > valueLimit {
		return string(runes[:valueLimit]) + "…"
	}
	return text
}

func encoded(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (p *printer) tail(r Report) {
	if len(r.Networks) > 0 {
		p.linef("\nAddresses:")
	}
	for _, n := range r.Networks {
		p.linef("  network %s: %s -> %s", n.Name, n.Before, n.After)
	}
	if len(r.Conditions) > 0 {
		p.linef("\nThe claim will say:")
	}
	for _, c := range r.Conditions {
		text := fmt.Sprintf("  %s: %s (%s)", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			text += ": " + c.Message
		}
		p.linef("%s", text)
	}
	if r.Assumed {
		p.linef("\n%s", assumedNote)
	}
}

// assumedNote is what a reader must know about a report without an observed
// state.
const assumedNote = `Seen without --observed, as if everything that the claim asks for before the
edit existed and nobody had looked at the machines: an edit that is refused
because of them, and what becomes of their ports and addresses, does not show.`

// String is a capacity in words.
func (c *Capacity) String() string {
	if c == nil {
		return "(none)"
	}
	return fmt.Sprintf("%d (%d needed)", c.Total, c.Needed)
}

// sentence about what becomes of a pool's servers.
func (p Pool) sentence() string {
	name := fmt.Sprintf("pool %q", p.Name)
	if p.ControlPlane {
		name = "the control plane"
	}
	switch {
	case p.Effect == Rolls:
		return p.rolls(name)
	case p.Effect == Removed:
		return fmt.Sprintf("%s is removed: its %s are deleted, and nothing takes their place", name, plural(p.Servers, "server"))
	case p.Effect == Scaled && p.Asked == 0:
		return fmt.Sprintf("%s is new: %s", name, plural(p.Wanted, "server"))
	case p.Effect == Scaled && p.removes():
		return fmt.Sprintf("%s shrinks from %d to %d: %s", name, p.Asked, p.Wanted, deleted(p.gone()))
	case p.Effect == Scaled:
		return fmt.Sprintf("%s is scaled from %d to %d", name, p.Asked, p.Wanted)
	default:
		return fmt.Sprintf("%s: ports, VLANs or addresses of servers that go on running change", name)
	}
}

func deleted(n int64) string {
	if n == 1 {
		return "1 server is deleted, and nothing takes its place"
	}
	return fmt.Sprintf("%d servers are deleted, and nothing takes their place", n)
}

func (p Pool) rolls(name string) string {
	rolls := "rolls"
	if p.When == Later {
		rolls = "rolls later"
	}
	out := fmt.Sprintf("%s %s (%s): %s", name, rolls, plural(p.Servers, "server"), p.Why)
	if p.removes() {
		out += fmt.Sprintf("; and it shrinks from %d to %d", p.Asked, p.Wanted)
	}
	return out
}

// warnings are the sentences about servers that are replaced or deleted, about
// VLANs that running servers lose, and about networks that the edit makes too small.
func (r Report) warnings(detached []string) []string {
	out := []string{}
	for _, p := range r.Pools {
		if p.replaces() || p.removes() {
			out = append(out, p.sentence())
		}
	}
	out = append(out, detached...)
	for _, n := range r.Networks {
		if n.After.short() && !n.Before.short() {
			out = append(out, fmt.Sprintf("network %q has too few addresses: %d, and %d are needed", n.Name, n.After.Total, n.After.Needed))
		}
	}
	return out
}
