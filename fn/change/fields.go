package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// equalDifference are the fields in which two objects differ.
func equalDifference(before, after map[string]any) []Field {
	w := walk{}
	w.values("", value(before), value(after))
	return w.sorted()
}

// appliedDifference are the fields that applying the second object changes in
// the first.
func appliedDifference(before, after map[string]any) []Field {
	w := walk{applied: true}
	w.values("", value(before), value(after))
	return w.sorted()
}

// rolledDifference is appliedDifference for the fields that a rollout compares:
// there nobody else writes lists, so one that is not applied any more was ours
// and goes.
func rolledDifference(before, after map[string]any) []Field {
	w := walk{applied: true, ownLists: true}
	w.values("", value(before), value(after))
	return w.sorted()
}

// value of an object that may be missing.
func value(o map[string]any) any {
	if o == nil {
		return nil
	}
	return o
}

// walk through two values.
type walk struct {
	// applied ignores what only the first value has.
	applied bool
	// ownLists counts lists that only the first value has all the same.
	ownLists bool
	fields   []Field
}

func (w *walk) sorted() []Field {
	slices.SortFunc(w.fields, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return w.fields
}

func (w *walk) values(path string, before, after any) {
	was, wasMap := before.(map[string]any)
	is, isMap := after.(map[string]any)
	if wasMap && isMap {
		w.maps(path, was, is)
		return
	}
	wasList, ok := before.([]any)
	isList, both := after.([]any)
	if ok && both {
		w.lists(path, wasList, isList)
		return
	}
	if !same(before, after) {
		w.fields = append(w.fields, Field{Path: path, Before: brief(before), After: brief(after)})
	}
}

func (w *walk) maps(path string, before, after map[string]any) {
	names := map[string]bool{}
	for name := range after {
		names[name] = true
	}
	for name, v := range before {
		if !w.applied || w.ownLists && hasList(v) {
			names[name] = true
		}
	}
	for name := range names {
		if path == "" && name == "status" {
			continue
		}
		w.values(join(path, name), before[name], after[name])
	}
}

// hasList says whether there is a list with something in it in a value.
func hasList(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0
	case map[string]any:
		for _, item := range v {
			if hasList(item) {
				return true
			}
		}
	}
	return false
}

// lists differ item by item where the items have names of their own, and place
// by place otherwise.
func (w *walk) lists(path string, before, after []any) {
	was, named := byName(before)
	is, alike := byName(after)
	if !named || !alike {
		was, is = byPlace(before), byPlace(after)
	}
	names := maps.Clone(is)
	maps.Copy(names, was)
	for name := range names {
		w.values(path+"["+name+"]", was[name], is[name])
	}
}

// byName are the items of a list by what tells them apart, if all have it.
func byName(list []any) (map[string]any, bool) {
	for _, field := range []string{"path", "name", "key", "type"} {
		out := map[string]any{}
		for _, item := range list {
			o, _ := item.(map[string]any)
			if name, ok := o[field].(string); ok {
				out[name] = item
			}
		}
		if len(out) == len(list) {
			return out, true
		}
	}
	return nil, false
}

func byPlace(list []any) map[string]any {
	out := make(map[string]any, len(list))
	for i, item := range list {
		out[fmt.Sprint(i)] = item
	}
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// same compares numbers by what they are: JSON knows one kind only.
func same(a, b any) bool {
	x, isNumber := number(a)
	y, both := number(b)
	if isNumber && both {
		return x == y
	}
	return reflect.DeepEqual(a, b)
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case float64:
		return n, true
	default:
		return 0, false
	}
}

// longest value that is spelled out, in bytes.
const longest = 80

// brief is a value in short; "" for none.
func brief(v any) string {
	if v == nil {
		return ""
	}
	if s, ok := v.(string); ok && len(s) <= longest && s != "" && !strings.ContainsAny(s, "\n") {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil || len(b) > longest {
		return fmt.Sprintf("%d bytes", len(b))
	}
	return string(b)
}

// at is the object at a path, nil when there is none. What is at the path and is
// no object comes as the only field of one, under no name.
func at(o map[string]any, path ...string) map[string]any {
	for i, name := range path {
		v, exists := o[name]
		next, isMap := v.(map[string]any)
		if exists && !isMap && i == len(path)-1 {
			return map[string]any{"": v}
		}
		o = next
	}
	return o
}

// text at a path, or "".
func text(o map[string]any, path ...string) string {
	s, _ := at(o, path[:len(path)-1]...)[path[len(path)-1]].(string)
	return s
}
