// Package schema tests the generated schemas of the claim and of the input with
// the code of the API server itself, offline: that Crossplane can derive valid
// definitions from the XRDs, that good claims are accepted and bad ones refused
// with words that help, and that Go's own defaults and validation agree with the
// schema. It is a module of its own, since the function does not need an API
// server's code.
package schema
