// Command xrdgen generates, from the Go types of the API, what the packages
// install: the composite resource definitions of the claim, the custom resource
// definition of the function's input, and the input's deep copies.
//
// It is run by go generate; CI fails when its output is not what is committed.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "../../..", "folder of the function's module")
	flag.Parse()
	if err := run(*root, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "xrdgen:", err)
		os.Exit(1)
	}
}

// run generates the named outputs below root.
func run(root string, outputs []string) error {
	if len(outputs) == 0 {
		return fmt.Errorf("say what to generate: xrd, input or both")
	}
	for _, output := range outputs {
		if err := generate(root, output); err != nil {
			return fmt.Errorf("cannot generate %q: %w", output, err)
		}
	}
	return nil
}

func generate(root, output string) error {
	switch output {
	case "xrd":
		return generateXRDs(root)
	case "input":
		return generateInput(root)
	default:
		return fmt.Errorf("it is not one of xrd and input")
	}
}
