package ipam

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// Book is what Assign decided.
type Book struct {
	// Assigned is the address of each demand that has one.
	Assigned map[string]Assignment
	// Record is to be written down for the next run.
	Record Record
	// Missing are the demands without an address, sorted by pool and key.
	Missing []Missing
	// Warnings, sorted by pool and key, need attention some day.
	Warnings []Warning
	// Conflicts, sorted by pool and key, are addresses held twice.
	Conflicts []Conflict
	// Capacity has one entry for each assignment range, sorted by pool and
	// name; nil when the input was not complete, since nobody can tell then.
	Capacity []Capacity
	// Next is when the first address becomes free that a demand waits for;
	// zero when none does.
	Next time.Time
}

// Assignment is the address of one demand.
type Assignment struct {
	// Address is the address with the prefix length of its subnet.
	Address netip.Prefix
	// Deliver says that the machine may be given the address, or has been: the
	// record that holds it has been read back and nobody else holds it.
	Deliver bool
}

// Reason says why a demand has no address.
type Reason string

const (
	// Exhausted means that no address of the range is free or cooling down.
	Exhausted Reason = "Exhausted"
	// Cooling means that an address becomes free later, at Missing.Until.
	Cooling Reason = "Cooling"
	// Unbound means that nothing was bound outside yet.
	Unbound Reason = "Unbound"
	// BoundOutside means that an address outside of the subnet was bound.
	BoundOutside Reason = "BoundOutside"
	// BoundNoHost means that an address was bound which no host of the subnet may
	// have, see Subnet.Usable.
	BoundNoHost Reason = "BoundNoHost"
	// BoundRouter means that the address of a router was bound.
	BoundRouter Reason = "BoundRouter"
	// Incomplete means that the input was not complete, so nothing was chosen.
	Incomplete Reason = "Incomplete"
)

// Missing is a demand without an address.
type Missing struct {
	Key, Pool, Range string
	Reason           Reason
	// Until is when an address becomes free for this demand, if Reason is
	// Cooling.
	Until time.Time
	// Refused is the address that was bound and is not used, if Reason is
	// BoundOutside, BoundNoHost or BoundRouter.
	Refused netip.Addr
	// Claim that the router is of, if Reason is BoundRouter; empty for ours.
	Claim string
}

// Concern says what a warning is about.
type Concern string

const (
	// OutOfRange means that a held address is no longer one that its range
	// would offer. It stays until the key is gone.
	OutOfRange Concern = "OutOfRange"
	// FixedDiffers means that another address was bound outside than the one
	// that the machine has already. It stays.
	FixedDiffers Concern = "FixedDiffers"
	// RouterHasIt means that a router has the address that the machine was
	// given: they take each other's packets until one of them gets another.
	RouterHasIt Concern = "RouterHasIt"
)

// Warning is something about a held address that the next replacement heals.
type Warning struct {
	Key, Pool string
	Address   netip.Prefix
	Concern   Concern
	// Claim that the router is of, if Concern is RouterHasIt; empty for ours.
	Claim string
}

// Outcome says what became of an address that is held twice.
type Outcome string

const (
	// Kept means that ours stays as it is, since its machine may use it. The
	// other's machine does as well, so it takes a person to replace one of them.
	Kept Outcome = "Kept"
	// Yielding means that ours stays as it is, since its machine may use it. The
	// other's machine may not, and the other claim gives it up by itself.
	Yielding Outcome = "Yielding"
	// Blocked means that ours was bound outside and is not delivered, since the
	// other goes first. It takes a person to have another one bound.
	Blocked Outcome = "Blocked"
	// Replaced means that ours was given up before it reached its machine.
	Replaced Outcome = "Replaced"
	// Waiting means that ours stays and is not delivered until the younger
	// claim, whose machine does not have it yet either, has given it up.
	Waiting Outcome = "Waiting"
)

// Conflict is an address that a key of ours and somebody else hold.
type Conflict struct {
	Key, Pool string
	Address   netip.Addr
	// Claim is the other claim; empty if the other key is one of ours.
	Claim string
	// OtherKey is the other key that holds the address.
	OtherKey string
	Outcome  Outcome
}

// Capacity counts the addresses of one assignment range; every count is at most
// MaxCount.
type Capacity struct {
	Pool, Range string
	// Used counts the range's demands that have an address, wherever it lies.
	Used int64
	// Total counts the addresses that the range's demands hold in it or can
	// get: usable ones that no other claim and no other demand of ours holds.
	Total int64
	// Wanted is what the caller asked for. The range is too small when it is
	// more than Total.
	Wanted int64
	// Cooling counts those of Total that have been released too recently.
	Cooling int64
	// Shared counts those of Total that an older claim may take as well.
	Shared int64
	// NextFree is when the first of Cooling becomes free; zero if there are
	// none.
	NextFree time.Time
}

func (b *Book) sort() {
	slices.SortFunc(b.Missing, func(x, y Missing) int {
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Key, y.Key))
	})
	slices.SortFunc(b.Warnings, func(x, y Warning) int {
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Concern, y.Concern))
	})
	slices.SortFunc(b.Conflicts, func(x, y Conflict) int {
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Claim, y.Claim))
	})
	slices.SortFunc(b.Capacity, func(x, y Capacity) int {
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Range, y.Range))
	})
	for _, m := range b.Missing {
		if m.Reason == Cooling && (b.Next.IsZero() || m.Until.Before(b.Next)) {
			b.Next = m.Until
		}
	}
}
