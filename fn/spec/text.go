package spec

import "github.com/l2cluster/function-l2cluster/fn/spec/rule"

// The rules of the claim's strings, each as its marker has it. A test applies
// every marker of the schema to Validate too.
var (
	namespacePattern = rule.NewText(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, 63,
		"a namespace of lower-case letters, digits and dashes, for example team-a")
	namePattern = rule.NewText(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, 40,
		"a DNS label of lower-case letters, digits and dashes, for example storage")
	uuidPattern = rule.NewText(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, 36,
		"a UUID in lower case, for example 2f1e8e0e-3d0b-4c1e-9d0a-5b1f3a0c7d11")
	domainPattern = rule.NewText(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, 253,
		"a DNS domain, for example cluster.local")
	objectNamePattern = rule.NewText(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`, 253,
		"the name of an object, of lower-case letters, digits, dashes and dots")
	kindPattern = rule.NewText(`^[A-Z][A-Za-z0-9]*$`, 63,
		"a kind, for example InClusterIPPool")
	versionPattern = rule.NewText(`^v1\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})$`, 32,
		"a Kubernetes release with its v, for example v1.34.2")
	metroPattern = rule.NewText(`^[a-z]{2}$`, 2,
		"a metro's two-letter code, for example da")
	sshKeyPattern = rule.NewText(`^(ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( [A-Za-z0-9@._+:/ -]*)?$`, 2048,
		"one line of authorized_keys without options: type, key and, if wanted, a plain comment")
	slugPattern = rule.NewText(`^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$`, 63,
		"a slug of the platform, of lower-case letters, digits, dashes, dots and underscores, for example ubuntu_22_04")
	reservationPattern = rule.NewText(`^(next-available|[0-9a-f-]{36}(,[0-9a-f-]{36})*)$`, 1024,
		"next-available, or UUIDs of hardware reservations separated by commas")
	tagPattern = rule.NewText(`^[A-Za-z0-9][A-Za-z0-9_.:/=-]*$`, 80,
		"a tag of letters, digits and _.:/=- after a letter or digit")
	interfacePattern = rule.NewText(`^[a-z][a-z0-9_.-]*$`, 15,
		"an interface name (a lower-case letter, then lower-case letters, digits, _, . and -)")
	rangePattern = rule.NewText(`^[0-9a-f:.]+(-[0-9a-f:.]+|/[0-9]{1,3})?$`, 79,
		"a range such as 10.60.10.2-10.60.10.40, a single address or a block, in lower case and without spaces")
	taintKeyPattern = rule.NewText(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`, 317,
		"a qualified name, for example dedicated or example.org/dedicated")
	taintValuePattern = rule.NewText(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`, 63,
		"a label value of letters, digits, dashes, dots and underscores")
	maxUnhealthyPattern = rule.NewText(`^([0-9]{1,4}|[0-9]{1,2}%|100%)$`, 5,
		"a number of machines or a percentage, for example 2 or 40%")
	portPattern = rule.NewText(`^(bond[01]|eth[0-3])$`, 5,
		"a port of the platform: bond0, bond1, eth0, eth1, eth2 or eth3")
)

// descriptionLimit is the length of free text, in characters.
const descriptionLimit = 255
