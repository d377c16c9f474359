package equinix

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// wanted is how a port should be.
type wanted struct {
	bonded, layer2 bool
	vlans          []string
	native         string
}

func wantedOf(r resource) wanted {
	bonded, _ := r.value("bonded").(bool)
	layer2, _ := r.value("layer2").(bool)
	w := wanted{bonded: bonded, layer2: layer2, native: r.text("nativeVlanId")}
	list, _ := r.value("vlanIds").([]any)
	for _, raw := range list {
		id, _ := raw.(string)
		w.vlans = append(w.vlans, id)
	}
	slices.Sort(w.vlans)
	return w
}

// portOf the API: how it is, as atProvider has it; nil if there is none.
func portOf(ctx context.Context, r resource, id string) (map[string]any, error) {
	got, err := r.api.do(ctx, http.MethodGet, "/ports/"+id+"?include=virtual_networks,native_virtual_network", nil)
	if isStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, _ := got["data"].(map[string]any)
	mode, _ := got["network_type"].(string)
	out := map[string]any{
		"id": got["id"], "portId": got["id"], "name": got["name"], "type": got["type"], "networkType": mode, "bonded": data["bonded"],
		"layer2": strings.HasPrefix(mode, "layer2"),
	}
	var vlans []string
	networks, _ := got["virtual_networks"].([]any)
	for _, raw := range networks {
		vlans = append(vlans, idOf(raw))
	}
	slices.Sort(vlans)
	ids := []any{}
	for _, id := range vlans {
		ids = append(ids, id)
	}
	out["vlanIds"] = ids
	if native := got["native_virtual_network"]; native != nil {
		out["nativeVlanId"] = idOf(native)
	}
	return out, nil
}

// idOf an object of the API that is spelled out or only referred to.
func idOf(raw any) string {
	o, _ := raw.(map[string]any)
	if id, ok := o["id"].(string); ok {
		return id
	}
	href, _ := o["href"].(string)
	return href[strings.LastIndex(href, "/")+1:]
}

func observePort(ctx context.Context, r resource) (map[string]any, error) {
	return portOf(ctx, r, r.external())
}

func stateOf(seen map[string]any) wanted {
	w := wanted{}
	w.bonded, _ = seen["bonded"].(bool)
	w.layer2, _ = seen["layer2"].(bool)
	w.native, _ = seen["nativeVlanId"].(string)
	list, _ := seen["vlanIds"].([]any)
	for _, raw := range list {
		id, _ := raw.(string)
		w.vlans = append(w.vlans, id)
	}
	return w
}

func samePort(r resource, seen map[string]any) bool {
	want, is := wantedOf(r), stateOf(seen)
	// layer2 of a bond's member is nobody's business.
	bond := strings.HasPrefix(fmt.Sprint(seen["name"]), "bond")
	return want.bonded == is.bonded && (!bond || want.layer2 == is.layer2) && slices.Equal(want.vlans, is.vlans) && want.native == is.native
}

// configure a port step by step, in the order of the Terraform resource that
// the provider is made from: VLANs that go, the bond and its layer, VLANs that
// come, the native one.
func configure(ctx context.Context, r resource) error {
	return reach(ctx, r, wantedOf(r))
}

func reach(ctx context.Context, r resource, want wanted) error {
	id := r.text("portId")
	seen, err := portOf(ctx, r, id)
	if err != nil {
		return err
	}
	if seen == nil {
		return fmt.Errorf("port %q is gone", id)
	}
	is := stateOf(seen)
	bond := strings.HasPrefix(fmt.Sprint(seen["name"]), "bond")
	steps := []struct {
		needed bool
		do     func() error
	}{
		{is.native != "" && is.native != want.native, func() error { return r.change(ctx, http.MethodDelete, "/native-vlan") }},
		{len(missing(is.vlans, want.vlans)) > 0, func() error { return r.batch(ctx, missing(is.vlans, want.vlans), nil) }},
		{is.bonded && !want.bonded, func() error { return r.change(ctx, http.MethodPost, "/disbond") }},
		{bond && !is.layer2 && want.layer2, func() error { return r.change(ctx, http.MethodPost, "/convert/layer-2") }},
		{!is.bonded && want.bonded, func() error { return r.change(ctx, http.MethodPost, "/bond") }},
		{bond && is.layer2 && !want.layer2, func() error { return r.change(ctx, http.MethodPost, "/convert/layer-3") }},
		{len(missing(want.vlans, is.vlans)) > 0, func() error { return r.batch(ctx, nil, missing(want.vlans, is.vlans)) }},
		{want.native != "" && is.native != want.native, func() error { return r.change(ctx, http.MethodPost, "/native-vlan?vnid="+want.native) }},
	}
	for _, s := range steps {
		if !s.needed {
			continue
		}
		if err := s.do(); err != nil {
			return fmt.Errorf("async update failed: apply failed: %w", err)
		}
	}
	return nil
}

// missing are those of a that are not in b.
func missing(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(id string) bool { return slices.Contains(b, id) })
}

// change does one thing with the port.
func (r resource) change(ctx context.Context, method, path string) error {
	_, err := r.api.do(ctx, method, "/ports/"+r.text("portId")+path, map[string]any{})
	return err
}

// batch takes VLANs off the port or puts them on it, and waits until that is
// done.
func (r resource) batch(ctx context.Context, off, on []string) error {
	var list []any
	for _, id := range off {
		list = append(list, map[string]any{"vlan": id, "state": "unassigned"})
	}
	for _, id := range on {
		list = append(list, map[string]any{"vlan": id, "state": "assigned"})
	}
	path := "/ports/" + r.text("portId") + "/vlan-assignments/batches"
	got, err := r.api.do(ctx, http.MethodPost, path, map[string]any{"vlan_assignments": list})
	for err == nil {
		switch got["state"] {
		case "completed":
			return nil
		case "failed":
			return fmt.Errorf("vlan assignment batch failed: %v", got["error_messages"])
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
		got, err = r.api.do(ctx, http.MethodGet, path+"/"+fmt.Sprint(got["id"]), nil)
	}
	return err
}

// resetPort makes a port what it was on a new server, where that is asked for.
func resetPort(ctx context.Context, r resource) (bool, error) {
	seen, err := observePort(ctx, r)
	if err != nil {
		return false, err
	}
	if reset, _ := r.value("resetOnDelete").(bool); seen == nil || !reset {
		return true, nil
	}
	if is := stateOf(seen); is.bonded && !is.layer2 && len(is.vlans) == 0 && is.native == "" {
		return true, nil
	}
	return false, reach(ctx, r, wanted{bonded: true})
}
