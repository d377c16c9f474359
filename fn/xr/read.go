// Package xr is the boundary to Crossplane: it reads a request into plain
// values and writes what was composed into a response. Nothing behind it knows
// protobuf.
package xr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// Identity of a composite.
type Identity struct {
	// Name and UID of the composite.
	Name, UID string
	// Created is when the composite was made; zero when unknown.
	Created time.Time
	// ClaimNamespace and ClaimName are those of its claim, or empty.
	ClaimNamespace, ClaimName string
	// Namespace of the composite itself: empty for one that is cluster-scoped.
	Namespace string
}

// Snapshot is all that one run knows of the world.
type Snapshot struct {
	// Identity of the composite.
	Identity Identity
	// Spec of the claim, with defaults, not yet validated.
	Spec *spec.Spec
	// Status that the composite had, as it was written by an earlier run.
	Status object.View
	// Input of the platform team, with defaults, not yet validated.
	Input *v1beta1.Input
	// Observed composed objects by key.
	Observed map[string]object.View
	// Conditions of the composite by type, as an earlier run left them.
	Conditions map[string]Condition
	// Required objects by the name of their requirement.
	Required map[string]object.Required
	// Credentials of the pipeline step by name.
	Credentials map[string]map[string][]byte
	// Now is when the run began.
	Now time.Time
}

// Fault says whose fault an unusable request is.
type Fault int

// Who can mend what is wrong.
const (
	// User is the team that wrote the claim.
	User Fault = iota
	// PlatformTeam is the team that wrote the Composition.
	PlatformTeam
)

// InvalidError is a claim or an input that cannot be used.
type InvalidError struct {
	// Fault says whose it is.
	Fault Fault
	// What is invalid, for example L2Cluster team-a/edge.
	What string
	// Errors by field.
	Errors field.ErrorList
}

// Error lists what is wrong with each field.
func (e *InvalidError) Error() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s is invalid", e.What)
	if e.Fault == PlatformTeam {
		b.WriteString(" (the platform team can mend this in the Composition)")
	}
	for i, err := range e.Errors {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		b.WriteString(separator + err.Error())
	}
	return b.String()
}

// fields of a composite's spec that belong to Crossplane's machinery.
var machinery = []string{
	"claimRef", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector", "compositionSelector",
	"compositionUpdatePolicy", "compositeDeletePolicy", "crossplane", "environmentConfigRefs",
	"publishConnectionDetailsTo", "resourceRef", "resourceRefs", "writeConnectionSecretToRef",
}

// Read a request. It returns an *InvalidError when claim or input cannot be
// decoded; whether their values make sense is for their own validation to say.
func Read(req *fnv1.RunFunctionRequest, now time.Time) (Snapshot, error) {
	composite := req.GetObserved().GetComposite().GetResource()
	s := Snapshot{
		Identity:    readIdentity(view{composite}),
		Status:      view{composite.GetFields()["status"].GetStructValue()},
		Observed:    readObserved(req.GetObserved().GetResources()),
		Conditions:  readConditions(view{composite}),
		Required:    readRequired(req.GetRequiredResources()),
		Credentials: readCredentials(req.GetCredentials()),
		Now:         now,
	}
	var errs []error
	var err error
	if s.Input, err = readInput(req.GetInput()); err != nil {
		errs = append(errs, err)
	}
	if s.Spec, err = readSpec(s.Identity, composite.GetFields()["spec"].GetStructValue()); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

func readIdentity(v view) Identity {
	created, err := time.Parse(time.RFC3339, v.String("metadata", "creationTimestamp"))
	if err != nil {
		created = time.Time{}
	}
	return Identity{
		Name:           v.String("metadata", "name"),
		UID:            v.String("metadata", "uid"),
		Namespace:      v.String("metadata", "namespace"),
		Created:        created,
		ClaimNamespace: v.String("spec", "claimRef", "namespace"),
		ClaimName:      v.String("spec", "claimRef", "name"),
	}
}

// String names what a user knows: the claim, or the composite without one.
func (i Identity) String() string {
	if i.ClaimName != "" {
		return fmt.Sprintf("%s %s/%s", spec.ClaimKind, i.ClaimNamespace, i.ClaimName)
	}
	return fmt.Sprintf("%s %s", spec.CompositeKind, i.Name)
}

func readSpec(id Identity, s *structpb.Struct) (*spec.Spec, error) {
	fields := maps.Clone(s.GetFields())
	for _, name := range machinery {
		delete(fields, name)
	}
	out := &spec.Spec{}
	if err := decode(&structpb.Struct{Fields: fields}, out, field.NewPath("spec")); err != nil {
		return nil, &InvalidError{Fault: User, What: id.String(), Errors: field.ErrorList{err}}
	}
	spec.Default(out)
	return out, nil
}

func readInput(s *structpb.Struct) (*v1beta1.Input, error) {
	out := &v1beta1.Input{}
	if err := decode(s, out, field.NewPath("input")); err != nil {
		return nil, &InvalidError{Fault: PlatformTeam, What: "the function's input", Errors: field.ErrorList{err}}
	}
	v1beta1.Default(out)
	return out, nil
}

// decode a struct strictly: a field that nobody reads is a typo, and whoever
// wrote it must hear of it.
func decode(s *structpb.Struct, into any, path *field.Path) *field.Error {
	b, err := json.Marshal(ToMap(s))
	if err != nil {
		return field.InternalError(path, fmt.Errorf("cannot encode: %w", err))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		at := path
		if mismatch.Field != "" {
			at = path.Child(mismatch.Field)
		}
		return field.Invalid(at, mismatch.Value, "must be of type "+mismatch.Type.String())
	}
	if err != nil {
		return field.Invalid(path, field.OmitValueType{}, err.Error())
	}
	return nil
}

func readObserved(resources map[string]*fnv1.Resource) map[string]object.View {
	out := make(map[string]object.View, len(resources))
	for key, r := range resources {
		out[key] = view{r.GetResource()}
	}
	return out
}

func readConditions(v view) map[string]Condition {
	out := map[string]Condition{}
	for _, c := range v.Views("status", "conditions") {
		out[c.String("type")] = Condition{
			Type: c.String("type"), Status: c.String("status"),
			Reason: c.String("reason"), Message: c.String("message"),
		}
	}
	return out
}

func readRequired(resources map[string]*fnv1.Resources) map[string]object.Required {
	out := make(map[string]object.Required, len(resources))
	for name, r := range resources {
		items := make([]object.View, 0, len(r.GetItems()))
		for _, item := range r.GetItems() {
			items = append(items, view{item.GetResource()})
		}
		out[name] = object.Required{Fetched: true, Items: sorted(items)}
	}
	return out
}

// sorted by namespace and name: fetched objects arrive in changing order.
func sorted(items []object.View) []object.View {
	type named struct {
		name string
		view object.View
	}
	list := make([]named, 0, len(items))
	for _, item := range items {
		list = append(list, named{item.String("metadata", "namespace") + "/" + item.String("metadata", "name"), item})
	}
	slices.SortStableFunc(list, func(a, b named) int { return strings.Compare(a.name, b.name) })
	for i := range list {
		items[i] = list[i].view
	}
	return items
}

func readCredentials(credentials map[string]*fnv1.Credentials) map[string]map[string][]byte {
	out := make(map[string]map[string][]byte, len(credentials))
	for name, c := range credentials {
		out[name] = c.GetCredentialData().GetData()
	}
	return out
}
