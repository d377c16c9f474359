package rule

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRules(t *testing.T) {
	at := field.NewPath("x")
	word := NewText(`^[a-z]+$`, 5, "a word, for example abc")
	block := func(s string) field.ErrorList {
		_, errs := Block(at, s)
		return errs
	}
	address := func(s string) field.ErrorList {
		_, errs := Address(at, s)
		return errs
	}
	cases := map[string]struct {
		reason string
		errs   field.ErrorList
		want   []string
	}{
		"Text":           {"A good text.", word.Required(at, "abcde"), nil},
		"TextMissing":    {"It says what to give.", word.Required(at, ""), []string{"x: Required value: must be a word, for example abc"}},
		"TextLeftOut":    {"It may be left out.", word.Optional(at, ""), nil},
		"TextMismatch":   {"It says what would be right.", word.Optional(at, "ab1"), []string{`x: Invalid value: "ab1": must be a word, for example abc`}},
		"TextNewLine":    {"A pattern's end is the text's end.", word.Optional(at, "abc\n"), []string{`x: Invalid value: "abc\n": must be a word, for example abc`}},
		"TextTooLong":    {"It says the limit.", word.Optional(at, "abcdef"), []string{`x: Invalid value: "abcdef": must be a word, for example abc, of at most 5 characters`}},
		"CharactersFit":  {"Characters are counted, not bytes.", AtMostCharacters(at, "éé", 2), nil},
		"CharactersMany": {"Free text has a length.", AtMostCharacters(at, "ééé", 2), []string{"x: Too long: may not be more than 2 characters"}},
		"OneOf":          {"It lists the others.", OneOf(at, "c", "a", "b"), []string{`x: Unsupported value: "c": supported values: "a", "b"`}},
		"Between":        {"Bounds are included.", append(Between(at, int32(1), 1, 3), Between(at, int32(3), 1, 3)...), nil},
		"Outside":        {"Bounds are bounds.", Between(at, int64(4), 1, 3), []string{"x: Invalid value: 4: must be between 1 and 3"}},
		"Items": {
			"Each item is checked, and their number.",
			Items(at, []string{"a", "1", ""}, 2, word.Required),
			[]string{"x: Too many: 3: must have at most 2 items", `x[1]: Invalid value: "1": must be a word, for example abc`, "x[2]: Required value: must be a word, for example abc"},
		},
		"Set": {
			"The second of two is the one too many.",
			Set(at, []string{"a", "b", "a"}, 3, word.Required),
			[]string{`x[2]: Duplicate value: "a": must be unique, and x[0] has it already`},
		},
		"Block":           {"Both families.", append(block("10.0.0.0/8"), block("2001:db8::/32")...), nil},
		"WholeSpace":      {"A block around reserved ones is no reserved one.", block("0.0.0.0/0"), nil},
		"BlockBits":       {"There are 32.", block("10.0.0.0/33"), []string{`x: Invalid value: "10.0.0.0/33": must be a block in prefix notation and lower case, for example 10.60.10.0/24 or 2001:db8::/64`}},
		"BlockHostBits":   {"It says the block.", block("2001:db8::1/64"), []string{`x: Invalid value: "2001:db8::1/64": has host bits; the block is 2001:db8::/64`}},
		"BlockReserved":   {"It says for what.", block("fe80::/64"), []string{`x: Invalid value: "fe80::/64": lies in fe80::/10, which is reserved for link-local addresses`}},
		"Address":         {"Both families.", append(address("10.0.0.1"), address("2001:db8::1")...), nil},
		"AddressZone":     {"A zone is of one host.", address("fe80::1%eth0"), []string{`x: Invalid value: "fe80::1%eth0": must be an IP address in lower case, for example 10.60.10.1 or 2001:db8::1`}},
		"AddressMapped":   {"One address, one spelling.", address("::ffff:10.0.0.1"), []string{`x: Invalid value: "::ffff:10.0.0.1": must be an IP address in lower case, for example 10.60.10.1 or 2001:db8::1`}},
		"AddressTooShort": {"Four numbers.", address("10.0.1"), []string{`x: Invalid value: "10.0.1": must be an IP address in lower case, for example 10.60.10.1 or 2001:db8::1`}},
		"Sort": {
			"By path, then words; what is said twice is said once, and so is that a field is required.",
			Sort(field.ErrorList{
				field.Invalid(at.Child("b"), "v", "no"), field.Required(at.Child("a"), "b"), field.Required(at.Child("a"), "a"),
				field.Invalid(at.Child("b"), "v", "no"), field.Invalid(at.Child("b"), "v", "never"),
			}),
			[]string{"x.a: Required value: a", `x.b: Invalid value: "v": never`, `x.b: Invalid value: "v": no`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range tc.errs {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A value of any length makes a message that can be read.
func TestLongValuesAreShortened(t *testing.T) {
	errs := NewText(`^a+$`, 5, "short").Optional(field.NewPath("x"), strings.Repeat("é", 100000))
	if n := len(errs[0].Error()); n > 400 {
		t.Errorf("the message has %d bytes", n)
	}
}
