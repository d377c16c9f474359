package render

import (
	"fmt"

	"github.com/l2cluster/function-l2cluster/fn/bootstrap"
	"github.com/l2cluster/function-l2cluster/fn/keep"
	"github.com/l2cluster/function-l2cluster/fn/object"
	"github.com/l2cluster/function-l2cluster/fn/xr"
	"github.com/l2cluster/function-l2cluster/input/v1beta1"
)

// userData says, by pool, how many bytes of the user data of its machines are the
// function's, and how many may be: without what the platform team added.
func (o Output) userData(input *v1beta1.Input) map[string]string {
	custom := bootstrap.Size(bootstrap.Custom(input.Bootstrap))
	sizes, uses := map[string]int{}, map[string]string{}
	out := map[string]string{}
	for _, r := range o.Response.GetDesired().GetResources() {
		v := xr.ViewOf(r.GetResource())
		pool := v.String("metadata", "labels", keep.PoolLabel)
		switch v.String(kindField) {
		case "KubeadmControlPlane":
			out[pool] = within(configSize(v.At("spec", "kubeadmConfigSpec")) - custom)
		case "KubeadmConfigTemplate":
			sizes[v.String("metadata", "name")] = configSize(v.At("spec", "template", "spec"))
		case "MachineDeployment":
			uses[pool] = v.String("spec", "template", "spec", "bootstrap", "configRef", "name")
		}
	}
	for pool, name := range uses {
		if size, ok := sizes[name]; ok {
			out[pool] = within(size - custom)
		}
	}
	return out
}

func within(size int) string { return fmt.Sprintf("%d of %d", size, bootstrap.Budget) }

// configSize is what the files and commands of a kubeadm configuration add to the
// user data, in bytes.
func configSize(config object.View) int {
	size := 0
	for _, f := range config.Views("files") {
		size += bootstrap.Encoded{
			Path: f.String("path"), Permissions: f.String("permissions"),
			Encoding: f.String("encoding"), Content: f.String("content"),
		}.Size()
	}
	for _, when := range []string{"preKubeadmCommands", "postKubeadmCommands"} {
		for _, command := range config.Strings(when) {
			size += bootstrap.CommandSize(command)
		}
	}
	return size
}
