// Command xrdgen generates, from the Go types of the API, what the packages
// install: the composite resource definitions of the claim, the custom resource
// definition of the function's input, and the input's deep copies.
//
// It is run by go generate; CI fails when its output is not what is committed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "../../..", "folder of the function's module")
	flag.Parse()
	if err := run(*root, *root, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "xrdgen:", err)
		os.Exit(1)
	}
}

// run generates the named outputs from the types below root into files below
// out.
func run(root, out string, outputs []string) error {
	if len(outputs) == 0 {
		return errors.New("say what to generate: xrd, input or both")
	}
	for _, output := range outputs {
		if err := generate(root, out, output); err != nil {
			return fmt.Errorf("cannot generate %q: %w", output, err)
		}
	}
	return nil
}

func generate(root, out, output string) error {
	switch output {
	case "xrd":
		return generateXRDs(root, out)
	case "input":
		return generateInput(root, out)
	default:
		return errors.New("it is not one of xrd and input")
	}
}
