package stablegzip

import (
	"cmp"
	"math/bits"
	"slices"
)

// code is a prefix code, with the bits of each symbol in the order in which
// they are written: https://www.rfc-editor.org/rfc/rfc1951#section-3.2.2.
type code struct {
	lengths []int
	bits    []int
}

// used returns the lengths up to the last symbol in use, and at least so many.
func (c code) used(least int) []int {
	n := len(c.lengths)
	for n > least && c.lengths[n-1] == 0 {
		n--
	}
	return c.lengths[:n]
}

// newCode suits the frequencies of symbols, with no code longer than limit.
func newCode(frequency []int, limit int) code {
	frequency = slices.Clone(frequency)
	lengths := huffman(frequency)
	for slices.Max(lengths) > limit {
		// Rare symbols become less rare, until their codes are short enough.
		for i, f := range frequency {
			frequency[i] = (f + 1) / 2
		}
		lengths = huffman(frequency)
	}
	c := code{lengths: lengths, bits: make([]int, len(lengths))}
	next := 0
	for length := 1; length <= limit; length++ {
		next <<= 1
		for symbol, l := range lengths {
			if l == length {
				c.bits[symbol] = int(bits.Reverse16(uint16(next)) >> (16 - length))
				next++
			}
		}
	}
	return c
}

// huffman returns the length of each symbol's code; 0 for a symbol that does
// not occur, and 1 for the only one that does. It joins the two rarest nodes
// until one is left: leaves wait sorted, joined nodes in the order of their
// making, which is sorted too.
func huffman(frequency []int) []int {
	type node struct{ weight, symbol, left, right int }
	var nodes []node
	for symbol, f := range frequency {
		if f > 0 {
			nodes = append(nodes, node{weight: f, symbol: symbol})
		}
	}
	slices.SortStableFunc(nodes, func(a, b node) int { return cmp.Compare(a.weight, b.weight) })
	leaves := len(nodes)
	lengths := make([]int, len(frequency))
	if leaves == 1 {
		lengths[nodes[0].symbol] = 1
		return lengths
	}
	leaf, joined := 0, leaves
	rarest := func() int {
		if leaf < leaves && (joined == len(nodes) || nodes[leaf].weight <= nodes[joined].weight) {
			leaf++
			return leaf - 1
		}
		joined++
		return joined - 1
	}
	for len(nodes) < 2*leaves-1 {
		left, right := rarest(), rarest()
		nodes = append(nodes, node{weight: nodes[left].weight + nodes[right].weight, left: left, right: right})
	}
	depths := make([]int, len(nodes))
	for i := len(nodes) - 1; i >= leaves; i-- {
		depths[nodes[i].left], depths[nodes[i].right] = depths[i]+1, depths[i]+1
	}
	for i := range leaves {
		lengths[nodes[i].symbol] = depths[i]
	}
	return lengths
}
