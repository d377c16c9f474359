package ifupdown_test

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet/ifupdown"
	"github.com/l2cluster/function-l2cluster/fn/osnet/internal/pooltest"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

func TestGolden(t *testing.T) {
	pooltest.RunGolden(t, node.Renderer{Port: ifupdown.Port, Link: ifupdown.Link, Machine: ifupdown.Machine})
}
