// Command pack compresses a file of the working directory beside itself, for
// scripts that travel in the user data of every server. Given parts, it makes the
// file of them first: a shell script without its comments, which stay in the
// parts.
//
// It leaves a compressed file alone that still holds the same content: another
// compressor's bytes would change every template that carries the script, and so
// replace every server, for nothing.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pack FILE [PART...]")
		os.Exit(2)
	}
	if err := pack(".", os.Args[1], os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack writes the compressed file of that name in the directory, and before that
// the file itself if there are parts.
func pack(directory, name string, parts ...string) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return fmt.Errorf("cannot open the directory %q: %w", directory, err)
	}
	if len(parts) > 0 {
		if err := assemble(root, name, parts); err != nil {
			return err
		}
	}
	content, err := root.ReadFile(name)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", name, err)
	}
	if packed, err := root.ReadFile(name + ".gz"); err == nil && holds(packed, content) {
		return nil
	}
	packed, err := compress(content)
	if err != nil {
		return fmt.Errorf("cannot compress %q: %w", name, err)
	}
	if err := root.WriteFile(name+".gz", packed, 0o644); err != nil {
		return fmt.Errorf("cannot write %q: %w", name+".gz", err)
	}
	return root.Close()
}

// source is where a script's comments are.
const source = "# The source of this script, with comments: https://github.com/l2cluster/function-l2cluster.\n"

// assemble a shell script from parts, without comments and empty lines.
func assemble(root *os.Root, name string, parts []string) error {
	var out strings.Builder
	for i, part := range parts {
		text, err := root.ReadFile(part)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", part, err)
		}
		first, rest, _ := strings.Cut(string(text), "\n")
		if i == 0 {
			out.WriteString(first + "\n" + source)
			text = []byte(rest)
		}
		for line := range strings.Lines(string(text)) {
			if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
				out.WriteString(line)
			}
		}
	}
	if err := root.WriteFile(name, []byte(out.String()), 0o644); err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return nil
}

func compress(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func holds(packed, content []byte) bool {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return false
	}
	got, err := io.ReadAll(r)
	return err == nil && bytes.Equal(got, content)
}
