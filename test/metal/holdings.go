package metal

import (
	"encoding/json"
	"time"
)

// Holdings are the times in which servers had the addresses that are under a key
// of their custom data, an object of texts, in order of beginnings. The value of a
// span is the address's own key and the address. It counts from the moment when it
// is in a server's custom data until the server is off or gone: what is taken out
// of the custom data of a server that runs is on its interfaces still.
func Holdings(changes []Change, key string) []Span {
	var single []Change
	held := map[string]map[string]bool{}
	for _, ch := range changes {
		switch {
		case ch.Kind == DevicePower && ch.After != "on", ch.Kind == DeviceState && ch.After == "":
			for value := range held[ch.Device] {
				end := ch
				end.Kind, end.Before, end.After = CustomData, value, ""
				single = append(single, end)
			}
			delete(held, ch.Device)
		case ch.Kind == CustomData:
			if held[ch.Device] == nil {
				held[ch.Device] = map[string]bool{}
			}
			for _, value := range textsUnder(ch.After, key) {
				if held[ch.Device][value] {
					continue
				}
				begin := ch
				begin.Before, begin.After = "", value
				single = append(single, begin)
				held[ch.Device][value] = true
			}
		}
	}
	return Spans(single, CustomData)
}

// textsUnder a key of custom data, each with its own key.
func textsUnder(customData, key string) []string {
	var custom map[string]json.RawMessage
	var texts map[string]string
	if json.Unmarshal([]byte(customData), &custom) != nil || json.Unmarshal(custom[key], &texts) != nil {
		return nil
	}
	out := make([]string, 0, len(texts))
	for k, text := range texts {
		out = append(out, k+" "+text)
	}
	return out
}

// Succession is a value that went from one server to another.
type Succession struct {
	First, Second Span
	// Rested is for how long nobody had it; nothing or less if both did.
	Rested time.Duration
}

// Successions are the values of spans that went from one server to another, in
// order of when the second had it.
func Successions(spans []Span) []Succession {
	var out []Succession
	last := map[string]Span{}
	for _, s := range spans {
		was, known := last[s.Value]
		last[s.Value] = s
		if !known || was.Device == s.Device {
			continue
		}
		rested := time.Duration(0)
		if !was.To.IsZero() {
			rested = s.From.Sub(was.To)
		}
		out = append(out, Succession{First: was, Second: s, Rested: rested})
	}
	return out
}
