// Command assemble makes the node script of each back end from its parts: one
// file each, since a file of its own costs more than its content, and without
// comments and indentation, since every byte travels with every machine.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// parts of each script, in order.
func parts() map[string][]string {
	with := func(backend ...string) []string {
		return slices.Concat([]string{"machine.py", "wanted.py"}, backend, []string{"main.py"})
	}
	return map[string][]string{
		"ifupdown.py":       with("ifupdown.py"),
		"netplan.py":        with("networkd.py", "netplan.py"),
		"networkd.py":       with("networkd.py"),
		"networkmanager.py": with("networkmanager.py"),
		"handover.py":       {"handover.py"},
	}
}

func main() {
	root, err := os.OpenRoot(".")
	if err == nil {
		err = assembleAll(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "assemble:", err)
		os.Exit(1)
	}
}

func assembleAll(root *os.Root) error {
	for name, from := range parts() {
		if err := assemble(root, name, from); err != nil {
			return err
		}
	}
	return nil
}

// assemble the named script in the folder assembled, from files in parts.
func assemble(root *os.Root, name string, from []string) error {
	var texts []string
	for _, part := range from {
		text, err := root.ReadFile("parts/" + part)
		if err != nil {
			return fmt.Errorf("cannot read a part of %q: %w", name, err)
		}
		texts = append(texts, string(text))
	}
	if err := root.WriteFile("assembled/"+name, []byte(join(texts)), 0o644); err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return nil
}

const head = `#!/usr/bin/env python3
# Generated: the source with comments is in fn/osnet/script/parts of
# https://github.com/l2cluster/function-l2cluster.
`

// join puts the imports of all parts first, each once.
func join(texts []string) string {
	var imports, body []string
	for _, text := range texts {
		for _, line := range strip(text) {
			if strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "from ") {
				imports = append(imports, line)
				continue
			}
			body = append(body, line)
		}
	}
	slices.Sort(imports)
	return head + strings.Join(append(slices.Compact(imports), body...), "\n") + "\n"
}

// strip leaves out comments, documentation and empty lines, and indents by one
// space instead of four.
func strip(text string) []string {
	const quotes = `"""`
	var out []string
	documentation := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case documentation:
			documentation = !strings.HasSuffix(trimmed, quotes)
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case strings.HasPrefix(trimmed, quotes):
			documentation = len(trimmed) == len(quotes) || !strings.HasSuffix(trimmed, quotes)
		default:
			indent := len(line) - len(strings.TrimLeft(line, " "))
			out = append(out, strings.Repeat(" ", indent/4)+trimmed)
		}
	}
	return out
}
