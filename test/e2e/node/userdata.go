package node

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// networkPath is where the node program finds what to do, programPath where the
// program is.
const (
	networkPath = "/etc/l2cluster/network.json"
	programPath = "/usr/local/sbin/l2cluster-network"
)

// network is what a server is told about its network, as far as the player
// needs it.
type network struct {
	CustomDataKey string `json:"customDataKey"`
	Timeout       int    `json:"timeout"`
	Events        struct {
		Started   event `json:"started"`
		Succeeded event `json:"succeeded"`
		Failed    event `json:"failed"`
	} `json:"events"`
	Links []struct {
		// Dynamic links get their addresses from a DHCP server.
		Dynamic bool `json:"dynamic"`
		Subnets []struct {
			Key    string `json:"key"`
			Prefix string `json:"prefix"`
		} `json:"subnets"`
	} `json:"links"`
}

// event is a user-state event.
type event struct {
	State   string `json:"state"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// complete tells why addresses are not those that the network needs.
func (n network) complete(addresses map[string]string) error {
	for _, l := range n.Links {
		if l.Dynamic {
			continue
		}
		for _, s := range l.Subnets {
			text := addresses[s.Key]
			if text == "" {
				return fmt.Errorf("there is no %s in the custom data", s.Key)
			}
			address, err := netip.ParsePrefix(text)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Key, err)
			}
			if subnet, err := netip.ParsePrefix(s.Prefix); err != nil || !subnet.Contains(address.Addr()) || subnet.Bits() != address.Bits() {
				return fmt.Errorf("%s: %s is not in %s", s.Key, text, s.Prefix)
			}
		}
	}
	return nil
}

// cloudConfig is what cloud-init reads.
type cloudConfig struct {
	Files    []file   `json:"write_files"`
	Commands []string `json:"runcmd"`
}

// file that cloud-init writes.
type file struct {
	Path        string `json:"path"`
	Encoding    string `json:"encoding"`
	Content     string `json:"content"`
	Permissions string `json:"permissions"`
}

// read a file's content as cloud-init writes it; nil if it writes none.
func (c cloudConfig) read(path string) ([]byte, error) {
	for _, f := range c.Files {
		if f.Path != path {
			continue
		}
		content, err := unpack(f.Content, f.Encoding)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", path, err)
		}
		return content, nil
	}
	return nil, nil
}

// calls fails unless the node program is a file that can be run, and the first
// thing that is run: where it fails, nothing after it happens.
func (c cloudConfig) calls() error {
	program, err := c.read(programPath)
	if err != nil {
		return err
	}
	executable := slices.ContainsFunc(c.Files, func(f file) bool { return f.Path == programPath && f.Permissions == "0755" })
	if !bytes.HasPrefix(program, []byte("#!")) || !executable {
		return fmt.Errorf("%s is no program", programPath)
	}
	if len(c.Commands) == 0 || c.Commands[0] != programPath+" || exit 1" {
		return fmt.Errorf("%s is not what is run first: %q", programPath, c.Commands)
	}
	return nil
}

// networkOf user data: what the node program will find once cloud-init has
// written its files, or nil if there is nothing for it. An error says what a real
// server would stumble over.
func networkOf(userData []byte) (*network, error) {
	var config cloudConfig
	if !bytes.HasPrefix(userData, []byte("## template: jinja\n#cloud-config")) {
		return nil, fmt.Errorf("user data is no cloud-config that is a jinja template: %.60q", userData)
	}
	if err := yaml.Unmarshal(userData, &config); err != nil {
		return nil, fmt.Errorf("user data is not YAML: %w", err)
	}
	content, err := config.read(networkPath)
	if err != nil || content == nil {
		return nil, err
	}
	if err := config.calls(); err != nil {
		return nil, err
	}
	out := &network{}
	if err := json.Unmarshal(content, out); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", networkPath, err)
	}
	return out, nil
}

// unpack what cloud-init unpacks.
func unpack(content, encoding string) ([]byte, error) {
	raw := []byte(content)
	if strings.HasSuffix(encoding, "64") {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(content); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(encoding, "gz") {
		return raw, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
