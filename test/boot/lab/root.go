// Package lab boots real Debian machines, as processes of this one: a
// user-mode Linux kernel on a root that debootstrap made. It needs root, and
// what it builds is kept in the user's cache.
package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // for the recipe
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed guest/make-root
var recipe []byte

// Image is a kernel and a root that machines boot from; no machine changes it.
type Image struct {
	// Kernel is the program that is the machine.
	Kernel string
	// Libc is the folder of the C library that it runs with.
	Libc string
	// Root is the folder that is the machine's disk.
	Root string
}

// Build returns the image, made anew when its recipe has changed. That takes some
// minutes and Debian's archive, which the machine's own apt sources name.
func Build(ctx context.Context) (Image, error) {
	if err := install(ctx); err != nil {
		return Image{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Image{}, fmt.Errorf("cannot find the cache: %w", err)
	}
	sum := sha256.Sum256(recipe)
	folder := filepath.Join(cache, "l2cluster", "boot-"+hex.EncodeToString(sum[:6]))
	image := Image{Kernel: filepath.Join(folder, "linux.uml"), Libc: filepath.Join(folder, "libc"), Root: filepath.Join(folder, "root")}
	if _, err := os.Stat(filepath.Join(folder, "done")); err == nil {
		return image, nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return Image{}, fmt.Errorf("cannot remove what is left of an image: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Image{}, fmt.Errorf("cannot make a folder for the image: %w", err)
	}
	return image, makeImage(ctx, folder)
}

func makeImage(ctx context.Context, folder string) error {
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return fmt.Errorf("cannot write a log: %w", err)
	}
	defer func() { _ = log.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 40*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-s", folder)
	shell.Stdin, shell.Stdout, shell.Stderr = bytes.NewReader(recipe), log, log
	if err := shell.Run(); err != nil {
		return fmt.Errorf("cannot build the image: %w: see %s", err, log.Name())
	}
	return os.WriteFile(filepath.Join(folder, "done"), nil, 0o644)
}

// Memory that the image is built in, and that machines live in, in bytes.
const memory = 1500 << 20

// Missing says what this computer lacks for booting machines and cannot be
// installed; "" for nothing.
func Missing() string {
	if os.Geteuid() != 0 {
		return "root"
	}
	if release, err := os.ReadFile("/etc/os-release"); err != nil || !strings.Contains("\n"+string(release), "\nID=debian\n") {
		return "Debian"
	}
	var shm syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &shm); err != nil || shm.Bavail*uint64(shm.Bsize) < memory {
		return fmt.Sprintf("%d MB of free memory in /dev/shm", memory>>20)
	}
	return ""
}

// tools that the lab needs, and the Debian packages that have them.
func tools() map[string]string {
	return map[string]string{
		"chroot": "coreutils", "depmod": "kmod", "gpgv": "gpgv", "ip": "iproute2", "mount": "mount", "openssl": "openssl",
		"perl": "perl-base", "python3": "python3-minimal", "unshare": "util-linux", "wget": "wget", "xargs": "findutils",
	}
}

// install what this computer lacks and Debian has.
func install(ctx context.Context) error {
	var packages []string
	for tool, name := range tools() {
		if _, err := exec.LookPath(tool); err != nil {
			packages = append(packages, name)
		}
	}
	if _, err := os.Stat("/usr/share/keyrings/debian-archive-keyring.gpg"); err != nil {
		packages = append(packages, "debian-archive-keyring")
	}
	if len(packages) == 0 {
		return nil
	}
	slices.Sort(packages)
	for _, args := range [][]string{{"update", "-q"}, append([]string{"install", "-q", "-y", "--no-install-recommends"}, packages...)} {
		apt := exec.CommandContext(ctx, "apt-get", args...)
		apt.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := apt.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install %v: %w: %s", packages, err, out)
		}
	}
	return nil
}
