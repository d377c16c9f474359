package v1beta1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default fills in what an input leaves out, with the defaults of its schema.
// Crossplane hands an input to the function as it was written, so nobody else
// does. It is idempotent.
func Default(in *Input) {
	setDefault(&in.Platform, PlatformEquinix)
	defaultEquinix(&in.Equinix)
	defaultBootstrap(&in.Bootstrap)
	setDuration(&in.Network.Timeout, 8*time.Minute)
	setDuration(&in.Network.CoolDown, 10*time.Minute)
	for i := range in.AddOns {
		setDefault(&in.AddOns[i].Strategy, StrategyApplyOnce)
	}
}

// setDefault of a field whose zero value means that it was left out.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// setDuration of a field where no time at all means something.
func setDuration(field **metav1.Duration, value time.Duration) {
	if *field == nil {
		*field = &metav1.Duration{Duration: value}
	}
}

func defaultEquinix(e *Equinix) {
	setDefault(&e.ProviderConfig, "default")
	setDefault(&e.HTTPProviderConfig, "default")
	setDefault(&e.APIURL, "https://api.equinix.com/metal/v1")
	setDefault(&e.MetadataURL, "https://metadata.platformequinix.com")
	setDefault(&e.TokenSecret, SecretKey{Namespace: "crossplane-system", Name: "equinix-metal", Key: "auth_token"})
	setDefault(&e.CloudController.Kind, CloudControllerCPEM)
	setDefault(&e.CloudController.Delivery, DeliveryUserData)
	setDefault(&e.CloudController.ManifestURL, "https://github.com/equinix/cloud-provider-equinix-metal/releases/download/v3.8.1/deployment.yaml")
	setDefault(&e.KubeVIP.Image, "ghcr.io/kube-vip/kube-vip:v0.8.1")
	setDuration(&e.CallTimeout, 5*time.Second)
	setDuration(&e.TotalTimeout, 15*time.Second)
}

func defaultBootstrap(b *Bootstrap) {
	setDefault(&b.NodePackages, NodePackagesInstalled)
	setDefault(&b.KubernetesRepository, "https://pkgs.k8s.io/core:/stable:")
	for i := range b.Files {
		setDefault(&b.Files[i].Permissions, "0644")
	}
}
