// Package rule holds the rules of single fields: what a marker on a Go type
// says to the API server (pattern, length, enum, bounds, size, uniqueness), said
// to those who never ask one. Each rule returns field errors with the path, the
// value, and what would be right.
package rule

import (
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Text is a rule for strings.
type Text struct {
	pattern *regexp.Regexp
	limit   int
	want    string
}

// NewText returns the rule that a string matches the pattern, has at most limit
// characters, and otherwise is told that it must be what want says. The pattern
// must be anchored at both ends.
func NewText(pattern string, limit int, want string) Text {
	return Text{pattern: regexp.MustCompile(pattern), limit: limit, want: want}
}

// Required checks a string that must be there.
func (t Text) Required(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "must be "+t.want)}
	}
	return t.Optional(path, value)
}

// Optional checks a string that may be empty.
func (t Text) Optional(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return nil
	}
	if utf8.RuneCountInString(value) > t.limit {
		return field.ErrorList{field.Invalid(path, shorten(value), fmt.Sprintf("must be %s, of at most %d characters", t.want, t.limit))}
	}
	if !t.pattern.MatchString(value) {
		return field.ErrorList{field.Invalid(path, value, "must be "+t.want)}
	}
	return nil
}

// shorten a value that is too long to be shown.
func shorten(value string) string {
	const shown = 80
	runes := []rune(value)
	if len(runes) <= shown {
		return value
	}
	return string(runes[:shown]) + "…"
}

// AtMostCharacters checks the length of free text.
func AtMostCharacters(path *field.Path, value string, limit int) field.ErrorList {
	if utf8.RuneCountInString(value) > limit {
		return field.ErrorList{field.TooLongCharacters(path, value, limit)}
	}
	return nil
}

// OneOf checks a string against the only values that it can have.
func OneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, string(value), allowed)}
}
