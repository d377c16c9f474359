package capi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/object"
)

// machines are the observed numbers of something that makes machines.
func machines(wanted, existing, ready, upToDate int, rest string) string {
	return fmt.Sprintf("metadata: {generation: 4}\nspec: {replicas: %d}\nstatus: {observedGeneration: 4, replicas: %d, readyReplicas: %d, upToDateReplicas: %d, conditions: [{type: Available, status: %q}]}\n",
		wanted, existing, ready, upToDate, rest)
}

// TestReadiness: objects that are not managed resources have a readiness of their
// own, and one that was ready can stop being so.
func TestReadiness(t *testing.T) {
	cases := map[string]struct {
		reason   string
		change   func(*Cluster)
		key      string // "bootstrap" is the template of pool general
		observed string
		ready    object.Ready
		why      string
	}{
		"ClusterMissing":     {reason: "What does not exist is not ready.", key: "cluster", why: "cluster edge does not exist yet"},
		"ClusterNew":         {reason: "A cluster without a status is not ready.", key: "cluster", observed: "metadata: {generation: 1}", why: "cluster edge has not taken in its last change yet"},
		"ClusterChanged":     {reason: "A readiness that is older than the last change does not count.", key: "cluster", observed: "metadata: {generation: 2}\nstatus: {observedGeneration: 1, conditions: [{type: Available, status: 'True'}]}", why: "cluster edge has not taken in its last change yet"},
		"ClusterSilent":      {reason: "A cluster that says nothing is not ready.", key: "cluster", observed: "metadata: {generation: 2}\nstatus: {observedGeneration: 2, conditions: [{type: InfrastructureReady, status: 'True'}]}", why: "cluster edge is not available yet"},
		"ClusterUnavailable": {reason: "What Cluster API says is told in one line.", key: "cluster", observed: "metadata: {generation: 2}\nstatus: {observedGeneration: 2, conditions: [{type: Available, status: 'False', message: \"* ControlPlaneAvailable: Control plane not initialized\\n* WorkersAvailable:\\n  * MachineDeployment edge-general: 0 available replicas\"}]}", why: "cluster edge is not available: ControlPlaneAvailable: Control plane not initialized; WorkersAvailable: MachineDeployment edge-general: 0 available replicas"},
		"ClusterUnknown":     {reason: "Unknown is not ready, and no message leaves no colon.", key: "cluster", observed: "metadata: {generation: 2}\nstatus: {observedGeneration: 2, conditions: [{type: Available, status: Unknown}]}", why: "cluster edge is not available"},
		"ClusterReady":       {reason: "An available cluster is ready.", key: "cluster", observed: "metadata: {generation: 2}\nstatus: {observedGeneration: 2, conditions: [{type: Paused, status: 'False'}, {type: Available, status: 'True'}]}", ready: object.IsReady},

		"ControlPlaneMissing": {reason: "What does not exist is not ready.", key: "control-plane", why: "control plane edge-control-plane does not exist yet"},
		"ControlPlaneGrowing": {reason: "All machines must be ready.", key: "control-plane", observed: machines(3, 2, 1, 2, "True"), why: "control plane edge-control-plane: 1 of 3 machines are ready"},
		"ControlPlaneReady":   {reason: "All machines are ready.", key: "control-plane", observed: machines(3, 3, 3, 3, "True"), ready: object.IsReady},
		"ControlPlaneScaled":  {reason: "The claim's number counts, not one from before.", key: "control-plane", observed: machines(1, 1, 1, 1, "True"), why: "control plane edge-control-plane: 1 of 3 machines are ready"},

		"DeploymentTwoOfThree":  {reason: "The message counts machines.", change: replicas(3), key: "pool-general", observed: machines(3, 3, 2, 3, "False"), why: "machine deployment edge-general: 2 of 3 machines are ready"},
		"DeploymentReady":       {reason: "All machines are ready.", key: "pool-general", observed: machines(2, 2, 2, 2, "True"), ready: object.IsReady},
		"DeploymentRolling":     {reason: "Machines from before a change do not count.", key: "pool-general", observed: machines(2, 3, 3, 1, "True"), why: "machine deployment edge-general: 1 of 2 machines are up to date"},
		"DeploymentLeftover":    {reason: "A machine too many is still on its way out.", key: "pool-general", observed: machines(2, 3, 2, 2, "True"), why: "machine deployment edge-general: 3 machines exist and 2 are wanted"},
		"DeploymentUnavailable": {reason: "Its own readiness counts too.", key: "pool-general", observed: machines(2, 2, 2, 2, "Unknown"), why: "machine deployment edge-general is not available"},
		"DeploymentEmpty":       {reason: "An empty pool is ready without machines.", change: replicas(0), key: "pool-general", observed: machines(0, 0, 0, 0, "True"), ready: object.IsReady},
		"AutoscaledReady":       {reason: "The autoscaler's number counts.", change: autoscale, key: "pool-general", observed: machines(5, 5, 5, 5, "True"), ready: object.IsReady},
		"AutoscaledGrowing":     {reason: "The autoscaler's number counts.", change: autoscale, key: "pool-general", observed: machines(7, 5, 5, 5, "True"), why: "machine deployment edge-general: 5 of 7 machines are ready"},

		"TemplateMissing":    {reason: "A template has to exist.", key: "bootstrap", why: "bootstrap template edge-general-"},
		"TemplateExists":     {reason: "A template has no readiness of its own.", key: "bootstrap", observed: "metadata: {generation: 1}", ready: object.IsReady},
		"AddOnMissing":       {reason: "An add-on has to exist.", change: addOn("ApplyOnce"), key: "add-on-cni", why: "add-on edge-add-on-cni does not exist yet"},
		"AddOnExists":        {reason: "An add-on is applied when the cluster is there.", change: addOn("ApplyOnce"), key: "add-on-cni", observed: "metadata: {generation: 1}", ready: object.IsReady},
		"HealthCheckMissing": {reason: "A health check has to exist.", change: func(c *Cluster) { *c = everything() }, key: "health-check-general", why: "health check edge-general does not exist yet"},
		"HealthCheckExists":  {reason: "A health check that is there works.", change: func(c *Cluster) { *c = everything() }, key: "health-check-general", observed: "metadata: {generation: 1}", ready: object.IsReady},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := small()
			if tc.change != nil {
				tc.change(&c)
			}
			key := tc.key
			if key == "bootstrap" {
				key = templateKey(t, compose(t, c))
			}
			observed := map[string]object.View{}
			if tc.observed != "" {
				observed[key] = view(t, tc.observed)
			}
			got := composeIn(t, c, observed)[key]
			if got.Ready != tc.ready || !strings.HasPrefix(got.Why, tc.why) || tc.why == "" && got.Why != "" {
				t.Errorf("%s\ngot %v %q, want %v %q", tc.reason, got.Ready, got.Why, tc.ready, tc.why)
			}
		})
	}
}

func replicas(n int32) func(*Cluster) {
	return func(c *Cluster) { c.Spec.Workers[0].Replicas = &n }
}

func TestOneLine(t *testing.T) {
	long := oneLine(strings.Repeat("ü", 400))
	if len(long) > messageLimit+len("…") || !strings.HasSuffix(long, "ü…") {
		t.Errorf("a long message: got %q", long)
	}
}
