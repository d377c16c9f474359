#!/bin/sh
# Puts the address of the control plane's endpoint on the loopback interface of a
# control plane server, and touches nothing else. The address stands in
# /etc/l2cluster/endpoint. A second run changes nothing.
#
#   l2cluster-endpoint first     before kubeadm: take it where the cluster starts
#   l2cluster-endpoint keep      after kubeadm: take it, now and at every boot
#   l2cluster-endpoint release   after kubeadm: leave it to the load balancer
#   l2cluster-endpoint up        take it
set -eu

# Tests run the script on a folder, with no patience.
root=${L2CLUSTER_ROOT:-}
tries=${L2CLUSTER_TRIES:-60}
pause=${L2CLUSTER_PAUSE:-5}

fail() {
	echo "l2cluster-endpoint: $*" >&2
	exit 1
}

[ -r "$root/etc/l2cluster/endpoint" ] || fail "/etc/l2cluster/endpoint is missing"
read -r address <"$root/etc/l2cluster/endpoint" || :
case $address in
'' | *[!0-9.]*) fail "/etc/l2cluster/endpoint holds no IPv4 address: $address" ;;
esac

up() {
	ip address replace "$address/32" dev lo
}

# Whether an API server answers at an address, with whatever status.
answers() {
	curl -ks -m 5 -o /dev/null "https://$1:6443/livez"
}

wait_for() {
	try=0
	until answers "$1"; do
		try=$((try + 1))
		[ "$try" -lt "$tries" ] || return 1
		sleep "$pause"
	done
}

case ${1:-} in
first)
	# A server that joins must reach the API servers that exist, not itself.
	[ ! -f "$root/run/kubeadm/kubeadm.yaml" ] || up
	;;
keep)
	# Until its own API server answers, the server needs the others.
	wait_for 127.0.0.1 || echo "l2cluster-endpoint: the API server of this node does not answer yet" >&2
	systemctl daemon-reload
	systemctl enable l2cluster-endpoint.service
	systemctl restart l2cluster-endpoint.service
	;;
release)
	[ -f "$root/run/kubeadm/kubeadm.yaml" ] || exit 0
	ip address delete "$address/32" dev lo 2>/dev/null || exit 0
	wait_for "$address" && exit 0
	up
	fail "the load balancer does not answer at $address; until its next boot this node talks to itself instead"
	;;
up) up ;;
*) fail "unknown order: ${1:-}" ;;
esac
