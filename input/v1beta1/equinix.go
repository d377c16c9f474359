package v1beta1

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/l2cluster/function-l2cluster/fn/spec/rule"
)

func validateEquinix(e Equinix, path *field.Path) field.ErrorList {
	errs := objectNamePattern.Required(path.Child("providerConfig"), e.ProviderConfig)
	errs = append(errs, objectNamePattern.Required(path.Child("httpProviderConfig"), e.HTTPProviderConfig)...)
	errs = append(errs, validateBaseURL(path.Child("apiURL"), e.APIURL)...)
	errs = append(errs, validateBaseURL(path.Child("metadataURL"), e.MetadataURL)...)
	errs = append(errs, validateSecretKey(e.TokenSecret, path.Child("tokenSecret"))...)
	errs = append(errs, rule.Set(path.Child("blocks"), e.Blocks, maxBlocks, func(p *field.Path, value string) field.ErrorList {
		_, errs := rule.Block(p, value)
		return errs
	})...)
	errs = append(errs, validateCloudController(e.CloudController, path.Child("cloudController"))...)
	errs = append(errs, imagePattern.Required(path.Child("kubeVIP", "image"), e.KubeVIP.Image)...)
	return append(errs, validateTimeouts(e, path)...)
}

// validateBaseURL checks an address that paths are appended to.
func validateBaseURL(path *field.Path, value string) field.ErrorList {
	if errs := baseURLPattern.Required(path, value); len(errs) > 0 {
		return errs
	}
	if errs := validateURL(path, value); len(errs) > 0 {
		return errs
	}
	if strings.HasSuffix(value, "/") {
		return field.ErrorList{field.Invalid(path, value, "must not end in a slash: paths are appended to it")}
	}
	return nil
}

// validateURL checks what the patterns cannot: that there is a host, and that a
// port is one.
func validateURL(path *field.Path, value string) field.ErrorList {
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" {
		return field.ErrorList{field.Invalid(path, value, "must be a URL with a host and, if wanted, a port, for example https://metal.example.org:8443/v1")}
	}
	if u.User != nil {
		return field.ErrorList{field.Invalid(path, value, "must not hold a user or a password: whoever can read this could read them")}
	}
	return nil
}

func validateSecretKey(s SecretKey, path *field.Path) field.ErrorList {
	errs := labelPattern.Required(path.Child("namespace"), s.Namespace)
	errs = append(errs, objectNamePattern.Required(path.Child("name"), s.Name)...)
	return append(errs, secretKeyPattern.Required(path.Child("key"), s.Key)...)
}

func validateCloudController(c CloudController, path *field.Path) field.ErrorList {
	errs := rule.OneOf(path.Child("kind"), c.Kind, CloudControllerCPEM, CloudControllerNone)
	errs = append(errs, rule.OneOf(path.Child("delivery"), c.Delivery, DeliveryUserData, DeliveryAddOn)...)
	manifest := path.Child("manifestURL")
	if e := manifestURLPattern.Required(manifest, c.ManifestURL); len(e) > 0 {
		return append(errs, e...)
	}
	return append(errs, validateURL(manifest, c.ManifestURL)...)
}

// validateTimeouts checks that one call fits into the time of all, and all into
// the time that Crossplane has for a reconcile.
func validateTimeouts(e Equinix, path *field.Path) field.ErrorList {
	errs := validateDuration(path.Child("callTimeout"), e.CallTimeout, minTimeout, maxTotalTimeout)
	errs = append(errs, validateDuration(path.Child("totalTimeout"), e.TotalTimeout, minTimeout, maxTotalTimeout)...)
	if len(errs) == 0 && e.CallTimeout.Duration > e.TotalTimeout.Duration {
		errs = append(errs, field.Invalid(path.Child("callTimeout"), e.CallTimeout.Duration.String(),
			"must not be more than totalTimeout, "+e.TotalTimeout.Duration.String()))
	}
	return errs
}
