package stablegzip

import "slices"

// Symbols of the alphabet of literals and lengths.
const (
	endOfBlock  = 256
	firstLength = 257
	literals    = 286
	distances   = 30
)

// Symbols of the alphabet of code lengths that stand for runs.
const (
	repeat    = 16 // the length before, 3 to 6 times
	zeros     = 17 // no length, 3 to 10 times
	manyZeros = 18 // no length, 11 to 138 times
	codeSizes = 19
)

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

func (w *bitWriter) flush() {
	if w.count > 0 {
		w.bits(0, 8-w.count)
	}
}

// frequencies of the symbols of tokens and of what ends their block.
func frequencies(ts []token) (literal, distance []int) {
	literal, distance = make([]int, literals), make([]int, distances)
	literal[endOfBlock] = 1
	for _, t := range ts {
		if t.length == 0 {
			literal[t.literal]++
			continue
		}
		symbol, _, _ := lengthCode(t.length)
		literal[symbol]++
		symbol, _, _ = distanceCode(t.distance)
		distance[symbol]++
	}
	return literal, distance
}

// block writes tokens after the codes that suit them.
func (w *bitWriter) block(ts []token) {
	literal, distance := frequencies(ts)
	l, d := newCode(literal, 15), newCode(distance, 15)
	w.codes(l.used(firstLength), d.used(1))
	for _, t := range ts {
		if t.length == 0 {
			w.symbol(l, int(t.literal))
			continue
		}
		symbol, extra, bits := lengthCode(t.length)
		w.symbol(l, symbol)
		w.bits(extra, bits)
		symbol, extra, bits = distanceCode(t.distance)
		w.symbol(d, symbol)
		w.bits(extra, bits)
	}
	w.symbol(l, endOfBlock)
}

func (w *bitWriter) symbol(c code, symbol int) { w.bits(c.bits[symbol], c.lengths[symbol]) }

// codes writes the lengths of both alphabets' codes.
func (w *bitWriter) codes(literal, distance []int) {
	rs := runs(slices.Concat(literal, distance))
	frequency := make([]int, codeSizes)
	for _, r := range rs {
		frequency[r.symbol]++
	}
	c := newCode(frequency, 7)
	order := [codeSizes]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	sent := codeSizes
	for sent > 4 && c.lengths[order[sent-1]] == 0 {
		sent--
	}
	w.bits(len(literal)-firstLength, 5)
	w.bits(len(distance)-1, 5)
	w.bits(sent-4, 4)
	for _, symbol := range order[:sent] {
		w.bits(c.lengths[symbol], 3)
	}
	for _, r := range rs {
		w.symbol(c, r.symbol)
		w.bits(r.extra, r.bits)
	}
}

// run is a symbol of the alphabet of code lengths, with its extra bits.
type run struct{ symbol, extra, bits int }

func runs(lengths []int) []run {
	var out []run
	for i := 0; i < len(lengths); {
		n := 1
		for i+n < len(lengths) && lengths[i+n] == lengths[i] {
			n++
		}
		var r run
		switch {
		case lengths[i] == 0 && n >= 11:
			n = min(n, 138)
			r = run{manyZeros, n - 11, 7}
		case lengths[i] == 0 && n >= 3:
			n = min(n, 10)
			r = run{zeros, n - 3, 3}
		case i > 0 && lengths[i] == lengths[i-1] && n >= 3:
			n = min(n, 6)
			r = run{repeat, n - 3, 2}
		default:
			n = 1
			r = run{symbol: lengths[i]}
		}
		out = append(out, r)
		i += n
	}
	return out
}

// lengthCode: four codes share each number of extra bits, from length 11 on.
func lengthCode(length int) (symbol, extra, bits int) {
	if length == longest {
		return literals - 1, 0, 0
	}
	n := length - shortest
	for n>>bits >= 8 {
		bits++
	}
	return firstLength + 4*bits + n>>bits, n & (1<<bits - 1), bits
}

// distanceCode: two codes share each number of extra bits, from distance 5 on.
func distanceCode(distance int) (symbol, extra, bits int) {
	n := distance - 1
	for n>>bits >= 4 {
		bits++
	}
	return 2*bits + n>>bits, n & (1<<bits - 1), bits
}
