// Package stablegzip compresses files that machines get, into bytes that depend
// on nothing but the content and the code of this package. The standard
// library's compressor may choose other bytes in a later release, and other
// bytes would replace every machine of every cluster.
//
// The format is gzip, https://www.rfc-editor.org/rfc/rfc1952, with one block of
// DEFLATE's fixed codes, https://www.rfc-editor.org/rfc/rfc1951#section-3.2.6.
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
)

// Compress returns content as a gzip file without a name or a time.
func Compress(content []byte) []byte {
	w := &bitWriter{out: []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff}}
	w.bits(1, 1) // the last block
	w.bits(1, 2) // with fixed codes
	m := newMatcher(content)
	for i := 0; i < len(content); {
		length, distance := m.best(i)
		if next, _ := m.best(i + 1); length < shortest || next > length {
			w.literal(int(content[i]))
			m.add(i)
			i++
			continue
		}
		w.match(length, distance)
		for end := i + length; i < end; i++ {
			m.add(i)
		}
	}
	w.literal(endOfBlock)
	w.flush()
	w.out = binary.LittleEndian.AppendUint32(w.out, crc32.ChecksumIEEE(content))
	return binary.LittleEndian.AppendUint32(w.out, uint32(len(content)))
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
	if i+shortest > len(m.content) {
		return 0, 0
	}
	at := int(m.head[m.hash(i)]) - 1
	for n := 0; n < chain && at >= 0 && i-at <= window && length < longest; n++ {
		if l := m.common(at, i); l > length {
			length, distance = l, i-at
		}
		at = int(m.prev[at]) - 1
	}
	return length, distance
}

func (m *matcher) common(a, b int) int {
	n := 0
	for n < longest && b+n < len(m.content) && m.content[a+n] == m.content[b+n] {
		n++
	}
	return n
}

const endOfBlock = 256

// bitWriter packs DEFLATE's codes, lowest bit first.
type bitWriter struct {
	out   []byte
	hold  uint64
	count int
}

// bits writes the lowest n bits of v.
func (w *bitWriter) bits(v, n int) {
	w.hold |= uint64(v) << w.count
	w.count += n
	for ; w.count >= 8; w.count -= 8 {
		w.out = append(w.out, byte(w.hold))
		w.hold >>= 8
	}
}

// code writes a Huffman code, which goes highest bit first.
func (w *bitWriter) code(v, n int) {
	for n--; n >= 0; n-- {
		w.bits(v>>n&1, 1)
	}
}

func (w *bitWriter) flush() {
	if w.count > 0 {
		w.bits(0, 8-w.count)
	}
}

// literal writes a symbol of the literal and length alphabet.
func (w *bitWriter) literal(symbol int) {
	switch {
	case symbol < 144:
		w.code(0x30+symbol, 8)
	case symbol < 256:
		w.code(0x190+symbol-144, 9)
	case symbol < 280:
		w.code(symbol-256, 7)
	default:
		w.code(0xc0+symbol-280, 8)
	}
}

// match writes a length and a distance.
func (w *bitWriter) match(length, distance int) {
	symbol, extra, bits := lengthCode(length)
	w.literal(symbol)
	w.bits(extra, bits)
	symbol, extra, bits = distanceCode(distance)
	w.code(symbol, 5)
	w.bits(extra, bits)
}

// lengthCode: four codes share each number of extra bits, from length 11 on.
func lengthCode(length int) (symbol, extra, bits int) {
	if length == longest {
		return 285, 0, 0
	}
	n := length - shortest
	for n>>bits >= 8 {
		bits++
	}
	return 257 + 4*bits + n>>bits, n & (1<<bits - 1), bits
}

// distanceCode: two codes share each number of extra bits, from distance 5 on.
func distanceCode(distance int) (symbol, extra, bits int) {
	n := distance - 1
	for n>>bits >= 4 {
		bits++
	}
	return 2*bits + n>>bits, n & (1<<bits - 1), bits
}
