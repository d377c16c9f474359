package object

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Limits of names, in bytes.
const (
	// LabelLimit is the length of a DNS label and of a label's value.
	LabelLimit = 63
	// DeploymentLimit leaves room for the suffixes of machine sets and
	// machines behind a MachineDeployment's name.
	DeploymentLimit = 46
)

const hashLength = 8

// Reference to an object in the same namespace, or cluster-scoped.
type Reference struct {
	// APIVersion is group and version.
	APIVersion string
	// Kind of the object.
	Kind string
	// Name of the object.
	Name string
}

// Group of the referenced object's API.
func (r Reference) Group() string {
	group, _, _ := strings.Cut(r.APIVersion, "/")
	return group
}

// Name joins parts with dashes. A name above limit bytes is cut and ends in a
// hash of the whole, so that two long names that begin alike stay apart. The
// parts must be DNS labels.
func Name(limit int, parts ...string) string {
	name := strings.Join(parts, "-")
	if len(name) <= limit {
		return name
	}
	return strings.TrimRight(name[:limit-hashLength-1], "-.") + "-" + Hash(name)
}

// Hash is a short hash of text, of lower-case letters and digits.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// ContentHash is a short hash of unstructured content: equal for equal content,
// whatever the order of its maps. It returns an error for content that is not
// of the kinds that Object.Body allows.
func ContentHash(content map[string]any) (string, error) {
	b, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("cannot hash content: %w", err)
	}
	return Hash(string(b)), nil
}
