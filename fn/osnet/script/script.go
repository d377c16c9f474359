// Package script is what runs on a machine to bring up its network: static
// files, the same for every pool that has the same back end.
package script

import (
	"embed"
	"fmt"

	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

//go:generate go run -C ../../../test/tools/pack . -in fn/osnet/script assembled/ifupdown.py parts/machine.py parts/wanted.py parts/ifupdown.py parts/main.py
//go:generate go run -C ../../../test/tools/pack . -in fn/osnet/script assembled/netplan.py parts/machine.py parts/wanted.py parts/networkd.py parts/netplan.py parts/main.py
//go:generate go run -C ../../../test/tools/pack . -in fn/osnet/script assembled/networkd.py parts/machine.py parts/wanted.py parts/networkd.py parts/main.py
//go:generate go run -C ../../../test/tools/pack . -in fn/osnet/script assembled/networkmanager.py parts/machine.py parts/wanted.py parts/networkmanager.py parts/main.py
//go:generate go run -C ../../../test/tools/pack . -in fn/osnet/script assembled/handover.py parts/handover.py

//go:embed assembled
var assembled embed.FS

// Files of the script for a back end, and for a machine that loses the
// platform's own network when the platform changes its ports. It returns an
// error for a back end that does not exist.
func Files(backend string, handover bool) ([]node.File, error) {
	main, err := file(backend, node.ScriptPath, "0755")
	if err != nil {
		return nil, err
	}
	out := []node.File{main}
	if handover {
		module, err := file("handover", node.Library+"handover.py", "0644")
		if err != nil {
			return nil, err
		}
		out = append(out, module)
	}
	return out, nil
}

func file(name, path, permissions string) (node.File, error) {
	content, err := assembled.ReadFile("assembled/" + name + ".py")
	if err != nil {
		return node.File{}, fmt.Errorf("cannot read the node script for %q: %w", name, err)
	}
	compressed, err := assembled.ReadFile("assembled/" + name + ".py.gz")
	if err != nil {
		return node.File{}, fmt.Errorf("cannot read the node script for %q: %w", name, err)
	}
	return node.File{Path: path, Permissions: permissions, Content: string(content), Gzip: compressed}, nil
}
