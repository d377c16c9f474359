package main

import (
	"context"
	"errors"
	"io"

	"github.com/l2cluster/function-l2cluster/fn/diff"
	"github.com/l2cluster/function-l2cluster/fn/function"
	"github.com/l2cluster/function-l2cluster/fn/render"
)

// Exit statuses of a comparison. 1 is left to errors, as everywhere, and 2 says
// what terraform plan -detailed-exitcode says with it: look before you apply.
const (
	// statusReplaces says that servers are replaced.
	statusReplaces = 2
	// statusRemoves says that servers are deleted, and none is replaced. A script
	// that lets only harmless edits pass must not take them for harmless, and one
	// that waits for a rollout must not wait for them.
	statusRemoves = 3
)

// What a comparison ends with that has printed why.
var (
	errRefused = errors.New("the edit is refused")
	errOld     = errors.New("the claim before the edit is refused already, so there is nothing to compare with")
)

// compare prints what an edit does, and returns the exit status that says so.
func (c *renderCmd) compare(ctx context.Context, f *function.Function, stdout, stderr io.Writer) (int, error) {
	in, err := c.input()
	if err != nil {
		return 0, err
	}
	edited, err := c.edited(in)
	if err != nil {
		return 0, err
	}
	result, err := render.Compare(ctx, f, in, edited)
	switch {
	case err != nil:
		return 0, err
	case result.Refused != nil && result.RefusedNew:
		return 0, errors.Join(c.print(result.Report, stdout), errRefused)
	case result.Refused != nil:
		return 0, errors.Join(result.Refused.Report(stderr), errOld)
	}
	return statusOf(result.Report), c.print(result.Report, stdout)
}

// edited claim and Composition; what was not edited stays as it is.
func (c *renderCmd) edited(in render.Input) (render.Edited, error) {
	out := render.Edited{Composite: in.Composite}
	var err error
	if c.Edited != "" {
		if out.Composite, err = claim(c.Edited); err != nil {
			return out, err
		}
	}
	out.Composition, err = composition(c.EditedComposition)
	return out, err
}

func (c *renderCmd) print(r diff.Report, w io.Writer) error {
	switch c.Output {
	case formatJSON:
		return r.JSON(w)
	case formatYAML:
		return r.YAML(w)
	default:
		return r.Text(w)
	}
}

func statusOf(r diff.Report) int {
	switch {
	case r.Replaces:
		return statusReplaces
	case r.Removes:
		return statusRemoves
	default:
		return 0
	}
}
