// Package render compares what the function's own render command prints with
// what Crossplane itself makes of the same composite: the crossplane CLI's
// render runs Crossplane's real reconciler against the function's real server.
// Both must print the same bytes, for every example in every state.
package render
