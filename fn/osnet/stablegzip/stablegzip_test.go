package stablegzip_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/l2cluster/function-l2cluster/fn/osnet/stablegzip"
)

func decompress(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestCompressIsReadByOthers(t *testing.T) {
	cases := map[string]struct {
		reason  string
		content string
	}{
		"Empty":         {"Nothing compresses to nothing.", ""},
		"OneByte":       {"No match fits.", "a"},
		"LongRun":       {"A match may overlap what it makes, at the greatest length.", strings.Repeat("a", 100_000)},
		"HighBytes":     {"Symbols from 144 on have longer codes.", strings.Repeat("\xff\x90\x8f\x00", 99)},
		"BeyondWindow":  {"What lies too far back is not referred to.", "needle" + strings.Repeat("0123456789ab", 4000) + "needle"},
		"RareSymbols":   {"Codes are no longer than 15 bits, however rare a symbol is.", fibonacci()},
		"LengthBorders": {"Lengths at the borders of codes.", lengths()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := decompress(stablegzip.Compress([]byte(tc.content)))
			if err != nil {
				t.Fatalf("\n%s\ndecompress: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.content, string(got)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// fibonacci has symbols whose frequencies make the longest codes, in an order
// without matches.
func fibonacci() string {
	var b strings.Builder
	a, c := 1, 1
	for symbol := range 20 {
		for i := range a {
			b.WriteByte(byte('A' + symbol))
			b.WriteByte(byte(128 + (i*symbol+i*i/7)%100))
		}
		a, c = c, a+c
	}
	return b.String()
}

// lengths repeats text in lengths from 3 to 258, with what ends each match.
func lengths() string {
	var b strings.Builder
	base := strings.Repeat("abcdefghijklmnopqrstuvwxyz0123456789", 8)
	b.WriteString(base)
	for n := 3; n <= 258; n++ {
		b.WriteString(base[:n])
		b.WriteByte('#')
	}
	return b.String()
}

func TestCompressRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 4).Draw(t, "parts")
		order := rapid.SliceOf(rapid.IntRange(0, 3)).Draw(t, "order")
		content := []byte{}
		for _, i := range order {
			if i < len(parts) {
				content = append(content, parts[i]...)
			}
		}
		got, err := decompress(stablegzip.Compress(content))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, content) {
			t.Fatalf("got %q, want %q", got, content)
		}
	})
}

// Other bytes replace every machine of every cluster: this value never changes.
func TestCompressBytesNeverChange(t *testing.T) {
	const want = "1f8b08000000000002ff4dc4a10900000002b0ee153e271804ff6f56cbaca43c313b7c8adf12000000"
	got := hex.EncodeToString(stablegzip.Compress([]byte(strings.Repeat("hello ", 2) + "hello\n")))
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkCompress(b *testing.B) {
	content := []byte(strings.Repeat(`{"network":"storage","port":"bond0","interface":"vlan1000","vlan":1000},`+"\n", 60))
	for b.Loop() {
		stablegzip.Compress(content)
	}
}

// TestCompressIsSmall compares with a compressor that is not meant to be slow, on
// text that repeats itself as descriptions of networks do.
func TestCompressIsSmall(t *testing.T) {
	var text strings.Builder
	for i := range 64 {
		fmt.Fprintf(&text, `{"network":"net-%d","port":"bond0","interface":"vlan%d","subnets":["10.60.%d.0/24"],"via":"10.60.%d.1"},`+"\n", i, 1000+i, i, i)
	}
	content := []byte(text.String())
	var other bytes.Buffer
	w, err := gzip.NewWriterLevel(&other, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := stablegzip.Compress(content)
	t.Logf("%d bytes of %d, the other %d", len(got), len(content), other.Len())
	if len(got) > other.Len() {
		t.Errorf("got %d bytes, want no more than %d", len(got), other.Len())
	}
	if back, err := decompress(got); err != nil || !bytes.Equal(back, content) {
		t.Errorf("it does not decompress to the content: %v", err)
	}
}
