// Package xr is the boundary to Crossplane: it reads a request into plain
// values and writes what was composed into a response. Nothing behind it knows
// protobuf.
package xr

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/spec/strict"
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
	// Wish tells what the claim and the platform team ask for apart from every
	// other wish: the same for the same identity, spec and input.
	Wish string
	// Status that the composite had, as it was written by an earlier run.
	Status object.View
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

	spec, input *structpb.Struct
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

// machinery are the fields of a composite's spec that Crossplane itself writes.
func machinery() []string {
	return []string{
		"claimRef", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector", "compositionSelector",
		"compositionUpdatePolicy", "compositeDeletePolicy", "crossplane", "environmentConfigRefs",
		"publishConnectionDetailsTo", "resourceRef", "resourceRefs", "writeConnectionSecretToRef",
	}
}

// Read a request. It returns an error for a composite or an input that cannot
// be encoded.
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
		spec:        withoutMachinery(composite.GetFields()["spec"].GetStructValue()),
		input:       req.GetInput(),
	}
	var err error
	s.Wish, err = s.wish()
	return s, err
}

func (s Snapshot) wish() (string, error) {
	h := sha256.New()
	id := []string{s.Identity.Namespace, s.Identity.Name, s.Identity.ClaimNamespace, s.Identity.ClaimName}
	h.Write(fmt.Appendf(nil, "%q", id))
	for _, part := range []*structpb.Struct{s.spec, s.input} {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(part)
		if err != nil {
			return "", fmt.Errorf("cannot read %s: %w", s.Identity, err)
		}
		h.Write(fmt.Appendf(nil, "%d:", len(b)))
		h.Write(b)
	}
	return string(h.Sum(nil)), nil
}

// Claim decodes what the claim asks for, with defaults, and says what cannot be
// decoded. What can is in the spec all the same, so that its values can be
// judged together with the errors.
func (s Snapshot) Claim() (*spec.Spec, field.ErrorList) {
	out := &spec.Spec{}
	errs := strict.Decode(ToMap(s.spec), out, field.NewPath("spec"))
	spec.Default(out)
	return out, errs
}

// Input decodes what the platform team decided, in the same way.
func (s Snapshot) Input() (*v1beta1.Input, field.ErrorList) {
	out := &v1beta1.Input{}
	errs := strict.Decode(ToMap(s.input), out, field.NewPath("input"))
	v1beta1.Default(out)
	return out, errs
}

// ClaimError says what is wrong with the claim: what could not be decoded, and
// what is judged wrong of the rest. It is nil when nothing is.
func (s Snapshot) ClaimError(undecoded, wrong field.ErrorList) error {
	return invalid(User, s.Identity.String(), undecoded, wrong)
}

// InputError says what is wrong with the function's input, in the same way.
func (s Snapshot) InputError(undecoded, wrong field.ErrorList) error {
	return invalid(PlatformTeam, "the function's input", undecoded, wrong)
}

func invalid(fault Fault, what string, undecoded, wrong field.ErrorList) error {
	told := map[string]bool{}
	for _, err := range undecoded {
		told[err.Field] = true
	}
	// A value that could not be decoded reads as missing.
	errs := slices.DeleteFunc(slices.Concat(undecoded, wrong), func(err *field.Error) bool {
		return err.Type == field.ErrorTypeRequired && told[err.Field] && !slices.Contains(undecoded, err)
	})
	if len(errs) == 0 {
		return nil
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return &InvalidError{Fault: fault, What: what, Errors: errs}
}

// withoutMachinery is the part of a composite's spec that the claim wrote.
func withoutMachinery(s *structpb.Struct) *structpb.Struct {
	fields := maps.Clone(s.GetFields())
	for _, name := range machinery() {
		delete(fields, name)
	}
	return &structpb.Struct{Fields: fields}
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
