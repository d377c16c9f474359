package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Where the references go.
const (
	claimReference = "docs/claim.md"
	inputReference = "docs/input.md"
)

const (
	claimTitle = `# The claim

Every field of an ` + "`L2Cluster`" + `, as its XRD has it. A composite of the XRD of scope
` + "`Cluster`" + ` has the same fields. Generated from the Go types by go generate.
`
	inputTitle = `# The function's input

Every field of the input that a platform team writes into the Composition: what
claim users must not choose. Every field has a default that works. Generated from
the Go types by go generate.
`
)

// writeReference writes what a schema says of its fields as a page.
func writeReference(path, title string, parts map[string]apiextensionsv1.JSONSchemaProps) error {
	var b strings.Builder
	b.WriteString(title)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		part := parts[name]
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| field | type | default | what it is |\n| --- | --- | --- | --- |\n", name, oneLine(part.Description))
		describe(&b, "", part)
		rules(&b, "", part)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot create the folder of %q: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	return nil
}

// describe the fields below an object, one row each, in the order of their
// names.
func describe(b *strings.Builder, path string, s apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		value := "required"
		if !slices.Contains(s.Required, name) {
			value = defaultOf(field)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", at, typeOf(field), value, escape(oneLine(field.Description)+allowed(field)))
		describe(b, at, inner(field))
	}
}

// inner is the object in a field: its own, or that of its items.
func inner(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	if s.Items != nil && s.Items.Schema != nil {
		return *s.Items.Schema
	}
	return s
}

func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema)
	default:
		return s.Type
	}
}

func defaultOf(s apiextensionsv1.JSONSchemaProps) string {
	if s.Default == nil {
		return ""
	}
	return "`" + escape(string(s.Default.Raw)) + "`"
}

// allowed says which values a field can have.
func allowed(s apiextensionsv1.JSONSchemaProps) string {
	var out []string
	if len(s.Enum) > 0 {
		values := make([]string, 0, len(s.Enum))
		for _, v := range s.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		out = append(out, "One of "+strings.Join(values, ", ")+".")
	}
	if s.Minimum != nil && s.Maximum != nil {
		out = append(out, fmt.Sprintf("%.0f to %.0f.", *s.Minimum, *s.Maximum))
	}
	if len(out) == 0 {
		return ""
	}
	return " " + strings.Join(out, " ")
}

// rules that the API server checks beside each field's own.
func rules(b *strings.Builder, path string, s apiextensionsv1.JSONSchemaProps) {
	for _, rule := range s.XValidations {
		at := strings.TrimPrefix(path, ".")
		if at == "" {
			at = "the whole"
		} else {
			at = "`" + at + "`"
		}
		fmt.Fprintf(b, "\n- %s: %s.", at, rule.Message)
	}
	if path == "" && len(s.XValidations) > 0 {
		b.WriteString("\n")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		rules(b, path+"."+name, inner(s.Properties[name]))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// escape what would end a cell of a table.
func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// claimFields are spec and status of the claim.
func claimFields(v definitionVersion) map[string]apiextensionsv1.JSONSchemaProps {
	properties := v.Schema.OpenAPIV3Schema.Properties
	return map[string]apiextensionsv1.JSONSchemaProps{"spec": properties["spec"], "status": properties["status"]}
}

// inputFields are those of the input's generated definition, without what every
// object has.
func inputFields(out string) (map[string]apiextensionsv1.JSONSchemaProps, error) {
	path := filepath.Join(out, inputFolder, "l2cluster.fn.crossplane.io_inputs.yaml")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the input's definition: %w", err)
	}
	j, err := yaml.YAMLToJSON(b)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(j, &d); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, err)
	}
	schema := *d.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(schema.Properties, name)
	}
	return map[string]apiextensionsv1.JSONSchemaProps{"input": schema}, nil
}
