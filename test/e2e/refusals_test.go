package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/l2cluster/function-l2cluster/test/metal"
)

// refused are the requests about the claim's VLANs, its servers' ports and, where
// it has VRFs, gateways that the cloud refused since the claim was made: how often
// each. What is asked for a server itself is CAPP's business: with KUBE_VIP it
// asks for the server's BGP session again and again.
func (c *claim) refused() map[string]int {
	cluster := c.cluster()
	mine := map[string]bool{}
	for _, ch := range here.Cloud.Changes(c.from) {
		if ch.Kind == metal.VLAN && c.hasVLAN(ch.After) || cluster != "" && strings.HasPrefix(ch.Hostname, cluster+"-") {
			mine[ch.Subject] = true
		}
	}
	routed := len(c.list("vrfs")) > 0
	out := map[string]int{}
	for _, r := range here.Cloud.Refusals(c.refusedFrom) {
		collection, rest, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
		id, part, _ := strings.Cut(rest, "/")
		text := fmt.Sprintf("%s %s: %s", r.Method, r.Path, strings.Join(r.Messages, ", "))
		switch {
		case collection != "devices" && mine[id],
			routed && slices.Contains([]string{collection, part}, "metal-gateways"),
			routed && slices.Contains([]string{"vrfs", "ips"}, cmp.Or(part, collection)),
			part == "virtual-networks" && c.mentionsVLAN(text):
			out[text]++
		}
	}
	return out
}

// mentionsVLAN tells whether a message is about one of the claim's VLANs.
func (c *claim) mentionsVLAN(text string) bool {
	for n := range c.numbers {
		if strings.Contains(text, fmt.Sprintf("Vxlan %d ", n)) {
			return true
		}
	}
	return false
}

// hasVLAN tells whether a VLAN is the claim's, as the cloud's log tells it.
func (c *claim) hasVLAN(text string) bool {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return false
	}
	number, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
	return err == nil && c.numbers[number]
}

// mostRefusals of one request are what a provider that tries again and again,
// ever more seldom, may collect until what it waits for is so.
const mostRefusals = 6

// refusal is a kind of request that the cloud refuses.
type refusal struct {
	why, method, text string
	// deleted are those that may happen only when the claim is deleted.
	deleted bool
}

// tolerated are the refusals that cannot be avoided by order, and are not many.
var tolerated = []refusal{
	{why: "a VLAN is deleted while its servers are still there", method: "DELETE", text: "when port is assigned", deleted: true},
	{why: "a server's ports are reset in any order when the claim goes", method: "POST", text: "cannot be bonded while virtual networks are assigned", deleted: true},
	{why: "a port is reset while its server goes", method: "POST", text: "while its device is deprovisioning"},
	{why: "a reference to what is just being made has the UUID that it was born with", method: "POST", text: "was not found in the project"},
}

// ends deletes the claim, and looks at what the cloud refused until then and while
// it went.
func (c *claim) ends() {
	c.t.Helper()
	c.accepted(false)
	c.delete()
	c.accepted(true)
}

// accepted fails the test if the cloud refused something about the claim's
// networks since it was made, except what cannot be avoided.
func (c *claim) accepted(deleted bool) {
	c.t.Helper()
	for r, times := range c.refused() {
		i := slices.IndexFunc(tolerated, func(x refusal) bool {
			return strings.HasPrefix(r, x.method+" ") && strings.Contains(r, x.text) && (deleted || !x.deleted)
		})
		if i < 0 || times > mostRefusals {
			c.t.Errorf("the cloud refused %d times: %s", times, r)
			continue
		}
		c.t.Logf("refused %d times, since %s: %s", times, tolerated[i].why, r)
	}
}
