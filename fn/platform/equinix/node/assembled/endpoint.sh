tries=${L2CLUSTER_TRIES:-60}
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
starts() {
[ -f "$root/run/kubeadm/kubeadm.yaml" ]
}
remember() {
echo "$*" | replace "$root/etc/l2cluster/endpoint"
recall
}
recall() {
address=
read -r address metadata image <"$root/etc/l2cluster/endpoint" || :
case $address in
'' | *[!0-9.]*) fail "the endpoint is no IPv4 address: $address" ;;
esac
}
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
order_up() {
recall
ip address replace "$address/32" dev lo
}
answers() {
curl -ks -m 5 -o /dev/null "https://$1:6443/livez"
}
order_first() {
remember "$@"
! starts || order_up
}
order_keep() {
recall
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
