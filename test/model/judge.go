package model

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/l2cluster/function-l2cluster/fn/function"
)

// judge a response by the request that it answers.
func (r *run) judge() {
	r.judgeRefusal()
	if r.w.Shuffle {
		r.judgeDeterminism()
	}
	if r.fatal() {
		return
	}
	desired := r.rsp.GetDesired().GetResources()
	for _, key := range slices.Sorted(maps.Keys(r.req.GetObserved().GetResources())) {
		seen := r.req.GetObserved().GetResources()[key].GetResource()
		d, stays := desired[key]
		if stays {
			r.judgeChange(key, seen, d.GetResource())
			continue
		}
		if why := r.mustStay(seen); why != "" {
			r.violationf("%s is given up, but %s", key, why)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		switch body := desired[key].GetResource(); text(body, "kind") {
		case "Request":
			r.judgeDelivery(key, body)
		case "Port":
			r.judgePort(key, body)
		}
	}
	r.judgeRecord()
}

func (r *run) violationf(format string, args ...any) {
	r.w.violationf("%s: %s", r.c, fmt.Sprintf(format, args...))
}

// minorOf a version of Kubernetes, which has two digits.
func minorOf(version string) string { return version[:len("v1.34")] }

// judgeSkew: a worker never runs a newer minor version than any machine of its
// control plane: https://kubernetes.io/releases/version-skew-policy/.
func (w *World) judgeSkew(m *machine) {
	if m.controlPlane {
		return
	}
	for _, other := range w.machinesOf(m.cluster, controlPlanePool) {
		if minorOf(m.version) > minorOf(other.version) {
			w.violationf("machine %s is made with %s while %s of the control plane runs %s", m.name, m.version, other.name, other.version)
		}
	}
}

// goesBack says whether the version that was read is of an older minor version
// than one that was asked for since: what runs already must not be taken back.
func (r *run) goesBack() bool {
	return minorOf(r.own.spec.version) < minorOf(r.c.now().spec.version)
}

// contradicts says whether no machine is listed while a controller counts some, as
// it does until it has seen that its last one was deleted.
func (r *run) contradicts() bool {
	for _, name := range []string{"machines", "packet-machines"} {
		list, fetched := r.req.GetRequiredResources()[name]
		if !fetched || len(list.GetItems()) > 0 {
			return false
		}
	}
	for _, o := range r.req.GetObserved().GetResources() {
		kind := text(o.GetResource(), "kind")
		if (kind == "KubeadmControlPlane" || kind == "MachineDeployment") && number(o.GetResource(), "status", "replicas") > 0 {
			return true
		}
	}
	return false
}

// judgeRefusal: what is valid is accepted, and what is not is refused.
func (r *run) judgeRefusal() {
	broken := r.own.spec.broken || r.contradicts()
	switch {
	case r.fatal() && r.goesBack():
	case r.fatal() && !broken:
		r.violationf("a valid claim is refused: %v", r.rsp.GetResults())
	case !r.fatal() && broken:
		r.violationf("an invalid claim is accepted")
	}
}

// judgeDeterminism asks a function that has not seen anything before, with
// required objects in another order.
func (r *run) judgeDeterminism() {
	before, err := deterministic.Marshal(r.req)
	if err != nil {
		r.violationf("%v", err)
		return
	}
	again := proto.CloneOf(r.req)
	again.Desired = &fnv1.State{}
	for _, required := range again.GetRequiredResources() {
		slices.Reverse(required.GetItems())
	}
	fresh := function.New(logging.NewNopLogger(), r.w.Now)
	rsp, err := fresh.RunFunction(context.Background(), again)
	if err != nil {
		r.violationf("the function returned an error: %v", err)
		return
	}
	first, errFirst := deterministic.Marshal(r.rsp)
	second, errSecond := deterministic.Marshal(rsp)
	if errFirst != nil || errSecond != nil || !bytes.Equal(first, second) {
		r.violationf("the same request is answered differently:\n%v\n%v", r.rsp, rsp)
	}
	if after, err := deterministic.Marshal(r.req); err != nil || !bytes.Equal(before, after) {
		r.violationf("the function has changed its request")
	}
}

var deterministic = proto.MarshalOptions{Deterministic: true}

// judgeChange: an object keeps its name, a template its content, and what exists
// outside its external name.
func (r *run) judgeChange(key string, seen, wanted *structpb.Struct) {
	if was, is := text(seen, "metadata", "name"), text(wanted, "metadata", "name"); was != is {
		r.violationf("%s is named %s and would be %s", key, was, is)
	}
	if strings.HasSuffix(text(seen, "kind"), "Template") && !same(object(seen, "spec"), object(wanted, "spec")) {
		r.violationf("%s changes in place", key)
	}
	id := text(seen, "metadata", "annotations", externalName)
	if _, exists := r.w.cloud.vlans[id]; exists && externalOf(wanted) != id {
		r.violationf("%s is VLAN %s and would be %q", key, id, externalOf(wanted))
	}
}

// mustStay says why an observed object must stay desired, or "".
func (r *run) mustStay(seen *structpb.Struct) string {
	s := r.own.spec
	switch kind := text(seen, "kind"); kind {
	case "Request", "IPAddressClaim":
		return r.machineStays(seen)
	case "Port":
		return r.portStays(seen)
	case "Vlan":
		return r.vlanStays(seen)
	case "PacketMachineTemplate", "KubeadmConfigTemplate":
		return r.templateStays(seen)
	case "MachineDeployment", "MachineHealthCheck":
		if p := s.pool(text(seen, "metadata", "labels", poolLabel)); p != nil {
			return "the claim names pool " + p.name
		}
		return ""
	default:
		return "a cluster always has it"
	}
}

// listed says whether the requirements of this run know a machine; unknown when
// they were not all answered.
func (r *run) listed(machine string) (found, unknown bool) {
	for _, name := range []string{"machines", "packet-machines"} {
		list, fetched := r.req.GetRequiredResources()[name]
		unknown = unknown || !fetched
		for _, item := range list.GetItems() {
			found = found || text(item.GetResource(), "metadata", "name") == machine
		}
	}
	return found, unknown
}

func (r *run) machineStays(seen *structpb.Struct) string {
	machine := text(seen, "metadata", "labels", machineLabel)
	if text(seen, "kind") == "IPAddressClaim" {
		return r.addressClaimStays(seen)
	}
	switch found, unknown := r.listed(machine); {
	case unknown:
		return "nobody has looked which machines there are"
	case found:
		return "machine " + machine + " exists"
	default:
		return ""
	}
}

func (r *run) addressClaimStays(seen *structpb.Struct) string {
	name := text(seen, "metadata", "name")
	for _, list := range []string{"machines", "packet-machines"} {
		required, fetched := r.req.GetRequiredResources()[list]
		if !fetched {
			return "nobody has looked which machines there are"
		}
		for _, item := range required.GetItems() {
			machine := text(item.GetResource(), "metadata", "name")
			if vlan, ok := strings.CutPrefix(name, machine+"-"); ok && r.delivered(machine, vlan+".ipv4") {
				return "its machine was given an address by it"
			}
		}
	}
	return ""
}

// delivered says whether an observed Request brings a machine such an address.
func (r *run) delivered(machine, key string) bool {
	for _, o := range r.req.GetObserved().GetResources() {
		if text(o.GetResource(), "kind") == "Request" && text(o.GetResource(), "metadata", "labels", machineLabel) == machine {
			return payloadOf(o.GetResource())[key] != ""
		}
	}
	return false
}

// portStays: a port of a machine that exists is given up only when the claim no
// longer names it, and when it is back in its bond without VLANs.
func (r *run) portStays(seen *structpb.Struct) string {
	machine, name := text(seen, "metadata", "labels", machineLabel), text(seen, "metadata", "labels", portLabel)
	found, unknown := r.listed(machine)
	if unknown {
		return "nobody has looked which machines there are"
	}
	if !found {
		return ""
	}
	p := r.own.spec.pool(r.poolOf(machine))
	if p == nil {
		return "machine " + machine + " exists, though its pool is gone"
	}
	if p.port(name) != nil {
		return "machine " + machine + " exists and the claim names port " + name
	}
	if name != bond && !at(seen, "status", "atProvider", "bonded").GetBoolValue() {
		return "it is not back in its bond"
	}
	return ""
}

// poolOf is the pool of a machine, as it was read.
func (r *run) poolOf(machine string) string {
	for _, name := range []string{"machines", "packet-machines"} {
		for _, item := range r.req.GetRequiredResources()[name].GetItems() {
			if o := item.GetResource(); text(o, "metadata", "name") == machine {
				return text(o, "metadata", "labels", poolLabel)
			}
		}
	}
	return ""
}

func (r *run) vlanStays(seen *structpb.Struct) string {
	if n := r.own.spec.onVLAN(number(seen, "spec", "forProvider", "vxlan")); n != nil {
		return "network " + n.name + " is on it"
	}
	id := text(seen, "metadata", "annotations", externalName)
	for key, o := range r.req.GetObserved().GetResources() {
		if text(o.GetResource(), "kind") != "Port" {
			continue
		}
		if slices.Contains(texts(o.GetResource(), "spec", "forProvider", "vlanIds"), id) ||
			slices.Contains(texts(o.GetResource(), "status", "atProvider", "vlanIds"), id) {
			return key + " carries it"
		}
	}
	return ""
}

func (r *run) templateStays(seen *structpb.Struct) string {
	if why := r.w.needed(seen, r.c.namespace); why != "" {
		return why
	}
	kind, name := text(seen, "kind"), text(seen, "metadata", "name")
	for key, d := range r.rsp.GetDesired().GetResources() {
		for _, path := range [][]string{
			{"spec", "template", "spec", "infrastructureRef"},
			{"spec", "template", "spec", "bootstrap", "configRef"},
			{"spec", "machineTemplate", "spec", "infrastructureRef"},
		} {
			if at := object(d.GetResource(), path...); text(at, "kind") == kind && text(at, "name") == name {
				return key + " refers to it"
			}
		}
	}
	return ""
}

// judgePort: a server's ports are never anything that its operating system was not
// set up for, and lose nothing that the claim still has a network for.
func (r *run) judgePort(key string, body *structpb.Struct) {
	name := text(body, "metadata", "labels", portLabel)
	i := slices.IndexFunc(r.w.machines, func(m *machine) bool {
		return m.owner == r.c && m.name == text(body, "metadata", "labels", machineLabel)
	})
	if i < 0 {
		return
	}
	known, named := r.w.machines[i].setup.vlans[name]
	if !named && !at(body, "spec", "forProvider", "bonded").GetBoolValue() {
		r.violationf("%s leaves its bond, and the machine was not set up for that", key)
	}
	asked := texts(body, "spec", "forProvider", "vlanIds")
	for _, id := range asked {
		if v := r.w.cloud.vlans[id]; v != nil && !slices.Contains(known, v.vxlan) {
			r.violationf("%s gets VLAN %d, and the machine was set up for %v", key, v.vxlan, known)
		}
	}
	before := texts(r.req.GetObserved().GetResources()[key].GetResource(), "spec", "forProvider", "vlanIds")
	for _, id := range before {
		v := r.w.cloud.vlans[id]
		if v != nil && !slices.Contains(asked, id) && slices.Contains(known, v.vxlan) && r.own.spec.onVLAN(v.vxlan) != nil {
			r.violationf("%s loses VLAN %d, which the machine was set up for and the claim has", key, v.vxlan)
		}
	}
}

// judgeDelivery: an address is delivered only when the record that holds it was
// seen, or when it has been delivered before, and then it stays.
func (r *run) judgeDelivery(key string, body *structpb.Struct) {
	machine := text(body, "metadata", "labels", machineLabel)
	before := payloadOf(r.req.GetObserved().GetResources()[key].GetResource())
	after := payloadOf(body)
	for k, a := range after {
		if before[k] != a && !r.own.holds(machine, k, a) {
			r.violationf("%s delivers %s, which the record that was seen does not hold", key, a)
		}
	}
	for k, a := range before {
		if after[k] != a && after[k] != "" {
			r.violationf("%s changes %s from %s to %q", key, k, a, after[k])
		}
	}
}

// judgeRecord: whoever gets an address gets one that the claim allows.
func (r *run) judgeRecord() {
	status := object(r.rsp.GetDesired().GetComposite().GetResource(), "status")
	delivered := map[string]string{}
	for _, o := range r.req.GetObserved().GetResources() {
		if text(o.GetResource(), "kind") == "Request" {
			machine := text(o.GetResource(), "metadata", "labels", machineLabel)
			for k, a := range payloadOf(o.GetResource()) {
				delivered[machine+"/"+k] = a
			}
		}
	}
	for _, p := range object(status, "allocations").GetFields() {
		for key, v := range object(p.GetStructValue(), "held").GetFields() {
			a := v.GetStringValue()
			if heldIn(r.own.status, key) == a || delivered[key] == a {
				continue
			}
			r.judgeChoice(key, a)
		}
	}
}

func (r *run) judgeChoice(key, a string) {
	machine, k, _ := strings.Cut(key, "/")
	for i := range r.own.spec.networks {
		n := &r.own.spec.networks[i]
		for _, ipv6 := range n.families() {
			if addressKey(n.vxlan, ipv6) != k {
				continue
			}
			p := r.own.spec.pool(r.poolOf(machine))
			if n.assignment == pooled || p == nil {
				return
			}
			for host := range lastHostIPv6 + 1 {
				if address(n.vxlan, host, ipv6) == a && !n.usable(p, host, ipv6) {
					r.violationf("%s gets %s, which is not in its range", key, a)
				}
			}
			return
		}
	}
	r.violationf("%s gets %s without a network", key, a)
}
