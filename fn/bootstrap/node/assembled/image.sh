#!/bin/sh
# The source of this script, with comments: https://github.com/l2cluster/function-l2cluster.
set -eu
root=${L2CLUSTER_ROOT:-}
fail() {
	echo "l2cluster-node-setup: $*" >&2
	exit 1
}
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
swap_off
kernel
for program in kubeadm kubelet; do
	command -v $program >/dev/null || fail "the image has no $program; without it nodePackages must be Packages"
done
