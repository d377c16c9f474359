package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go/logging"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/l2cluster/function-l2cluster/fn/function"
	"github.com/l2cluster/function-l2cluster/fn/render"
)

// renderCmd shows what a claim or a composite expands to, or what an edit of it
// does.
type renderCmd struct {
	Claim             string `arg:"" help:"YAML file with a claim (L2Cluster) or a composite (XL2Cluster)." type:"existingfile"`
	Edited            string `arg:"" help:"With --diff: the same claim or composite, edited." name:"edited" optional:"" type:"existingfile"`
	Diff              bool   `help:"Show what an edit does, and above all whether servers are replaced." short:"d"`
	Composition       string `help:"YAML file with the Composition that holds the function's input; without one the input has its defaults." placeholder:"FILE" short:"c" type:"existingfile"`
	EditedComposition string `help:"With --diff: the Composition after the edit, where it is that which changes." placeholder:"FILE" type:"existingfile"`
	Observed          string `help:"YAML file, or folder of them, with the composed objects that exist." placeholder:"PATH" short:"o" type:"path"`
	Required          string `help:"YAML file, or folder of them, with other objects that the function may ask for: the cluster's machines and machine sets, other composites." placeholder:"PATH" short:"e" type:"path"`
	Credentials       string `help:"YAML file, or folder of them, with the Secrets that the Composition names. With the platform's token the ports of servers are looked up in its API." placeholder:"PATH" type:"path"`
	Output            string `default:"" enum:",yaml,plan,text,json" help:"What to print: yaml (every object; the default) or plan (a table for people). With --diff: text (the default), yaml or json." placeholder:"FORMAT" short:"O"`
}

// Help is what the command line says beside its flags.
func (c *renderCmd) Help() string {
	return `With --diff the same claim is given twice, before and after an edit, and the exit status says what becomes of servers:

  0   no server is replaced or removed
  1   the edit is refused, or cannot be shown
  2   servers are replaced
  3   servers are removed, and none is replaced

With --edited-composition it is the Composition that is compared, before and after an edit of the function's input.

Give --observed and --required, and the composite with its status instead of the claim, to see the edit in the state that the cluster is in.`
}

// errFatal is a run that ended with a fatal result, which has been printed.
var errFatal = errors.New("the claim cannot be rendered")

// Validate that what is asked for goes together.
func (c *renderCmd) Validate() error {
	formats := []string{"", formatYAML, formatPlan}
	if c.Diff {
		formats = []string{"", formatText, formatYAML, formatJSON}
	}
	switch {
	case c.Diff && c.Edited == "" && c.EditedComposition == "":
		return errors.New("--diff compares two files: give the edited claim after the claim, or --edited-composition")
	case !c.Diff && c.EditedComposition != "":
		return errors.New("--edited-composition is for --diff")
	case !c.Diff && c.Edited != "":
		return fmt.Errorf("unexpected argument %q: only --diff takes a second file", c.Edited)
	case !slices.Contains(formats, c.Output):
		return fmt.Errorf("--output %s is not for this: it must be one of %s", c.Output, strings.Join(formats[1:], ", "))
	default:
		return nil
	}
}

// What to print.
const (
	formatYAML = "yaml"
	formatPlan = "plan"
	formatText = "text"
	formatJSON = "json"
)

// Run renders and prints.
func (c *renderCmd) Run(ctx context.Context, k *kong.Context) error {
	f := function.New(logging.NewNopLogger(), time.Now)
	if !c.Diff {
		return c.render(ctx, f, k.Stdout, k.Stderr)
	}
	status, err := c.compare(ctx, f, k.Stdout, k.Stderr)
	if err == nil && status != 0 {
		k.Exit(status)
	}
	return err
}

func (c *renderCmd) render(ctx context.Context, f *function.Function, stdout, stderr io.Writer) error {
	in, err := c.input()
	if err != nil {
		return err
	}
	out, err := render.Run(ctx, f, in)
	if err != nil {
		return err
	}
	printed := out.Print
	if c.Output == formatPlan {
		printed = out.PrintPlan
	}
	if err := errors.Join(printed(stdout), out.Report(stderr)); err != nil {
		return err
	}
	if out.Fatal() {
		return errFatal
	}
	return nil
}

func (c *renderCmd) input() (render.Input, error) {
	in := render.Input{}
	var err error
	if in.Composite, err = claim(c.Claim); err != nil {
		return in, err
	}
	if in.Composition, err = composition(c.Composition); err != nil {
		return in, err
	}
	for path, into := range map[string]*[]map[string]any{c.Observed: &in.Observed, c.Required: &in.Required, c.Credentials: &in.Credentials} {
		if *into, err = documents(path); err != nil {
			return in, err
		}
	}
	if c.Observed != "" && in.Observed == nil {
		in.Observed = []map[string]any{} // somebody looked, and there is nothing
	}
	return in, nil
}

// composition in a YAML file; nil without a file.
func composition(path string) (map[string]any, error) {
	compositions, err := documents(path)
	if err != nil || len(compositions) == 0 {
		return nil, err
	}
	return compositions[0], nil
}

// claim or composite in a YAML file.
func claim(path string) (map[string]any, error) {
	claims, err := documents(path)
	if err != nil {
		return nil, err
	}
	if len(claims) != 1 {
		return nil, fmt.Errorf("cannot render %q: it holds %d objects, and must hold one", path, len(claims))
	}
	return claims[0], nil
}

// documents of a YAML file, or of all YAML files in a folder; none without a
// path.
func documents(path string) ([]map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	files, err := yamlFiles(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, err)
	}
	var out []map[string]any
	for _, file := range files {
		b, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", file, err)
		}
		objects, err := split(b)
		if err != nil {
			return nil, fmt.Errorf("cannot parse %q: %w", file, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

func yamlFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	var out []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(p); err == nil && !d.IsDir() && (ext == ".yaml" || ext == ".yml") {
			out = append(out, p)
		}
		return err
	})
	slices.Sort(out)
	return out, err
}

// split the documents of a YAML stream. A list, as kubectl prints several
// objects, stands for its items.
func split(b []byte) ([]map[string]any, error) {
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), len(b))
	var out []map[string]any
	for {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		items, isList := o["items"].([]any)
		kind, _ := o["kind"].(string)
		switch {
		case isList && strings.HasSuffix(kind, "List"):
			for _, item := range items {
				if o, ok := item.(map[string]any); ok {
					out = append(out, o)
				}
			}
		case len(o) > 0:
			out = append(out, o)
		}
	}
}
