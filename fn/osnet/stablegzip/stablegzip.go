// Package stablegzip compresses files that machines get, into bytes that depend
// on nothing but the content and the code of this package. The standard
// library's compressor may choose other bytes in a later release, and other
// bytes would replace every machine of every cluster.
//
// The format is gzip, https://www.rfc-editor.org/rfc/rfc1952, with one block of
// DEFLATE with codes of its own,
// https://www.rfc-editor.org/rfc/rfc1951#section-3.2.7.
package stablegzip

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	// window is how far back a match may begin, in bytes.
	window = 32 << 10
	// shortest and longest are the lengths that a match can have.
	shortest = 3
	longest  = 258
	// chain is how many places with the same beginning are looked at.
	chain = 64
	// rounds is how often tokens are chosen anew, by what those before cost.
	rounds = 3
)

// Compress returns content as a gzip file without a name or a time.
func Compress(content []byte) []byte {
	tokens := greedy(content)
	shortest := deflate(tokens)
	found := matches(content)
	for range rounds {
		tokens = cheapest(content, found, pricesOf(tokens))
		if out := deflate(tokens); len(out) < len(shortest) {
			shortest = out
		}
	}
	out := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff}, shortest...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(content))
	return binary.LittleEndian.AppendUint32(out, uint32(len(content)))
}

// deflate tokens into one block.
func deflate(ts []token) []byte {
	w := &bitWriter{}
	w.bits(1, 1) // the last block
	w.bits(2, 2) // with codes of its own
	w.block(ts)
	w.flush()
	return w.out
}

// token is a literal byte, or a match when length is not 0.
type token struct {
	literal          byte
	length, distance int
}

// greedy tokens of the content. A match waits when a longer one begins a byte
// later, unless it is long already.
func greedy(content []byte) []token {
	const long = 32
	var out []token
	m := newMatcher(content)
	length, distance := m.best(0)
	for i := 0; i < len(content); {
		later, further := 0, 0
		if length < long {
			later, further = m.best(i + 1)
		}
		if length < shortest || later > length {
			out = append(out, token{literal: content[i]})
			m.add(i)
			i++
			length, distance = later, further
			continue
		}
		out = append(out, token{length: length, distance: distance})
		for end := i + length; i < end; i++ {
			m.add(i)
		}
		length, distance = m.best(i)
	}
	return out
}

// matcher finds earlier places with the same bytes.
type matcher struct {
	content []byte
	// head is one more than the latest place of each hash of a beginning, prev
	// one more than the place before each place; 0 for none.
	head [1 << hashBits]int32
	prev []int32
}

// hashBits is the size of the table of beginnings.
const hashBits = 13

func newMatcher(content []byte) *matcher {
	return &matcher{content: content, prev: make([]int32, len(content))}
}

// hash of the first shortest bytes from i on.
func (m *matcher) hash(i int) uint32 {
	c := m.content[i : i+shortest]
	return (uint32(c[0])<<16 | uint32(c[1])<<8 | uint32(c[2])) * 0x9e3779b1 >> (32 - hashBits)
}

// add makes the place findable.
func (m *matcher) add(i int) {
	if i+shortest > len(m.content) {
		return
	}
	h := m.hash(i)
	m.prev[i], m.head[h] = m.head[h], int32(i)+1
}

// best returns the longest match of what begins at i, the nearest of those; 0
// when there is none. Places from i on are not looked at.
func (m *matcher) best(i int) (length, distance int) {
	if all := m.all(i); len(all) > 0 {
		last := all[len(all)-1]
		return last.length, last.distance
	}
	return 0, 0
}

// all matches of what begins at i that are longer than every nearer one.
func (m *matcher) all(i int) []token {
	if i+shortest > len(m.content) {
		return nil
	}
	var out []token
	length := 0
	at := int(m.head[m.hash(i)]) - 1
	for n := 0; n < chain && at >= 0 && i-at <= window && length < longest; n++ {
		if i+length < len(m.content) && m.content[at+length] == m.content[i+length] {
			if l := m.common(at, i); l > max(length, shortest-1) {
				length = l
				out = append(out, token{length: length, distance: i - at})
			}
		}
		at = int(m.prev[at]) - 1
	}
	return out
}

func (m *matcher) common(a, b int) int {
	n := 0
	for n < longest && b+n < len(m.content) && m.content[a+n] == m.content[b+n] {
		n++
	}
	return n
}
