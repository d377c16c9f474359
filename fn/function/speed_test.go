package function_test

import (
	"context"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/l2cluster/function-l2cluster/fn/render"
)

// BenchmarkRunFunction is the function alone; BenchmarkFloor is what any
// function pays for the same request and response.
func BenchmarkRunFunction(b *testing.B) {
	claim := parse(b, base)
	out := run(b, render.Input{Composite: claim, Observed: observe(expand(b, claim))})
	f := newFunction()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.RunFunction(context.Background(), out.Request); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFloor(b *testing.B) {
	claim := parse(b, base)
	out := run(b, render.Input{Composite: claim, Observed: observe(expand(b, claim))})
	request, err := proto.Marshal(out.Request)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := proto.Unmarshal(request, &fnv1.RunFunctionRequest{}); err != nil {
			b.Fatal(err)
		}
		if _, err := proto.Marshal(out.Response); err != nil {
			b.Fatal(err)
		}
	}
}
