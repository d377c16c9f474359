package rule

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Between checks a whole number against its bounds, both included.
func Between[N int32 | int64](path *field.Path, value, low, high N) field.ErrorList {
	if value < low || value > high {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be between %d and %d", low, high))}
	}
	return nil
}

// AtMostItems checks the size of a list or map.
func AtMostItems(path *field.Path, size, limit int) field.ErrorList {
	if size > limit {
		return field.ErrorList{field.TooMany(path, size, limit)}
	}
	return nil
}
