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
session() {
facts=$(python3 -c '
import json, sys, urllib.request
try:
 with urllib.request.urlopen(sys.argv[1], timeout=10) as answer:
  found = json.load(answer)
except (OSError, ValueError) as error:
 sys.exit(str(error))
sessions = [s for s in found.get("bgp_neighbors") or [] if s.get("address_family") == 4 and s.get("peer_ips")]
if not sessions:
 sys.exit("no BGP session for IPv4 yet")
s = sessions[0]
print(*[
 a["gateway"] for a in found["network"]["addresses"]
 if a.get("address_family") == 4 and not a.get("public") and a.get("gateway")
][:1])
print(*s["peer_ips"])
print(json.dumps(s["customer_ip"]))
print(json.dumps(str(s["customer_as"])))
password = s.get("md5_enabled") and s.get("md5_password") or ""
multihop = "true" if s.get("multihop") else "false"
peers = [":".join([p, str(s["peer_as"]), password, multihop]) for p in s["peer_ips"]]
print("" if set(",:/") & set(password) else json.dumps(",".join(peers)))
' "$metadata")
}
order_routes() {
recall
persist 5 session || fail "gave up on $metadata"
{
read -r gateway
read -r peers
read -r router
read -r as
read -r peering || :
} <<-END
$facts
END
[ -n "$gateway" ] || fail "no private IPv4 gateway in $metadata"
for peer in $peers; do
ip route replace "$peer/32" via "$gateway"
done
}
pod() {
[ -n "$peering" ] || fail "kube-vip cannot use a BGP password with , : or /"
(umask 077 && replace "$root/etc/kubernetes/manifests/l2cluster-kube-vip.yaml" 0600) <<-END
apiVersion: v1
kind: Pod
metadata: {name: kube-vip, namespace: kube-system}
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  hostAliases: [{ip: 127.0.0.1, hostnames: [kubernetes]}]
  volumes: [{name: kubeconfig, hostPath: {path: /etc/kubernetes/admin.conf}}]
  containers:
  - name: kube-vip
    image: "$image"
    imagePullPolicy: IfNotPresent
    args: [manager]
    securityContext: {capabilities: {add: [NET_ADMIN, NET_RAW]}}
    volumeMounts: [{name: kubeconfig, mountPath: /etc/kubernetes/admin.conf}]
    env:
    - {name: address, value: "$address"}
    - {name: port, value: "6443"}
    - {name: vip_interface, value: lo}
    - {name: vip_cidr, value: "32"}
    - {name: vip_subnet, value: "32"}
    - {name: vip_arp, value: "false"}
    - {name: cp_enable, value: "true"}
    - {name: cp_namespace, value: kube-system}
    - {name: bgp_enable, value: "true"}
    - {name: bgp_routerid, value: $router}
    - {name: bgp_as, value: $as}
    - {name: bgp_peers, value: $peering}
END
}
order_first() {
remember "$@"
order_routes
starts || return 0
(tries=3 && persist 5 timeout 300 crictl pull "$image") || :
pod
}
order_keep() {
order_routes
pod
at_boot l2cluster-bgp-routes.service "Wants=network-online.target
After=network-online.target" routes
}
