// Package strict decodes unstructured values into Go types as strictly as an
// API server with a schema does, and says of each value that does not fit where
// it is and what would.
package strict

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

// Decode an object into what the pointer into points to. It refuses fields that
// the type does not have (names are exact) and the lack of those that its JSON
// tags do not let be left out; null, values of another type, and numbers that
// are not whole or do not fit; and an explicit 0 in a field where 0 would read as
// left out. An empty string is as good as none. What fits is decoded even where
// something else does not. Errors come sorted.
//
// Numbers may be integers of any size or floats, as they come out of JSON and
// out of protobuf: 1e3 is 1000.
func Decode(object map[string]any, into any, path *field.Path) field.ErrorList {
	d := decoder{}
	clean := d.structure(reflect.TypeOf(into).Elem(), object, path)
	b, err := json.Marshal(clean)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		d.errs = append(d.errs, field.InternalError(path, fmt.Errorf("cannot decode: %w", err)))
	}
	return rule.Sort(d.errs)
}

// decoder keeps the values that fit and collects errors for those that do not.
type decoder struct {
	errs field.ErrorList
}

// left is what takes the place of a value that does not fit: nothing.
type left struct{}

func (d *decoder) refuse(path *field.Path, value any, detail string) any {
	d.errs = append(d.errs, field.Invalid(path, value, detail))
	return left{}
}

func (d *decoder) value(t reflect.Type, value any, path *field.Path) any {
	if value == nil {
		return d.refuse(path, field.OmitValueType{}, "must not be null; leave the field out")
	}
	if t.Kind() == reflect.Pointer {
		return d.value(t.Elem(), value, path)
	}
	if t == reflect.TypeFor[metav1.ObjectMeta]() || t.Kind() == reflect.Interface {
		return value
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return d.own(t, value, path)
	}
	switch t.Kind() {
	case reflect.Struct:
		return d.structure(t, value, path)
	case reflect.Slice:
		return d.list(t, value, path)
	case reflect.Map:
		return d.mapping(t, value, path)
	case reflect.Int32, reflect.Int64:
		return d.number(t, value, path)
	default:
		return d.plain(t, value, path)
	}
}

// own leaves a value to its type's own decoding.
func (d *decoder) own(t reflect.Type, value any, path *field.Path) any {
	b, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(b, reflect.New(t).Interface())
	}
	if err != nil {
		return d.refuse(path, value, err.Error())
	}
	return value
}

func (d *decoder) structure(t reflect.Type, value any, path *field.Path) any {
	object, ok := value.(map[string]any)
	if !ok {
		return d.refuse(path, value, "must be an object")
	}
	fields := fieldsOf(t)
	clean := map[string]any{}
	for name, v := range object {
		f, known := fields[name]
		if !known {
			d.refuse(path, name, "is not a field of this object; its fields are "+strings.Join(names(fields), ", "))
			continue
		}
		c := d.value(f.Type, v, path.Child(name))
		if c == int64(0) && f.Type.Kind() != reflect.Pointer && optional(f) {
			c = d.refuse(path.Child(name), 0, "0 reads as if nothing was given; leave the field out for its default")
		}
		if c != (left{}) {
			clean[name] = c
		}
	}
	for name, f := range fields {
		if _, given := object[name]; !given && !optional(f) {
			d.errs = append(d.errs, field.Required(path.Child(name), "must be given"))
		}
	}
	return clean
}

// fieldsOf a struct by their names in JSON, those of inlined structs among
// them.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	out := map[string]reflect.StructField{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && strings.Contains(options, "inline") {
			maps.Copy(out, fieldsOf(f.Type))
			continue
		}
		out[name] = f
	}
	return out
}

func optional(f reflect.StructField) bool {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return options == "omitempty" || options == "omitzero"
}

func names(fields map[string]reflect.StructField) []string {
	out := make([]string, 0, len(fields))
	for name := range fields {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (d *decoder) list(t reflect.Type, value any, path *field.Path) any {
	items, ok := value.([]any)
	if !ok {
		return d.refuse(path, value, "must be a list")
	}
	clean := make([]any, 0, len(items))
	for i, item := range items {
		c := d.value(t.Elem(), item, path.Index(i))
		if c == (left{}) {
			// Its place is kept, so that the paths of later items stay right.
			c = nil
		}
		clean = append(clean, c)
	}
	return clean
}

func (d *decoder) mapping(t reflect.Type, value any, path *field.Path) any {
	entries, ok := value.(map[string]any)
	if !ok {
		return d.refuse(path, value, "must be an object")
	}
	clean := map[string]any{}
	for key, v := range entries {
		if c := d.value(t.Elem(), v, path.Key(key)); c != (left{}) {
			clean[key] = c
		}
	}
	return clean
}

func (d *decoder) number(t reflect.Type, value any, path *field.Path) any {
	n, ok := whole(value)
	if !ok {
		return d.refuse(path, written(value), "must be a whole number between -2^53 and 2^53")
	}
	if t.Kind() == reflect.Int32 && (n < math.MinInt32 || n > math.MaxInt32) {
		return d.refuse(path, n, "is too large a number for this field")
	}
	return n
}

// written is a number as a person writes it, without an exponent.
func written(value any) any {
	f, ok := value.(float64)
	switch {
	case !ok:
		return value
	case math.Abs(f) > maxExact:
		return field.OmitValueType{}
	default:
		return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
	}
}

// maxExact is the largest integer below which a float64 holds every other.
const maxExact = 1 << 53

func whole(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) <= maxExact
	case json.Number:
		i, err := n.Int64()
		if err == nil {
			return i, true
		}
		f, err := n.Float64()
		if err != nil {
			return 0, false
		}
		return whole(f)
	default:
		return 0, false
	}
}

func (d *decoder) plain(t reflect.Type, value any, path *field.Path) any {
	if reflect.TypeOf(value).Kind() == t.Kind() {
		return value
	}
	if t.Kind() == reflect.Bool {
		return d.refuse(path, value, "must be true or false")
	}
	return d.refuse(path, value, "must be text; put it in quotes")
}
