# What the orders of control plane servers have in common. The first of them gets
# what the others need too: the address of the control plane's endpoint and, where
# kube-vip announces it, the URL of the server's metadata and kube-vip's image.

# Tests have no patience.
tries=${L2CLUSTER_TRIES:-60}

# Runs a command again until it succeeds, a limited number of times, with a pause
# in seconds between them.
persist() {
	between=${L2CLUSTER_PAUSE:-$1}
	shift
	try=1
	until "$@"; do
		[ "$try" -lt "$tries" ] || return 1
		try=$((try + 1))
		sleep "$between"
	done
}

# Whether the cluster starts on this server; others join it.
starts() {
	[ -f "$root/run/kubeadm/kubeadm.yaml" ]
}

# Remembers what the first order got: ADDRESS [METADATA IMAGE].
remember() {
	echo "$*" | replace "$root/etc/l2cluster/endpoint"
	recall
}

recall() {
	address=
	# shellcheck disable=SC2034 # Only kube-vip's orders need the others.
	read -r address metadata image <"$root/etc/l2cluster/endpoint" || :
	case $address in
	'' | *[!0-9.]*) fail "the endpoint is no IPv4 address: $address" ;;
	esac
}

# Carries out an order at every boot: UNIT WHEN ORDER.
at_boot() {
	replace "$root/etc/systemd/system/$1" <<-END
		[Unit]
		$2
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/usr/local/sbin/l2cluster-node $3
		[Install]
		WantedBy=multi-user.target
	END
	systemctl daemon-reload
	systemctl enable "$1"
}

