package model

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// fields are the fields of an object in the making.
type fields = map[string]any

// structOf makes a message of fields.
func structOf(f fields) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(f))}
	for name, v := range f {
		out.Fields[name] = valueOf(v)
	}
	return out
}

// valueOf makes a value of what the model writes; anything else is a mistake of
// the model itself.
func valueOf(v any) *structpb.Value {
	switch v := v.(type) {
	case *structpb.Value:
		return v
	case *structpb.Struct:
		return structpb.NewStructValue(v)
	case fields:
		return structpb.NewStructValue(structOf(v))
	case string:
		return structpb.NewStringValue(v)
	case bool:
		return structpb.NewBoolValue(v)
	case int:
		return structpb.NewNumberValue(float64(v))
	case []string:
		return listOf(v)
	case []any:
		return listOf(v)
	case []fields:
		return listOf(v)
	default:
		panic(fmt.Sprintf("the model cannot write a %T", v))
	}
}

func listOf[T any](items []T) *structpb.Value {
	out := make([]*structpb.Value, 0, len(items))
	for _, item := range items {
		out = append(out, valueOf(item))
	}
	return structpb.NewListValue(&structpb.ListValue{Values: out})
}

// at is the value at a path, or nil.
func at(s *structpb.Struct, path ...string) *structpb.Value {
	for _, name := range path[:len(path)-1] {
		s = s.GetFields()[name].GetStructValue()
	}
	return s.GetFields()[path[len(path)-1]]
}

func text(s *structpb.Struct, path ...string) string { return at(s, path...).GetStringValue() }

func number(s *structpb.Struct, path ...string) int { return int(at(s, path...).GetNumberValue()) }

func object(s *structpb.Struct, path ...string) *structpb.Struct {
	return at(s, path...).GetStructValue()
}

// texts of the list at a path.
func texts(s *structpb.Struct, path ...string) []string {
	values := at(s, path...).GetListValue().GetValues()
	out := make([]string, 0, len(values))
	for _, v := range values {
		out = append(out, v.GetStringValue())
	}
	return out
}

// with is a struct with one field changed; the original stays as it is.
func with(s *structpb.Struct, name string, v any) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(s.GetFields())+1)}
	for n, old := range s.GetFields() {
		out.Fields[n] = old
	}
	out.Fields[name] = valueOf(v)
	return out
}

// same says whether two structs have the same content. It is proto.Equal for
// structs, without what makes that slow.
func same(a, b *structpb.Struct) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || len(a.GetFields()) != len(b.GetFields()) {
		return false
	}
	for name, v := range a.GetFields() {
		other, known := b.GetFields()[name]
		if !known || !sameValue(v, other) {
			return false
		}
	}
	return true
}

func sameValue(a, b *structpb.Value) bool {
	switch k := a.GetKind().(type) {
	case *structpb.Value_StructValue:
		other, ok := b.GetKind().(*structpb.Value_StructValue)
		return ok && same(k.StructValue, other.StructValue)
	case *structpb.Value_ListValue:
		other, ok := b.GetKind().(*structpb.Value_ListValue)
		return ok && slices.EqualFunc(k.ListValue.GetValues(), other.ListValue.GetValues(), sameValue)
	case *structpb.Value_StringValue:
		other, ok := b.GetKind().(*structpb.Value_StringValue)
		return ok && k.StringValue == other.StringValue
	case *structpb.Value_NumberValue:
		other, ok := b.GetKind().(*structpb.Value_NumberValue)
		return ok && k.NumberValue == other.NumberValue
	case *structpb.Value_BoolValue:
		other, ok := b.GetKind().(*structpb.Value_BoolValue)
		return ok && k.BoolValue == other.BoolValue
	default:
		return proto.Equal(a, b)
	}
}

// condition of an object's status.
func condition(kind string, ok bool, message string) fields {
	status, reason := "True", "AsWanted"
	if !ok {
		status, reason = "False", "NotYet"
	}
	return fields{"type": kind, "status": status, "reason": reason, "message": message}
}
