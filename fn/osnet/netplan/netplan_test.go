package netplan_test

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet/internal/pooltest"
	"github.com/l2cluster/function-l2cluster/fn/osnet/netplan"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

func TestGolden(t *testing.T) {
	pooltest.RunGolden(t, node.Renderer{Port: netplan.Port, Link: netplan.Link, Machine: netplan.Machine})
}
