module github.com/l2cluster/function-l2cluster/test/examples

go 1.26.0
