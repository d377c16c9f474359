package capi

import (
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/l2cluster/function-l2cluster/fn/object"
)

// readiness says whether an observed object, nil when there is none, does its
// work, and if not what it waits for.
type readiness func(object.View) (object.Ready, string)

// exists is the readiness of objects that have none of their own.
func exists(what string) readiness {
	return func(v object.View) (object.Ready, string) {
		if v == nil {
			return object.NotReady, what + " does not exist yet"
		}
		return object.IsReady, ""
	}
}

// available is the readiness of objects that say so themselves:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/docs/proposals/20240916-improve-status-in-CAPI-resources.md.
func available(what string) readiness {
	return func(v object.View) (object.Ready, string) {
		if ready, why := exists(what)(v); ready != object.IsReady {
			return ready, why
		}
		if v.Int("status", "observedGeneration") != v.Int("metadata", "generation") {
			return object.NotReady, what + " has not taken in its last change yet"
		}
		for _, c := range v.Views("status", "conditions") {
			if c.String("type") != clusterv1.AvailableCondition {
				continue
			}
			if c.String("status") == "True" {
				return object.IsReady, ""
			}
			return object.NotReady, strings.TrimSuffix(what+" is not available: "+oneLine(c.String("message")), ": ")
		}
		return object.NotReady, what + " is not available yet"
	}
}

// machinesReady is the readiness of what makes machines: it is available, and
// has as many machines as wanted, all of them ready and up to date. Without
// replicas it wants what it has been told by others.
func machinesReady(what string, replicas *int32) readiness {
	return func(v object.View) (object.Ready, string) {
		if ready, why := exists(what)(v); ready != object.IsReady {
			return ready, why
		}
		wanted, existing := v.Int("spec", "replicas"), v.Int("status", "replicas")
		if replicas != nil {
			wanted = int64(*replicas)
		}
		if n := v.Int("status", "readyReplicas"); n < wanted {
			return object.NotReady, fmt.Sprintf("%s: %d of %d machines are ready", what, n, wanted)
		}
		if n := v.Int("status", "upToDateReplicas"); n < wanted {
			return object.NotReady, fmt.Sprintf("%s: %d of %d machines are up to date", what, n, wanted)
		}
		if existing > wanted {
			return object.NotReady, fmt.Sprintf("%s: %d machines exist and %d are wanted", what, existing, wanted)
		}
		return available(what)(v)
	}
}

// messageLimit keeps what other controllers say, in bytes, within what fits
// into a condition beside everything else.
const messageLimit = 300

// oneLine puts a list of Cluster API's into one line.
func oneLine(message string) string {
	var parts []string
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "*"))
		if line != "" {
			parts = append(parts, line)
		}
	}
	joined := strings.ReplaceAll(strings.Join(parts, "; "), ":; ", ": ")
	if len(joined) > messageLimit {
		return strings.ToValidUTF8(joined[:messageLimit], "") + "…"
	}
	return joined
}
