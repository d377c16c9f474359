package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/l2cluster/function-l2cluster/fn/plan"
	"github.com/l2cluster/function-l2cluster/fn/spec"
	"github.com/l2cluster/function-l2cluster/fn/xr"
)

// PrintPlan prints the cluster as tables that a person reads: its pools, with how
// much of their machines' user data is the function's, its networks with their
// addresses, its machines, and what exists and will be created. After a fatal
// result there is no plan.
func (o Output) PrintPlan(w io.Writer) error {
	if o.Fatal() {
		return nil
	}
	s, err := xr.Read(o.Request, time.Time{})
	if err != nil {
		return fmt.Errorf("cannot print the plan: %w", err)
	}
	claim, errs := s.Claim()
	input, inputErrs := s.Input()
	if errs = append(errs, inputErrs...); len(errs) > 0 {
		return fmt.Errorf("cannot print the plan: %w", errs.ToAggregate())
	}
	p, err := plan.Build(claim)
	if err != nil {
		return fmt.Errorf("cannot print the plan: %w", err)
	}
	status := o.Response.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue()
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.rowf("Cluster %s, Kubernetes %s, project %s, metro %s\n", status.GetFields()["clusterName"].GetStringValue(),
		claim.KubernetesVersion, claim.ProjectID, claim.Metro)
	printPools(t, claim, p, o.userData(input))
	printNetworks(t, claim, p, status)
	printMachines(t, status)
	o.printObjects(t)
	if err := t.columns.Flush(); err != nil {
		return fmt.Errorf("cannot print the plan: %w", err)
	}
	return nil
}

// table of columns that tabs separate. It is printed when it is flushed, and
// only then can anything go wrong.
type table struct{ columns *tabwriter.Writer }

func (t table) rowf(format string, values ...any) {
	_, _ = fmt.Fprintf(t.columns, format, values...)
}

func printPools(t table, claim *spec.Spec, p plan.Plan, userData map[string]string) {
	types := map[string]string{plan.ControlPlanePool: claim.ControlPlane.MachineType}
	for _, worker := range claim.Workers {
		types[worker.Name] = worker.MachineType
	}
	t.rowf("\nPOOL\tMACHINES\tSURGE\tTYPE\tOS\tMODE\tUSER DATA\tNETWORKS\n")
	for _, pool := range p.Pools {
		t.rowf("%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", pool.Name, pool.Replicas, pool.Surge,
			types[pool.Name], pool.OS, pool.Mode, cmp.Or(userData[pool.Name], "-"), links(pool))
	}
}

// links says which network is on which port, and how its frames look.
func links(p plan.Pool) string {
	out := make([]string, 0, len(p.Links))
	for _, l := range p.Links {
		how := "untagged"
		if l.VLAN > 0 {
			how = fmt.Sprintf("tag %d", l.VLAN)
		}
		out = append(out, fmt.Sprintf("%s on %s (%s)", l.Network, l.Port, how))
	}
	return cmp.Or(strings.Join(out, ", "), "-")
}

func printNetworks(t table, claim *spec.Spec, p plan.Plan, status *structpb.Struct) {
	if len(p.Networks) == 0 {
		return
	}
	existing := map[string]bool{}
	assignments := map[string]string{}
	for _, n := range claim.Networks {
		existing[n.Name] = n.VLANID != ""
		assignments[n.Name] = string(n.Assignment)
	}
	capacity := map[string]*structpb.Struct{}
	for _, v := range status.GetFields()["networks"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		capacity[f["name"].GetStringValue()] = f["capacity"].GetStructValue()
	}
	t.rowf("\nNETWORK\tVLAN\tSUBNETS\tASSIGNMENT\tADDRESSES\tNEEDED\tVLAN IS\n")
	for _, n := range p.Networks {
		is := "created"
		if existing[n.Name] {
			is = "only observed"
		}
		addresses, needed := "-", "-"
		if c := capacity[n.Name].GetFields(); c != nil {
			addresses = fmt.Sprintf("%s of %s used", whole(c["used"]), whole(c["total"]))
			needed = whole(c["needed"])
		}
		t.rowf("%s\t%d\t%s\t%s\t%s\t%s\t%s\n", n.Name, n.VLAN, subnets(n), assignments[n.Name], addresses, needed, is)
	}
}

func whole(v *structpb.Value) string { return strconv.FormatInt(int64(v.GetNumberValue()), 10) }

func subnets(n plan.Network) string {
	out := make([]string, 0, len(n.Subnets))
	for _, s := range n.Subnets {
		out = append(out, s.Prefix.String())
	}
	return cmp.Or(strings.Join(out, ", "), "-")
}

func printMachines(t table, status *structpb.Struct) {
	machines := status.GetFields()["machines"].GetListValue().GetValues()
	if len(machines) == 0 {
		return
	}
	t.rowf("\nMACHINE\tPOOL\tNETWORK\tADDRESSES\n")
	for _, v := range machines {
		f := v.GetStructValue().GetFields()
		addresses := f["addresses"].GetStructValue().GetFields()
		out := make([]string, 0, len(addresses))
		for _, network := range slices.Sorted(maps.Keys(addresses)) {
			out = append(out, network+" "+addresses[network].GetStringValue())
		}
		t.rowf("%s\t%s\t%s\t%s\n", f["name"].GetStringValue(), f["pool"].GetStringValue(),
			f["network"].GetStringValue(), cmp.Or(strings.Join(out, ", "), "-"))
	}
}

// printObjects counts by kind what exists, and what will be created and
// deleted.
func (o Output) printObjects(t table) {
	desired, observed := o.Response.GetDesired().GetResources(), o.Request.GetObserved().GetResources()
	type count struct{ created, existing, deleted int }
	counts := map[string]count{}
	for key, r := range desired {
		kind := r.GetResource().GetFields()[kindField].GetStringValue()
		c := counts[kind]
		if _, ok := observed[key]; ok {
			c.existing++
		} else {
			c.created++
		}
		counts[kind] = c
	}
	for key, r := range observed {
		if _, ok := desired[key]; !ok {
			kind := r.GetResource().GetFields()[kindField].GetStringValue()
			c := counts[kind]
			c.deleted++
			counts[kind] = c
		}
	}
	t.rowf("\nOBJECTS\tTO CREATE\tEXISTING\tTO DELETE\n")
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.rowf("%s\t%d\t%d\t%d\n", kind, counts[kind].created, counts[kind].existing, counts[kind].deleted)
	}
}
