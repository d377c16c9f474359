#!/bin/sh
# Prepares a server for kubeadm: swap, kernel modules, kernel settings and, unless
# the image has them, containerd, kubelet, kubeadm and kubectl. A second run
# changes nothing.
#
#   l2cluster-node-setup image
#   l2cluster-node-setup apt|dnf VERSION REPOSITORY
#
# VERSION is that of Kubernetes, for example v1.34.2; REPOSITORY is the base URL of
# its packages, to which /v1.34/deb/ or /v1.34/rpm/ is added.
set -eu

# Tests run the script on a folder, with no patience.
root=${L2CLUSTER_ROOT:-}
limit=${L2CLUSTER_TIME_LIMIT:-900}
pause=${L2CLUSTER_PAUSE:-10}

mode=${1:-}
version=${2:-}
repository=${3:-}

fail() {
	echo "l2cluster-node-setup: $*" >&2
	exit 1
}

# The uptime, in seconds: unlike the clock it does not jump while a server boots.
now() {
	read -r up _ </proc/uptime
	echo "${up%.*}"
}

# Runs a command again until it succeeds or the time is up. No try outlives the
# time limit, whatever it hangs on.
retry() {
	while :; do
		left=$((deadline - $(now)))
		[ "$left" -gt 0 ] || fail "gave up after ${limit}s: $*"
		timeout "$left" "$@" && return
		echo "l2cluster-node-setup: failed, trying again: $*" >&2
		sleep "$pause"
	done
}

# Puts standard input in place of a file, whole or not at all, and sets changed
# unless the file was like that before.
replace() {
	mkdir -p "$(dirname "$1")"
	cat >"$1.l2cluster"
	chmod 0644 "$1.l2cluster"
	cmp -s "$1.l2cluster" "$1" || changed=1
	mv "$1.l2cluster" "$1"
}

download() {
	mkdir -p "$(dirname "$2")"
	retry curl -fsSL --connect-timeout 10 --max-time 60 -o "$2.l2cluster" "$1"
	chmod 0644 "$2.l2cluster"
	mv "$2.l2cluster" "$2"
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
	modprobe -a overlay br_netfilter
	sysctl -q -p "$root"/etc/sysctl.d/99-l2cluster*.conf
}

# Major version of the installed containerd, 0 without one.
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

apt() {
	retry env DEBIAN_FRONTEND=noninteractive apt-get -qy -o APT::Update::Error-Mode=any \
		-o DPkg::Lock::Timeout=60 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}

apt_source() {
	download "$2" "$root/etc/apt/keyrings/$1.asc"
	replace "$root/etc/apt/sources.list.d/$1.list" <<-END
		deb [signed-by=/etc/apt/keyrings/$1.asc] $3
	END
}

install_apt() {
	apt update
	apt install ca-certificates curl
	apt_source kubernetes "$repository/$minor/deb/Release.key" "$repository/$minor/deb/ /"
	runtime=
	if [ "$(containerd_major)" -lt "$containerd" ]; then
		candidate=$(apt-cache policy containerd | awk '$1 == "Candidate:" { sub(/\..*/, "", $2); print $2 }')
		case $candidate in
		'' | *[!0-9]*) candidate=0 ;;
		esac
		runtime=containerd
		if [ "$candidate" -lt "$containerd" ]; then
			runtime=containerd.io
			# shellcheck source=/dev/null
			docker=$(. "$root/etc/os-release" && echo "https://download.docker.com/linux/$ID $VERSION_CODENAME stable")
			apt_source docker "${docker%% *}/gpg" "$docker"
		fi
	fi
	apt update
	apt install --allow-change-held-packages $runtime \
		"kubelet=${version#v}-*" "kubeadm=${version#v}-*" "kubectl=${version#v}-*"
	apt-mark -q hold kubelet kubeadm kubectl
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

install_dnf() {
	# https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/install-kubeadm/
	if [ "$(getenforce 2>/dev/null)" = Enforcing ]; then
		setenforce 0
		sed -i 's/^SELINUX=enforcing$/SELINUX=permissive/' "$root/etc/selinux/config"
	fi
	dnf_source kubernetes "$repository/$minor/rpm/" "$repository/$minor/rpm/repodata/repomd.xml.key" \
		"kubelet kubeadm kubectl cri-tools kubernetes-cni"
	runtime=
	if [ "$(containerd_major)" -lt "$containerd" ]; then
		runtime=containerd.io
		# shellcheck source=/dev/null
		docker=$(. "$root/etc/os-release" && [ "$ID" = rhel ] && echo rhel || echo centos)
		docker=https://download.docker.com/linux/$docker
		# shellcheck disable=SC2016
		dnf_source docker-ce "$docker/"'$releasever/$basearch/stable' "$docker/gpg" ""
	fi
	retry dnf -qy install --disableexcludes=kubernetes $runtime \
		"kubelet-${version#v}" "kubeadm-${version#v}" "kubectl-${version#v}"
}

configure_containerd() {
	[ "$(containerd_major)" -ge "$containerd" ] ||
		fail "Kubernetes $version needs containerd $containerd or later: use an image with a newer one"
	sandbox=$(kubeadm config images list --kubernetes-version "$version" | grep /pause:) ||
		fail "kubeadm names no pause image for $version"
	changed=
	replace "$root/etc/containerd/config.toml" <<-END
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
	if [ -n "$changed" ] || ! systemctl is-active -q containerd; then
		systemctl restart containerd
	fi
}

deadline=$(($(now) + limit))
swap_off
kernel
case $mode in
image)
	for program in kubeadm kubelet; do
		command -v $program >/dev/null || fail "the image has no $program; without it nodePackages must be Packages"
	done
	exit 0
	;;
apt | dnf) ;;
*) fail "unknown way to install packages: '$mode'" ;;
esac
minor=${version%.*}
# Kubernetes v1.35 is the last one with containerd 1:
# https://kubernetes.io/blog/2025/12/17/kubernetes-v1-35-release/
containerd=1
[ "${minor#v1.}" -lt 36 ] || containerd=2
installed || "install_$mode"
configure_containerd
