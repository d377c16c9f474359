// Command capp runs the reconcilers and webhooks of Cluster API Provider Packet
// against an Equinix API at an address of one's own choice; the provider's own
// main knows only the public one.
//
// The token is read from PACKET_API_KEY, the control plane from KUBECONFIG.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metal "github.com/equinix/equinix-sdk-go/services/metalv1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	infrav1 "sigs.k8s.io/cluster-api-provider-packet/api/v1beta1"
	"sigs.k8s.io/cluster-api-provider-packet/controllers"
	"sigs.k8s.io/cluster-api-provider-packet/pkg/cloud/packet"
	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/util/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// options are the command's flags.
type options struct {
	api         string
	webhookHost string
	webhookPort int
	certDir     string
	workers     int
}

func main() {
	o := options{}
	flag.StringVar(&o.api, "api", "", "base URL of the Equinix Metal API, for example http://127.0.0.1:8080/metal/v1")
	flag.StringVar(&o.webhookHost, "webhook-host", "127.0.0.1", "address that webhooks listen on")
	flag.IntVar(&o.webhookPort, "webhook-port", 0, "port that webhooks listen on")
	flag.StringVar(&o.certDir, "webhook-cert-dir", "", "folder with tls.crt and tls.key")
	flag.IntVar(&o.workers, "workers", 10, "clusters and machines reconciled at a time")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		fmt.Fprintln(os.Stderr, "capp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	token := strings.TrimSpace(os.Getenv("PACKET_API_KEY"))
	if token == "" || o.api == "" {
		return errors.New("PACKET_API_KEY and --api are needed")
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, infrav1.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("cannot register types: %w", err)
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the control plane: %w", err)
	}
	config.QPS, config.Burst = 100, 200
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:        scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: o.webhookHost, Port: o.webhookPort, CertDir: filepath.Clean(o.certDir)}),
	})
	if err != nil {
		return fmt.Errorf("cannot make a manager: %w", err)
	}
	if err := setup(ctx, mgr, client(o.api, token), o.workers); err != nil {
		return err
	}
	record.InitFromRecorder(mgr.GetEventRecorderFor("packet-controller"))
	return mgr.Start(ctx)
}

// client is what the provider's NewClient makes, for another address.
func client(api, token string) *packet.Client {
	config := packet.NewClient(token).GetConfig()
	config.Servers = metal.ServerConfigurations{{URL: api}}
	return &packet.Client{APIClient: metal.NewAPIClient(config)}
}

func setup(ctx context.Context, mgr ctrl.Manager, cloud *packet.Client, workers int) error {
	concurrency := controller.Options{MaxConcurrentReconciles: workers}
	clusters := &controllers.PacketClusterReconciler{Client: mgr.GetClient(), PacketClient: cloud}
	if err := clusters.SetupWithManager(ctx, mgr, concurrency); err != nil {
		return fmt.Errorf("cannot set up the reconciler of PacketClusters: %w", err)
	}
	machines := &controllers.PacketMachineReconciler{Client: mgr.GetClient(), PacketClient: cloud}
	if err := machines.SetupWithManager(ctx, mgr, concurrency); err != nil {
		return fmt.Errorf("cannot set up the reconciler of PacketMachines: %w", err)
	}
	if err := (&infrav1.PacketCluster{}).SetupWebhookWithManager(mgr); err != nil {
		return fmt.Errorf("cannot set up the webhook of PacketClusters: %w", err)
	}
	if err := (&infrav1.PacketMachine{}).SetupWebhookWithManager(mgr); err != nil {
		return fmt.Errorf("cannot set up the webhook of PacketMachines: %w", err)
	}
	if err := (&infrav1.PacketMachineTemplate{}).SetupWebhookWithManager(mgr); err != nil {
		return fmt.Errorf("cannot set up the webhook of PacketMachineTemplates: %w", err)
	}
	return nil
}
