package equinix

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/plan"
)

// lookUp asks the Metal API for what is not on record: the ports of servers, and
// whether their networks came up. It returns what could not be found out about
// ports and about networks, and what follows, each a sentence.
func lookUp(ctx context.Context, s infra.Sources, machines []infra.Machine) (warnings, unheard []string) {
	noPorts, noReport := unknown(s, machines)
	if len(noPorts) == 0 && len(noReport) == 0 {
		return nil, nil
	}
	token := tokenOf(s)
	if token == "" {
		for _, m := range noReport {
			believeNode(m)
		}
		return withoutToken(s, noPorts), nil
	}
	settings := s.Cluster.Input.Equinix
	ctx, cancel := context.WithTimeout(ctx, duration(settings.TotalTimeout, defaultTotalTimeout))
	defer cancel()
	a := newAPI(settings.APIURL, token, duration(settings.CallTimeout, defaultCallTimeout))
	return lookUpPorts(ctx, a, noPorts), lookUpReports(ctx, a, noReport)
}

// unknown are the machines whose ports are not on record, or not all that their
// pools use, and those whose servers have not said that their network is right.
func unknown(s infra.Sources, machines []infra.Machine) (noPorts, noReport []*infra.Machine) {
	pools := map[string]plan.Pool{}
	for _, p := range s.Cluster.Plan.Pools {
		pools[p.Name] = p
	}
	for i := range machines {
		m := &machines[i]
		if m.Device == "" || m.Deleting || len(pools[m.Pool].Ports) == 0 {
			believeNode(m)
			continue
		}
		recorded := func(p plan.Port) bool { return m.Ports[p.Name] != "" }
		if slices.ContainsFunc(pools[m.Pool].Ports, func(p plan.Port) bool { return !recorded(p) }) {
			noPorts = append(noPorts, m)
		}
		if m.Network != infra.NetworkVerified {
			noReport = append(noReport, m)
		}
	}
	return noPorts, noReport
}

// believeNode takes a node that has joined for its server's report where there is
// none: a machine whose network script fails never gets to join.
func believeNode(m *infra.Machine) {
	if m.Joined && (m.Network == infra.NetworkUnknown || m.Network == infra.NetworkStarted) {
		m.Network = infra.NetworkVerified
	}
}

func duration(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil || d.Duration <= 0 {
		return otherwise
	}
	return d.Duration
}

// tokenOf is the API token among the credentials of the pipeline step: under the
// same key as in the Secret that the input names, whatever the credentials'
// name.
func tokenOf(s infra.Sources) string {
	key := s.Cluster.Input.Equinix.TokenSecret.Key
	for _, name := range slices.Sorted(maps.Keys(s.Credentials)) {
		if token := strings.TrimSpace(string(s.Credentials[name][key])); token != "" {
			return token
		}
	}
	return ""
}

func withoutToken(s infra.Sources, noPorts []*infra.Machine) []string {
	if len(noPorts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the ports of %s are not known and stay as they are: the pipeline step has no credentials "+
		"with the key %q to ask the Metal API", some(noPorts), s.Cluster.Input.Equinix.TokenSecret.Key)}
}

func lookUpPorts(ctx context.Context, a api, machines []*infra.Machine) []string {
	found, errs := each(ctx, devicesOf(machines), a.ports)
	for i, m := range machines {
		if len(found[i]) > 0 {
			m.Ports = found[i]
		}
	}
	return failures("the ports of %s could not be read and stay as they are: %s", machines, errs)
}

func lookUpReports(ctx context.Context, a api, machines []*infra.Machine) []string {
	found, errs := each(ctx, devicesOf(machines), a.report)
	for i, m := range machines {
		if errs[i] == nil {
			m.Network, m.Message = found[i].state, found[i].message
			believeNode(m)
		}
	}
	return failures("whether the network of %s came up could not be read: %s", machines, errs)
}

func devicesOf(machines []*infra.Machine) []string {
	out := make([]string, 0, len(machines))
	for _, m := range machines {
		out = append(out, m.Device)
	}
	return out
}

// failures say in one sentence which machines nothing could be found out about,
// and why for the first of them.
func failures(sentence string, machines []*infra.Machine, errs []error) []string {
	var failed []*infra.Machine
	var first error
	for i, err := range errs {
		if err == nil {
			continue
		}
		failed = append(failed, machines[i])
		if first == nil {
			first = err
		}
	}
	if first == nil {
		return nil
	}
	return []string{fmt.Sprintf(sentence, some(failed), oneLine(first.Error()))}
}

// namesShown is how many machines a sentence names.
const namesShown = 3

// some machines by name, or how many there are beside the first ones.
func some(machines []*infra.Machine) string {
	names := make([]string, 0, namesShown)
	for _, m := range machines[:min(namesShown, len(machines))] {
		names = append(names, m.Name)
	}
	text := strings.Join(names, ", ")
	if more := len(machines) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
