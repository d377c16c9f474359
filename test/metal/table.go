package metal

import "slices"

// A table holds things by id and remembers the order in which they came.
type table[T any] struct {
	ids  []string
	byID map[string]T
}

func newTable[T any]() *table[T] {
	return &table[T]{byID: map[string]T{}}
}

func (t *table[T]) put(id string, v T) {
	if _, known := t.byID[id]; !known {
		t.ids = append(t.ids, id)
	}
	t.byID[id] = v
}

func (t *table[T]) get(id string) (T, bool) {
	v, ok := t.byID[id]
	return v, ok
}

func (t *table[T]) drop(id string) {
	delete(t.byID, id)
	t.ids = slices.DeleteFunc(t.ids, func(s string) bool { return s == id })
}

// where returns what fits, oldest first.
func (t *table[T]) where(fits func(T) bool) []T {
	var out []T
	for _, id := range t.ids {
		if v := t.byID[id]; fits(v) {
			out = append(out, v)
		}
	}
	return out
}

func (t *table[T]) all() []T {
	return t.where(func(T) bool { return true })
}
