order_setup() {
	prepare
	for program in kubeadm kubelet; do
		command -v $program >/dev/null || fail "the image has no $program; without it nodePackages must be Packages"
	done
}

