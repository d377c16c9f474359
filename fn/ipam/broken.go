package ipam

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// locate says which field of a record is broken, for a person who has to mend
// it. The cause is for what is no record at all.
func locate(data []byte, cause error) error {
	var pools map[string]json.RawMessage
	if err := json.Unmarshal(data, &pools); err != nil {
		return fmt.Errorf(": %s is not an object: %w", clipped(data), err)
	}
	for _, key := range slices.Sorted(maps.Keys(pools)) {
		if err := locateInPool(pools[key]); err != nil {
			return fmt.Errorf("[%q]%w", key, err)
		}
	}
	return fmt.Errorf(": %w", cause)
}

func locateInPool(data json.RawMessage) error {
	var fields struct {
		Held     json.RawMessage `json:"held"`
		Pending  json.RawMessage `json:"pending"`
		Used     json.RawMessage `json:"used"`
		Released json.RawMessage `json:"released"`
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf(": %s is not an object", clipped(data))
	}
	if err := locateInHeld(fields.Held); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data json.RawMessage
		into any
	}{
		{"pending", fields.Pending, &[]string{}}, {"used", fields.Used, &Ranges{}}, {"released", fields.Released, &[]Release{}},
	} {
		if len(f.data) == 0 {
			continue
		}
		if err := json.Unmarshal(f.data, f.into); err != nil {
			return fmt.Errorf(".%s: %s: %w", f.name, clipped(f.data), err)
		}
	}
	var p PoolRecord
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf(": %w", err)
	}
	if err := p.check(); err != nil {
		return fmt.Errorf(": %w", err)
	}
	return nil
}

func locateInHeld(data json.RawMessage) error {
	if len(data) == 0 {
		return nil
	}
	var held map[string]json.RawMessage
	if err := json.Unmarshal(data, &held); err != nil {
		return fmt.Errorf(".held: %s is not an object", clipped(data))
	}
	for _, key := range slices.Sorted(maps.Keys(held)) {
		var a netip.Prefix
		if json.Unmarshal(held[key], &a) != nil || checkAddress(a) != nil {
			return fmt.Errorf(".held[%q]: %s is not an address with its prefix length, such as 10.60.10.2/24", key, clipped(held[key]))
		}
	}
	return nil
}

// clipped is a value in a message, which nobody wants to be long.
func clipped(data []byte) string {
	const enough = 100
	if len(data) > enough {
		return strings.ToValidUTF8(string(data[:enough]), "") + "..."
	}
	return string(data)
}
