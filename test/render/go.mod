module github.com/l2cluster/function-l2cluster/test/render

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/l2cluster/function-l2cluster/test/examples v0.0.0
)

replace github.com/l2cluster/function-l2cluster/test/examples => ../examples
