package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// owner is the field manager of what tests apply.
const owner = "l2cluster-e2e"

// Object is any object of the API server.
type Object = unstructured.Unstructured

// Ref names an object, or with an empty name all of a kind in a namespace, or
// with an empty namespace in all of them.
type Ref struct {
	APIVersion, Kind, Namespace, Name string
}

// Client reads and writes objects of any kind.
type Client struct {
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 500, 1000
	config.WarningHandler = rest.NoWarnings{}
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	return &Client{dynamic: d, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// resource returns the endpoint of a kind.
func (c *Client) resource(r Ref) (dynamic.ResourceInterface, error) {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("cannot read version %q: %w", r.APIVersion, err)
	}
	mapping, err := c.mapper.RESTMapping(gv.WithKind(r.Kind).GroupKind(), gv.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(gv.WithKind(r.Kind).GroupKind(), gv.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find kind %q: %w", r.Kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(mapping.Resource).Namespace(r.Namespace), nil
	}
	return c.dynamic.Resource(mapping.Resource), nil
}

// RefOf an object.
func RefOf(o *Object) Ref {
	return Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Get an object; nil if there is none.
func (c *Client) Get(ctx context.Context, r Ref) (*Object, error) {
	res, err := c.resource(r)
	if err != nil {
		return nil, err
	}
	o, err := res.Get(ctx, r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// List all objects of a kind.
func (c *Client) List(ctx context.Context, r Ref) ([]Object, error) {
	res, err := c.resource(r)
	if err != nil {
		return nil, err
	}
	list, err := res.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Watch calls see with every state of the objects of a kind in a namespace, and
// that a label selector fits, that the API server tells of, until the context
// ends. It begins again when the API server was away; what happened meanwhile is
// seen as one change. Objects that are gone are not told.
func (c *Client) Watch(ctx context.Context, r Ref, selector string, see func(o *Object)) {
	for ctx.Err() == nil {
		if res, err := c.resource(r); err == nil {
			watchOnce(ctx, res, selector, see)
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func watchOnce(ctx context.Context, res dynamic.ResourceInterface, selector string, see func(o *Object)) {
	list, err := res.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return
	}
	for i := range list.Items {
		see(&list.Items[i])
	}
	w, err := res.Watch(ctx, metav1.ListOptions{LabelSelector: selector, ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		o, ok := event.Object.(*Object)
		if ok && (event.Type == watch.Added || event.Type == watch.Modified) {
			see(o)
		}
	}
}

// Apply an object with server-side apply, as its only and forceful owner.
func (c *Client) Apply(ctx context.Context, o *Object) error {
	res, err := c.resource(RefOf(o))
	if err != nil {
		return err
	}
	if _, err = res.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: owner, Force: true}); err != nil {
		return fmt.Errorf("cannot apply %s %q: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// Patch an object with a JSON merge patch; with a subresource, such as status,
// only that.
func (c *Client) Patch(ctx context.Context, r Ref, patch any, subresource ...string) error {
	res, err := c.resource(r)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("cannot write a patch: %w", err)
	}
	if _, err := res.Patch(ctx, r.Name, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: owner}, subresource...); err != nil {
		return fmt.Errorf("cannot patch %s %q: %w", r.Kind, r.Name, err)
	}
	return nil
}

// Delete an object; one that does not exist is no error. What it owns goes too.
func (c *Client) Delete(ctx context.Context, r Ref) error {
	res, err := c.resource(r)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	err = res.Delete(ctx, r.Name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot delete %s %q: %w", r.Kind, r.Name, err)
	}
	return nil
}

// errNotYet is why a wait goes on.
var errNotYet = errors.New("not yet")

// NotYet is an error that lets Wait go on.
func NotYet(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNotYet, fmt.Sprintf(format, args...))
}

// Wait until check succeeds, and return its last error if it does not in time.
// It looks several times a second.
func Wait(ctx context.Context, limit time.Duration, check func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up after %s: %w", limit, err)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// ConditionOf an object: its status and what it says. No object has none.
func ConditionOf(o *Object, kind string) (status, message string) {
	if o == nil {
		return "", ""
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, raw := range conditions {
		c, _ := raw.(map[string]any)
		if c["type"] == kind {
			reason, _ := c["reason"].(string)
			text, _ := c["message"].(string)
			value, _ := c["status"].(string)
			return value, reason + ": " + text
		}
	}
	return "", ""
}
