// Package object is what the function composes and reads: an object under a
// stable key with its readiness, names from identity and content, and read
// access to objects that others wrote.
package object

// Ready is the readiness of a composed object.
type Ready int

// The states of readiness.
const (
	// NotReady says that the object exists or will, and is not ready.
	NotReady Ready = iota
	// IsReady says that the object is ready.
	IsReady
)

// Part of the cluster that an object belongs to, for telling users what is
// ready and what is not.
type Part int

// The parts.
const (
	// PartCluster is the Kubernetes cluster and its machines.
	PartCluster Part = iota
	// PartNetworks are VLANs, gateways and what they need.
	PartNetworks
	// PartDelivery brings addresses to machines.
	PartDelivery
	// PartPorts are the ports of machines.
	PartPorts
)

// Object is one object that the function composes.
type Object struct {
	// Key is the object's identity inside its composite: stable, a DNS label
	// of at most 63 characters, without an index of any list.
	Key string
	// Body is the object itself, with only the fields that the function owns.
	// Its values are string, bool, int64, float64, nil, map[string]any and
	// []any and nothing else, as in unstructured objects.
	Body map[string]any
	// Part of the cluster that the object belongs to.
	Part Part
	// Ready is whether the object does its work.
	Ready Ready
	// Why says in words what a not ready object waits for.
	Why string
}

// View is read access to an object that was observed or required. A missing
// field, and one of another type, reads as the zero value.
type View interface {
	// String at the path.
	String(path ...string) string
	// Bool at the path.
	Bool(path ...string) bool
	// Int at the path.
	Int(path ...string) int64
	// Has says whether there is anything but null at the path.
	Has(path ...string) bool
	// Strings are the strings of the list at the path.
	Strings(path ...string) []string
	// Views are the objects of the list at the path.
	Views(path ...string) []View
	// Keys are the names of the fields of the object at the path, sorted.
	Keys(path ...string) []string
	// Bytes are the base64 text at the path, decoded; none when it is not that.
	Bytes(path ...string) []byte
	// Any is what is at the path as unstructured values, a copy.
	Any(path ...string) any
	// At is the object at the path; one without fields when there is none.
	At(path ...string) View
	// Object is the object at the path as unstructured values, a copy.
	Object(path ...string) map[string]any
}

// Required are the objects that were fetched for one requirement.
type Required struct {
	// Fetched says that somebody has looked. Without it nothing is known; with
	// it and without items there are none.
	Fetched bool
	// Items that were found, sorted by namespace and name.
	Items []View
}

// Selector says which objects to fetch.
type Selector struct {
	// APIVersion and Kind of the objects.
	APIVersion, Kind string
	// Namespace of the objects; empty for cluster-scoped ones.
	Namespace string
	// Name of one object, or empty to select by labels.
	Name string
	// Labels that the objects have; without name and labels, all of them.
	Labels map[string]string
}
