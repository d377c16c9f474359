package stack

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func namespace(name string) *Object {
	return &Object{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}

// secretData of a Secret, decoded.
func (s *Stack) secretData(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	o, err := s.Client.Get(ctx, Ref{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, NotYet("there is no Secret %s/%s", namespace, name)
	}
	return SecretData(o)
}

// SecretData returns what is in a Secret, decoded.
func SecretData(o *Object) (map[string][]byte, error) {
	encoded, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("cannot read Secret %q: %w", o.GetName(), err)
	}
	out := map[string][]byte{}
	for k, v := range encoded {
		if out[k], err = base64.StdEncoding.DecodeString(v); err != nil {
			return nil, fmt.Errorf("cannot read key %q of Secret %q: %w", k, o.GetName(), err)
		}
	}
	return out, nil
}

// startCrossplane as its chart does, under its own service account and roles.
func (s *Stack) startCrossplane(ctx context.Context) error {
	roles, err := s.crossplaneRoles()
	if err != nil {
		return err
	}
	if err := s.apply(ctx, append([]*Object{namespace(crossplaneSystem), crossplaneWebhooks()}, roles...)...); err != nil {
		return err
	}
	core, err := s.kubeconfig("crossplane", identity{user: crossplaneIdentity, groups: []string{
		"system:serviceaccounts", "system:serviceaccounts:" + crossplaneSystem,
	}})
	if err != nil {
		return err
	}
	rbac, err := s.kubeconfig("rbac-manager", identity{user: rbacIdentity, groups: []string{"system:serviceaccounts"}})
	if err != nil {
		return err
	}
	env := []string{
		"KUBECONFIG=" + core, "POD_NAMESPACE=" + crossplaneSystem, "POD_SERVICE_ACCOUNT=crossplane",
		"WEBHOOK_SERVICE_NAME=crossplane-webhooks", "WEBHOOK_SERVICE_NAMESPACE=" + crossplaneSystem,
		fmt.Sprintf("WEBHOOK_SERVICE_PORT=%d", portWebhooks), "TLS_CA_SECRET_NAME=crossplane-root-ca",
		"TLS_SERVER_SECRET_NAME=crossplane-tls-server", "TLS_CLIENT_SECRET_NAME=crossplane-tls-client",
	}
	if err := s.initialize(ctx, env); err != nil {
		return err
	}
	certs := map[string]string{}
	for _, name := range []string{"server", "client"} {
		data, err := s.secretData(ctx, crossplaneSystem, "crossplane-tls-"+name)
		if err != nil {
			return err
		}
		certs[name] = filepath.Join(s.Dir, "crossplane-tls-"+name)
		if err := write(certs[name], data); err != nil {
			return err
		}
	}
	env = append(env, "TLS_SERVER_CERTS_DIR="+certs["server"], "TLS_CLIENT_CERTS_DIR="+certs["client"])
	if err := s.spawn("crossplane", s.Tools.Binaries["crossplane"], env, "core", "start", "--debug", "--package-runtime=External",
		fmt.Sprintf("--webhook-port=%d", portWebhooks), fmt.Sprintf("--metrics-port=%d", portCrossplane),
		fmt.Sprintf("--health-probe-port=%d", portCrossplane+1), "--cache-dir="+s.dir("xpkg"),
	); err != nil {
		return err
	}
	if err := s.spawn("crossplane-rbac", s.Tools.Binaries["crossplane"], []string{"KUBECONFIG=" + rbac}, "rbac", "start"); err != nil {
		return err
	}
	return s.listening(ctx, "crossplane", portWebhooks)
}

// initialize does what the init container does. Its first run can fail on a
// CRD that it has just made and that is not served yet; a pod would be started
// again.
func (s *Stack) initialize(ctx context.Context, env []string) error {
	cluster := filepath.Join(s.Tools.Modules["github.com/crossplane/crossplane/v2"], "cluster")
	return Wait(ctx, 2*time.Minute, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, s.Tools.Binaries["crossplane"], "core", "init")
		cmd.Env = append(append(cmd.Environ(), env...),
			"CRDS_PATH="+filepath.Join(cluster, "crds"), "WEBHOOK_CONFIGS_PATH="+filepath.Join(cluster, "webhookconfigurations"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return NotYet("crossplane core init: %v: %s", err, lines[len(lines)-1])
		}
		return nil
	})
}

// crossplaneWebhooks is the Service of Crossplane's webhooks. Its address is a
// loopback one, and Crossplane listens at all of them.
func crossplaneWebhooks() *Object {
	return &Object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "crossplane-webhooks", "namespace": crossplaneSystem},
		"spec": map[string]any{
			"clusterIP": crossplaneService,
			"ports":     []any{map[string]any{"protocol": "TCP", "port": int64(portWebhooks), "targetPort": int64(portWebhooks)}},
		},
	}}
}

// startFunction with a server certificate that Crossplane's root signed, and
// with mutual TLS, as Crossplane itself would start it.
func (s *Stack) startFunction(ctx context.Context) error {
	data, err := s.secretData(ctx, crossplaneSystem, "crossplane-root-ca")
	if err != nil {
		return err
	}
	root, err := readAuthority(data["tls.crt"], data["tls.key"])
	if err != nil {
		return err
	}
	serving, err := root.issue(identity{user: "function-l2cluster"})
	if err != nil {
		return err
	}
	certs := filepath.Join(s.Dir, "function-tls")
	if err := write(certs, map[string][]byte{"ca.crt": data["tls.crt"], "tls.crt": serving.cert, "tls.key": serving.key}); err != nil {
		return err
	}
	secret := &Object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": crossplaneSystem, "name": functionSecret},
		"stringData": map[string]any{"tls.crt": string(serving.cert), "tls.key": string(serving.key), "ca.crt": string(data["tls.crt"])},
	}}
	if err := s.apply(ctx, secret); err != nil {
		return err
	}
	return s.spawn("function", s.Tools.Function, nil, "serve", "--debug", "--tls-certs-dir="+certs, "--address="+local(portFunction))
}

// functionName is how the configuration's Composition calls the function.
const functionName = "l2cluster-function-l2cluster"

// functionSecret has the function's certificate.
const functionSecret = "function-l2cluster-tls-server"

// install the function's package and its configuration's.
func (s *Stack) install(ctx context.Context) error {
	objects := []*Object{
		imageConfig(), crossplanePackage("Function", functionName, "function-l2cluster"),
		crossplanePackage("Configuration", "l2cluster-configuration-l2cluster", "configuration-l2cluster"),
	}
	role, err := Read(filepath.Join(s.Tools.Root, "package", "rbac"))
	if err != nil {
		return err
	}
	if err := s.apply(ctx, append(role, objects...)...); err != nil {
		return err
	}
	if err := Wait(ctx, 2*time.Minute, s.pointAtFunction); err != nil {
		return fmt.Errorf("cannot point Crossplane at the function: %w", err)
	}
	for _, o := range objects[1:] {
		if err := Wait(ctx, 3*time.Minute, func(ctx context.Context) error { return s.is(ctx, RefOf(o), "Healthy") }); err != nil {
			return err
		}
	}
	xrd := Ref{APIVersion: "apiextensions.crossplane.io/v1", Kind: "CompositeResourceDefinition", Name: "xl2clusters.l2cluster.io"}
	return Wait(ctx, 2*time.Minute, func(ctx context.Context) error {
		return errors.Join(s.is(ctx, xrd, "Established"), s.is(ctx, xrd, "Offered"))
	})
}

// is a condition of an object true?
func (s *Stack) is(ctx context.Context, r Ref, condition string) error {
	o, err := s.Client.Get(ctx, r)
	if err != nil {
		return err
	}
	if o == nil {
		return NotYet("there is no %s %q", r.Kind, r.Name)
	}
	if status, why := ConditionOf(o, condition); status != "True" {
		return NotYet("%s %q is not %s: %s", r.Kind, r.Name, condition, why)
	}
	return nil
}

// pointAtFunction does what a package runtime that is somebody else's business
// does: it tells Crossplane where the function runs, with which certificate,
// and that it does.
func (s *Stack) pointAtFunction(ctx context.Context) error {
	revisions, err := s.Client.List(ctx, Ref{APIVersion: "pkg.crossplane.io/v1", Kind: "FunctionRevision"})
	if err != nil {
		return err
	}
	if len(revisions) == 0 {
		return NotYet("there is no revision of the function")
	}
	for i := range revisions {
		conditions, _, _ := unstructured.NestedSlice(revisions[i].Object, "status", "conditions")
		conditions = slices.DeleteFunc(conditions, func(raw any) bool {
			c, _ := raw.(map[string]any)
			return c["type"] == "RuntimeHealthy"
		})
		status := map[string]any{
			"endpoint": fmt.Sprintf("dns:///localhost:%d", portFunction), "tlsServerSecretName": functionSecret,
			"conditions": append(conditions, map[string]any{
				"type": "RuntimeHealthy", "status": "True", "reason": "HealthyPackageRevision",
				"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
			}),
		}
		if err := s.Client.Patch(ctx, RefOf(&revisions[i]), map[string]any{"status": status}, "status"); err != nil {
			return err
		}
	}
	return nil
}

// imageConfig lets Crossplane find the packages in the registry of this stack.
func imageConfig() *Object {
	return &Object{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "ImageConfig", "metadata": map[string]any{"name": "e2e"},
		"spec": map[string]any{
			"matchImages":  []any{map[string]any{"type": "Prefix", "prefix": "ghcr.io/l2cluster"}},
			"rewriteImage": map[string]any{"prefix": local(portRegistry) + "/l2cluster"},
		},
	}}
}

// crossplanePackage to install. The providers that the configuration depends
// on run beside Crossplane, not as packages.
func crossplanePackage(kind, name, repository string) *Object {
	return &Object{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1", "kind": kind, "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"package": "ghcr.io/l2cluster/" + repository + ":" + packageVersion, "skipDependencyResolution": true,
			// A Crossplane that go build made knows no version of its own.
			"ignoreCrossplaneConstraints": true,
		},
	}}
}
