package spec

//go:generate go run -C ../../test/tools/xrdgen . xrd
