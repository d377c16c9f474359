order_setup() {
	version=$1
	repository=$2
	deadline=$(($(now) + limit))
	prepare
	minor=${version%.*}
	# Kubernetes v1.35 is the last one with containerd 1:
	# https://kubernetes.io/blog/2025/12/17/kubernetes-v1-35-release/
	containerd=1
	[ "${minor#v1.}" -lt 36 ] || containerd=2
	installed || install
	configure_containerd
}

