// Package input holds the versions of the function's input.
package input

//go:generate go run -C ../test/tools/xrdgen . input
