package diff_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/l2cluster/function-l2cluster/fn/diff"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestFields(t *testing.T) {
	cases := map[string]struct {
		before, after string
		want          []diff.Field
	}{
		"Same":    {`{a: 1, b: [x]}`, `{b: [x], a: 1}`, nil},
		"Changed": {`{spec: {replicas: 2}}`, `{spec: {replicas: 3}}`, []diff.Field{{Path: "spec.replicas", Old: 2.0, New: 3.0}}},
		"Added": {`{}`, `{spec: {rollout: {maxSurge: 0}}}`, []diff.Field{
			{Path: "spec.rollout.maxSurge", New: 0.0},
		}},
		"Removed":     {`{a: {b: x}}`, `{}`, []diff.Field{{Path: "a.b", Old: "x"}}},
		"EmptyObject": {`{a: {}}`, `{}`, []diff.Field{{Path: "a", Old: map[string]any{}}}},
		"OtherType":   {`{a: [x]}`, `{a: x}`, []diff.Field{{Path: "a", Old: []any{"x"}, New: "x"}}},
		"Text":        {`{a: x}`, `{a: z}`, []diff.Field{{Path: "a", Old: "x", New: "z"}}},
		"LongText": {`{a: "one\ntwo\n"}`, `{a: "one\n2\n"}`, []diff.Field{
			{Path: "a", Diff: "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		}},
		"Scalars": {`{a: [u, v]}`, `{a: [v, w]}`, []diff.Field{{Path: "a", Old: []any{"u", "v"}, New: []any{"v", "w"}}}},
		"ScalarsInOtherOrder": {`{a: [u, v]}`, `{a: [v, u]}`, []diff.Field{
			{Path: "a", Old: []any{"u", "v"}, New: []any{"v", "u"}, Note: "only the order differs"},
		}},
		"NamedItems": {
			`{args: [{name: a, value: "1"}, {name: b, value: "1"}]}`,
			`{args: [{name: b, value: "2"}, {name: c, value: "1"}]}`,
			[]diff.Field{
				{Path: "args[name=a]", Old: map[string]any{"name": "a", "value": "1"}},
				{Path: "args[name=b].value", Old: "1", New: "2"},
				{Path: "args[name=c]", New: map[string]any{"name": "c", "value": "1"}},
			},
		},
		"NamedItemsInOtherOrder": {
			`{args: [{name: a}, {name: b}, {name: c}]}`, `{args: [{name: b}, {name: a}]}`,
			[]diff.Field{
				{Path: "args[name=c]", Old: map[string]any{"name": "c"}},
				{Path: "args", Old: []any{"a", "b"}, New: []any{"b", "a"}, Note: "only the order differs"},
			},
		},
		"NamesThatRepeat": {
			`{taints: [{key: a, effect: x}, {key: a, effect: z}]}`, `{taints: [{key: a, effect: x}]}`,
			[]diff.Field{{
				Path: "taints",
				Old:  []any{map[string]any{"key": "a", "effect": "x"}, map[string]any{"key": "a", "effect": "z"}},
				New:  []any{map[string]any{"key": "a", "effect": "x"}},
			}},
		},
		"LongItem": {
			`{links: []}`, `{links: [{network: storage, text: "` + strings.Repeat("x", 100) + `"}]}`,
			[]diff.Field{{
				Path: "links[network=storage]", New: map[string]any{"network": "storage", "text": strings.Repeat("x", 100)},
				Diff: "@@ -0,0 +1,2 @@\n+network: storage\n+text: " + strings.Repeat("x", 100) + "\n",
			}},
		},
		"JSON": {
			`{body: '{"l2cluster":{"vlan1000.ipv4":"10.0.0.2/24"}}'}`, `{body: '{"l2cluster":{"vlan1000.ipv4":"10.0.0.3/24"}}'}`,
			[]diff.Field{{Path: "body(json).l2cluster.vlan1000.ipv4", Old: "10.0.0.2/24", New: "10.0.0.3/24"}},
		},
		"JSONWrittenOtherwise": {
			`{body: '{"a":1}'}`, `{body: '{"a": 1}'}`,
			[]diff.Field{{Path: "body", Note: "the same JSON, written otherwise"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := diff.Fields(object(t, tc.before), object(t, tc.after))
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want, +got:\n%s", d)
			}
		})
	}
}

func TestFilesOfFields(t *testing.T) {
	type file = map[string]any
	const long = 41
	cases := map[string]struct {
		reason        string
		before, after file
		want          []diff.Field
	}{
		"Plain": {
			reason: "a short text is a value",
			before: file{"content": "a"}, after: file{"content": "b"},
			want: []diff.Field{{Path: "files[path=/f].content", Old: "a", New: "b"}},
		},
		"Base64": {
			reason: "the reader sees what the machine gets",
			before: file{"encoding": "base64", "content": encoded("a\nb\n")}, after: file{"encoding": "base64", "content": encoded("a\nc\n")},
			want: []diff.Field{{Path: "files[path=/f].content", Diff: "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"}},
		},
		"OtherEncoding": {
			reason: "another way to carry the same text is another file to Cluster API, and must not be hidden",
			before: file{"encoding": "base64", "content": encoded("a\n")}, after: file{"encoding": "gzip+base64", "content": packed("a\n")},
			want: []diff.Field{
				{Path: "files[path=/f].content", Note: "the same text, encoded otherwise"},
				{Path: "files[path=/f].encoding", Old: "base64", New: "gzip+base64"},
			},
		},
		"Binary": {
			reason: "what is no text is told apart by its sum",
			before: file{"encoding": "base64", "content": encoded("\x00")}, after: file{"encoding": "base64", "content": encoded("\x01")},
			want: []diff.Field{{
				Path: "files[path=/f].content",
				Old:  "1 bytes with SHA-256 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
				New:  "1 bytes with SHA-256 4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a",
			}},
		},
		"NotWhatItsEncodingSays": {
			reason: "what cannot be decoded is shown as it is",
			before: file{"encoding": "gzip+base64", "content": "?"}, after: file{"encoding": "gzip+base64", "content": "!"},
			want: []diff.Field{{Path: "files[path=/f].content", Old: "?", New: "!"}},
		},
		"Added": {
			reason: "a new file that fits on a screen is shown",
			after:  file{"encoding": "base64", "content": encoded("a\nb\n")},
			want:   []diff.Field{{Path: "files[path=/f]", Note: "added: 2 lines, 4 bytes", Diff: "@@ -0,0 +1,2 @@\n+a\n+b\n"}},
		},
		"LongOneRemoved": {
			reason: "a long one is not",
			before: file{"content": strings.Repeat("x\n", long)},
			want:   []diff.Field{{Path: "files[path=/f]", Note: "removed: 41 lines, 82 bytes"}},
		},
		"Permissions": {
			reason: "not only the content counts",
			before: file{"content": "a", "permissions": "0644"}, after: file{"content": "a", "permissions": "0755"},
			want: []diff.Field{{Path: "files[path=/f].permissions", Old: "0644", New: "0755"}},
		},
	}
	files := func(f file) map[string]any {
		if f == nil {
			return map[string]any{"files": []any{}}
		}
		f["path"] = "/f"
		return map[string]any{"files": []any{f}}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := diff.Fields(files(tc.before), files(tc.after))
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, d)
			}
		})
	}
}

// values as JSON has them, but for null, which stands for nothing here.
func values() *rapid.Generator[any] {
	texts := rapid.SampledFrom([]string{"", "a", "b", "one\ntwo\n", "one\n2\n", `{"a":1}`, `{"a": 1}`, "\x00", strings.Repeat("x", 101)})
	names := rapid.SampledFrom([]string{"name", "path", "content", "encoding", "key", "a", "b"})
	scalar := rapid.OneOf(rapid.Map(texts, func(s string) any { return s }), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int64Range(0, 3), func(n int64) any { return n }))
	value := scalar
	for range 3 {
		inner := value
		value = rapid.OneOf(scalar,
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(names, inner, 0, 4), func(m map[string]any) any { return m }))
	}
	return value
}

// TestFieldsMissNothing: two objects have fields that differ if and only if they
// are not the same, and what differs one way differs the other way round.
func TestFieldsMissNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := map[string]any{"v": values().Draw(t, "before")}
		after := map[string]any{"v": values().Draw(t, "after")}
		there, back := diff.Fields(before, after), diff.Fields(after, before)
		if same := reflect.DeepEqual(before, after); same != (len(there) == 0) {
			t.Fatalf("same: %v, but the fields that differ are %v", same, there)
		}
		if len(there) != len(back) {
			t.Fatalf("%d fields differ, and %d the other way round", len(there), len(back))
		}
		if len(diff.Fields(after, after)) > 0 {
			t.Fatal("an object differs from itself")
		}
	})
}
