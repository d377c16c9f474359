package diff

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// Fields of a file that Cluster API's bootstrap configurations write:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/api/bootstrap/kubeadm/v1beta2/kubeadmconfig_types.go.
const (
	pathField     = "path"
	contentField  = "content"
	encodingField = "encoding"
)

// Limits of what is shown.
const (
	// lineLimit is how long a text may be to be shown as a value, in bytes.
	lineLimit = 100
	// wholeLimit is how long a text may be that came or went as a whole, in
	// lines; of a longer one only the length is told.
	wholeLimit = 40
	// unpackLimit is how much of a compressed file is read, in bytes. Cluster API
	// takes 10 KiB of packed content.
	unpackLimit = 4 << 20
)

// content of a field that is text; nil when there is none.
type content struct {
	// raw is how it travels.
	raw string
	// plain is what the reader at the other end gets.
	plain string
}

func textOf(value any, s string) *content {
	if value == nil {
		return nil
	}
	return &content{raw: s, plain: indented(s)}
}

// indented spreads a JSON document over lines; other text stays as it is.
func indented(s string) string {
	trimmed := strings.TrimSpace(s)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return s
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(trimmed), "", "  "); err != nil || !bytes.ContainsRune(b.Bytes(), '\n') {
		return s
	}
	return b.String() + "\n"
}

// isFile says whether an object describes a file.
func isFile(o map[string]any) bool {
	_, hasPath := o[pathField].(string)
	_, hasContent := o[contentField].(string)
	return hasPath && hasContent
}

// contentOf a file as the machine gets it. What cannot be decoded stays as it
// travels.
func contentOf(file map[string]any) *content {
	raw, ok := file[contentField].(string)
	if !ok {
		return nil
	}
	encoding, _ := file[encodingField].(string)
	plain, err := decode(encoding, raw)
	if err != nil {
		plain = raw
	}
	return &content{raw: raw, plain: plain}
}

func decode(encoding, raw string) (string, error) {
	switch encoding {
	case "base64":
		b, err := base64.StdEncoding.DecodeString(raw)
		return string(b), err
	case "gzip":
		return unpack([]byte(raw))
	case "gzip+base64":
		b, err := base64.StdEncoding.DecodeString(raw)
		if err != nil {
			return "", err
		}
		return unpack(b)
	default:
		return raw, nil
	}
}

func unpack(b []byte) (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(io.LimitReader(r, unpackLimit))
	return string(out), err
}

func (w *walk) texts(path string, before, after *content) {
	f := Field{Path: path}
	switch {
	case before == nil && after == nil, before != nil && after != nil && before.raw == after.raw && before.plain == after.plain:
		return
	case before != nil && after != nil && before.plain == after.plain:
		f.Note = "the same text, encoded otherwise"
	case binary(before) || binary(after):
		f.Old, f.New = sum(before), sum(after)
	case short(before) && short(after):
		f.Old, f.New = value(before), value(after)
	case before == nil && lines(after) > wholeLimit:
		f.Note = "added: " + size(after)
	case after == nil && lines(before) > wholeLimit:
		f.Note = "removed: " + size(before)
	default:
		f.Diff = hunks(before, after)
	}
	w.found = append(w.found, f)
}

func binary(t *content) bool {
	return t != nil && (!utf8.ValidString(t.plain) || strings.ContainsRune(t.plain, 0))
}

func short(t *content) bool {
	return t == nil || len(t.plain) <= lineLimit && !strings.Contains(strings.TrimSuffix(t.plain, "\n"), "\n")
}

// value of a short text; nil when there is none.
func value(t *content) any {
	if t == nil {
		return nil
	}
	return t.plain
}

// sum stands for a text that is none; nil when there is nothing.
func sum(t *content) any {
	if t == nil {
		return nil
	}
	return fmt.Sprintf("%d bytes with SHA-256 %x", len(t.plain), sha256.Sum256([]byte(t.plain)))
}

func lines(t *content) int { return strings.Count(strings.TrimSuffix(t.plain, "\n"), "\n") + 1 }

func size(t *content) string { return fmt.Sprintf("%d lines, %d bytes", lines(t), len(t.plain)) }

// headerLines are the lines before the first hunk, with the names of two files.
const headerLines = 3

// hunks of the unified diff of two texts.
func hunks(before, after *content) string {
	var a, b []byte
	if before != nil {
		a = []byte(before.plain)
	}
	if after != nil {
		b = []byte(after.plain)
	}
	parts := bytes.SplitAfterN(diff.Diff("old", a, "new", b), []byte("\n"), headerLines+1)
	return string(parts[len(parts)-1])
}
