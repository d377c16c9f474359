package networkmanager_test

import (
	"testing"

	"github.com/l2cluster/function-l2cluster/fn/osnet/internal/pooltest"
	"github.com/l2cluster/function-l2cluster/fn/osnet/networkmanager"
)

func TestGolden(t *testing.T) {
	pooltest.RunGolden(t, pooltest.Sure(networkmanager.Port, networkmanager.Link, networkmanager.Machine))
}
