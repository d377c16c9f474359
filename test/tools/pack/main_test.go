package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestPack(t *testing.T) {
	// Content in one stored block, as some other compressor could write it.
	stored := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x02\x00\xfd\xffhi\xac*\x93\xd8\x02\x00\x00\x00")

	cases := map[string]struct {
		reason  string
		content string
		before  []byte
		kept    bool
	}{
		"New":       {reason: "A file without a compressed one gets it.", content: "hi"},
		"Same":      {reason: "Other bytes for the same content stay.", content: "hi", before: stored, kept: true},
		"Changed":   {reason: "Changed content is compressed anew.", content: "ho", before: stored},
		"NotPacked": {reason: "What is not compressed at all is replaced.", content: "hi", before: []byte("hi")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "script")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if tc.before != nil {
				if err := os.WriteFile(path+".gz", tc.before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := pack(dir, "script", true); err != nil {
				t.Fatalf("%s\npack: %v", tc.reason, err)
			}
			after, err := os.ReadFile(path + ".gz")
			if err != nil {
				t.Fatal(err)
			}
			if !holds(after, []byte(tc.content)) {
				t.Errorf("%s\nthe compressed file does not hold %q", tc.reason, tc.content)
			}
			if kept := bytes.Equal(after, tc.before); kept != tc.kept {
				t.Errorf("%s\nkept the compressed file: got %t, want %t", tc.reason, kept, tc.kept)
			}
		})
	}
}

func TestPackParts(t *testing.T) {
	cases := map[string]struct {
		reason string
		name   string
		parts  []string
		want   string
	}{
		"Shell": {
			reason: "Comments, empty lines and tabs go; text stays.",
			name:   "out.sh",
			parts: []string{
				"#!/bin/sh\n# What it does.\nset -eu\n\n\t# indented\nif true; then\n\t\ttrue\nfi\n",
				"# again\necho \"# not a comment\" # kept\ncat <<-END\n\t text\nEND\n",
			},
			want: "#!/bin/sh\n" + source + "set -eu\nif true; then\ntrue\nfi\necho \"# not a comment\" # kept\ncat <<-END\n text\nEND\n",
		},
		"ShellPart": {
			reason: "What goes into another script says nothing of its source.",
			name:   "out.sh", parts: []string{"# What it does.\ntrue\n"}, want: "true\n",
		},
		"Python": {
			reason: "Imports come first and once; documentation and three of four spaces go.",
			name:   "out.py",
			parts: []string{
				"\"\"\"What it does.\n\nAnd how.\n\"\"\"\nimport os\n\nX = \"\"\nif X:\n    # why\n    pass\n",
				"import json\nimport os\ndef f():\n    \"\"\"One line.\"\"\"\n    if X:\n        return 1\n",
			},
			want: "#!/usr/bin/env python3\n" + source + "import json\nimport os\nX=\"\"\nif X:\n pass\ndef f():\n if X:\n  return 1\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var parts []string
			for i, content := range tc.parts {
				part := string(rune('a' + i))
				parts = append(parts, part)
				if err := os.WriteFile(filepath.Join(dir, part), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, compressed := range []bool{false, true} {
				if err := pack(dir, tc.name, compressed, parts...); err != nil {
					t.Fatalf("%s\npack: %v", tc.reason, err)
				}
				got, err := os.ReadFile(filepath.Join(dir, tc.name))
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != tc.want {
					t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
				}
				packed, err := os.ReadFile(filepath.Join(dir, tc.name+".gz"))
				if compressed != (err == nil) || compressed && !holds(packed, got) {
					t.Errorf("%s\nthe compressed file: got error %v, want one that holds the script: %t", tc.reason, err, compressed)
				}
			}
			if err := pack(dir, tc.name, true, parts[0], "missing"); err == nil {
				t.Errorf("%s\na missing part: got no error", tc.reason)
			}
			if err := pack(dir, "out.txt", true, parts...); err == nil {
				t.Errorf("%s\nan unknown language: got no error", tc.reason)
			}
		})
	}
}

func TestTight(t *testing.T) {
	cases := map[string]struct{ reason, line, want string }{
		"Operators": {reason: "Operators need no spaces.", line: "x = a + -b if a[1] else {c: d}", want: "x=a+-b if a[1]else{c:d}"},
		"Strings":   {reason: "Strings stay, with quotes in them.", line: `f("a = b", 'c \' = "d" ', "e \\")`, want: `f("a = b",'c \' = "d" ',"e \\")`},
		"Prefixes":  {reason: "A word does not become a string's prefix.", line: `return "a" if b else f"c {d}"`, want: `return "a" if b else f"c {d}"`},
		"Comment":   {reason: "A comment stays as it is.", line: "x = 1  # a = b", want: "x=1# a = b"},
		"Calls":     {reason: "Commas and stars need none.", line: "def f(*a, b=None, **c) -> str:", want: "def f(*a,b=None,**c)->str:"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tight(tc.line); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestCompress says that a compressed file depends on nothing but its content: no
// time, no name, no machine.
func TestCompress(t *testing.T) {
	content := bytes.Repeat([]byte("the same bytes every time. "), 40)
	got, err := compress(content)
	if err != nil {
		t.Fatal(err)
	}
	again, err := compress(content)
	if err != nil {
		t.Fatal(err)
	}
	if header := got[:10]; !bytes.Equal(header[:8], []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}) {
		t.Errorf("got the header % x, want one without a time or a name", header)
	}
	if !bytes.Equal(got, again) {
		t.Error("compressing twice: got other bytes")
	}
	if !holds(got, content) {
		t.Error("the compressed bytes do not hold the content")
	}
}

func TestPackNeedsAFile(t *testing.T) {
	if err := pack(t.TempDir(), "missing", true); err == nil {
		t.Error("packing a missing file: got no error")
	}
}
