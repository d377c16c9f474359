package lab

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

//go:embed guest
var guest embed.FS

// Port of a machine.
type Port struct {
	// Name that the machine's operating system gives it.
	Name string
	// MAC is its permanent address.
	MAC string
	// Port is its name on the platform.
	Port string
	// Bond that it is in when the machine is new.
	Bond string
}

// Lab is what is on the other ends of a machine's ports.
type Lab struct {
	// Before is how it is when the machine boots for the first time.
	Before Switch `json:"before"`
	// After is how the platform changes it once the network is verified and the
	// server has joined; nil leaves it.
	After *Switch `json:"after,omitempty"`
	// Listen is the metadata service's address.
	Listen string `json:"listen,omitempty"`
	// Metadata of the machine, without its custom data.
	Metadata map[string]any `json:"metadata"`
	// CustomData of the machine.
	CustomData map[string]any `json:"customdata"`
	// CustomDataAfter is when they are there, in seconds.
	CustomDataAfter int `json:"customDataAfter,omitempty"`
	// CustomDataLate says that they are there only after the machine has reported a
	// failure.
	CustomDataLate bool `json:"customDataLate,omitempty"`
	// Faults of the metadata service, by "metadata" or "events": error, garbage,
	// silence or "" for each answer; the last one stays.
	Faults map[string][]string `json:"faults,omitempty"`
}

// Switch is how ports are joined, and what the router has on them.
type Switch struct {
	// Bonds by name, each with its ports.
	Bonds map[string][]string `json:"bonds,omitempty"`
	// Ports outside bonds.
	Ports []string `json:"ports,omitempty"`
	// Addresses of the router.
	Addresses []Router `json:"addresses,omitempty"`
}

// Router is an interface of the router.
type Router struct {
	// On is the bond, or sw- and the port.
	On string `json:"on"`
	// VLAN of the frames; 0 for none.
	VLAN int `json:"vlan,omitempty"`
	// Addresses with their prefix lengths.
	Addresses []string `json:"addresses"`
	// DHCP are options of the DHCP server there; nil for none.
	DHCP []string `json:"dhcp,omitempty"`
}

// Machine is a server of its own.
type Machine struct {
	image Image
	// folder has the machine's changes to the image's root.
	folder string
	// boots so far.
	boots int
	// Network is what the machine's kernel gets beside the ports that the lab
	// makes, as arguments.
	Network []string
	// Namespace is the network namespace that the machine's ports are in; "" for
	// this process's own.
	Namespace string
}

// New returns a machine in an empty folder.
func New(image Image, folder string) (*Machine, error) {
	m := &Machine{image: image, folder: folder}
	for _, name := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			return nil, fmt.Errorf("cannot make a machine: %w", err)
		}
	}
	for _, name := range []string{"ports", "server", "stage", "switch", "report"} {
		if err := m.install("guest/"+name, "/lab/"+name, "0755"); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"kubeadm", "kubelet"} {
		if err := m.install("guest/"+name, "/usr/bin/"+name, "0755"); err != nil {
			return nil, err
		}
	}
	if err := m.trim(); err != nil {
		return nil, err
	}
	for _, unit := range []string{"lab-ports", "lab-report"} {
		name := unit + ".service"
		if err := m.install("guest/"+name, "/etc/systemd/system/"+name, "0644"); err != nil {
			return nil, err
		}
		if err := m.Enable(name, "multi-user.target"); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// trim what a boot does not need, since everything is slow in such a machine:
// each start of a program takes as long as a hundred elsewhere.
func (m *Machine) trim() error {
	// Stages of cloud-init share what they import.
	for unit, stage := range map[string]string{"cloud-init-local": "local", "cloud-init": "network", "cloud-config": "config", "cloud-final": "final"} {
		if err := m.Write("/etc/systemd/system/"+unit+".service.d/lab.conf", "0644",
			"[Service]\nExecStart=\nExecStart=/lab/stage "+stage+"\n"); err != nil {
			return err
		}
	}
	if err := m.Write("/etc/systemd/system/systemd-udev-trigger.service.d/lab.conf", "0644",
		"[Service]\nExecStart=\nExecStart=udevadm trigger --type=devices --action=add --subsystem-match=net\n"); err != nil {
		return err
	}
	if err := m.maskOthers("/lib/udev/rules.d", "/etc/udev/rules.d",
		"50-udev-default.rules", "80-ifupdown.rules", "80-net-setup-link.rules", "85-nm-unmanaged.rules", "99-systemd.rules"); err != nil {
		return err
	}
	if err := m.maskOthers("/lib/systemd/system-generators", "/etc/systemd/system-generators", "netplan"); err != nil {
		return err
	}
	if err := m.mask("/etc/systemd/system", "ifupdown-pre.service", "modprobe@.service", "proc-sys-fs-binfmt_misc.automount",
		"systemd-binfmt.service", "systemd-random-seed.service", "systemd-update-utmp.service", "systemd-update-utmp-runlevel.service",
		"systemd-journal-flush.service", "systemd-sysusers.service", "cloud-init-hotplugd.socket", "systemd-logind.service",
		"systemd-user-sessions.service", "systemd-hostnamed.service", "kmod-static-nodes.service", "systemd-tmpfiles-setup-dev.service",
		"systemd-tmpfiles-setup.service", "systemd-tmpfiles-clean.timer", "systemd-remount-fs.service", "systemd-firstboot.service",
		"systemd-ask-password-console.path", "systemd-ask-password-wall.path", "systemd-journald-audit.socket", "getty.target"); err != nil {
		return err
	}
	if err := m.Enable("cloud-init.target", "multi-user.target"); err != nil {
		return err
	}
	return m.link("/lib/systemd/system/multi-user.target", "/etc/systemd/system/default.target")
}

// maskOthers masks all that a folder of the image has, except what is named.
func (m *Machine) maskOthers(folder, masks string, keep ...string) error {
	entries, err := os.ReadDir(filepath.Join(m.image.Root, folder))
	if err != nil {
		return fmt.Errorf("cannot mask what is in %q: %w", folder, err)
	}
	var names []string
	for _, e := range entries {
		if !slices.Contains(keep, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return m.mask(masks, names...)
}

// mask what is in a folder of systemd.
func (m *Machine) mask(folder string, names ...string) error {
	for _, name := range names {
		if err := m.link("/dev/null", folder+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// link makes a symbolic link in the machine.
func (m *Machine) link(to, name string) error {
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		return fmt.Errorf("cannot link %q: %w", name, err)
	}
	if err := os.Symlink(to, m.path(name)); err != nil {
		return fmt.Errorf("cannot link %q: %w", name, err)
	}
	return nil
}

func (m *Machine) install(from, to, mode string) error {
	content, err := guest.ReadFile(from)
	if err != nil {
		return fmt.Errorf("cannot install %q: %w", to, err)
	}
	return m.Write(to, mode, string(content))
}

// path of a file of the machine that it has changed.
func (m *Machine) path(name string) string { return filepath.Join(m.folder, "upper", name) }

// Write a file of the machine, which is off.
func (m *Machine) Write(name, mode, content string) error {
	bits, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	if err := os.WriteFile(m.path(name), []byte(content), 0o644); err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return os.Chmod(m.path(name), os.FileMode(bits))
}

// Keep the network's files of user data in a folder of the machine.
func (m *Machine) Keep(folder string, userData []byte) error {
	var data struct {
		Files []struct {
			Path        string `json:"path"`
			Encoding    string `json:"encoding"`
			Permissions string `json:"permissions"`
			Content     string `json:"content"`
		} `json:"write_files"`
	}
	if err := yaml.Unmarshal(userData, &data); err != nil {
		return fmt.Errorf("cannot read the user data: %w", err)
	}
	for _, f := range data.Files {
		if f.Encoding != "gzip+base64" {
			continue
		}
		compressed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(f.Content))
		if err != nil {
			return fmt.Errorf("cannot read %q in the user data: %w", f.Path, err)
		}
		content, err := gzip.NewReader(bytes.NewReader(compressed))
		if err != nil {
			return fmt.Errorf("cannot read %q in the user data: %w", f.Path, err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			return fmt.Errorf("cannot read %q in the user data: %w", f.Path, err)
		}
		// Without permissions cloud-init takes these.
		if err := m.Write(folder+f.Path, cmp.Or(f.Permissions, "0644"), string(text)); err != nil {
			return err
		}
	}
	return nil
}

// Remove what the image has from the machine.
func (m *Machine) Remove(name string) error {
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		return fmt.Errorf("cannot remove %q: %w", name, err)
	}
	// That is how the overlay says it: https://docs.kernel.org/filesystems/overlayfs.html#whiteouts-and-opaque-directories.
	if err := syscall.Mknod(m.path(name), syscall.S_IFCHR, 0); err != nil {
		return fmt.Errorf("cannot remove %q: %w", name, err)
	}
	return nil
}

// Enable a unit in a target.
func (m *Machine) Enable(unit, target string) error {
	folder := m.path("/etc/systemd/system/" + target + ".wants")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("cannot enable %q: %w", unit, err)
	}
	from := "/lib/systemd/system/" + unit
	if _, err := os.Stat(m.path("/etc/systemd/system/" + unit)); err == nil {
		from = "/etc/systemd/system/" + unit
	}
	return os.Symlink(from, filepath.Join(folder, unit))
}

// Connect the machine's ports to a lab.
func (m *Machine) Connect(ports []Port, l Lab) error {
	lines := ""
	for _, p := range ports {
		lines += p.Name + " " + p.MAC + " " + p.Port + "\n"
	}
	if err := m.Write("/lab/ports.list", "0644", lines); err != nil {
		return err
	}
	content, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return fmt.Errorf("cannot encode the lab: %w", err)
	}
	return m.Write("/lab/lab.json", "0644", string(content))
}

// ErrTime says that a machine did not end in time.
var ErrTime = errors.New("the machine did not end in time")

// Boot the machine, which does the steps once it is up, and ends. The error is
// ErrTime when it does not within the limit.
func (m *Machine) Boot(ctx context.Context, limit time.Duration, steps ...string) error {
	m.boots++
	if err := m.Write("/lab/boot", "0644", strconv.Itoa(m.boots)); err != nil {
		return err
	}
	if err := m.Write("/lab/steps", "0644", strings.Join(steps, "\n")+"\n"); err != nil {
		return err
	}
	console, err := os.Create(filepath.Join(m.folder, fmt.Sprintf("console.%d", m.boots)))
	if err != nil {
		return fmt.Errorf("cannot write the console: %w", err)
	}
	defer func() { _ = console.Close() }()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := []string{"unshare"}
	if m.Namespace != "" {
		args = []string{"ip", "netns", "exec", m.Namespace, "unshare"}
	}
	args = append(args,
		"--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", start, "sh", m.image.Root, m.folder, m.image.Kernel, m.image.Libc)
	args = append(args, m.Network...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = console, console
	// The machine ends with this process, and with the call.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	if _, missing := os.Stat(m.Out(strconv.Itoa(m.boots), "done")); missing == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: see %s", ErrTime, console.Name())
	}
	return fmt.Errorf("the machine ended early: %w: see %s", err, console.Name())
}

// start puts the machine's changes over the image's root, and the kernel's C library
// over this computer's, where only this machine sees it, and starts it. The shell
// stays, as the first process of the machine's namespace: the kernel does not expect
// to be that.
const start = `set -e
root=$1 folder=$2 kernel=$3 libc=$4
shift 4
mount -t overlay overlay -o "lowerdir=$root,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=$libc:/usr/lib/x86_64-linux-gnu" /usr/lib/x86_64-linux-gnu
"$kernel" seccomp=auto mem=320M rootfstype=hostfs rootflags="$folder/root" rw init=/sbin/init \
    con=null con0=fd:0,fd:1 ds=nocloud quiet systemd.show_status=0 pty.legacy_count=0 udev.children_max=1 uml_dir="$folder/" "$@" </dev/null
exit $?`

// Out is the path of something that the machine has written down.
func (m *Machine) Out(names ...string) string {
	return m.path(filepath.Join(append([]string{"/lab/out"}, names...)...))
}

// Replace text in a file that was written for the machine.
func (m *Machine) Replace(name, old, by string) error {
	content, err := os.ReadFile(m.path(name))
	if err != nil {
		return fmt.Errorf("cannot read a file of the machine: %w", err)
	}
	if !strings.Contains(string(content), old) {
		return fmt.Errorf("%s has no %q: %s", name, old, content)
	}
	if err := os.WriteFile(m.path(name), []byte(strings.ReplaceAll(string(content), old, by)), 0o644); err != nil {
		return fmt.Errorf("cannot write a file of the machine: %w", err)
	}
	return nil
}

// Read something that the machine has written down; "" when it has not.
func (m *Machine) Read(names ...string) string {
	content, err := os.ReadFile(m.Out(names...))
	if err != nil {
		return ""
	}
	return string(content)
}
