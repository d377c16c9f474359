#!/bin/sh
# Prepares a server for kubeadm: swap, kernel modules, kernel settings and, unless
# the image has them, containerd, kubelet, kubeadm and kubectl. A second run
# changes nothing.
#
#   l2cluster-node-setup [VERSION REPOSITORY]
#
# VERSION is that of Kubernetes, for example v1.34.2; REPOSITORY is the base URL of
# its packages, to which /v1.34/deb/ or /v1.34/rpm/ is added. Without them nothing
# is installed.
set -eu

# Tests run the script on a folder.
root=${L2CLUSTER_ROOT:-}

fail() {
	echo "l2cluster-node-setup: $*" >&2
	exit 1
}

# Puts standard input in place of a file, whole or not at all.
replace() {
	mkdir -p "$(dirname "$1")"
	cat >"$1.l2cluster"
	chmod 0644 "$1.l2cluster"
	mv "$1.l2cluster" "$1"
}

swap_off() {
	swapoff -a
	fstab=$root/etc/fstab
	active='^[[:space:]]*[^#[:space:]]+[[:space:]]+[^[:space:]]+[[:space:]]+swap([[:space:]]|$)'
	if [ -f "$fstab" ] && grep -Eq "$active" "$fstab"; then
		sed -E -i "s/$active/# &/" "$fstab"
	fi
	[ -z "$(swapon --noheadings --show=NAME)" ] || fail "swap is still on, and the kubelet does not start with it"
}

kernel() {
	replace "$root/etc/modules-load.d/l2cluster.conf" <<-END
		overlay
		br_netfilter
	END
	replace "$root/etc/sysctl.d/99-l2cluster.conf" <<-END
		net.ipv4.ip_forward = 1
		net.bridge.bridge-nf-call-iptables = 1
		net.bridge.bridge-nf-call-ip6tables = 1
	END
	modprobe -a overlay br_netfilter
	sysctl -q -p "$root"/etc/sysctl.d/99-l2cluster*.conf
}

