package v1beta1

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

// Bounds of files and commands, in numbers and characters.
const (
	maxFiles    = 64
	maxContent  = 7680
	maxCommands = 64
	maxCommand  = 4096
)

// travelLimit is how many bytes Cluster API accepts of a command, or of a file's
// content encoded in base64:
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/api/bootstrap/kubeadm/v1beta2/kubeadmconfig_types.go.
const travelLimit = 10240

// Paths that belong to others: files that the function writes have its name in
// theirs, those of Cluster API and kubeadm lie below these folders, and
// cloud-init and the platform's image write the rest.
const ownPaths = "l2cluster"

var (
	foreignFolderTable = []string{"/etc/kubernetes/pki/", "/run/cluster-api/", "/run/kubeadm/"}
	foreignFileTable   = []string{"/etc/network/interfaces", "/etc/netplan/50-cloud-init.yaml"}
	// packagedFileTable are written where containerd comes from a package.
	packagedFileTable = []string{"/etc/containerd/config.toml", "/etc/crictl.yaml"}
)

func validateBootstrap(b Bootstrap, at *field.Path) field.ErrorList {
	errs := rule.OneOf(at.Child("nodePackages"), b.NodePackages, NodePackagesInstalled, NodePackagesImage)
	errs = append(errs, validateRepository(at.Child("kubernetesRepository"), b.KubernetesRepository)...)
	files := at.Child("files")
	errs = append(errs, rule.AtMostItems(files, len(b.Files), maxFiles)...)
	paths := rule.Seen[string]{}
	for i, f := range b.Files {
		errs = append(errs, validateFile(f, files.Index(i))...)
		if b.NodePackages == NodePackagesInstalled && slices.Contains(packagedFileTable, f.Path) {
			errs = append(errs, field.Invalid(files.Index(i).Child("path"), f.Path,
				"is written where the function installs containerd; choose another path, such as one below /etc/containerd/certs.d, or an image that has containerd with nodePackages: Image"))
		}
		errs = append(errs, paths.Add(files.Index(i).Child("path"), f.Path)...)
	}
	errs = append(errs, rule.Items(at.Child("preKubeadmCommands"), b.PreKubeadmCommands, maxCommands, validateCommand)...)
	return append(errs, rule.Items(at.Child("postKubeadmCommands"), b.PostKubeadmCommands, maxCommands, validateCommand)...)
}

func validateRepository(at *field.Path, value string) field.ErrorList {
	if errs := repositoryURLPattern.Required(at, value); len(errs) > 0 {
		return errs
	}
	return validateURL(at, value)
}

func validateFile(f File, at *field.Path) field.ErrorList {
	errs := validatePath(at.Child("path"), f.Path)
	errs = append(errs, permissionsPattern.Required(at.Child("permissions"), f.Permissions)...)
	if len(f.Content) > maxContent {
		errs = append(errs, field.Invalid(at.Child("content"), field.OmitValueType{}, fmt.Sprintf(
			"has %d bytes, and %d fit into the %d characters that Cluster API accepts of a file in base64; split it, or fetch it with a command",
			len(f.Content), maxContent, travelLimit)))
	}
	return errs
}

func validatePath(at *field.Path, value string) field.ErrorList {
	if errs := pathPattern.Required(at, value); len(errs) > 0 {
		return errs
	}
	if clean := path.Clean(value); clean != value {
		return field.ErrorList{field.Invalid(at, value, "must be the plain path of a file, here "+clean)}
	}
	taken := slices.Contains(foreignFileTable, value) || strings.Contains(value, ownPaths)
	for _, folder := range foreignFolderTable {
		taken = taken || strings.HasPrefix(value, folder)
	}
	if taken {
		return field.ErrorList{field.Invalid(at, value, "is or may become a file of this function, of Cluster API, of kubeadm or of the image; choose another path")}
	}
	return nil
}

func validateCommand(at *field.Path, value string) field.ErrorList {
	if strings.TrimSpace(value) == "" {
		return field.ErrorList{field.Required(at, "a command must do something")}
	}
	if errs := rule.AtMostCharacters(at, value, maxCommand); len(errs) > 0 {
		return errs
	}
	// Braces are escaped for the infrastructure provider's template engine.
	const braces, escaped = "{{", "{{`{{`}}"
	if n := len(value) + strings.Count(value, braces)*(len(escaped)-len(braces)); n > travelLimit {
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(
			"has %d bytes as it travels, with template braces escaped, and Cluster API accepts %d; put it into a file", n, travelLimit))}
	}
	return nil
}
