#!/bin/sh
# Applies the cloud controller and its Secret to a new cluster, on the server
# that starts the cluster. A second run changes nothing.
#
#   l2cluster-cloud-controller MANIFEST_URL
set -eu

# Tests run the script on a folder, with no patience.
root=${L2CLUSTER_ROOT:-}
tries=${L2CLUSTER_TRIES:-60}
pause=${L2CLUSTER_PAUSE:-10}

secret=$root/etc/l2cluster/cloud-controller-secret.yaml
export KUBECONFIG="$root/etc/kubernetes/admin.conf"

apply() {
	try=0
	until timeout 120 kubectl apply --server-side --force-conflicts --filename "$1"; do
		try=$((try + 1))
		if [ "$try" -ge "$tries" ]; then
			echo "l2cluster-cloud-controller: gave up applying $1" >&2
			exit 1
		fi
		sleep "$pause"
	done
}

if [ -f "$root/run/kubeadm/kubeadm.yaml" ]; then
	# Nobody needs the token on the disk once the cluster has it.
	[ ! -f "$secret" ] || apply "$secret"
	rm -f "$secret"
	apply "$1"
fi
rm -f "$secret"
