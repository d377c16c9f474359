package function_test

import (
	"context"
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/render"
)

func BenchmarkRunFunction(b *testing.B) {
	out := run(b, render.Input{Composite: parse(b, base)})
	f := newFunction()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.RunFunction(context.Background(), out.Request); err != nil {
			b.Fatal(err)
		}
	}
}
