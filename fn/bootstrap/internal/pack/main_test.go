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
			if err := pack(dir, "script"); err != nil {
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
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a": "#!/bin/sh\n# What it does.\nset -eu\n\n\t# indented\n",
		"b": "# again\necho \"# not a comment\" # kept\ncat <<-END\n\ttext\nEND\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := pack(dir, "out", "a", "b"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	want := "#!/bin/sh\n" + source + "set -eu\necho \"# not a comment\" # kept\ncat <<-END\n\ttext\nEND\n"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	packed, err := os.ReadFile(filepath.Join(dir, "out.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if !holds(packed, got) {
		t.Error("the compressed file does not hold the script")
	}
	if err := pack(dir, "out", "a", "missing"); err == nil {
		t.Error("a missing part: got no error")
	}
}

func TestPackNeedsAFile(t *testing.T) {
	if err := pack(t.TempDir(), "missing"); err == nil {
		t.Error("packing a missing file: got no error")
	}
}
