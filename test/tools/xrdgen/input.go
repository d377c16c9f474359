package main

import (
	"fmt"
	"path/filepath"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Where the input's types are, and its definition goes.
const (
	inputPackage = "./input/v1beta1"
	inputFolder  = "package/function/input"
)

// generateInput writes the definition into the function's package below out,
// and the deep copies beside the types.
func generateInput(root, out string) error {
	rule := genall.OutputArtifacts{
		Config: genall.OutputToDirectory(filepath.Join(out, inputFolder)),
		Code:   genall.OutputToDirectory(filepath.Join(out, inputPackage)),
	}
	omit := true
	for _, g := range []genall.Generator{&crd.Generator{OmitToolVersion: &omit}, &deepcopy.Generator{}} {
		if err := runGenerator(root, g, rule); err != nil {
			return err
		}
	}
	fields, err := inputFields(out)
	if err != nil {
		return err
	}
	return writeReference(filepath.Join(out, inputReference), inputTitle, fields)
}

// runGenerator over the input's package.
func runGenerator(root string, g genall.Generator, rule genall.OutputRule) error {
	pkgs, err := load(root, inputPackage)
	if err != nil {
		return err
	}
	registry := &markers.Registry{}
	if err := g.RegisterMarkers(registry); err != nil {
		return fmt.Errorf("cannot register markers: %w", err)
	}
	ctx := &genall.GenerationContext{
		Collector:  &markers.Collector{Registry: registry},
		Roots:      pkgs,
		Checker:    &loader.TypeChecker{NodeFilters: genall.Generators{&g}.CheckFilters()},
		OutputRule: rule,
		InputRule:  genall.InputFromFileSystem,
	}
	if err := g.Generate(ctx); err != nil {
		return fmt.Errorf("cannot generate from %q: %w", inputPackage, err)
	}
	if loader.PrintErrors(pkgs, packages.TypeError) {
		return fmt.Errorf("cannot read the types of %q", inputPackage)
	}
	return nil
}

// load one package of the function's module, which is not this program's own.
func load(root, path string) ([]*loader.Package, error) {
	dir, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("cannot find %q: %w", root, err)
	}
	pkgs, err := loader.LoadRootsWithConfig(&packages.Config{Dir: dir}, path)
	if err != nil {
		return nil, fmt.Errorf("cannot load %q: %w", path, err)
	}
	if len(pkgs) != 1 {
		return nil, fmt.Errorf("cannot load %q: found %d packages", path, len(pkgs))
	}
	return pkgs, nil
}
