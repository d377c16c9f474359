# Tests have no patience.
limit=${L2CLUSTER_TIME_LIMIT:-900}
pause=${L2CLUSTER_PAUSE:-10}

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
		echo "l2cluster-node: failed, trying again: $*" >&2
		sleep "$pause"
	done
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

