// Package e2e applies claims to a control plane as users have it and watches
// what becomes of them in the cloud. Only the cloud, its provider for
// Crossplane and what runs on servers are played; see docs/e2e.md.
package e2e
