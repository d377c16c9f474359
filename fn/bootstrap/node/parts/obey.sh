if [ $# -eq 0 ] || ! command -v "order_$1" >/dev/null; then
	fail "unknown order: ${1:-}"
fi
order=order_$1
shift
"$order" "$@"
