#!/bin/sh
# Obeys an order, which is a function order_NAME of this script, with the rest of
# the arguments. Platforms add orders of their own. Carrying out an order twice
# changes nothing more.
#
#   l2cluster-node setup [VERSION REPOSITORY]
#
# setup prepares a server for kubeadm: keys, swap, kernel modules, kernel settings
# and, unless the image has them, containerd, kubelet, kubeadm and kubectl. VERSION
# is that of Kubernetes, for example v1.34.2; REPOSITORY is the base URL of its
# packages, to which /v1.34/deb/ or /v1.34/rpm/ is added. Without them nothing is
# installed.
set -eu

# Tests run the script on a folder.
root=${L2CLUSTER_ROOT:-}

fail() {
	echo "l2cluster-node: $*" >&2
	exit 1
}

# Puts standard input in place of a file below /etc, whole or not at all. It is
# written outside of the file's folder, since some folders are watched.
replace() {
	mkdir -p "${1%/*}"
	cat >"$root/etc/l2cluster.part"
	chmod "${2:-0644}" "$root/etc/l2cluster.part"
	mv "$root/etc/l2cluster.part" "$1"
}

# Lets the keys in /etc/l2cluster/authorized_keys log in as root, beside those
# that may already.
ssh_keys() {
	keys=$root/etc/l2cluster/authorized_keys
	allowed=$root/root/.ssh/authorized_keys
	[ -f "$keys" ] || return 0
	mkdir -p "$root/root/.ssh"
	: >>"$allowed"
	# A last line without its end would swallow the first key.
	[ -z "$(tail -c 1 "$allowed")" ] || echo >>"$allowed"
	while read -r key; do
		grep -qxF -e "$key" "$allowed" || echo "$key" >>"$allowed"
	done <"$keys"
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

# What every server needs. It goes on without the keys.
prepare() {
	(umask 077 && ssh_keys) || echo "l2cluster-node: not all keys can log in" >&2
	swap_off
	kernel
}

