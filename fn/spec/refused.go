package spec

import "k8s.io/apimachinery/pkg/util/validation/field"

// RefusedError is an edit that a cluster which runs cannot take, though the claim
// would be right for a new one.
type RefusedError struct {
	// Field is the path of what was edited, for example spec.metro.
	Field string
	// Value that it has now.
	Value any
	// Why it is refused, and what can be done instead.
	Why string
}

func (e *RefusedError) Error() string {
	return field.Invalid(field.NewPath(e.Field), e.Value, e.Why).Error()
}

// NetworkField is the path of a field of the network of that name, for example
// spec.networks[storage].vxlan. A cluster that runs knows networks by their names.
func NetworkField(network, name string) string {
	return field.NewPath("spec", "networks").Key(network).Child(name).String()
}
