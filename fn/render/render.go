// Package render runs the function in-process over a claim or a composite, as
// Crossplane would, and prints what the cluster would get in the form of the
// crossplane CLI's render command.
package render

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// Input of a render, as unstructured objects.
type Input struct {
	// Composite is the claim or the composite.
	Composite map[string]any
	// Composition that holds the function's input; may be nil.
	Composition map[string]any
	// Observed composed objects, each with the annotation that names its key.
	Observed []map[string]any
	// Required objects that the function may ask for.
	Required []map[string]any
	// Credentials are the Secrets that the Composition's step may name.
	Credentials []map[string]any
}

// Output of a render.
type Output struct {
	// Composite that was rendered, with what Crossplane adds to a claim.
	Composite map[string]any
	// Request of the last round.
	Request *fnv1.RunFunctionRequest
	// Response of the last round.
	Response *fnv1.RunFunctionResponse
}

// maxRounds is how often Crossplane calls a function whose requirements change.
const maxRounds = 5

// Run the function until its requirements are stable. It returns an error for
// input that is not a claim or a composite of ours, or that cannot be put into
// a request.
func Run(ctx context.Context, fn fnv1.FunctionRunnerServiceServer, in Input) (Output, error) {
	composite, err := Composite(in.Composite)
	if err != nil {
		return Output{}, err
	}
	req, err := request(composite, in)
	if err != nil {
		return Output{}, err
	}
	out := Output{Composite: composite, Request: req}
	var asked *fnv1.Requirements
	for range maxRounds {
		if out.Response, err = fn.RunFunction(ctx, proto.CloneOf(req)); err != nil {
			return Output{}, fmt.Errorf("cannot run the function: %w", err)
		}
		if out.Fatal() || proto.Equal(asked, out.Response.GetRequirements()) {
			return out, nil
		}
		asked = out.Response.GetRequirements()
		if req.RequiredResources, err = fetch(asked, in.Required); err != nil {
			return Output{}, err
		}
	}
	return out, fmt.Errorf("the function's requirements did not settle in %d rounds", maxRounds)
}

// Fatal says whether the run ended with a fatal result.
func (o Output) Fatal() bool {
	for _, r := range o.Response.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return true
		}
	}
	return false
}

// Where objects and references have their kinds and names.
const (
	kindField = "kind"
	nameField = "name"
)

// Labels and annotations of Crossplane.
const (
	labelComposite      = "crossplane.io/composite"
	labelClaimName      = "crossplane.io/claim-name"
	labelClaimNamespace = "crossplane.io/claim-namespace"
	annotationKey       = "crossplane.io/composition-resource-name"
)

// Composite makes of a claim the composite that Crossplane would make, and
// completes one that it is given. The name ends in five characters that
// Crossplane draws by chance; here they follow from the claim, so that a preview
// is the same every time. It returns an error for anything else.
func Composite(o map[string]any) (map[string]any, error) {
	switch kind, _ := o[kindField].(string); kind {
	case spec.CompositeKind:
		return complete(o), nil
	case spec.ClaimKind:
		return complete(fromClaim(o)), nil
	default:
		return nil, fmt.Errorf("cannot render kind %q: it must be a claim (%s) or a composite (%s)", kind, spec.ClaimKind, spec.CompositeKind)
	}
}

func fromClaim(claim map[string]any) map[string]any {
	name, namespace := text(claim, "metadata", nameField), text(claim, "metadata", "namespace")
	if namespace == "" {
		namespace = "default"
	}
	fields, _ := claim["spec"].(map[string]any)
	out := maps.Clone(fields)
	if out == nil {
		out = map[string]any{}
	}
	out["claimRef"] = map[string]any{
		"apiVersion": claim["apiVersion"], kindField: claim[kindField], nameField: name, "namespace": namespace,
	}
	composite := map[string]any{
		"apiVersion": claim["apiVersion"], kindField: spec.CompositeKind,
		"metadata": map[string]any{
			nameField: name + "-" + object.Hash(namespace + "/" + name)[:5],
			"labels":  map[string]any{labelClaimName: name, labelClaimNamespace: namespace},
		},
		"spec": out,
	}
	if status, ok := claim["status"]; ok {
		composite["status"] = status
	}
	return composite
}

// complete adds what the API server and Crossplane would: the UID and the label
// that ties composed resources to their composite.
func complete(o map[string]any) map[string]any {
	out := maps.Clone(o)
	given, _ := o["metadata"].(map[string]any)
	metadata := maps.Clone(given)
	if metadata == nil {
		metadata = map[string]any{}
	}
	given, _ = metadata["labels"].(map[string]any)
	labels := maps.Clone(given)
	if labels == nil {
		labels = map[string]any{}
	}
	if _, ok := labels[labelComposite]; !ok {
		labels[labelComposite] = metadata[nameField]
	}
	metadata["labels"] = labels
	if _, ok := metadata["uid"]; !ok {
		metadata["uid"] = uid(text(o, "apiVersion"), text(o, kindField), text(o, "metadata", "namespace"), text(o, "metadata", nameField))
	}
	out["metadata"] = metadata
	return out
}

// uid of an object that no API server has seen, as the crossplane CLI derives
// it.
func uid(apiVersion, kind, namespace, name string) string {
	identity := fmt.Sprintf("%s, Kind=%s\x00%s\x00%s", apiVersion, kind, namespace, name)
	return uuid.NewSHA1(uuid.Nil, []byte(identity)).String()
}

// text at a path of an unstructured object, or "".
func text(o map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		o, _ = o[name].(map[string]any)
	}
	s, _ := o[path[len(path)-1]].(string)
	return s
}

func request(composite map[string]any, in Input) (*fnv1.RunFunctionRequest, error) {
	c, err := structpb.NewStruct(composite)
	if err != nil {
		return nil, fmt.Errorf("cannot read the composite: %w", err)
	}
	req := &fnv1.RunFunctionRequest{
		Meta:     &fnv1.RequestMeta{Tag: "render"},
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: c}, Resources: map[string]*fnv1.Resource{}},
	}
	for _, o := range in.Observed {
		key := text(o, "metadata", "annotations", annotationKey)
		if key == "" {
			return nil, fmt.Errorf("cannot use observed %s %q: it has no annotation %s", text(o, kindField), text(o, "metadata", nameField), annotationKey)
		}
		s, err := structpb.NewStruct(o)
		if err != nil {
			return nil, fmt.Errorf("cannot read observed object %q: %w", key, err)
		}
		req.Observed.Resources[key] = &fnv1.Resource{Resource: s}
	}
	step, err := stepOf(in.Composition)
	if err != nil {
		return nil, err
	}
	if req.Input, err = inputOf(step); err != nil {
		return nil, err
	}
	req.Credentials = credentialsOf(step, in.Credentials)
	return req, nil
}

// What tells the function's step of a Composition from others: the name it is
// installed under, or the group of its input.
const (
	functionName = "function-l2cluster"
	inputGroup   = "l2cluster.fn.crossplane.io/"
)

// stepOf is the step of a Composition that runs this function; empty without a
// Composition.
func stepOf(composition map[string]any) (map[string]any, error) {
	if composition == nil {
		return map[string]any{}, nil
	}
	fields, _ := composition["spec"].(map[string]any)
	steps, _ := fields["pipeline"].([]any)
	for _, s := range steps {
		step, _ := s.(map[string]any)
		if text(step, "functionRef", nameField) == functionName || strings.HasPrefix(text(step, "input", "apiVersion"), inputGroup) {
			return step, nil
		}
	}
	return nil, fmt.Errorf("cannot find the function's step in Composition %q: none has functionRef.name %s", text(composition, "metadata", nameField), functionName)
}

func inputOf(step map[string]any) (*structpb.Struct, error) {
	input, _ := step["input"].(map[string]any)
	s, err := structpb.NewStruct(input)
	if err != nil {
		return nil, fmt.Errorf("cannot read the input of the Composition's step: %w", err)
	}
	return s, nil
}

// credentialsOf are the Secrets that the step names, as far as they were given.
func credentialsOf(step map[string]any, secrets []map[string]any) map[string]*fnv1.Credentials {
	out := map[string]*fnv1.Credentials{}
	list, _ := step["credentials"].([]any)
	for _, c := range list {
		credential, _ := c.(map[string]any)
		for _, s := range secrets {
			if text(s, "metadata", nameField) != text(credential, "secretRef", nameField) ||
				text(s, "metadata", "namespace") != text(credential, "secretRef", "namespace") {
				continue
			}
			out[text(credential, nameField)] = &fnv1.Credentials{Source: &fnv1.Credentials_CredentialData{
				CredentialData: &fnv1.CredentialData{Data: secretData(s)},
			}}
		}
	}
	return out
}

func secretData(secret map[string]any) map[string][]byte {
	out := map[string][]byte{}
	data, _ := secret["data"].(map[string]any)
	for key := range data {
		if b, err := base64.StdEncoding.DecodeString(text(data, key)); err == nil {
			out[key] = b
		}
	}
	return out
}

// fetch what was asked for from the objects that were given.
func fetch(asked *fnv1.Requirements, given []map[string]any) (map[string]*fnv1.Resources, error) {
	out := map[string]*fnv1.Resources{}
	for name, selector := range asked.GetResources() {
		found := &fnv1.Resources{}
		for _, o := range given {
			if !selects(selector, o) {
				continue
			}
			s, err := structpb.NewStruct(o)
			if err != nil {
				return nil, fmt.Errorf("cannot read required object %q: %w", text(o, "metadata", nameField), err)
			}
			found.Items = append(found.Items, &fnv1.Resource{Resource: s})
		}
		out[name] = found
	}
	return out, nil
}

func selects(s *fnv1.ResourceSelector, o map[string]any) bool {
	if text(o, "apiVersion") != s.GetApiVersion() || text(o, kindField) != s.GetKind() {
		return false
	}
	if s.Namespace != nil && text(o, "metadata", "namespace") != s.GetNamespace() {
		return false
	}
	if name, ok := s.GetMatch().(*fnv1.ResourceSelector_MatchName); ok {
		return text(o, "metadata", nameField) == name.MatchName
	}
	for key, value := range s.GetMatchLabels().GetLabels() {
		if text(o, "metadata", "labels", key) != value {
			return false
		}
	}
	return true
}
