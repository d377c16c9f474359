package stack

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Decode the objects in a YAML or JSON stream.
func Decode(raw []byte) ([]*Object, error) {
	var out []*Object
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		o := &Object{}
		if err == nil && len(raw) > 0 {
			// Unlike the standard library it tells integers from other numbers.
			err = utiljson.Unmarshal(raw, &o.Object)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read objects: %w", err)
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// Read the objects in a file, or in all YAML files of a folder.
func Read(path string) ([]*Object, error) {
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		found, err := filepath.Glob(filepath.Join(path, "*.yaml"))
		if err != nil {
			return nil, fmt.Errorf("cannot list %q: %w", path, err)
		}
		files = found
	}
	var out []*Object
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", f, err)
		}
		objects, err := Decode(raw)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

// apply objects one after the other.
func (s *Stack) apply(ctx context.Context, objects ...*Object) error {
	for _, o := range objects {
		if err := s.Client.Apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// applyCRDs and wait until they are served.
func (s *Stack) applyCRDs(ctx context.Context, crds []*Object) error {
	if err := s.apply(ctx, crds...); err != nil {
		return err
	}
	return Wait(ctx, time.Minute, func(ctx context.Context) error {
		for _, crd := range crds {
			o, err := s.Client.Get(ctx, RefOf(crd))
			if err != nil {
				return err
			}
			if status, why := ConditionOf(o, "Established"); status != "True" {
				return NotYet("CRD %q is not established: %s", crd.GetName(), why)
			}
		}
		return nil
	})
}

// hook is where the webhooks of a program are served.
type hook struct {
	name string
	port int
	ca   []byte
}

func (h hook) clientConfig(path string) map[string]any {
	return map[string]any{
		"url":      fmt.Sprintf("https://%s%s", local(h.port), path),
		"caBundle": base64.StdEncoding.EncodeToString(h.ca),
	}
}

// convert lets a program convert between the versions of CRDs that have more
// than one, and adds labels.
func (h hook) convert(crds []*Object, labels map[string]string) error {
	for _, crd := range crds {
		all := crd.GetLabels()
		if all == nil {
			all = map[string]string{}
		}
		for k, v := range labels {
			all[k] = v
		}
		crd.SetLabels(all)
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return fmt.Errorf("cannot read CRD %q: %w", crd.GetName(), err)
		}
		if len(versions) < 2 {
			continue
		}
		conversion := map[string]any{
			"strategy": "Webhook",
			"webhook":  map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": h.clientConfig("/convert")},
		}
		if err := unstructured.SetNestedMap(crd.Object, conversion, "spec", "conversion"); err != nil {
			return fmt.Errorf("cannot change CRD %q: %w", crd.GetName(), err)
		}
	}
	return nil
}

// admission points webhook configurations at the program, under names of their
// own.
func (h hook) admission(configurations []*Object) error {
	for _, c := range configurations {
		c.SetName(h.name + "-" + c.GetName())
		webhooks, _, err := unstructured.NestedSlice(c.Object, "webhooks")
		if err != nil {
			return fmt.Errorf("cannot read webhooks %q: %w", c.GetName(), err)
		}
		for _, raw := range webhooks {
			w, _ := raw.(map[string]any)
			path, _, _ := unstructured.NestedString(w, "clientConfig", "service", "path")
			w["clientConfig"] = h.clientConfig(path)
		}
		if err := unstructured.SetNestedSlice(c.Object, webhooks, "webhooks"); err != nil {
			return fmt.Errorf("cannot change webhooks %q: %w", c.GetName(), err)
		}
	}
	return nil
}

// crossplaneRoles are the roles of Crossplane's own chart, with its defaults.
func (s *Stack) crossplaneRoles() ([]*Object, error) {
	values := map[string]any{
		"Release": map[string]any{"Namespace": crossplaneSystem},
		"Values": map[string]any{
			"rbacManager":    map[string]any{"deploy": true, "skipAggregatedClusterRoles": false},
			"serviceAccount": map[string]any{"create": true},
		},
	}
	functions := template.FuncMap{
		"include": func(string, any) string { return "" },
		"indent":  func(n int, text string) string { return strings.Repeat(" ", n) + text },
	}
	var out []*Object
	for _, name := range []string{
		"clusterrole", "clusterrolebinding", "rbac-manager-clusterrole", "rbac-manager-clusterrolebinding", "rbac-manager-managed-clusterroles",
	} {
		path := filepath.Join(s.Tools.Modules["github.com/crossplane/crossplane/v2"], "cluster", "charts", "crossplane", "templates", name+".yaml")
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the chart: %w", err)
		}
		t, err := template.New(name).Funcs(functions).Parse(`{{define "crossplane.name"}}crossplane{{end}}` + string(raw))
		if err != nil {
			return nil, fmt.Errorf("cannot read the chart's %q: %w", name, err)
		}
		var rendered bytes.Buffer
		if err := t.Execute(&rendered, values); err != nil {
			return nil, fmt.Errorf("cannot render the chart's %q: %w", name, err)
		}
		objects, err := Decode(rendered.Bytes())
		if err != nil {
			return nil, fmt.Errorf("the chart's %q: %w", name, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}
