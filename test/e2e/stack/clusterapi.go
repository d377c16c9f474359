package stack

import (
	"context"
	"fmt"
	"path/filepath"
)

// manager is a program of Cluster API or one of its providers.
type manager struct {
	name   string // of its module in test/tools, and of its log
	module string // that its CRDs and webhooks come from
	config string // folder in that module
	port   int    // of its webhooks
	labels map[string]string
	args   []string
	env    []string
}

// contract labels of CRDs say which versions of Cluster API's contract they
// keep.
const (
	contractV1Beta1 = "cluster.x-k8s.io/v1beta1"
	contractV1Beta2 = "cluster.x-k8s.io/v1beta2"
)

func (s *Stack) managers() []manager {
	both := map[string]string{contractV1Beta1: "v1beta1", contractV1Beta2: "v1beta2"}
	core := func(name, folder string, port int) manager {
		return manager{
			name: name, module: "sigs.k8s.io/cluster-api", config: filepath.Join(folder, "config"), port: port, labels: both,
			args: []string{"--health-addr=" + local(port+100), "--diagnostics-address=" + local(port+200), "--insecure-diagnostics"},
		}
	}
	return []manager{
		core("cluster-api-core", "core", portCore),
		core("cluster-api-bootstrap", filepath.Join("bootstrap", "kubeadm"), portBootstrap),
		core("cluster-api-control-plane", filepath.Join("controlplane", "kubeadm"), portControlPlane),
		{
			name: "capp", module: "sigs.k8s.io/cluster-api-provider-packet", config: "config", port: portCAPP,
			labels: map[string]string{contractV1Beta1: "v1beta1"},
			args:   []string{"--api=" + s.Cloud.URL()}, env: []string{"PACKET_API_KEY=" + Token},
		},
		{
			name: "ipam-in-cluster", module: "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", config: "config", port: portIPAM,
			args: []string{"--health-probe-bind-address=" + local(portIPAM+100), "--metrics-bind-address=0"},
		},
	}
}

// startClusterAPI applies the CRDs and webhooks of Cluster API and its
// providers, and starts their programs. CRDs come first: core's are converted
// by core, and everybody watches them.
func (s *Stack) startClusterAPI(ctx context.Context) error {
	admin, err := s.kubeconfig("cluster-api", identity{user: "cluster-api", groups: []string{clusterAdmin}})
	if err != nil {
		return err
	}
	certs := filepath.Join(s.Dir, "webhook-certs")
	serving, err := s.ca.issue(identity{user: "webhooks"})
	if err != nil {
		return err
	}
	if err := write(certs, map[string][]byte{"tls.crt": serving.cert, "tls.key": serving.key}); err != nil {
		return err
	}
	for _, m := range s.managers() {
		crds, err := Read(filepath.Join(s.Tools.Modules[m.module], m.config, "crd", "bases"))
		if err != nil {
			return err
		}
		if err := s.hook(m).convert(crds, m.labels); err != nil {
			return err
		}
		if err := s.applyCRDs(ctx, crds); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	for _, m := range s.managers() {
		args := append([]string{fmt.Sprintf("--webhook-port=%d", m.port), "--webhook-cert-dir=" + certs}, m.args...)
		env := append([]string{"KUBECONFIG=" + admin, "POD_NAMESPACE=" + m.name, "POD_NAME=" + m.name, "POD_UID=" + m.name}, m.env...)
		if err := s.spawn(m.name, s.Tools.Binaries[m.name], env, args...); err != nil {
			return err
		}
	}
	for _, m := range s.managers() {
		if err := s.listening(ctx, m.name, m.port); err != nil {
			return err
		}
		hooks, err := Read(filepath.Join(s.Tools.Modules[m.module], m.config, "webhook", "manifests.yaml"))
		if err != nil {
			return err
		}
		if err := s.hook(m).admission(hooks); err != nil {
			return err
		}
		if err := s.apply(ctx, append([]*Object{namespace(m.name)}, hooks...)...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) hook(m manager) hook { return hook{name: m.name, port: m.port, ca: s.ca.pem} }
