#!/bin/sh
# https://github.com/l2cluster/function-l2cluster
set -eu
root=${L2CLUSTER_ROOT:-}
fail() {
echo "l2cluster-node: $*" >&2
exit 1
}
replace() {
mkdir -p "${1%/*}"
cat >"$root/etc/l2cluster.part"
chmod "${2:-0644}" "$root/etc/l2cluster.part"
mv "$root/etc/l2cluster.part" "$1"
}
ssh_keys() {
keys=$root/etc/l2cluster/authorized_keys
allowed=$root/root/.ssh/authorized_keys
[ -f "$keys" ] || return 0
mkdir -p "$root/root/.ssh"
: >>"$allowed"
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
prepare() {
(umask 077 && ssh_keys) || echo "l2cluster-node: not all keys can log in" >&2
swap_off
kernel
}
order_setup() {
prepare
for program in kubeadm kubelet; do
command -v $program >/dev/null || fail "the image has no $program; without it nodePackages must be Packages"
done
}
