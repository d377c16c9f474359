package xr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/spec"
)

// Condition of composite and claim.
type Condition struct {
	// Type of the condition.
	Type string
	// Status is True, False or Unknown.
	Status string
	// Reason in one word.
	Reason string
	// Message names the object, what is wrong and what to do.
	Message string
}

// The states of a condition, as Kubernetes spells them.
const (
	True    = "True"
	False   = "False"
	Unknown = "Unknown"
)

// Outcome is what one run decided.
type Outcome struct {
	// Objects that are desired.
	Objects []object.Object
	// Kept are keys of observed objects that stay exactly as they are.
	Kept []string
	// Status of the composite, in unstructured values.
	Status map[string]any
	// Conditions of composite and claim.
	Conditions []Condition
	// Warnings about the claim, each a sentence. They stand in the message of
	// the condition InputValid, and become events when they are new.
	Warnings []string
	// Connection details of the composite.
	Connection map[string][]byte
	// TTL is when the function wants to be called again at the latest.
	TTL time.Duration
}

// Respond starts a response that passes on what earlier functions desired.
func Respond(req *fnv1.RunFunctionRequest, ttl time.Duration) *fnv1.RunFunctionResponse {
	desired := req.GetDesired()
	if desired == nil {
		desired = &fnv1.State{}
	}
	if desired.Resources == nil {
		desired.Resources = map[string]*fnv1.Resource{}
	}
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(ttl)},
		Desired: desired,
		Context: req.GetContext(),
	}
}

// Require asks Crossplane to fetch objects and call the function again.
func Require(rsp *fnv1.RunFunctionResponse, requirements map[string]object.Selector) {
	rsp.Requirements = &fnv1.Requirements{Resources: map[string]*fnv1.ResourceSelector{}}
	for name, r := range requirements {
		s := &fnv1.ResourceSelector{ApiVersion: r.APIVersion, Kind: r.Kind}
		if r.Namespace != "" {
			s.Namespace = &r.Namespace
		}
		s.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: r.Labels}}
		if r.Name != "" {
			s.Match = &fnv1.ResourceSelector_MatchName{MatchName: r.Name}
		}
		rsp.Requirements.Resources[name] = s
	}
}

// Fail ends a run with a fatal result, which leaves every existing object as it
// is.
func Fail(rsp *fnv1.RunFunctionResponse, err error) {
	c := Condition{Type: ConditionInputValid, Status: False, Reason: "Invalid", Message: err.Error()}
	var invalid *InvalidError
	var refused *spec.RefusedError
	switch {
	case errors.As(err, &refused):
	case !errors.As(err, &invalid):
		c.Status, c.Reason = Unknown, "Error"
	case invalid.Fault == PlatformTeam:
		c.Reason = "InvalidComposition"
	}
	setConditions(rsp, []Condition{c})
	rsp.Results = append(rsp.GetResults(), result(fnv1.Severity_SEVERITY_FATAL, c.Reason, err.Error()))
}

// Write what was decided into a response. It returns an error for an object
// that cannot be put into a message.
func Write(rsp *fnv1.RunFunctionResponse, s Snapshot, o Outcome) error {
	rsp.Meta.Ttl = durationpb.New(o.TTL)
	for _, obj := range o.Objects {
		body, err := structpb.NewStruct(obj.Body)
		if err != nil {
			return fmt.Errorf("cannot write object %q: %w", obj.Key, err)
		}
		ready := fnv1.Ready_READY_FALSE
		if obj.Ready == object.IsReady {
			ready = fnv1.Ready_READY_TRUE
		}
		rsp.Desired.Resources[obj.Key] = &fnv1.Resource{Resource: body, Ready: ready}
	}
	for _, key := range o.Kept {
		v, ok := s.Observed[key].(view)
		if !ok {
			return fmt.Errorf("cannot keep object %q: it was not observed", key)
		}
		rsp.Desired.Resources[key] = &fnv1.Resource{Resource: kept(v.s), Ready: fnv1.Ready_READY_TRUE}
	}
	if err := writeComposite(rsp, o); err != nil {
		return err
	}
	if size := proto.Size(rsp); size > largeResponse {
		o = o.warned(fmt.Sprintf("the response has %d MiB, and many gRPC clients take at most 4: split the cluster before it grows further, "+
			"or put fewer networks on its machines", size>>20))
	}
	setConditions(rsp, o.Conditions)
	rsp.Results = append(rsp.GetResults(), results(s.Conditions, o)...)
	return nil
}

// largeResponse is the size in bytes from which a response says that it is large. A
// client of gRPC takes 4 MiB unless it is told otherwise:
// https://pkg.go.dev/google.golang.org/grpc#MaxCallRecvMsgSize.
const largeResponse = 3 << 20

// warned is the outcome with a warning more.
func (o Outcome) warned(text string) Outcome {
	o.Warnings = append(slices.Clone(o.Warnings), text)
	o.Conditions = slices.Clone(o.Conditions)
	for i, c := range o.Conditions {
		if c.Type == ConditionInputValid && c.Status == True {
			o.Conditions[i] = InputValid(o.Warnings)
		}
	}
	return o
}

// InputValid is the condition of a claim and an input that can be used, with what
// their users should know.
func InputValid(warnings []string) Condition {
	c := Condition{Type: ConditionInputValid, Status: True, Reason: "Valid"}
	if len(warnings) > 0 {
		c.Reason, c.Message = "ValidWithWarnings", strings.Join(warnings, "; ")
	}
	return c
}

// results are events, so they tell what changed and nothing else: Crossplane
// calls a function far more often than anything happens.
func results(before map[string]Condition, o Outcome) []*fnv1.Result {
	var out []*fnv1.Result
	for _, w := range o.Warnings {
		if strings.Contains(before[ConditionInputValid].Message, w) {
			continue
		}
		out = append(out, result(fnv1.Severity_SEVERITY_WARNING, "InputWarning", w))
	}
	for _, c := range o.Conditions {
		was, known := before[c.Type]
		if !known || was.Status == c.Status || c.Type == ConditionInputValid {
			continue
		}
		severity := fnv1.Severity_SEVERITY_NORMAL
		if was.Status == True {
			severity = fnv1.Severity_SEVERITY_WARNING
		}
		text := fmt.Sprintf("%s is now %s", c.Type, c.Status)
		if c.Message != "" {
			text += ": " + c.Message
		}
		out = append(out, result(severity, c.Type, text))
	}
	return out
}

func result(severity fnv1.Severity, reason, message string) *fnv1.Result {
	return &fnv1.Result{
		Severity: severity, Message: message, Reason: &reason,
		Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
	}
}

func writeComposite(rsp *fnv1.RunFunctionResponse, o Outcome) error {
	status, err := structpb.NewValue(o.Status)
	if err != nil {
		return fmt.Errorf("cannot write the composite's status: %w", err)
	}
	rsp.Desired.Composite = &fnv1.Resource{
		Resource:          &structpb.Struct{Fields: map[string]*structpb.Value{"status": status}},
		ConnectionDetails: o.Connection,
		Ready:             fnv1.Ready_READY_TRUE,
	}
	for _, c := range o.Conditions {
		if c.Status != True {
			rsp.Desired.Composite.Ready = fnv1.Ready_READY_FALSE
		}
	}
	return nil
}

// kept is an observed object without what the API server and other controllers
// own: applied again, it changes nothing.
func kept(observed *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, name := range []string{"apiVersion", "kind", "spec"} {
		if v, ok := observed.GetFields()[name]; ok {
			out.Fields[name] = v
		}
	}
	metadata := map[string]*structpb.Value{}
	from := observed.GetFields()["metadata"].GetStructValue().GetFields()
	for _, name := range []string{"name", "namespace", "labels"} {
		if v, ok := from[name]; ok {
			metadata[name] = v
		}
	}
	if v := ownAnnotations(from["annotations"].GetStructValue()); v != nil {
		metadata["annotations"] = v
	}
	out.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: metadata})
	return out
}

// AnnotationExternalName ties a managed resource to what it manages.
const AnnotationExternalName = "crossplane.io/external-name"

// ourAnnotations is how annotations begin that nobody but the function writes.
const ourAnnotations = "l2cluster.io/"

// ownAnnotations are those that the function sends, or nil without any.
func ownAnnotations(annotations *structpb.Struct) *structpb.Value {
	out := map[string]*structpb.Value{}
	for name, v := range annotations.GetFields() {
		if name == AnnotationExternalName || strings.HasPrefix(name, ourAnnotations) {
			out[name] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: out})
}

func setConditions(rsp *fnv1.RunFunctionResponse, conditions []Condition) {
	status := map[string]fnv1.Status{
		True: fnv1.Status_STATUS_CONDITION_TRUE, False: fnv1.Status_STATUS_CONDITION_FALSE,
		Unknown: fnv1.Status_STATUS_CONDITION_UNKNOWN,
	}
	for _, c := range conditions {
		out := &fnv1.Condition{
			Type: c.Type, Status: status[c.Status], Reason: c.Reason,
			Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
		}
		if c.Message != "" {
			out.Message = &c.Message
		}
		rsp.Conditions = append(rsp.GetConditions(), out)
	}
}

// Types of the conditions on composite and claim.
const (
	// ConditionInputValid says that claim and input can be used.
	ConditionInputValid = "InputValid"
	// ConditionNetworksReady says that VLANs and gateways exist.
	ConditionNetworksReady = "NetworksReady"
	// ConditionAddressesAllocated says that every machine has its addresses,
	// and that there are enough for a rollout.
	ConditionAddressesAllocated = "AddressesAllocated"
	// ConditionPortsAttached says that every machine's ports carry its VLANs.
	ConditionPortsAttached = "PortsAttached"
	// ConditionNodesVerified says that every machine's network came up.
	ConditionNodesVerified = "NodesVerified"
	// ConditionClusterAvailable says that the Kubernetes cluster works.
	ConditionClusterAvailable = "ClusterAvailable"
)

// Keys of the snapshot's observed objects, sorted.
func (s Snapshot) Keys() []string { return slices.Sorted(maps.Keys(s.Observed)) }
