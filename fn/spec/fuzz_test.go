package spec

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
	"github.com/l2cluster/function-l2cluster/fn/spec/strict"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// Decoding, defaults and validation panic on no claim and no input, say the same
// twice, and every error has a path and words.
func FuzzValidate(f *testing.F) {
	for _, full := range fullClaims() {
		b, err := json.Marshal(full())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte("{}"))
	}
	b, err := json.Marshal(fullInput())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"networks":[null,{"ipAddresses":["::/0","1"],"routes":[{}]}],"workers":[{"ports":[{"networks":[{}]}]}]}`), b)
	f.Add([]byte(`{"controlPlane":{"replicas":1e3,"ports":[{"name":"eth1","bonded":false}]},"vrfs":[{}]}`), []byte(`{"equinix":{"blocks":["x"]}}`))
	f.Fuzz(func(t *testing.T, claim, input []byte) {
		var object, inputObject map[string]any
		if json.Unmarshal(claim, &object) != nil || json.Unmarshal(input, &inputObject) != nil {
			return
		}
		s, in := &Spec{}, &v1beta1.Input{}
		strict.Decode(object, s, field.NewPath("spec"))
		strict.Decode(inputObject, in, field.NewPath("input"))
		Default(s)
		v1beta1.Default(in)
		errs, warnings := Validate(s, in)
		again, warningsAgain := Validate(s, in)
		if errs.ToAggregate() != nil && errs.ToAggregate().Error() != again.ToAggregate().Error() || len(warnings) != len(warningsAgain) {
			t.Errorf("Validate() says %v, then %v", errs, again)
		}
		for _, err := range append(errs, v1beta1.Validate(in)...) {
			if err.Field == "" || err.ErrorBody() == "" {
				t.Errorf("an error without path or words: %v", err)
			}
		}
		if len(rule.Sort(errs)) != len(again) {
			t.Errorf("Validate() is not sorted: %v", errs)
		}
	})
}
