package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	object := func(name string) map[string]any {
		return map[string]any{"kind": "Port", "metadata": map[string]any{"name": name}}
	}
	cases := map[string]struct {
		text string
		want []map[string]any
	}{
		"Nothing":   {text: "# Only a comment.\n"},
		"Documents": {text: "kind: Port\nmetadata: {name: a}\n---\n---\nkind: Port\nmetadata: {name: b}\n", want: []map[string]any{object("a"), object("b")}},
		"JSON":      {text: `{"kind": "Port", "metadata": {"name": "a"}}` + "\n" + `{"kind": "Port", "metadata": {"name": "b"}}`, want: []map[string]any{object("a"), object("b")}},
		"List": {
			text: "apiVersion: v1\nkind: List\nitems:\n- {kind: Port, metadata: {name: a}}\n- {kind: Port, metadata: {name: b}}\n",
			want: []map[string]any{object("a"), object("b")},
		},
		"EmptyList": {text: "apiVersion: v1\nkind: List\nitems: []\n"},
		"ItemsOfSomethingElse": {
			text: "kind: Box\nitems: [a]\n",
			want: []map[string]any{{"kind": "Box", "items": []any{"a"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := split([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want, +got:\n%s", d)
			}
		})
	}
	if _, err := split([]byte("a: [")); err == nil {
		t.Error("broken YAML was taken")
	}
}
