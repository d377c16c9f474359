package strict

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type inner struct {
	Name  string `json:"name"`
	Count int32  `json:"count,omitempty"`
}

type inlined struct {
	Big int64 `json:"big,omitempty"`
}

type outer struct {
	metav1.ObjectMeta `json:"metadata,omitzero"`
	inlined           `json:",inline"`

	Text    string            `json:"text,omitempty"`
	Flag    *bool             `json:"flag,omitempty"`
	Pointer *int32            `json:"pointer,omitempty"`
	List    []inner           `json:"list,omitempty"`
	Words   []string          `json:"words,omitempty"`
	Map     map[string]string `json:"map,omitempty"`
	Wait    *metav1.Duration  `json:"wait,omitempty"`
	Any     map[string]any    `json:"any,omitempty"`
}

func TestDecode(t *testing.T) {
	yes, zero := true, int32(0)
	type want struct {
		value outer
		errs  []string
	}
	cases := map[string]struct {
		reason string
		object map[string]any
		want   want
	}{
		"Everything": {
			reason: "Each kind of field is decoded; floats and json.Numbers that are whole are integers.",
			object: map[string]any{
				"metadata": map[string]any{"name": "m"}, "text": "t", "flag": true, "pointer": 0.0, "big": 4200000000.0,
				"list": []any{map[string]any{"name": "a", "count": json.Number("1e3")}}, "words": []any{"x"},
				"map": map[string]any{"k": "v"}, "wait": "5s", "any": map[string]any{"n": 1.5},
			},
			want: want{value: outer{
				ObjectMeta: metav1.ObjectMeta{Name: "m"}, Text: "t", Flag: &yes, Pointer: &zero, inlined: inlined{Big: 4200000000},
				List: []inner{{Name: "a", Count: 1000}}, Words: []string{"x"}, Map: map[string]string{"k": "v"},
				Wait: &metav1.Duration{Duration: 5 * time.Second}, Any: map[string]any{"n": 1.5},
			}},
		},
		"UnknownField": {
			reason: "A typo is named with what could be meant; names are exact, unlike in encoding/json.",
			object: map[string]any{"list": []any{map[string]any{"Name": "a"}}},
			want: want{
				value: outer{List: []inner{{}}},
				errs: []string{
					`o.list[0]: Invalid value: "Name": is not a field of this object; its fields are count, name`,
					`o.list[0].name: Required value: must be given`,
				},
			},
		},
		"NotWhole": {
			reason: "Half a replica is refused, and the rest is decoded.",
			object: map[string]any{"pointer": 2.5, "text": "t"},
			want:   want{value: outer{Text: "t"}, errs: []string{"o.pointer: Invalid value: 2.5: must be a whole number between -2^53 and 2^53"}},
		},
		"TooLarge": {
			reason: "A number that does not fit is not wrapped around.",
			object: map[string]any{"pointer": 4294967296.0, "big": 1e300},
			want: want{errs: []string{
				"o.big: Invalid value: must be a whole number between -2^53 and 2^53",
				"o.pointer: Invalid value: 4294967296: is too large a number for this field",
			}},
		},
		"ExplicitZero": {
			reason: "0 would silently become the default where the field is no pointer.",
			object: map[string]any{"big": int64(0), "pointer": int64(0), "text": ""},
			want: want{
				value: outer{Pointer: &zero},
				errs:  []string{"o.big: Invalid value: 0: 0 reads as if nothing was given; leave the field out for its default"},
			},
		},
		"Null": {
			reason: "null is no value, neither of a field nor of an item.",
			object: map[string]any{"text": nil, "words": []any{nil, "x"}},
			want: want{
				value: outer{Words: []string{"", "x"}},
				errs: []string{
					"o.text: Invalid value: must not be null; leave the field out",
					"o.words[0]: Invalid value: must not be null; leave the field out",
				},
			},
		},
		"WrongTypes": {
			reason: "Each wrong type is refused where it is.",
			object: map[string]any{
				"text": 1.0, "flag": "yes", "list": map[string]any{}, "map": []any{}, "words": []any{true},
				"wait": "soon", "big": "1",
			},
			want: want{
				value: outer{Words: []string{""}},
				errs: []string{
					`o.big: Invalid value: "1": must be a whole number between -2^53 and 2^53`,
					`o.flag: Invalid value: "yes": must be true or false`,
					`o.list: Invalid value: {}: must be a list`,
					`o.map: Invalid value: []: must be an object`,
					`o.text: Invalid value: 1: must be text; put it in quotes`,
					`o.wait: Invalid value: "soon": time: invalid duration "soon"`,
					`o.words[0]: Invalid value: true: must be text; put it in quotes`,
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got want
			errs := Decode(tc.object, &got.value, field.NewPath("o"))
			for _, err := range errs {
				got.errs = append(got.errs, err.Error())
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}, outer{}, inlined{})); diff != "" {
				t.Errorf("%s\nDecode(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
