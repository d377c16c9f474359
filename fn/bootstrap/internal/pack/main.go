// Command pack compresses a file of the working directory beside itself, for
// scripts that travel in the user data of every server.
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
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pack FILE")
		os.Exit(2)
	}
	if err := pack(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack writes the compressed file of that name in the directory.
func pack(directory, name string) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return fmt.Errorf("cannot open the directory %q: %w", directory, err)
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
