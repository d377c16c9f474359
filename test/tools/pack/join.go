package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// source says where a script's comments are.
const source = "# https://github.com/l2cluster/function-l2cluster\n"

// join the parts of a script in a language, which the ending of its name says.
// A script says where its source is: in Python each does, and of shell scripts
// those whose first part begins with their interpreter, since others go into one.
func join(ending string, texts []string) (string, error) {
	switch ending {
	case ".sh":
		head := ""
		if first, _, _ := strings.Cut(texts[0], "\n"); strings.HasPrefix(first, "#!") {
			head = first + "\n" + source
		}
		return head + joinShell(texts), nil
	case ".py":
		return "#!/usr/bin/env python3\n" + source + joinPython(texts), nil
	default:
		return "", fmt.Errorf("no language has files that end in %q", ending)
	}
}

// joinShell leaves out comments, empty lines and the tabs that lines begin with:
// our scripts are indented by tabs, here-documents too, which ignore them.
func joinShell(texts []string) string {
	var out strings.Builder
	for _, text := range texts {
		for line := range strings.Lines(text) {
			line = strings.TrimLeft(line, "\t")
			if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
				out.WriteString(line)
			}
		}
	}
	return out.String()
}

// joinPython puts the imports of all parts first, each once.
func joinPython(texts []string) string {
	var imports, body []string
	for _, text := range texts {
		for _, line := range stripPython(text) {
			if strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "from ") {
				imports = append(imports, line)
				continue
			}
			body = append(body, line)
		}
	}
	slices.Sort(imports)
	return strings.Join(append(slices.Compact(imports), body...), "\n") + "\n"
}

// stripPython leaves out comments, documentation and empty lines, indents by one
// space instead of four, and leaves out the spaces that only readers need.
func stripPython(text string) []string {
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
			out = append(out, strings.Repeat(" ", indent/4)+tight(trimmed))
		}
	}
	return out
}

// tight is a line of Python without the spaces that separate no words and are in
// no string. A string ends on its line: our scripts have no others.
func tight(line string) string {
	var out []byte
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && c == '#':
			return string(append(out, line[i:]...))
		case quote == 0 && c == ' ' && !(word(out[len(out)-1]) && word(line[i+1])):
			continue
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == '\\':
			out = append(out, c)
			i++
		case c == quote:
			quote = 0
		}
		out = append(out, line[i])
	}
	return string(out)
}

// word says whether a byte belongs to a name or a number, or begins or ends a
// string, so that a space beside it may matter.
func word(b byte) bool {
	return b == '_' || b == '"' || b == '\'' || b >= utf8.RuneSelf ||
		'0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}
