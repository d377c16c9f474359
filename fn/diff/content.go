package diff

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/yaml"
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
	return &content{raw: s, plain: s}
}

// jsonMark stands in a path behind a text that holds a JSON document: what
// follows is a path in the document.
const jsonMark = "(json)"

// documents compares two texts as JSON documents. It says false when one of them
// is none.
func (w *walk) documents(path string, before, after *content) bool {
	if before == nil || after == nil {
		return false
	}
	a, b := parsed(before.plain), parsed(after.plain)
	if a == nil || b == nil {
		return false
	}
	if reflect.DeepEqual(a, b) {
		w.found = append(w.found, Field{Path: path, Note: "the same JSON, written otherwise"})
		return true
	}
	w.values(path+jsonMark, a, b)
	return true
}

// parsed JSON object of a text; nil when it holds none.
func parsed(text string) any {
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil || out == nil {
		return nil
	}
	return out
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
	if w.documents(path, before, after) {
		return
	}
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
	default:
		f.text(before, after)
	}
	w.found = append(w.found, f)
}

// text of the field as a difference; of a long one that came or went as a whole
// only the length.
func (f *Field) text(before, after *content) {
	one := before
	switch {
	case before == nil:
		one, f.Note = after, "added: "+size(after)
	case after == nil:
		f.Note = "removed: " + size(before)
	}
	if f.Note == "" || lines(one) <= wholeLimit {
		f.Diff = hunks(before, after)
	}
}

// item of a list that came or went as a whole.
func (w *walk) item(path string, before, after map[string]any) {
	f := Field{Path: path}
	a, b := contentOf(before), contentOf(after)
	switch {
	case !isFile(before) && !isFile(after):
		f.Old, f.New = orNil(before), orNil(after)
		f.Diff = long(before, after)
	case binary(a) || binary(b):
		f.Old, f.New = sum(a), sum(b)
	default:
		f.text(a, b)
	}
	w.found = append(w.found, f)
}

// long objects are shown as YAML, line by line; "" for those that fit on one
// line.
func long(before, after map[string]any) string {
	if len(encoded(before)) <= lineLimit && len(encoded(after)) <= lineLimit {
		return ""
	}
	return hunks(document(before), document(after))
}

// document is an object as YAML; nil when there is none.
func document(o map[string]any) *content {
	if o == nil {
		return nil
	}
	b, err := yaml.Marshal(o)
	if err != nil {
		return &content{plain: encoded(o)}
	}
	return &content{plain: string(b)}
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

func size(t *content) string {
	return plural(int64(lines(t)), "line") + ", " + plural(int64(len(t.plain)), "byte")
}

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
