// Package xpkg builds the Crossplane packages with the real crossplane CLI, as
// `make xpkg` does, and looks into what came out.
package xpkg
