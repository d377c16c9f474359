// Package equinix plays crossplane-contrib/provider-jet-equinix: it reconciles
// its managed resources against the Metal API the way that one was seen to,
// its faults included. It takes its credentials from a ProviderConfig, works in
// the background, reports Synced, Ready and LastAsyncOperation, keeps management
// policies, and looks a resource up by its external-name before it creates it.
package equinix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"regexp"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
)

const (
	apiVersion   = "metal.equinix.jet.crossplane.io/v1alpha1"
	externalName = "crossplane.io/external-name"
	finalizer    = "finalizer.managedresource.crossplane.io"
)

// Provider reconciles managed resources.
type Provider struct {
	client *stack.Client
	log    *log.Logger
	// poll is how often a resource that nobody changed is looked at again.
	poll time.Duration

	mu    sync.Mutex
	state map[string]*state // by UID
	apis  map[string]*api   // by name of the ProviderConfig
}

// state is what the provider remembers of a resource.
type state struct {
	busy       bool
	generation int64
	deleting   bool
	next       time.Time
	failures   int
	// lastError of the last change.
	lastError error
	// created is the UUID of what was created and is not written down yet, known
	// that of what is there. The real provider finds it in its Terraform state
	// for as long as it runs, whatever the external-name says.
	created, known string
}

// New provider, as it is when its program begins: it remembers nothing.
func New(client *stack.Client, poll time.Duration, log *log.Logger) *Provider {
	return &Provider{client: client, log: log, poll: poll, state: map[string]*state{}, apis: map[string]*api{}}
}

// Run until the context ends.
func (p *Provider) Run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, kind := range []string{"Vlan", "Vrf", "ReservedIPBlock", "Gateway", "Port"} {
			objects, err := p.client.List(ctx, stack.Ref{APIVersion: apiVersion, Kind: kind})
			if err != nil && ctx.Err() == nil {
				p.log.Printf("cannot list %s: %v", kind, err)
			}
			for i := range objects {
				p.consider(ctx, &objects[i])
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// consider starts to work on an object that is due and that nobody works on.
func (p *Provider) consider(ctx context.Context, o *stack.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state[string(o.GetUID())]
	if s == nil {
		s = &state{}
		p.state[string(o.GetUID())] = s
	}
	deleting := o.GetDeletionTimestamp() != nil
	changed := s.generation != o.GetGeneration() || s.deleting != deleting
	if s.busy || !changed && time.Now().Before(s.next) {
		return
	}
	s.busy, s.generation, s.deleting = true, o.GetGeneration(), deleting
	go func() {
		err := p.reconcile(ctx, o, s)
		p.mu.Lock()
		defer p.mu.Unlock()
		s.busy, s.next = false, time.Now().Add(p.poll)
		if errors.Is(err, errAgain) {
			s.next, err = time.Now(), nil
		}
		if err == nil {
			s.failures = 0
			return
		}
		s.failures++
		s.next = time.Now().Add(min(time.Second<<min(s.failures, 6), 30*time.Second))
		if ctx.Err() == nil {
			p.log.Printf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}()
}

// errAgain asks for the next reconcile at once.
var errAgain = errors.New("again")

// resource is one object in one reconcile.
type resource struct {
	*stack.Object
	p     *Provider
	api   *api
	kind  kind
	state *state
}

func (r resource) allows(policy string) bool {
	policies, _, _ := unstructured.NestedStringSlice(r.Object.Object, "spec", "managementPolicies")
	return len(policies) == 0 || slices.Contains(policies, "*") || slices.Contains(policies, policy)
}

func (r resource) text(path ...string) string {
	v, _, _ := unstructured.NestedString(r.Object.Object, append([]string{"spec", "forProvider"}, path...)...)
	return v
}

func (r resource) value(path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(r.Object.Object, append([]string{"spec", "forProvider"}, path...)...)
	return v
}

// external is the UUID that is looked up.
func (r resource) external() string {
	return cmp.Or(r.state.known, r.state.created, r.GetAnnotations()[externalName])
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// reconcile an object once.
func (p *Provider) reconcile(ctx context.Context, o *stack.Object, s *state) error {
	r := resource{Object: o, p: p, kind: kinds[o.GetKind()], state: s}
	var err error
	if r.api, err = p.apiOf(ctx, o); err != nil {
		return r.fail(ctx, fmt.Errorf("connect failed: %w", err))
	}
	if o.GetDeletionTimestamp() != nil {
		return r.delete(ctx)
	}
	if !slices.Contains(o.GetFinalizers(), finalizer) {
		// The object has changed then, and is looked at again.
		if err := r.finalizers(ctx, append(o.GetFinalizers(), finalizer)); err != nil {
			return err
		}
		return errAgain
	}
	if err := r.resolve(ctx); err != nil {
		return r.fail(ctx, err)
	}
	if !uuid.MatchString(r.external()) {
		return r.fail(ctx, fmt.Errorf("observe failed: cannot run refresh: refresh failed: %q is not a valid UUID", r.external()))
	}
	if s.created != "" {
		return r.written(ctx)
	}
	seen, err := r.kind.observe(ctx, r)
	if err != nil {
		return r.fail(ctx, fmt.Errorf("observe failed: %w", err))
	}
	return r.act(ctx, seen)
}

// written writes the UUID of what was created into the object, which the real
// provider does some time after it created it.
func (r resource) written(ctx context.Context) error {
	if err := r.name(ctx, r.state.created); err != nil {
		return err
	}
	r.state.known, r.state.created = r.state.created, ""
	return errAgain
}

// name writes a UUID into the object's external-name.
func (r resource) name(ctx context.Context, id string) error {
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{externalName: id}}}
	return r.p.client.Patch(ctx, stack.RefOf(r.Object), patch)
}

// act on what was observed.
func (r resource) act(ctx context.Context, seen map[string]any) error {
	if seen == nil && !r.allows("Create") {
		return r.fail(ctx, errors.New("observe failed: external resource does not exist"))
	}
	if seen == nil {
		id, err := r.kind.create(ctx, r)
		r.state.lastError = err
		if err == nil {
			r.state.created = id
			err = errAgain
		}
		return errors.Join(r.report(ctx, nil), err)
	}
	if id := r.state.known; id != "" && id != r.GetAnnotations()[externalName] {
		if err := r.name(ctx, id); err != nil {
			return err
		}
	}
	if err := r.lateInitialized(); err != nil {
		return r.fail(ctx, err)
	}
	if r.kind.update != nil && r.allows("Update") && !r.kind.same(r, seen) {
		err := r.kind.update(ctx, r)
		r.state.lastError = err
		if err == nil {
			err = errAgain
		}
		return errors.Join(r.report(ctx, seen), err)
	}
	r.state.lastError = nil
	return r.report(ctx, seen)
}

// lateInitialized is the fault of ports that the provider may initialize late:
// it fills in vxlanIds beside vlanIds, and then refuses both.
func (r resource) lateInitialized() error {
	ids, _, _ := unstructured.NestedStringSlice(r.Object.Object, "spec", "forProvider", "vlanIds")
	if r.GetKind() != "Port" || !r.allows("LateInitialize") || len(ids) == 0 {
		return nil
	}
	return errors.New(`cannot run plan: plan failed: Conflicting configuration arguments: "vxlan_ids": conflicts with vlan_ids`)
}

// delete what the object stands for, unless it was only observed.
func (r resource) delete(ctx context.Context) error {
	if r.allows("Delete") && r.external() != "" {
		gone, err := r.kind.remove(ctx, r)
		r.state.lastError = err
		if err != nil {
			return errors.Join(r.report(ctx, nil), err)
		}
		if !gone {
			return errAgain
		}
	}
	return r.finalizers(ctx, slices.DeleteFunc(r.GetFinalizers(), func(f string) bool { return f == finalizer }))
}

// finalizers of the object become these, unless it has changed meanwhile.
func (r resource) finalizers(ctx context.Context, list []string) error {
	err := r.p.client.Patch(ctx, stack.RefOf(r.Object), map[string]any{"metadata": map[string]any{
		"finalizers": list, "resourceVersion": r.GetResourceVersion(),
	}})
	if apierrors.IsConflict(err) {
		return errAgain
	}
	return err
}

// report what was observed, and return what goes wrong with that.
func (r resource) report(ctx context.Context, seen map[string]any) error {
	ready, why := "False", "Creating"
	switch {
	case r.GetDeletionTimestamp() != nil:
		why = "Deleting"
	case seen != nil:
		ready, why = "True", "Available"
	}
	conditions := []any{condition("Ready", ready, why, ""), condition("Synced", "True", "ReconcileSuccess", "")}
	if r.state.lastError != nil {
		conditions = append(conditions, condition("LastAsyncOperation", "False", "AsyncUpdateFailure", r.state.lastError.Error()))
	} else {
		conditions = append(conditions, condition("LastAsyncOperation", "True", "Success", ""))
	}
	status := map[string]any{"conditions": conditions}
	if seen != nil {
		status["atProvider"] = seen
	}
	return r.write(ctx, status)
}

// fail before anything could be observed: that changes only Synced, so that what
// was ready stays so. It returns the failure.
func (r resource) fail(ctx context.Context, failure error) error {
	was, _, _ := unstructured.NestedSlice(r.Object.Object, "status", "conditions")
	conditions := slices.DeleteFunc(was, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == "Synced"
	})
	conditions = append(conditions, condition("Synced", "False", "ReconcileError", failure.Error()))
	return errors.Join(failure, r.write(ctx, map[string]any{"conditions": conditions}))
}

// write a status, unless the object has it already.
func (r resource) write(ctx context.Context, status map[string]any) error {
	if r.unchanged(status) {
		return nil
	}
	return r.p.client.Patch(ctx, stack.RefOf(r.Object), map[string]any{"status": status}, "status")
}

func condition(kind, status, reason, message string) map[string]any {
	return map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
}
