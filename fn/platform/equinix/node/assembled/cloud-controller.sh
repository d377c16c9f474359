order_controller() {
secret=$root/etc/l2cluster/cpem.yaml
export KUBECONFIG="$root/etc/kubernetes/admin.conf"
if starts; then
[ ! -f "$secret" ] || apply "$secret"
rm -f "$secret"
apply "$1"
fi
rm -f "$secret"
}
apply() {
persist 10 timeout 120 kubectl apply --server-side --force-conflicts --filename "$1" || fail "gave up applying $1"
}
