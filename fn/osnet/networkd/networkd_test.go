package networkd_test

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet/internal/pooltest"
	"github.com/l2cluster/function-l2cluster/fn/osnet/networkd"
)

func TestGolden(t *testing.T) {
	pooltest.RunGolden(t, pooltest.Sure(networkd.Port, networkd.Link, networkd.Machine))
}
