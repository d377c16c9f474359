// Package model is a world for the function to live in: users who edit claims,
// Crossplane, Cluster API, the infrastructure provider, the providers of the
// managed resources, the cloud with its servers, and the nodes that boot on
// them. All of it is in memory, has a clock of its own, and does nothing by
// itself: whoever drives it chooses what happens next. Tests drive it at random
// and check after every step what must hold whatever happens; the story of the
// example is told by driving it on purpose.
//
// # Who is who
//
//   - Composite is a claim with its composite, and what Crossplane keeps for it.
//     World.Reconcile calls the function as Crossplane does
//     (https://github.com/crossplane/crossplane/blob/v2.3.4/internal/controller/apiextensions/composite/composition_functions.go):
//     requirements in rounds, nothing after a fatal result, deletion of what is
//     missing before anything is applied, the status last.
//   - object is what Crossplane composed, with the status that others gave it.
//   - machineSet and machine are Cluster API's, with a PacketMachine beside each
//     machine; server is what the cloud has, which outlives its machine.
//   - Every one of them has a tick: one step of the controller that is in charge
//     of it.
//
// # What is checked
//
// Responses are judged against the request, by rules that are written here once
// more (judge.go); what reaches servers is judged on the servers (cloud.go); and
// when everything comes to rest, by what should have become of it (settle.go).
//
// # What is assumed
//
// Reads may be old, each kind by itself, but time never runs backwards for a
// reader. Composites are read in the order in which they were written, one's own
// never later than the others: Crossplane reads them all from one cache
// (https://github.com/crossplane/crossplane/blob/v2.3.4/cmd/crossplane/core/core.go).
// A record and what it could be rebuilt from are not lost together. With the
// record goes the memory of what removed machines held.
package model
