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
limit=${L2CLUSTER_TIME_LIMIT:-900}
pause=${L2CLUSTER_PAUSE:-10}
now() {
read -r up _ </proc/uptime
echo "${up%.*}"
}
retry() {
while :; do
left=$((deadline - $(now)))
[ "$left" -gt 0 ] || fail "gave up after ${limit}s: $*"
timeout "$left" "$@" && return
echo "l2cluster-node: failed, trying again: $*" >&2
sleep "$pause"
done
}
containerd_major() {
command -v containerd >/dev/null || { echo 0; return; }
major=$(containerd --version | awk '{ sub(/^v/, "", $3); sub(/\..*/, "", $3); print $3 }')
echo "${major:-0}"
}
installed() {
[ "$(containerd_major)" -ge "$containerd" ] && command -v kubectl >/dev/null &&
[ "$(kubeadm version -o short 2>/dev/null)" = "$version" ] &&
[ "$(kubelet --version 2>/dev/null)" = "Kubernetes $version" ]
}
configure_containerd() {
[ "$(containerd_major)" -ge "$containerd" ] ||
fail "Kubernetes $version needs containerd $containerd or later: use an image with a newer one"
sandbox=$(kubeadm config images list --kubernetes-version "$version" | grep /pause:) ||
fail "kubeadm names no pause image for $version"
replace "$root/etc/crictl.yaml" <<-END
runtime-endpoint: unix:///run/containerd/containerd.sock
image-endpoint: unix:///run/containerd/containerd.sock
END
config=$root/etc/containerd/config.toml
before=$(cat "$config" 2>/dev/null || :)
replace "$config" <<-END
version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "$sandbox"
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
END
systemctl enable containerd kubelet
if [ "$before" != "$(cat "$config")" ] || ! systemctl is-active -q containerd; then
systemctl restart containerd
fi
}
dnf_source() {
replace "$root/etc/yum.repos.d/$1.repo" <<-END
[$1]
name=$1
baseurl=$2
enabled=1
gpgcheck=1
gpgkey=$3
exclude=$4
END
}
install() {
if [ "$(getenforce 2>/dev/null)" = Enforcing ]; then
setenforce 0
sed -i 's/^SELINUX=enforcing$/SELINUX=permissive/' "$root/etc/selinux/config"
fi
dnf_source kubernetes "$repository/$minor/rpm/" "$repository/$minor/rpm/repodata/repomd.xml.key" \
"kubelet kubeadm kubectl cri-tools kubernetes-cni"
runtime=
if [ "$(containerd_major)" -lt "$containerd" ]; then
runtime=containerd.io
docker=$(. "$root/etc/os-release" && [ "$ID" = rhel ] && echo rhel || echo centos)
docker=https://download.docker.com/linux/$docker
dnf_source docker-ce "$docker/"'$releasever/$basearch/stable' "$docker/gpg" ""
fi
retry dnf -qy install --disableexcludes=kubernetes $runtime \
"kubelet-${version#v}" "kubeadm-${version#v}" "kubectl-${version#v}"
}
order_setup() {
version=$1
repository=$2
deadline=$(($(now) + limit))
prepare
minor=${version%.*}
containerd=1
[ "${minor#v1.}" -lt 36 ] || containerd=2
installed || install
configure_containerd
}
