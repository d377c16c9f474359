package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// link of the ip command's answer.
type link struct {
	Name     string   `json:"ifname"`
	Below    string   `json:"link"`
	Master   string   `json:"master"`
	MTU      int      `json:"mtu"`
	Flags    []string `json:"flags"`
	Type     string   `json:"link_type"`
	LinkInfo struct {
		Kind string `json:"info_kind"`
		Data struct {
			ID int `json:"id"`
		} `json:"info_data"`
	} `json:"linkinfo"`
}

type address struct {
	Name      string `json:"ifname"`
	Addresses []struct {
		Local  string `json:"local"`
		Length int    `json:"prefixlen"`
		Scope  string `json:"scope"`
	} `json:"addr_info"`
}

type route struct {
	To      string `json:"dst"`
	Via     string `json:"gateway"`
	Device  string `json:"dev"`
	Type    string `json:"type"`
	Table   any    `json:"table"`
	Metric  int    `json:"metric"`
	Gateway bool   `json:"-"`
}

type rule struct {
	Priority int    `json:"priority"`
	From     string `json:"src"`
	Table    any    `json:"table"`
	Suppress *int   `json:"suppress_prefixlen"`
}

// State of a machine's network as sorted lines: every interface but lo, every
// route through a gateway, and every rule but the kernel's own.
func (m *Machine) State(boot, name string) ([]string, error) {
	var out []string
	links, addresses := []link{}, []address{}
	if err := m.decode(&links, boot, name, "links"); err != nil {
		return nil, err
	}
	if err := m.decode(&addresses, boot, name, "addresses"); err != nil {
		return nil, err
	}
	for _, l := range links {
		if l.Type == "ether" {
			out = append(out, l.line(addresses))
		}
	}
	for _, family := range []string{"4", "6"} {
		routes, rules := []route{}, []rule{}
		if err := m.decode(&routes, boot, name, "routes"+family); err != nil {
			return nil, err
		}
		if err := m.decode(&rules, boot, name, "rules"+family); err != nil {
			return nil, err
		}
		for _, r := range routes {
			if r.Via != "" && r.Type == "" {
				out = append(out, r.line(family))
			}
		}
		for _, r := range rules {
			if r.Priority > 0 && r.Priority < 32766 {
				out = append(out, r.line(family))
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func (m *Machine) decode(into any, names ...string) error {
	content, err := os.ReadFile(m.Out(names...))
	if err != nil {
		return fmt.Errorf("cannot read what the machine wrote down: %w", err)
	}
	// The ip command answers nothing at all when there is nothing.
	if len(content) == 0 {
		return nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("cannot read what the machine wrote down of %v: %w", names, err)
	}
	return nil
}

func (l link) line(addresses []address) string {
	out := "link " + l.Name
	switch {
	case l.LinkInfo.Kind == "vlan":
		out += fmt.Sprintf(" vlan %d on %s", l.LinkInfo.Data.ID, l.Below)
	case l.LinkInfo.Kind == "bond":
		out += " bond"
	case l.Master != "":
		out += " in " + l.Master
	}
	out += fmt.Sprintf(" mtu %d", l.MTU)
	if !slices.Contains(l.Flags, "UP") {
		out += " down"
	}
	var own []string
	for _, a := range addresses {
		for _, i := range a.Addresses {
			if a.Name == l.Name && i.Scope == "global" {
				own = append(own, fmt.Sprintf("%s/%d", i.Local, i.Length))
			}
		}
	}
	slices.Sort(own)
	return strings.TrimRight(out+": "+strings.Join(own, " "), ": ")
}

func (r route) line(family string) string {
	out := fmt.Sprintf("route%s %s via %s dev %s", family, r.To, r.Via, r.Device)
	if table := fmt.Sprint(r.Table); r.Table != nil && table != "main" {
		out += " table " + table
	}
	return out
}

func (r rule) line(family string) string {
	out := fmt.Sprintf("rule%s %d from %s to %v", family, r.Priority, r.From, r.Table)
	if r.Suppress != nil {
		out += fmt.Sprintf(" suppress %d", *r.Suppress)
	}
	return out
}
