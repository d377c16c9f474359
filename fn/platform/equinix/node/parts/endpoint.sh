# The endpoint's address on the loopback interface, and on no other:
#
#   l2cluster-node first ADDRESS   before kubeadm: take it where the cluster starts
#   l2cluster-node keep            after kubeadm: take it, now and at every boot
#   l2cluster-node release         after kubeadm: leave it to the load balancer
#   l2cluster-node up              take it
order_up() {
	recall
	ip address replace "$address/32" dev lo
}

# Whether an API server answers at an address, with whatever status.
answers() {
	curl -ks -m 5 -o /dev/null "https://$1:6443/livez"
}

order_first() {
	remember "$@"
	# A server that joins must reach the API servers that exist, not itself.
	! starts || order_up
}

order_keep() {
	recall
	# Until its own API server answers, the server needs the others.
	persist 5 answers 127.0.0.1 || echo "l2cluster-node: the API server of this node does not answer yet" >&2
	at_boot l2cluster-endpoint.service "After=network.target
Before=kubelet.service" up
	systemctl restart l2cluster-endpoint.service
}

order_release() {
	recall
	starts || return 0
	ip address delete "$address/32" dev lo 2>/dev/null || return 0
	persist 5 answers "$address" && return
	order_up
	fail "the load balancer does not answer at $address; until its next boot this node talks to itself instead"
}

