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

