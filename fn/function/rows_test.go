package function_test

import (
	"cmp"
	"slices"
)

// rows of the table in docs/changes.md, by field.
func rows() []row {
	out := slices.Concat(clusterRows(), networkRows(), numberRows(),
		machineRows("spec.controlPlane", rollsControl), machineRows("spec.workers[]", rollsPool), inputRows())
	slices.SortStableFunc(out, func(a, b row) int { return cmp.Compare(root(a), root(b)) })
	return out
}

// root puts the claim before the input.
func root(r row) int {
	if r.field[0] == 's' {
		return 0
	}
	return 1
}

func clusterRows() []row {
	return []row{
		{
			field: "spec.namespace", effect: newClaim, words: "read only from a composite without a claim; a claim's own namespace always counts",
			given: func(l *living) {
				delete(l.spec(), "claimRef")
				l.spec()["namespace"] = "team-a"
				clear(l.observed)
				l.machines, l.composite["status"] = nil, object{}
				l.observed = map[string]object{}
				l.bare()
			},
			value: "team-b",
		},
		{field: "spec.kubernetesVersion", effect: rollsAll, value: "v1.35.1", words: "the control plane first, and the pools when it is done; one minor version up at a time and never down; a patch version may go back"},
		{field: "spec.projectID", effect: newClaim, value: "00000000-0000-4000-8000-00000000000b", words: ""},
		{field: "spec.metro", effect: newClaim, value: "ny", words: ""},
		{field: "spec.sshKeys", effect: rollsAll, value: []any{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJbM ops"}, words: "keys are written when a server boots"},
		{field: "spec.vipManager", effect: newClaim, value: "KUBE_VIP", words: ""},
		{field: "spec.clusterNetwork.pods.cidrBlocks", effect: newClaim, value: []any{"192.168.0.0/17"}, words: "kubeadm writes it into the cluster when it is made"},
		{field: "spec.clusterNetwork.services.cidrBlocks", effect: newClaim, value: []any{"172.26.0.0/17"}, words: "as for pods"},
		{field: "spec.clusterNetwork.serviceDomain", effect: newClaim, value: "edge.example", words: "as for pods"},
		{field: "spec.vrfs[].name", effect: nothing, words: "another VRF with other reservations and gateways; traffic through the gateway stops meanwhile", given: given(routed), edit: func(l *living) {
			l.assign("spec.vrfs[].name", "other")
			l.network(0)["metalGateway"] = object{"vrf": "other"}
		}},
		{field: "spec.vrfs[].description", effect: nothing, given: given(routed), value: "text", words: ""},
		{field: "spec.vrfs[].vrfID", effect: refused, given: given("{vrfs: [{name: backbone, vrfID: 11111111-2222-4333-8444-555555555555}]}"), words: "taking it out is refused: what was adopted is never owned; giving another one leaves the old VRF alone", edit: func(l *living) {
			v := l.spec()["vrfs"].([]any)[0].(object)
			delete(v, "vrfID")
			v["localASN"], v["ipRanges"] = 65000.0, []any{"10.60.0.0/16"}
		}},
		{field: "spec.vrfs[].localASN", effect: nothing, given: given(routed), value: 65001.0, words: "changed in place"},
		{field: "spec.vrfs[].ipRanges", effect: nothing, given: given(routed), value: []any{"10.60.0.0/16", "10.61.0.0/16"}, words: "changed in place; the platform refuses to take out a range with reservations in it"},
	}
}

// routed is a network behind a gateway in a VRF.
const routed = "{vrfs: [{name: backbone, localASN: 65000, ipRanges: [10.60.0.0/16]}], networks: [{metalGateway: {vrf: backbone}, assignmentRanges: [10.60.10.2-10.60.10.40]}]}"

// dual is a network with both families.
const dual = `{networks: [{ipAddresses: [10.60.10.0/24, "fd00:60::/64"], assignmentRanges: [10.60.10.2-10.60.10.40, "fd00:60::2-fd00:60::40"]}]}`

// pooled is a network whose addresses come from an outside pool.
func pooled(l *living) {
	l.addNetwork("{name: leased, vxlan: 1001, ipAddresses: [10.60.20.0/24], assignment: ipam, poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: lease}}")
}

// lease changes a field of the pool of the second network.
func lease(name, value string) func(*living) {
	return func(l *living) { l.network(1)["poolRef"].(object)[name] = value }
}

func networkRows() []row {
	return []row{
		{field: "spec.networks[].name", effect: rollsAll, words: "the files on the servers bear the name; VLAN, ports and addresses stay", edit: func(l *living) {
			l.network(0)["name"] = "disks"
			for _, pool := range []object{l.worker(), l.spec()["controlPlane"].(object)} {
				pool["ports"].([]any)[0].(object)["networks"] = []any{object{"name": "disks"}}
			}
		}},
		{field: "spec.networks[].description", effect: nothing, value: "text 1", words: "changed at the VLAN"},
		{field: "spec.networks[].vxlan", effect: refused, value: 1500.0, words: "while a port carries the VLAN: add a network of another name, and take this one out when the servers are replaced"},
		{field: "spec.networks[].vlanID", effect: refused, given: func(l *living) {
			l.network(0)["vlanID"] = "00000000-0000-4000-8000-000000001000"
			delete(l.observed, "vlan-1000")
		}, words: "taking it out is refused: what was adopted is never owned; so is another one while a port carries the first", edit: func(l *living) { delete(l.network(0), "vlanID") }},
		{field: "spec.networks[].ipAddresses", effect: refused, words: "while machines hold addresses of the subnet; another family beside it rolls all on it", edit: func(l *living) {
			l.merge("{networks: [{ipAddresses: [10.60.99.0/24], gateway: 10.60.99.1}]}")
			delete(l.network(0), "assignmentRanges")
		}},
		{field: "spec.networks[].assignment", effect: nothing, variants: assignments("cluster-api", "ipam"), words: "between `cluster-api` and `ipam`: whoever has an address keeps it, and machines to come get theirs from the new source; after a change to `ipam` machines that run have claims too, whose addresses they do not use"},
		{field: "spec.networks[].assignment", effect: rollsAll, variants: otherAssignments(), words: "from and to `dhcp` and `none`; servers keep the addresses that they have until they are replaced"},
		{field: "spec.networks[].assignmentRanges", effect: nothing, value: []any{"10.60.10.2-10.60.10.60"}, words: "counts for machines to come; whoever has an address outside keeps it"},
		{field: "spec.networks[].exclude", effect: nothing, value: []any{"10.60.10.3"}, words: "as for assignmentRanges"},
		{field: "spec.networks[].gateway", effect: nothing, value: "10.60.10.250", words: "with `sourceRouting`, or with `defaultRoute` on servers in pure layer 2, it rolls all on it"},
		{field: "spec.networks[].gatewayIPv6", effect: nothing, given: given(dual), value: "fd00:60::1", words: "as for gateway"},
		{field: "spec.networks[].routes[].destination", effect: rollsAll, given: given("{networks: [{routes: [{destination: 10.61.0.0/16, gateway: 10.60.10.1}]}]}"), value: "10.62.0.0/16", words: ""},
		{field: "spec.networks[].routes[].gateway", effect: rollsAll, given: given("{networks: [{routes: [{destination: 10.61.0.0/16, gateway: 10.60.10.1}]}]}"), value: "10.60.10.254", words: ""},
		{field: "spec.networks[].routes[].metric", effect: rollsAll, given: given("{networks: [{routes: [{destination: 10.61.0.0/16, gateway: 10.60.10.1}]}]}"), value: 200.0, words: ""},
		{field: "spec.networks[].mtu", effect: rollsAll, value: 9000.0, words: ""},
		{field: "spec.networks[].interfaceName", effect: rollsAll, value: "disks", words: ""},
		{field: "spec.networks[].defaultRoute", effect: nothing, value: true, words: "on servers in pure layer 2 it rolls all on it"},
		{field: "spec.networks[].sourceRouting", effect: rollsAll, value: true, words: ""},
		{field: "spec.networks[].poolRef.apiGroup", effect: nothing, given: pooled, edit: lease("apiGroup", "ipam.example.org"), words: "counts for machines to come; whoever has an address keeps it"},
		{field: "spec.networks[].poolRef.kind", effect: nothing, given: pooled, edit: lease("kind", "GlobalInClusterIPPool"), words: "as for apiGroup"},
		{field: "spec.networks[].poolRef.name", effect: nothing, given: pooled, edit: lease("name", "other"), words: "as for apiGroup"},
		{field: "spec.networks[].metalGateway.vrf", effect: nothing, given: given(routed), words: "the gateway is replaced, and traffic through it stops meanwhile", edit: func(l *living) {
			l.merge("{vrfs: [{}, {name: other, localASN: 65001, ipRanges: [10.60.0.0/16]}]}")
			l.network(0)["metalGateway"] = object{"vrf": "other"}
		}},
		{field: "spec.networks[].metalGateway.privateSubnetSize", effect: nothing, given: given("{networks: [{metalGateway: {privateSubnetSize: 8}}]}"), value: 16.0, words: "as for vrf"},
	}
}

// assigned gives a network's addresses in another way.
func assigned(how string) func(*living) {
	return func(l *living) {
		n := l.network(0)
		for _, name := range []string{"poolRef", "assignmentRanges", "gateway"} {
			delete(n, name)
		}
		n["assignment"] = how
		if how == "ipam" {
			n["poolRef"] = object{"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "lease"}
		}
	}
}

// assignments are the edits from each way to each other one.
func assignments(ways ...string) map[string]variant {
	out := map[string]variant{}
	for _, from := range ways {
		for _, to := range ways {
			if from != to {
				out[from+" to "+to] = variant{given: assigned(from), edit: assigned(to)}
			}
		}
	}
	return out
}

// otherAssignments are those that machines must be set up for.
func otherAssignments() map[string]variant {
	out := assignments("cluster-api", "ipam", "dhcp", "none")
	for name := range assignments("cluster-api", "ipam") {
		delete(out, name)
	}
	return out
}

func numberRows() []row {
	return []row{
		{field: "spec.controlPlane.replicas", effect: scales, value: 5.0, words: ""},
		{field: "spec.controlPlane.rollout.maxSurge", effect: nothing, value: 0.0, words: "counts from the next rollout on, also for one that is held back for want of addresses"},
		{field: "spec.workers[].name", effect: another, value: "special", words: "the old pool's servers are deleted at once; to keep some meanwhile, add the new pool first"},
		{field: "spec.workers[].replicas", effect: scales, value: 3.0, words: ""},
		{field: "spec.workers[].autoscaling.min", effect: nothing, given: autoscaled, value: 2.0, words: "the autoscaler acts on it"},
		{field: "spec.workers[].autoscaling.max", effect: nothing, given: autoscaled, value: 7.0, words: "the autoscaler acts on it"},
		{field: "spec.workers[].rollout.maxSurge", effect: nothing, value: 2.0, words: "as for the control plane"},
		{field: "spec.workers[].rollout.maxUnavailable", effect: nothing, value: 1.0, words: "counts from the next rollout on"},
	}
}

// autoscaled leaves the number of the pool's machines to the autoscaler.
func autoscaled(l *living) {
	delete(l.worker(), "replicas")
	l.worker()["autoscaling"] = object{"min": 1.0, "max": 5.0}
}

// onPorts are other ports for the pools that a row is about.
func onPorts(path, text string) func(*living) {
	return func(l *living) { l.assign(path+".ports", parse(l.t, "{ports: "+text+"}")["ports"]) }
}

// both does one thing after another.
func both(steps ...func(*living)) func(*living) {
	return func(l *living) {
		for _, step := range steps {
			step(l)
		}
	}
}

const (
	outside    = "[{name: eth1, bonded: false, networks: [{name: storage}]}]"
	onBond     = "[{name: bond0, networks: [{name: storage}]}]"
	twoOutside = "[{name: eth1, bonded: false, networks: [{name: storage}, {name: data}]}]"
	withNative = "[{name: eth1, bonded: false, nativeNetwork: data, networks: [{name: storage}, {name: data}]}]"
	noNetwork  = "[{name: bond0, networks: []}]"
	pure       = "[{name: bond0, layer2: true, networks: [{name: storage}]}]"
)

// noCloudController is a cluster in which an address of a network can be a
// node's own.
const noCloudController = "{vipManager: KUBE_VIP, input: {equinix: {cloudController: {kind: None}}}}"

// machineRows of control plane or workers.
func machineRows(path, rolls string) []row {
	layer2, health := rolls, "{healthCheck: {}}"
	words := "servers of the old layout keep theirs until they are replaced"
	if path == "spec.controlPlane" {
		layer2, words = refused, "a control plane cannot be in pure layer 2"
	}
	data := func(l *living) { l.addNetwork("{name: data, vxlan: 1001, ipAddresses: [10.60.20.0/24]}") }
	checked := func(l *living) { l.assign(path+".healthCheck", parse(l.t, health)["healthCheck"]) }
	tainted := func(l *living) {
		l.assign(path+".taints", parse(l.t, "{t: [{key: a, value: b, effect: NoSchedule}]}")["t"])
	}
	return []row{
		{field: path + ".machineType", effect: rolls, value: "m3.large.x86", words: ""},
		{field: path + ".os", effect: rolls, value: "ubuntu_24_04", words: ""},
		{field: path + ".billingCycle", effect: rolls, value: "monthly", words: ""},
		{field: path + ".hardwareReservationID", effect: rolls, value: "next-available", given: given("{input: {equinix: {hardwareReservations: true}}}"), words: "only where the platform team allows reservations"},
		{field: path + ".tags", effect: rolls, value: []any{"a"}, words: ""},
		{field: path + ".labels", effect: rolls, value: object{"example.org/a": "b"}, words: "labels that Cluster API carries from machines to nodes change in place: see the guide to the claim"},
		{field: path + ".taints[].key", effect: rolls, given: tainted, value: "c", words: ""},
		{field: path + ".taints[].value", effect: rolls, given: tainted, value: "c", words: ""},
		{field: path + ".taints[].effect", effect: rolls, given: tainted, value: "NoExecute", words: ""},
		{field: path + ".ports[].name", effect: rolls, edit: onPorts(path, outside), words: "servers of the old layout keep theirs until they are replaced"},
		{field: path + ".ports[].bonded", effect: rolls, given: onPorts(path, outside), edit: onPorts(path, onBond), words: "as for name"},
		{field: path + ".ports[].layer2", effect: layer2, edit: both(onPorts(path, pure), given("{networks: [{defaultRoute: true}]}")), words: words},
		{field: path + ".ports[].nativeNetwork", effect: rolls, given: both(data, onPorts(path, twoOutside)), edit: onPorts(path, withNative), words: "as for name"},
		{field: path + ".ports[].networks[].name", effect: rolls, edit: onPorts(path, noNetwork), words: "as for name; a network that leaves the claim is detached from tagged ports at once"},
		{field: path + ".ports[].networks[].assignmentRange", effect: nothing, edit: onPorts(path, "[{name: bond0, networks: [{name: storage, assignmentRange: 10.60.10.50-10.60.10.90}]}]"), words: "counts for machines to come; whoever has an address outside keeps it"},
		{field: path + ".ports[].networks[].addressType", effect: nothing, edit: onPorts(path, "[{name: bond0, networks: [{name: storage, addressType: External}]}]"), words: "how the address is reported"},
		{field: path + ".ports[].networks[].nodeIP", effect: rolls, given: withoutCloudController, edit: onPorts(path, "[{name: bond0, networks: [{name: storage, nodeIP: true}]}]"), words: ""},
		{field: path + ".healthCheck.nodeStartupTimeoutSeconds", effect: nothing, given: checked, value: 3600.0, words: "machines that are late by the new value are replaced"},
		{field: path + ".healthCheck.unhealthyTimeoutSeconds", effect: nothing, given: checked, value: 600.0, words: "as before"},
		{field: path + ".healthCheck.maxUnhealthy", effect: nothing, given: checked, value: "50%", words: ""},
	}
}

// withoutCloudController begins a cluster anew that has none.
func withoutCloudController(l *living) {
	l.merge(noCloudController)
	delete(l.observed, "packet-cluster")
}

func inputRows() []row {
	file := given("{input: {bootstrap: {files: [{path: /etc/a, content: b}]}}}")
	backend := given("{input: {network: {backends: [{osPrefix: ubuntu, name: netplan}]}}}")
	addOn := given("{input: {addOns: [{name: cni, resources: [{kind: ConfigMap, name: cni}]}]}}")
	return []row{
		{field: "input.platform", effect: newClaim, words: "there is one platform"},
		{
			field: "input.namespace", effect: newClaim, words: "counts for composites without a claim and without a namespace of their own",
			given: func(l *living) {
				delete(l.spec(), "claimRef")
				l.input["namespace"] = "team-a"
				l.machines, l.composite["status"] = nil, object{}
				l.observed = map[string]object{}
				l.bare()
			},
			value: "team-b",
		},
		{field: "input.allowed.metros", effect: nothing, value: []any{"da"}, words: "a claim that asks for another one is refused and stays as it is"},
		{field: "input.allowed.machineTypes", effect: nothing, value: []any{"c3.small.x86"}, words: "as for metros"},
		{field: "input.allowed.operatingSystems", effect: nothing, value: []any{"ubuntu_22_04"}, words: "as for metros"},
		{field: "input.equinix.providerConfig", effect: nothing, value: "other", words: ""},
		{field: "input.equinix.httpProviderConfig", effect: nothing, value: "other", words: ""},
		{field: "input.equinix.apiURL", effect: rollsControl, value: "https://metal.example.org/v1", words: "the cloud controller's settings name it; with `cloudController.delivery: AddOn` nothing rolls"},
		{field: "input.equinix.metadataURL", effect: rollsAll, value: "https://metadata.example.org", words: "servers ask it when they boot"},
		{field: "input.equinix.tokenSecret.namespace", effect: nothing, value: "other", words: ""},
		{field: "input.equinix.tokenSecret.name", effect: nothing, value: "other", words: ""},
		{field: "input.equinix.tokenSecret.key", effect: nothing, value: "other", words: ""},
		{field: "input.equinix.blocks", effect: nothing, value: []any{"10.99.0.0/25"}, words: "a claim with a network in one of them is refused and stays as it is"},
		{field: "input.equinix.hardwareReservations", effect: nothing, value: true, words: ""},
		{field: "input.equinix.cloudController.kind", effect: rollsAll, given: given("{input: {equinix: {cloudController: {delivery: AddOn}}}}"), edit: func(l *living) {
			withoutCloudController(l)
		}, words: "of clusters with `vipManager: KUBE_VIP`; others are refused and stay as they are"},
		{field: "input.equinix.cloudController.delivery", effect: rollsControl, value: "AddOn", words: ""},
		{field: "input.equinix.cloudController.manifestURL", effect: rollsControl, value: "https://example.org/deployment.yaml", words: ""},
		{field: "input.equinix.kubeVIP.image", effect: rollsControl, given: func(l *living) {
			l.spec()["vipManager"] = "KUBE_VIP"
			delete(l.observed, "packet-cluster")
		}, value: "ghcr.io/kube-vip/kube-vip:v0.8.2", words: "of clusters with `vipManager: KUBE_VIP`"},
		{field: "input.equinix.callTimeout", effect: nothing, value: "6s", words: ""},
		{field: "input.equinix.totalTimeout", effect: nothing, value: "16s", words: ""},
		{field: "input.bootstrap.nodePackages", effect: rollsAll, value: "Image", words: ""},
		{field: "input.bootstrap.kubernetesRepository", effect: rollsAll, value: "https://mirror.example.org/kubernetes:", words: ""},
		{field: "input.bootstrap.files[].path", effect: rollsAll, given: file, value: "/etc/c", words: ""},
		{field: "input.bootstrap.files[].permissions", effect: rollsAll, given: file, value: "0600", words: ""},
		{field: "input.bootstrap.files[].content", effect: rollsAll, given: file, value: "d", words: ""},
		{field: "input.bootstrap.preKubeadmCommands", effect: rollsAll, value: []any{"true"}, words: ""},
		{field: "input.bootstrap.postKubeadmCommands", effect: rollsAll, value: []any{"true"}, words: ""},
		{field: "input.network.backends[].osPrefix", effect: rollsAll, given: backend, value: "debian", words: "of pools whose operating system it names"},
		{field: "input.network.backends[].name", effect: rollsAll, given: backend, value: "networkd", words: "of pools whose operating system it names"},
		{field: "input.network.timeout", effect: rollsAll, value: "9m", words: ""},
		{field: "input.network.coolDown", effect: nothing, value: "11m", words: "counts at once, also for addresses that rest"},
		{field: "input.addOns[].name", effect: nothing, given: addOn, value: "other", words: "what was applied stays"},
		{field: "input.addOns[].strategy", effect: nothing, given: addOn, value: "Reconcile", words: ""},
		{field: "input.addOns[].resources[].kind", effect: nothing, given: addOn, value: "Secret", words: ""},
		{field: "input.addOns[].resources[].name", effect: nothing, given: addOn, value: "other", words: ""},
	}
}
