package diff

import (
	"regexp"
	"slices"
	"strings"

	"github.com/l2cluster/function-l2cluster/fn/keep"
)

// What objects wait for.
const (
	waits                = "when what it waits for is done"
	waitsForControlPlane = "when the control plane is done with its version"
	unneeded             = "the old one stays until nothing needs it any more"
	unused               = "when nothing needs it any more"
	uncarried            = "when no port carries it any more"
	onlySeen             = "it was only observed, so what it stands for stays"
)

// hashedPattern is a key that ends in a hash of the object's content.
var hashedPattern = regexp.MustCompile(`-[0-9a-f]{8}$`)

// pairs joins what goes with what comes in its place: both have the same kind
// and pool, and keys that differ in the hash of their content only. What finds
// no partner is created or deleted.
func pairs(in Input, come, gone []Object) []Object {
	var out []Object
	for _, c := range come {
		at := slices.IndexFunc(gone, func(g Object) bool { return takesPlace(in, c, g) })
		k := keyed{in: in, key: c.Key}
		switch {
		case at >= 0:
			out = append(out, replace(in, c, gone[at]))
			gone = slices.Delete(gone, at, at+1)
		case !k.exists():
			out = append(out, c)
		}
	}
	for _, g := range gone {
		if g.When != "" {
			out = append(out, leaving(in, g))
		}
	}
	return out
}

// leaving is a deleted object with what it waits for. Where nobody looked at the
// machines, a VLAN may be on their ports.
func leaving(in Input, o Object) Object {
	switch {
	case o.Kind == "Vlan" && (in.Assumed || o.When == Later):
		o.When, o.Why = Later, uncarried
	case o.When == Later:
		o.Why = unused
	}
	body, _ := keyed{in: in, key: o.Key}.body()["spec"].(map[string]any)
	if policies, _ := body["managementPolicies"].([]any); len(policies) == 1 && policies[0] == "Observe" {
		o.Why = strings.TrimPrefix(o.Why+"; "+onlySeen, "; ")
	}
	return o
}

// takesPlace says whether one object comes for another.
func takesPlace(in Input, comes, goes Object) bool {
	a, b := hashedPattern.FindStringIndex(comes.Key), hashedPattern.FindStringIndex(goes.Key)
	return a != nil && b != nil && comes.Key[:a[0]] == goes.Key[:b[0]] && comes.Kind == goes.Kind &&
		poolOf(in, comes.Key) == poolOf(in, goes.Key)
}

func poolOf(in Input, key string) string {
	return text(keyed{in: in, key: key}.body(), "metadata", "labels", keep.PoolLabel)
}

// replace joins an object with the one whose place it takes.
func replace(in Input, comes, goes Object) Object {
	comes.Action, comes.Replaces = Replace, &Identity{Key: goes.Key, Name: goes.Name}
	switch {
	case comes.When == Later:
		comes.Why = waits
	case goes.When == Later:
		comes.Why = unneeded
	}
	before, after := in.Goal.Before.Objects[goes.Key], in.Goal.After.Objects[comes.Key]
	if before == nil {
		before = in.Now.Before.Objects[goes.Key]
	}
	if after == nil {
		after = in.Now.After.Objects[comes.Key]
	}
	comes.Fields = slices.DeleteFunc(Fields(before, after), func(f Field) bool { return f.Path == "metadata.name" })
	return comes
}
