package stablegzip

// matches of each place of the content, as matcher.all finds them.
func matches(content []byte) [][]token {
	m := newMatcher(content)
	out := make([][]token, len(content))
	for i := range content {
		out[i] = m.all(i)
		m.add(i)
	}
	return out
}

// prices are how many bits each symbol takes, with the bits that follow it.
type prices struct {
	literal  [1 << 8]int
	length   [longest + 1]int
	distance [distances]int
}

// pricesOf are those of the codes that suit tokens.
func pricesOf(ts []token) *prices {
	const limit = 15
	literal, distance := frequencies(ts)
	l, d := newCode(literal, limit).lengths, newCode(distance, limit).lengths
	// A symbol that no token has would get a long code.
	price := func(length int) int {
		if length == 0 {
			return limit - 2
		}
		return length
	}
	p := &prices{}
	for i := range p.literal {
		p.literal[i] = price(l[i])
	}
	for i := shortest; i <= longest; i++ {
		symbol, _, bits := lengthCode(i)
		p.length[i] = price(l[symbol]) + bits
	}
	for i := range p.distance {
		p.distance[i] = price(d[i])
	}
	return p
}

// cheapest tokens of the content at these prices. From the end on, what begins at
// each place is as cheap as it can be, since all that follows is.
func cheapest(content []byte, found [][]token, p *prices) []token {
	costs, first := make([]int, len(content)+1), make([]token, len(content))
	for i := len(content) - 1; i >= 0; i-- {
		costs[i], first[i] = p.literal[content[i]]+costs[i+1], token{literal: content[i]}
		length := shortest
		for _, m := range found[i] {
			symbol, _, bits := distanceCode(m.distance)
			distance := p.distance[symbol] + bits
			for ; length <= m.length; length++ {
				if cost := p.length[length] + distance + costs[i+length]; cost < costs[i] {
					costs[i], first[i] = cost, token{length: length, distance: m.distance}
				}
			}
		}
	}
	var out []token
	for i := 0; i < len(content); i += max(1, first[i].length) {
		out = append(out, first[i])
	}
	return out
}
