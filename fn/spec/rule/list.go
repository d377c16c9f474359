package rule

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Seen remembers values that must be unique, and where they were first.
type Seen[T comparable] map[T]*field.Path

// Add a value. It returns an error at the path when the value was there before.
func (s Seen[T]) Add(path *field.Path, value T) field.ErrorList {
	first, again := s[value]
	if !again {
		s[value] = path
		return nil
	}
	err := field.Duplicate(path, value)
	err.Detail = "must be unique, and " + first.String() + " has it already"
	return field.ErrorList{err}
}

// Items checks the size of a list of strings and each of its items.
func Items(path *field.Path, values []string, limit int, check func(*field.Path, string) field.ErrorList) field.ErrorList {
	errs := AtMostItems(path, len(values), limit)
	for i, v := range values {
		errs = append(errs, check(path.Index(i), v)...)
	}
	return errs
}

// Set checks like Items, and that no item is there twice.
func Set(path *field.Path, values []string, limit int, check func(*field.Path, string) field.ErrorList) field.ErrorList {
	seen := Seen[string]{}
	return Items(path, values, limit, func(p *field.Path, v string) field.ErrorList {
		return append(check(p, v), seen.Add(p, v)...)
	})
}

// Sort errors by path, then by what they say, so that the same faults read the
// same in every run. One of two that say the same is dropped, and so is one of
// two that say that a field is required.
func Sort(errs field.ErrorList) field.ErrorList {
	slices.SortFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.ErrorBody(), b.ErrorBody()))
	})
	return slices.CompactFunc(errs, func(a, b *field.Error) bool {
		required := a.Type == field.ErrorTypeRequired && b.Type == field.ErrorTypeRequired
		return a.Field == b.Field && (required || a.ErrorBody() == b.ErrorBody())
	})
}
