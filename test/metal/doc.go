// Package metal is a fake of the Equinix Metal API for tests: an HTTP server
// that answers with the SDK's own models, keeps the rules of layer-2
// networking that the real API enforces, refuses with the same kind of errors,
// and lets devices live through their states on a clock that a test moves.
//
// It also serves each device's metadata service, makes outages on demand,
// counts requests, and keeps a log of every change, so that a test can ask who
// held which VLAN, address or custom data at any moment.
//
// The API that it stands for is described at
// https://deploy.equinix.com/developers/api/metal/.
package metal
