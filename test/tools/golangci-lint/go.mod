module github.com/l2cluster/function-l2cluster/test/tools/golangci-lint

go 1.26.0

tool github.com/golangci/golangci-lint/v2/cmd/golangci-lint

require github.com/golangci/golangci-lint/v2 v2.15.0
