module github.com/l2cluster/function-l2cluster/test/tools/pack

go 1.26.0

require github.com/foobaz/go-zopfli v0.0.0-20140122214029-7432051485e2
