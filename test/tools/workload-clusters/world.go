package main

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	"sigs.k8s.io/cluster-api/util/certs"
	ctrl "sigs.k8s.io/controller-runtime"
)

// clusterSpec is a cluster as a test describes it.
type clusterSpec struct {
	// Address is its control plane endpoint, host and port.
	Address string `json:"address"`
	// CA signs the API server's certificate, EtcdCA those of etcd's members.
	CA     authority `json:"ca"`
	EtcdCA authority `json:"etcdCA"`
}

// authority is a certificate and its key, in PEM.
type authority struct {
	Certificate []byte `json:"certificate"`
	Key         []byte `json:"key"`
}

// world has all clusters. Its methods may be called at the same time.
type world struct {
	manager  inmemory.Manager
	handler  http.Handler
	key      *rsa.PrivateKey // of every serving certificate: making one takes long
	mu       sync.Mutex
	clusters map[string]*cluster
}

// cluster is one cluster that is being served.
type cluster struct {
	spec     clusterSpec
	listener net.Listener
	server   *http.Server
	api      *tls.Certificate
	mu       sync.Mutex
	members  map[string]*member // by the name of etcd's pod
	leader   uint64
}

func newWorld(ctx context.Context) (*world, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		cloudv1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme,
		apiextensionsv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("cannot register types: %w", err)
		}
	}
	key, err := certs.NewPrivateKey()
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	w := &world{manager: inmemory.NewManager(scheme), key: key, clusters: map[string]*cluster{}}
	if err := w.manager.Start(ctx); err != nil {
		return nil, fmt.Errorf("cannot start the in-memory objects: %w", err)
	}
	log := ctrl.Log.WithName("workload")
	objects, members := api.NewAPIServerHandler(w.manager, log, w.at), newEtcd(w)
	w.handler = http.HandlerFunc(func(rsp http.ResponseWriter, req *http.Request) {
		if req.ProtoMajor == 2 && strings.HasPrefix(req.Header.Get("Content-Type"), "application/grpc") {
			members.ServeHTTP(rsp, req)
			return
		}
		objects.ServeHTTP(rsp, req)
	})
	return w, nil
}

// at returns the name of the cluster that is served at an address.
func (w *world) at(address string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, c := range w.clusters {
		if c.spec.Address == address {
			return name, nil
		}
	}
	return "", fmt.Errorf("no cluster at %q", address)
}

func (w *world) cluster(name string) (*cluster, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clusters[name]
	if c == nil {
		return nil, fmt.Errorf("no cluster %q", name)
	}
	return c, nil
}

// serve a cluster; nothing happens if it is served already.
func (w *world) serve(name string, spec clusterSpec) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clusters[name] != nil {
		return nil
	}
	host, _, err := net.SplitHostPort(spec.Address)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return fmt.Errorf("cannot serve cluster %q at %q: not a loopback address", name, spec.Address)
	}
	serving, err := w.certificate(spec.CA, "kube-apiserver", host)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", spec.Address)
	if err != nil {
		return fmt.Errorf("cannot serve cluster %q: %w", name, err)
	}
	c := &cluster{spec: spec, listener: listener, api: serving, members: map[string]*member{}}
	c.server = &http.Server{
		Handler: w.handler, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{GetCertificate: c.serving, MinVersion: tls.VersionTLS12},
	}
	w.manager.AddResourceGroup(name)
	w.clusters[name] = c
	go func() { _ = c.server.ServeTLS(listener, "", "") }()
	return nil
}

// serving certificate of who is asked: an etcd member is reached through the
// same port and asked for by the name of its pod.
func (c *cluster) serving(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[hello.ServerName]; m != nil {
		return m.serving, nil
	}
	return c.api, nil
}

// stop serving a cluster and forget it.
func (w *world) stop(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clusters[name]
	if c == nil {
		return nil
	}
	delete(w.clusters, name)
	w.manager.DeleteResourceGroup(name)
	return c.server.Close()
}

// certificate for a server with that name and address.
func (w *world) certificate(by authority, name, host string) (*tls.Certificate, error) {
	ca, err := certs.DecodeCertPEM(by.Certificate)
	if err != nil || ca == nil {
		return nil, errors.Join(fmt.Errorf("cannot read the authority of %q", name), err)
	}
	signer, err := certs.DecodePrivateKeyPEM(by.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority's key of %q: %w", name, err)
	}
	config := certs.Config{
		CommonName: name,
		AltNames:   certs.AltNames{DNSNames: []string{"localhost", name}, IPs: []net.IP{net.ParseIP(host), net.IPv4(127, 0, 0, 1)}},
		Usages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := config.NewSignedCert(w.key, ca, signer)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate for %q: %w", name, err)
	}
	pair, err := tls.X509KeyPair(certs.EncodeCertPEM(cert), certs.EncodePrivateKeyPEM(w.key))
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate of %q: %w", name, err)
	}
	return &pair, nil
}
