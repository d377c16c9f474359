package capi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
)

// unstructured turns an API object into values as object.Object.Body holds them:
// integers are int64, and what is not set is absent. The v1beta2 types leave out
// every empty struct, status and time of their own accord.
func unstructured(typed any) (map[string]any, error) {
	encoded, err := json.Marshal(typed)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a %T: %w", typed, err)
	}
	var out map[string]any
	if err := json.Unmarshal(encoded, &out); err != nil {
		return nil, fmt.Errorf("cannot decode a %T: %w", typed, err)
	}
	return out, nil
}
