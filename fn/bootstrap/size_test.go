package bootstrap

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet"
)

func TestSize(t *testing.T) {
	// What stands around the path and the content of a file, the latter after
	// six spaces:
	//
	//	-   path:
	//	    content: |
	const around = 11 + 1 + 15 + 6
	// Of permissions and encodings, each on a line of its own.
	const permissions, base64, gzip = 24, 23, 28
	cases := map[string]struct {
		reason string
		given  Bootstrap
		want   int
	}{
		"Nothing":   {reason: "Nothing adds nothing."},
		"Plain":     {reason: "Content travels in base64, 4 bytes for 3, and the usual permissions are not named.", given: Bootstrap{Files: []osnet.File{{Path: "/a", Permissions: "0644", Content: "12345"}}}, want: around + 2 + base64 + 8},
		"Packed":    {reason: "What is compressed travels instead of the content.", given: Bootstrap{Files: []osnet.File{{Path: "/a", Permissions: "0755", Content: "12345", Gzip: []byte("123")}}}, want: around + 2 + permissions + gzip + 4},
		"Live":      {reason: "Content with placeholders travels as it is, each line after six spaces.", given: Bootstrap{Files: []osnet.File{{Path: "/a", Permissions: "0644", Content: "1\n2\n", Live: true}}}, want: around + 2 + 4 + 12},
		"Commands":  {reason: "A command stands in quotes in a list.", given: Bootstrap{PreKubeadm: []string{"a"}, PostKubeadm: []string{`b "c"`}}, want: 7 + 1 + 7 + 7},
		"Arguments": {reason: "Arguments of components are no files.", given: Bootstrap{KubeletArgs: []Arg{{Name: "a", Value: "b"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Size(tc.given); got != tc.want {
				t.Errorf("%s\ngot %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
