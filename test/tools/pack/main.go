// Command pack prepares scripts that travel in the user data of every server,
// where every byte counts. It is run by go generate. Given parts, it makes one script of them, without
// what only readers of the source need; without -plain, it compresses the script
// beside itself. Names are below the folder, and the folder below the repository.
//
//	pack -in FOLDER [-plain] FILE [PART...]
//
// It leaves a compressed file alone that still holds the same content: another
// compressor's bytes would change every template that carries the script, and so
// replace every server, for nothing.
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/foobaz/go-zopfli/zopfli"
)

func main() {
	const repository = "../../.."
	folder := flag.String("in", "", "folder of the script and its parts, from that of the repository")
	plain := flag.Bool("plain", false, "do not compress")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: pack -in FOLDER [-plain] FILE [PART...]")
		os.Exit(2)
	}
	if err := pack(filepath.Join(repository, *folder), flag.Arg(0), !*plain, flag.Args()[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack makes the script of that name in the directory, if there are parts, and
// the compressed file beside it, if that is wanted.
func pack(directory, name string, compressed bool, parts ...string) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return fmt.Errorf("cannot open the directory %q: %w", directory, err)
	}
	if len(parts) > 0 {
		if err := assemble(root, name, parts); err != nil {
			return err
		}
	}
	if compressed {
		if err := compressBeside(root, name); err != nil {
			return err
		}
	}
	return root.Close()
}

// assemble a script from parts of its language.
func assemble(root *os.Root, name string, parts []string) error {
	texts := make([]string, 0, len(parts))
	for _, part := range parts {
		text, err := root.ReadFile(part)
		if err != nil {
			return fmt.Errorf("cannot read a part of %q: %w", name, err)
		}
		texts = append(texts, string(text))
	}
	joined, err := join(path.Ext(name), texts)
	if err != nil {
		return fmt.Errorf("cannot assemble %q: %w", name, err)
	}
	if err := root.WriteFile(name, []byte(joined), 0o644); err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return nil
}

func compressBeside(root *os.Root, name string) error {
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
	return nil
}

// compress as far as the format allows, without a name or a time: a file is
// compressed once and sent to every server.
func compress(content []byte) ([]byte, error) {
	options := zopfli.DefaultOptions()
	var out bytes.Buffer
	if err := zopfli.GzipCompress(&options, content, &out); err != nil {
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
