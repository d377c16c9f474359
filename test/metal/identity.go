package metal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// newID returns the UUID of the next thing of that kind and identity. It
// depends on the seed, the identity and how many of the same identity came
// before, not on what else happens in the cloud: two runs with the same seed
// give a server of the same name the same UUIDs.
func (c *Cloud) newID(kind string, identity ...string) string {
	key := kind + "\x00" + strings.Join(identity, "\x00")
	n := c.given[key]
	c.given[key] = n + 1
	return uuidOf(c.opts.Seed, key, strconv.Itoa(n))
}

// uuidOf derives a well-formed random-looking UUID from parts.
func uuidOf(parts ...string) string {
	sum := digest(parts)
	sum[6] = sum[6]&0x0f | 0x40
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// macOf derives a unicast, locally administered MAC address from parts.
func macOf(parts ...string) string {
	sum := digest(parts)
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
}

// secretOf derives something that looks like a password from parts.
func secretOf(parts ...string) string {
	sum := digest(parts)
	return hex.EncodeToString(sum[:6])
}

func digest(parts []string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(parts, "\x00")))
}
