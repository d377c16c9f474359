// Package ipam decides which address each key of a claim has. It knows strings,
// addresses and time, and neither machines nor any API; what it decides depends
// on its arguments alone, and nothing in it ever lists the addresses of a range,
// so a /64 costs the same as a /29.
//
// # Terms
//
// A pool is one subnet in its scope: the space in which an address is unique. A
// demand is a key that wants one address of a pool, out of one of the pool's
// assignment ranges. The record is what earlier runs decided; it lives outside,
// is read back before every run, and replaced after it. Other claims on the
// same pool have a record of their own, which Assign can see.
//
// # What may be handed out
//
// Subnet.Usable: the hosts of the range, less gateways and excluded addresses.
// Assign then takes away what other claims hold or have released too recently.
//
// # Who keeps what
//
// A key holds its address as long as it is demanded, whatever happens to the
// ranges; an address that its range would no longer offer is a warning, and one
// that a router has is another. A key
// that is not demanded any more loses its address, and nobody gets that address
// before its cool-down is over, since a removed server goes on answering for a
// while, and switches and neighbours remember it. When the caller could not read
// everything, nothing is chosen, released or changed.
//
// # Choice
//
// The lowest address that was never used; else the one that was released
// longest ago, if it has cooled down. The record remembers what was ever used as
// ranges (in effect a high-water mark for each range), the releases that are
// still cooling, and the latest KeptReleases others; older ones count as
// released at the beginning of time. Demands are served in the order of their
// keys, those with fewer addresses to choose from first. Those that find none
// are reported with the reason and, if an address is only cooling down, with the
// time at which it becomes free.
//
// # Two claims on one pool
//
// The older claim goes first. A younger one chooses from what no older claim may
// use, so that they do not meet; only when that is used up (for instance because
// both have the same ranges) does it share the rest with them.
//
// An address is pending until the machine may have it: the record that holds it
// has been read back, no other claim was seen to hold it, and the demand is
// ready. Claims that choose one address at the same moment see each other when
// they read back: a pending address gives way to an older claim and to a machine
// that has it already, and waits for a younger claim to give way. So no two
// claims deliver one address. An address that two machines have nevertheless (by
// hand, from outside, by a lost record) is reported, and nobody is renumbered.
//
// # Addresses from outside
//
// The address of an External demand is bound elsewhere and taken as it is. It is
// held, recorded, delivered and cooled down like the others. What no machine can
// have is refused: an address outside of the subnet, one that no host may have,
// and a router's.
//
// # A lost record
//
// Demands also say which address their machine was seen to have. That overrules
// the record, so without one every machine keeps its address. What had been
// released is lost, however; hence when a machine has an address that the record
// does not know, all others of the pool's ranges cool down once before anybody
// gets them.
package ipam
