package ifupdown_test

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet/ifupdown"
	"github.com/l2cluster/function-l2cluster/fn/osnet/internal/pooltest"
)

func TestGolden(t *testing.T) {
	pooltest.RunGolden(t, pooltest.Sure(ifupdown.Port, ifupdown.Link, ifupdown.Machine))
}
