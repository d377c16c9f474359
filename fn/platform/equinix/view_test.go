package equinix

import (
	"encoding/base64"
	"maps"
	"slices"

	"github.com/l2cluster/function-l2cluster/fn/object"
)

// view is an observed object in a test.
type view map[string]any

var _ object.View = view{}

func (v view) value(path []string) any {
	var at any = map[string]any(v)
	for _, name := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[name]
	}
	return at
}

func (v view) String(path ...string) string {
	s, _ := v.value(path).(string)
	return s
}

func (v view) Bool(path ...string) bool {
	b, _ := v.value(path).(bool)
	return b
}

func (v view) Int(path ...string) int64 {
	i, _ := v.value(path).(int64)
	return i
}

func (v view) Has(path ...string) bool { return v.value(path) != nil }

func (v view) Bytes(path ...string) []byte {
	b, err := base64.StdEncoding.DecodeString(v.String(path...))
	if err != nil {
		return nil
	}
	return b
}

func (v view) Any(path ...string) any { return v.value(path) }

func (v view) Strings(path ...string) []string {
	list, _ := v.value(path).([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (v view) Views(path ...string) []object.View {
	list, _ := v.value(path).([]any)
	var out []object.View
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, view(m))
		}
	}
	return out
}

func (v view) At(path ...string) object.View {
	m, _ := v.value(path).(map[string]any)
	return view(m)
}

func (v view) Keys(path ...string) []string {
	m, _ := v.value(path).(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

func (v view) Object(path ...string) map[string]any {
	m, _ := v.value(path).(map[string]any)
	return maps.Clone(m)
}
