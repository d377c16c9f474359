package diff

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Field is one difference between two versions of an object.
type Field struct {
	// Path of the field, for instance spec.files[path=/etc/hosts].content: an
	// item of a list is named by what tells it from the others.
	Path string `json:"path"`
	// Old and New are the values; nil where there is none. A list without names
	// for its items is one value.
	Old any `json:"old,omitempty"`
	New any `json:"new,omitempty"`
	// Diff is the difference between two long texts, or of an item of a list that
	// is long, as the hunks of a unified diff. Texts have it instead of Old and
	// New. Encoded contents of files are decoded.
	Diff string `json:"diff,omitempty"`
	// Note says what the values do not: that only the order changed, or how long
	// a text is that is not shown.
	Note string `json:"note,omitempty"`
}

// Fields that differ between two objects in unstructured values, in the order of
// their names. An object that is nil has no fields.
func Fields(before, after map[string]any) []Field {
	w := &walk{}
	w.objects("", before, after)
	return w.found
}

// walk through two values side by side. The values are those that JSON has, and
// nil stands for a field that is not there.
type walk struct{ found []Field }

func (w *walk) values(path string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	if a, b, ok := both[map[string]any](before, after); ok && len(a)+len(b) > 0 {
		w.objects(path, a, b)
		return
	}
	if a, b, ok := both[[]any](before, after); ok {
		w.lists(path, a, b)
		return
	}
	if a, b, ok := both[string](before, after); ok {
		w.texts(path, textOf(before, a), textOf(after, b))
		return
	}
	w.found = append(w.found, Field{Path: path, Old: before, New: after})
}

// both values as one type, of which one may be missing.
func both[T any](before, after any) (a, b T, ok bool) {
	a, isA := before.(T)
	b, isB := after.(T)
	return a, b, (isA || before == nil) && (isB || after == nil)
}

func (w *walk) objects(path string, before, after map[string]any) {
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		at := name
		if path != "" {
			at = path + "." + name
		}
		if name == contentField && (isFile(before) || isFile(after)) {
			w.texts(at, contentOf(before), contentOf(after))
			continue
		}
		w.values(at, before[name], after[name])
	}
}

func (w *walk) lists(path string, before, after []any) {
	key := keyOf(before, after)
	if key == "" {
		w.found = append(w.found, Field{Path: path, Old: orNil(before), New: orNil(after), Note: reordered(before, after)})
		return
	}
	a, b := byKey(before, key), byKey(after, key)
	names := make([]any, 0, len(a))
	for _, list := range [][]any{before, after} {
		for _, item := range list {
			if name := nameOf(item, key); !slices.Contains(names, any(name)) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		name, _ := name.(string)
		at := fmt.Sprintf("%s[%s=%s]", path, key, name)
		if a[name] == nil || b[name] == nil {
			w.item(at, a[name], b[name])
			continue
		}
		w.objects(at, a[name], b[name])
	}
	// Who only reads the items would miss that their order matters.
	stayed := func(list []any) []any {
		out := []any{}
		for _, item := range list {
			if name := nameOf(item, key); a[name] != nil && b[name] != nil {
				out = append(out, name)
			}
		}
		return out
	}
	if was, is := stayed(before), stayed(after); !reflect.DeepEqual(was, is) {
		w.found = append(w.found, Field{Path: path, Old: was, New: is, Note: onlyOrder})
	}
}

// orNil keeps what is not there apart from what is empty.
func orNil[T []any | map[string]any](v T) any {
	if v == nil {
		return nil
	}
	return v
}

const onlyOrder = "only the order differs"

// reordered notes that two lists have the same items.
func reordered(before, after []any) string {
	gone, come := items(before, after)
	if len(gone)+len(come) > 0 || len(before) == 0 {
		return ""
	}
	return onlyOrder
}

// items that are in one of two lists only, in the order of their lists.
func items(before, after []any) (gone, come []any) {
	come = slices.Clone(after)
	for _, item := range before {
		at := slices.IndexFunc(come, func(other any) bool { return reflect.DeepEqual(item, other) })
		if at < 0 {
			gone = append(gone, item)
			continue
		}
		come = slices.Delete(come, at, at+1)
	}
	return gone, come
}

// keyOf is the field that names the items of both lists, or "".
func keyOf(before, after []any) string {
	for _, key := range []string{pathField, "name", "type", "key", "network"} {
		if len(before)+len(after) > 0 && names(before, key) && names(after, key) {
			return key
		}
	}
	return ""
}

// names says whether a field has another text in each item of a list.
func names(list []any, key string) bool {
	seen := map[string]bool{}
	for _, item := range list {
		name := nameOf(item, key)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func nameOf(item any, key string) string {
	o, _ := item.(map[string]any)
	name, _ := o[key].(string)
	return name
}

func byKey(list []any, key string) map[string]map[string]any {
	out := make(map[string]map[string]any, len(list))
	for _, item := range list {
		out[nameOf(item, key)], _ = item.(map[string]any)
	}
	return out
}
