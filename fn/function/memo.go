package function

import "k8s.io/utils/lru"

// remembered is how many wishes are kept. An answer is some hundred KiB, so all
// of them together stay small beside what a busy function uses anyway.
const remembered = 64

// memo remembers the answers to questions that always have the same answer.
type memo[V any] struct{ answers *lru.Cache }

func newMemo[V any]() *memo[V] { return &memo[V]{answers: lru.New(remembered)} }

// do answers from memory, or asks. An error is not remembered.
func (m *memo[V]) do(key string, ask func() (V, error)) (V, error) {
	if known, ok := m.answers.Get(key); ok {
		if v, ok := known.(V); ok {
			return v, nil
		}
	}
	v, err := ask()
	if err == nil {
		m.answers.Add(key, v)
	}
	return v, err
}
