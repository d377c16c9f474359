package xr

import (
	"encoding/base64"
	"math"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/l2cluster/function-l2cluster/fn/object"
)

// view reads a protobuf struct in place: a request can hold thousands of
// objects of which a run needs a few fields each.
type view struct{ s *structpb.Struct }

var _ object.View = view{}

// ViewOf is read access to an object in a message.
func ViewOf(s *structpb.Struct) object.View { return view{s} }

// value at the path, or nil. Lists are not walked into.
func (v view) value(path []string) *structpb.Value {
	if len(path) == 0 {
		return structpb.NewStructValue(v.s)
	}
	s := v.s
	for _, name := range path[:len(path)-1] {
		s = s.GetFields()[name].GetStructValue()
	}
	return s.GetFields()[path[len(path)-1]]
}

func (v view) String(path ...string) string { return v.value(path).GetStringValue() }

func (v view) Bool(path ...string) bool { return v.value(path).GetBoolValue() }

func (v view) Int(path ...string) int64 {
	i, _ := integer(v.value(path).GetNumberValue())
	return i
}

func (v view) Has(path ...string) bool {
	value := v.value(path)
	if value == nil {
		return false
	}
	_, null := value.GetKind().(*structpb.Value_NullValue)
	return !null && value.GetKind() != nil
}

func (v view) Strings(path ...string) []string {
	values := v.value(path).GetListValue().GetValues()
	out := make([]string, 0, len(values))
	for _, value := range values {
		if s, ok := value.GetKind().(*structpb.Value_StringValue); ok {
			out = append(out, s.StringValue)
		}
	}
	return out
}

func (v view) Views(path ...string) []object.View {
	values := v.value(path).GetListValue().GetValues()
	out := make([]object.View, 0, len(values))
	for _, value := range values {
		if s := value.GetStructValue(); s != nil {
			out = append(out, view{s})
		}
	}
	return out
}

func (v view) Bytes(path ...string) []byte {
	b, err := base64.StdEncoding.DecodeString(v.String(path...))
	if err != nil {
		return nil
	}
	return b
}

func (v view) Any(path ...string) any { return toAny(v.value(path)) }

func (v view) At(path ...string) object.View { return view{v.value(path).GetStructValue()} }

func (v view) Keys(path ...string) []string {
	fields := v.value(path).GetStructValue().GetFields()
	out := make([]string, 0, len(fields))
	for name := range fields {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (v view) Object(path ...string) map[string]any {
	s := v.value(path).GetStructValue()
	if s == nil {
		return nil
	}
	return ToMap(s)
}

// ToMap is a struct as unstructured values: Struct.AsMap with whole numbers as int64: a float64 of a million
// prints as 1e+06, and no integer field takes that.
func ToMap(s *structpb.Struct) map[string]any {
	out := make(map[string]any, len(s.GetFields()))
	for name, value := range s.GetFields() {
		out[name] = toAny(value)
	}
	return out
}

func toAny(v *structpb.Value) any {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		if i, whole := integer(k.NumberValue); whole {
			return i
		}
		return k.NumberValue
	case *structpb.Value_StringValue:
		return k.StringValue
	case *structpb.Value_BoolValue:
		return k.BoolValue
	case *structpb.Value_StructValue:
		return ToMap(k.StructValue)
	case *structpb.Value_ListValue:
		out := make([]any, 0, len(k.ListValue.GetValues()))
		for _, value := range k.ListValue.GetValues() {
			out = append(out, toAny(value))
		}
		return out
	default:
		return nil
	}
}

// integer says whether a number is whole and small enough to be exact in the
// float64 that carries it.
func integer(f float64) (int64, bool) {
	const exact = 1 << 53
	if f != math.Trunc(f) || math.Abs(f) > exact {
		return 0, false
	}
	return int64(f), true
}
