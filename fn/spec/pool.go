package spec

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

// Bounds of pools. The 80 characters of a tag are the platform's.
const (
	maxWorkerPools = 64
	maxMachines    = 1000
	maxPorts       = 6
	maxTags        = 32
	maxLabels      = 64
	maxTaints      = 32
	maxTimeout     = 86400
	minStartup     = 600
	minUnhealthy   = 30
)

// controlPlanePool is the name of the control plane's own pool.
const controlPlanePool = "control-plane"

// pool is the control plane or a worker pool, with its path and its mode.
type pool struct {
	*Machines

	name    string
	worker  bool
	path    *field.Path
	mode    Mode
	modeErr field.ErrorList
}

// newPools are the control plane's pool and the worker pools, in the claim's
// order.
func newPools(s *Spec, path *field.Path) []pool {
	pools := make([]pool, 0, len(s.Workers)+1)
	pools = append(pools, newPool(&s.ControlPlane.Machines, controlPlanePool, path.Child("controlPlane")))
	for i := range s.Workers {
		p := newPool(&s.Workers[i].Machines, s.Workers[i].Name, path.Child("workers").Index(i))
		p.worker = true
		pools = append(pools, p)
	}
	return pools
}

func newPool(m *Machines, name string, path *field.Path) pool {
	p := pool{Machines: m, name: name, path: path}
	p.mode, p.modeErr = ModeOf(m.Ports, path.Child("ports"))
	return p
}

func (c claim) validatePools() (field.ErrorList, []string) {
	errs := c.validateControlPlane()
	errs = append(errs, c.validateWorkers()...)
	var warnings []string
	for _, p := range c.pools {
		errs = append(errs, c.validateMachines(p)...)
		if len(p.Tags) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: the infrastructure provider up to v0.9.0 does not forward tags to servers", p.path.Child("tags")))
		}
	}
	return errs, warnings
}

func (c claim) validateWorkers() field.ErrorList {
	path := c.path.Child("workers")
	errs := rule.AtMostItems(path, len(c.spec.Workers), maxWorkerPools)
	names := rule.Seen[string]{}
	for i, w := range c.spec.Workers {
		p := path.Index(i)
		errs = append(errs, namePattern.Required(p.Child("name"), w.Name)...)
		errs = append(errs, names.Add(p.Child("name"), w.Name)...)
		if w.Name == controlPlanePool {
			errs = append(errs, field.Invalid(p.Child("name"), w.Name, "is the name of the control plane's own pool; choose another"))
		}
		errs = append(errs, validateWorkerNumbers(w, p)...)
	}
	return errs
}

// validateMachines checks what control plane and worker pools have in common,
// except their ports.
func (c claim) validateMachines(p pool) field.ErrorList {
	errs := validateSlug(p.path.Child("machineType"), p.MachineType, c.in.Allowed.MachineTypes)
	errs = append(errs, validateSlug(p.path.Child("os"), p.OS, c.in.Allowed.OperatingSystems)...)
	errs = append(errs, rule.OneOf(p.path.Child("billingCycle"), p.BillingCycle, "hourly", "daily", "monthly", "yearly")...)
	errs = append(errs, c.validateReservation(p)...)
	errs = append(errs, rule.Set(p.path.Child("tags"), p.Tags, maxTags, tagPattern.Required)...)
	errs = append(errs, validateLabels(p)...)
	errs = append(errs, validateTaints(p)...)
	return append(errs, c.validateHealthCheck(p)...)
}

func validateSlug(path *field.Path, value string, list []string) field.ErrorList {
	if errs := slugPattern.Required(path, value); len(errs) > 0 {
		return errs
	}
	return allowed(path, value, list)
}

// validateReservation refuses what the infrastructure provider would ignore or
// fail on: https://github.com/kubernetes-retired/cluster-api-provider-packet/blob/v0.9.0/pkg/cloud/packet/client.go.
func (c claim) validateReservation(p pool) field.ErrorList {
	path := p.path.Child("hardwareReservationID")
	if errs := reservationPattern.Optional(path, p.HardwareReservationID); len(errs) > 0 || p.HardwareReservationID == "" {
		return errs
	}
	if c.in.Equinix.HardwareReservations {
		return nil
	}
	return field.ErrorList{field.Invalid(path, p.HardwareReservationID,
		"the infrastructure provider up to v0.9.0 ignores a single reservation and crashes on a list; leave it out, or ask the platform team for equinix.hardwareReservations with a provider that honours it")}
}

func (c claim) validateHealthCheck(p pool) field.ErrorList {
	h, path := p.HealthCheck, p.path.Child("healthCheck")
	if h == nil {
		return nil
	}
	errs := rule.Between(path.Child("unhealthyTimeoutSeconds"), h.UnhealthyTimeoutSeconds, minUnhealthy, maxTimeout)
	errs = append(errs, maxUnhealthyPattern.Required(path.Child("maxUnhealthy"), h.MaxUnhealthy)...)
	startup := path.Child("nodeStartupTimeoutSeconds")
	if e := rule.Between(startup, h.NodeStartupTimeoutSeconds, minStartup, maxTimeout); len(e) > 0 {
		return append(errs, e...)
	}
	limit := c.in.Network.Timeout
	if limit != nil && time.Duration(h.NodeStartupTimeoutSeconds)*time.Second <= limit.Duration {
		errs = append(errs, field.Invalid(startup, h.NodeStartupTimeoutSeconds,
			fmt.Sprintf("must be more than the %s that a server may take for its network alone, or it would be replaced before it can report", limit.Duration)))
	}
	return errs
}
