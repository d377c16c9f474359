package v1beta1

import "github.com/l2cluster/function-l2cluster/fn/spec/rule"

// The rules of the input's strings, each as its marker has it. Free text, the
// contents of files and commands, has none but a length.
var (
	labelPattern = rule.NewText(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, 63,
		"a namespace of lower-case letters, digits and dashes")
	metroPattern = rule.NewText(`^[a-z]{2}$`, 2, "a metro's two-letter code, for example da")
	slugPattern  = rule.NewText(`^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$`, 63,
		"a slug of the platform, of lower-case letters, digits, dashes, dots and underscores")
	objectNamePattern = rule.NewText(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`, 253,
		"the name of an object, of lower-case letters, digits, dashes and dots")
	secretKeyPattern = rule.NewText(`^[-._a-zA-Z0-9]+$`, 253,
		"the key of a Secret, of letters, digits, dashes, dots and underscores")
	baseURLPattern = rule.NewText(`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$`, 255,
		"a base URL without query, for example https://api.equinix.com/metal/v1")
	manifestURLPattern = rule.NewText(`^https?://[A-Za-z0-9._~:/?@+,=%-]+$`, 1024,
		"the URL of a manifest, without characters that a shell or a template reads")
	repositoryURLPattern = rule.NewText(`^https?://[A-Za-z0-9._~:/-]+$`, 255,
		"the base URL of a package repository, for example https://pkgs.k8s.io/core:/stable:")
	imagePattern = rule.NewText(`^[a-z0-9][A-Za-z0-9._:/@-]*$`, 255,
		"an image with its tag or digest, for example ghcr.io/kube-vip/kube-vip:v0.8.1")
	pathPattern = rule.NewText(`^/[A-Za-z0-9._/@+-]+$`, 512,
		"an absolute path of letters, digits and ._/@+-")
	permissionsPattern = rule.NewText(`^0[0-7]{3}$`, 4, "permissions in octal, for example 0644")
	osPrefixPattern    = rule.NewText(`^[a-z0-9][-a-z0-9._]*$`, 63,
		"the beginning of an operating system's slug, for example ubuntu")
	addOnPattern = rule.NewText(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, 40,
		"a DNS label of lower-case letters, digits and dashes")
)
