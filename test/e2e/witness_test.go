package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
)

// patience is for how long a composite may say that it is ready although
// something happened to its servers: what was only read is looked at again after
// a minute, and a busy machine takes its time.
const patience = 100 * time.Second

// witness watches a claim and its composite from their first moment to their
// last. When one of them turns ready for the first time, and every second while the
// composite is, the cloud is compared with what it asks for. Later turns are left to
// that: before a run of Crossplane writes its own conditions it writes those once
// more that it read, and those may be a run old.
type witness struct {
	mu sync.Mutex
	// ready are the kinds that say so about their present spec.
	ready map[string]bool
	// turns counts how often each kind turned ready.
	turns map[string]int
	// composite as it was seen last.
	composite *stack.Object
	// lies are what was not so when one of them turned ready for the first time.
	lies []string
	// since when the composite has been ready and the cloud not as it asks for,
	// and the longest that it was so.
	since   time.Time
	longest time.Duration
	why     error
}

// watch a claim until the context ends.
func watch(ctx context.Context, namespace, name string) *witness {
	w := &witness{ready: map[string]bool{}, turns: map[string]int{}}
	claims := stack.Ref{APIVersion: "l2cluster.io/v1alpha1", Kind: "L2Cluster", Namespace: namespace}
	go here.Client.Watch(ctx, claims, "", func(o *stack.Object) {
		if o.GetName() == name {
			w.see(ctx, o)
		}
	})
	composites := stack.Ref{APIVersion: "l2cluster.io/v1alpha1", Kind: "XL2Cluster"}
	labels := fmt.Sprintf("crossplane.io/claim-namespace=%s,crossplane.io/claim-name=%s", namespace, name)
	go here.Client.Watch(ctx, composites, labels, func(o *stack.Object) { w.see(ctx, o) })
	go w.everySecond(ctx)
	return w
}

// readyNow tells whether an object says that it is ready, and of its present
// spec.
func readyNow(o *stack.Object) bool {
	conditions, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	for _, c := range maps(conditions) {
		if c["type"] == "Ready" {
			seen, found := c["observedGeneration"].(int64)
			return c["status"] == "True" && (!found || seen == o.GetGeneration())
		}
	}
	return false
}

func (w *witness) see(ctx context.Context, o *stack.Object) {
	now := readyNow(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	turned := now && !w.ready[o.GetKind()]
	w.ready[o.GetKind()] = now
	if o.GetKind() == "XL2Cluster" {
		w.composite = o
	}
	if !turned {
		return
	}
	w.turns[o.GetKind()]++
	if w.turns[o.GetKind()] > 1 {
		return
	}
	if err := isTrue(ctx, o); err != nil && !errors.Is(err, errBlind) && ctx.Err() == nil {
		w.lies = append(w.lies, fmt.Sprintf("%s turned ready at %s, but: %v", o.GetKind(), time.Now().Format(time.TimeOnly), err))
	}
}

func (w *witness) everySecond(ctx context.Context) {
	for ctx.Err() == nil {
		w.look(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (w *witness) look(ctx context.Context) {
	w.mu.Lock()
	o, ready := w.composite, w.ready["XL2Cluster"]
	w.mu.Unlock()
	if !ready {
		w.compared(nil)
		return
	}
	err := isTrue(ctx, o)
	if ctx.Err() == nil && !errors.Is(err, errBlind) {
		w.compared(err)
	}
}

func (w *witness) compared(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.since = time.Time{}
	case w.since.IsZero():
		w.since = time.Now()
	}
	if took := time.Since(w.since); !w.since.IsZero() && took > w.longest {
		w.longest, w.why = took, err
	}
}

// errBlind is an API server that is away, and says nothing about the cloud.
var errBlind = errors.New("cannot see the machines")

// isTrue tells what is missing in the cloud for a claim or composite that says
// that it is ready. Servers of machines that are being deleted do not count. It is
// errBlind when nothing can be told.
func isTrue(ctx context.Context, o *stack.Object) error {
	w := wish{o}
	cluster := w.cluster()
	machines, err := here.Client.List(ctx, stack.Ref{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: namespaceOf(o)})
	if err != nil {
		return errBlind
	}
	devices := slices.DeleteFunc(serversOf(cluster), func(d metalv1.Device) bool {
		i := slices.IndexFunc(machines, func(m stack.Object) bool { return serverID(m) == d.GetId() })
		return i < 0 || machines[i].GetDeletionTimestamp() != nil
	})
	if len(devices) < w.machines() {
		return stack.NotYet("there are %d servers of %d", len(devices), w.machines())
	}
	return w.whole(cluster, devices)
}

// serverID of a Machine, or empty.
func serverID(machine stack.Object) string {
	id, _, _ := unstructured.NestedString(machine.Object, "spec", "providerID")
	return strings.TrimPrefix(id, "equinixmetal://")
}

// namespaceOf what a claim or composite asks for.
func namespaceOf(o *stack.Object) string {
	if ns, found, _ := unstructured.NestedString(o.Object, "spec", "claimRef", "namespace"); found {
		return ns
	}
	return o.GetNamespace()
}

// verdict is what went wrong, and how often and how long it was as it should be.
func (w *witness) verdict() (wrong []string, summary string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wrong = slices.Clone(w.lies)
	if w.longest > patience {
		wrong = append(wrong, fmt.Sprintf("it was ready for %s although: %v", w.longest.Round(time.Second), w.why))
	}
	for _, kind := range []string{"L2Cluster", "XL2Cluster"} {
		if w.turns[kind] == 0 {
			wrong = append(wrong, kind+" never turned ready")
		}
	}
	summary = fmt.Sprintf("turned ready %d times, ready but not yet by its newest spec for at most %s", w.turns["L2Cluster"], w.longest.Round(time.Second))
	if w.why != nil {
		summary += fmt.Sprintf(" (%v)", w.why)
	}
	return wrong, summary
}
