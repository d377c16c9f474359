package stack

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// Ports of the stack, all of them in a network namespace of its own.
const (
	portEtcd           = 2379
	portEtcdPeers      = 2380
	portAPIServer      = 6443
	portWebhooks       = 9443 // of Crossplane, as its chart has it
	portCrossplane     = 8090 // metrics, and health one above; others cannot leave 8080
	portFunction       = 9500
	portCore           = 9601 // webhooks of Cluster API and its providers
	portBootstrap      = 9602
	portControlPlane   = 9603
	portCAPP           = 9604
	portIPAM           = 9605
	portWorkload       = 9700
	portRegistry       = 5000
	portCloud          = 8880
	serviceAddresses   = "127.250.0.0/16" // of Services: with loopback addresses no proxy is needed
	crossplaneService  = "127.250.0.10"
	crossplaneSystem   = "crossplane-system"
	clusterAdmin       = "system:masters"
	crossplaneIdentity = "system:serviceaccount:" + crossplaneSystem + ":crossplane"
	rbacIdentity       = "system:serviceaccount:" + crossplaneSystem + ":rbac-manager"
)

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// startControlPlane starts etcd, the API server, and of the controller manager
// what the stack relies on: the controllers that collect garbage, empty
// namespaces and aggregate roles.
func (s *Stack) startControlPlane(ctx context.Context) error {
	certs := filepath.Join(s.Dir, "pki")
	serving, err := s.ca.issue(identity{user: "kube-apiserver", dns: []string{"kubernetes.default.svc"}})
	if err != nil {
		return err
	}
	signing, err := newSigningKey()
	if err != nil {
		return err
	}
	if err := write(certs, map[string][]byte{"ca.crt": s.ca.pem, "tls.crt": serving.cert, "tls.key": serving.key, "sa.key": signing}); err != nil {
		return err
	}
	if err := s.spawn("etcd", s.Tools.Binaries["etcd"], nil,
		"--data-dir="+filepath.Join(s.Dir, "etcd"), "--unsafe-no-fsync", "--quota-backend-bytes=2147483648",
		"--listen-client-urls=http://"+local(portEtcd), "--advertise-client-urls=http://"+local(portEtcd),
		"--listen-peer-urls=http://"+local(portEtcdPeers), "--log-level=warn",
	); err != nil {
		return err
	}
	if err := s.spawn("kube-apiserver", s.Tools.Binaries["kubernetes"], nil, "kube-apiserver",
		"--etcd-servers=http://"+local(portEtcd), "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", portAPIServer),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range="+serviceAddresses,
		"--authorization-mode=RBAC", "--client-ca-file="+filepath.Join(certs, "ca.crt"),
		"--tls-cert-file="+filepath.Join(certs, "tls.crt"), "--tls-private-key-file="+filepath.Join(certs, "tls.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+filepath.Join(certs, "sa.key"),
		"--service-account-signing-key-file="+filepath.Join(certs, "sa.key"), "--enable-priority-and-fairness=false",
		"--profiling=false",
	); err != nil {
		return err
	}
	admin, err := s.kubeconfig("admin", identity{user: "admin", groups: []string{clusterAdmin}})
	if err != nil {
		return err
	}
	if err := s.connect(admin); err != nil {
		return err
	}
	if err := s.listening(ctx, "kube-apiserver", portAPIServer); err != nil {
		return err
	}
	if err := Wait(ctx, 2*time.Minute, func(ctx context.Context) error {
		_, err := s.Client.Get(ctx, Ref{APIVersion: "v1", Kind: "Namespace", Name: "default"})
		return err
	}); err != nil {
		return fmt.Errorf("the API server does not answer, see %s: %w", s.processes["kube-apiserver"].Log(), err)
	}
	return s.spawn("controllers", s.Tools.Binaries["kubernetes"], nil, "controllers", admin)
}

// kubeconfig writes a file that lets an identity reach the API server.
func (s *Stack) kubeconfig(name string, id identity) (string, error) {
	client, err := s.ca.issue(id)
	if err != nil {
		return "", err
	}
	b64 := base64.StdEncoding.EncodeToString
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: e2e
clusters:
- name: e2e
  cluster: {server: "https://%s", certificate-authority-data: %s}
users:
- name: %s
  user: {client-certificate-data: %s, client-key-data: %s}
contexts:
- name: e2e
  context: {cluster: e2e, user: %q}
`, local(portAPIServer), b64(s.ca.pem), name, b64(client.cert), b64(client.key), name)
	dir := filepath.Join(s.Dir, "kubeconfig")
	if err := write(dir, map[string][]byte{name: []byte(content)}); err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

func (s *Stack) connect(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", kubeconfig, err)
	}
	s.Client, err = newClient(config)
	return err
}

// listening waits until something accepts connections at a port.
func (s *Stack) listening(ctx context.Context, name string, port int) error {
	err := Wait(ctx, 2*time.Minute, func(ctx context.Context) error {
		if p := s.processes[name]; p != nil && p.Restarts() > 0 {
			return NotYet("it has ended %d times", p.Restarts())
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", local(port))
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		return fmt.Errorf("%s does not listen at %s, see its log in %s: %w", name, local(port), s.Dir, err)
	}
	return nil
}
