// Package node plays the servers of the fake cloud from the moment when they
// are switched on: it reads user data and custom data as the node program does,
// posts the same events, and then joins the cluster as kubeadm and kubelet do.
package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
	"github.com/l2cluster/function-l2cluster/test/metal"
)

// Player plays all servers of a cloud.
type Player struct {
	cloud    *metal.Cloud
	client   *stack.Client
	workload string
	log      *log.Logger
	http     *http.Client

	mu sync.Mutex
	// played are the servers that were switched on, by UUID.
	played map[string]context.CancelFunc
	// broken says why the network of a server does not come up; nil for none.
	broken func(hostname string) string
	// networked are the servers whose network came up, and what they hold.
	networked map[string]map[string]string
}

// New player that joins nodes to the clusters served at workload.
func New(cloud *metal.Cloud, client *stack.Client, workload string, log *log.Logger) *Player {
	return &Player{
		cloud: cloud, client: client, workload: workload, log: log, http: &http.Client{Timeout: 20 * time.Second},
		played: map[string]context.CancelFunc{}, networked: map[string]map[string]string{},
	}
}

// Break lets the network of servers not come up, with what the function
// returns as the reason; nil mends it for servers that are switched on later.
func (p *Player) Break(why func(hostname string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = why
}

// Networked returns the addresses that a server has taken, by key, none where all
// come from DHCP servers; nil if its network has not come up.
func (p *Player) Networked(device string) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.networked[device]
}

// Run until the context ends.
func (p *Player) Run(ctx context.Context) {
	for ctx.Err() == nil {
		here := map[string]bool{}
		for _, d := range p.cloud.Snapshot().Devices {
			here[d.GetId()] = true
			if d.GetState() == metalv1.DEVICESTATE_ACTIVE {
				p.switchOn(ctx, d)
			}
		}
		p.forget(here)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (p *Player) switchOn(ctx context.Context, d metalv1.Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.played[d.GetId()] != nil {
		return
	}
	life, end := context.WithCancel(ctx)
	p.played[d.GetId()] = end
	m := machine{p: p, device: d}
	go func() {
		if err := m.live(life); err != nil && life.Err() == nil {
			p.log.Printf("%s: %v", d.GetHostname(), err)
		}
	}()
}

// forget servers that are gone.
func (p *Player) forget(here map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, end := range p.played {
		if !here[id] {
			end()
			delete(p.played, id)
			delete(p.networked, id)
		}
	}
}

// machine is one server.
type machine struct {
	p      *Player
	device metalv1.Device
}

// live is a server's life from its first boot to its end.
func (m machine) live(ctx context.Context) error {
	base := strings.TrimSuffix(m.p.cloud.MetadataURL(m.device.GetId()), "/metadata")
	userData, err := m.userData(ctx, base)
	if err != nil {
		return err
	}
	config, err := networkOf(userData)
	if err != nil {
		return err
	}
	if config != nil {
		if err := m.network(ctx, base, *config); err != nil {
			return err
		}
	}
	if err := m.join(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return m.leave()
}

// userData of the server, which cloud-init asks for until it gets it.
func (m machine) userData(ctx context.Context, base string) ([]byte, error) {
	var out []byte
	err := stack.Wait(ctx, 10*time.Minute, func(ctx context.Context) error {
		var err error
		out, err = m.p.get(ctx, base+"/userdata")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read user data: %w", err)
	}
	return out, nil
}

// network does what the node program does: it reports that it starts, waits for
// its addresses, and says so when they are late, takes them, and reports how that
// went.
func (m machine) network(ctx context.Context, base string, c network) error {
	m.event(ctx, base, c.Events.Started, "")
	addresses, err := m.addresses(ctx, base, c, time.Duration(c.Timeout)*time.Second)
	if err != nil {
		m.event(ctx, base, c.Events.Failed, ": "+err.Error())
		if addresses, err = m.addresses(ctx, base, c, forEver); err != nil {
			return err
		}
	}
	time.Sleep(time.Second)
	m.p.mu.Lock()
	broken := m.p.broken
	m.p.mu.Unlock()
	if broken != nil {
		if why := broken(m.device.GetHostname()); why != "" {
			// A network that does not come up ends the boot.
			m.event(ctx, base, c.Events.Failed, ": "+why)
			return errors.New("broken on purpose")
		}
	}
	m.p.mu.Lock()
	m.p.networked[m.device.GetId()] = addresses
	m.p.mu.Unlock()
	m.event(ctx, base, c.Events.Succeeded, "")
	return nil
}

// forEver is longer than any scenario.
const forEver = 24 * time.Hour

// addresses in the server's custom data, once all that it needs are there.
func (m machine) addresses(ctx context.Context, base string, c network, limit time.Duration) (map[string]string, error) {
	var found map[string]string
	err := stack.Wait(ctx, limit, func(ctx context.Context) error {
		raw, err := m.p.get(ctx, base+"/metadata")
		if err != nil {
			return err
		}
		var metadata struct {
			CustomData map[string]json.RawMessage `json:"customdata"`
		}
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return fmt.Errorf("cannot read metadata: %w", err)
		}
		// Other keys are other people's.
		ours := metadata.CustomData[c.CustomDataKey]
		found = map[string]string{}
		if ours == nil {
			return c.complete(found)
		}
		if err := json.Unmarshal(ours, &found); err != nil {
			return fmt.Errorf("cannot read addresses: %w", err)
		}
		return c.complete(found)
	})
	return found, err
}

// event reports a state of the server. As on a real one, the boot goes on when
// nobody hears it.
func (m machine) event(ctx context.Context, base string, e event, more string) {
	e.Message += more
	raw, err := json.Marshal(e)
	if err == nil {
		err = stack.Wait(ctx, 45*time.Second, func(ctx context.Context) error {
			return m.p.send(ctx, http.MethodPost, base+"/events", raw)
		})
	}
	if err != nil && ctx.Err() == nil {
		m.p.log.Printf("%s: cannot report %q: %v", m.device.GetHostname(), e.Message, err)
	}
}

// tag of the server that begins with a word, without it.
func (m machine) tag(word string) string {
	for _, t := range m.device.Tags {
		if after, found := strings.CutPrefix(t, "capp:"+word+":"); found {
			return after
		}
	}
	return ""
}

// join the cluster that the server belongs to: a control plane server serves
// its API first, at the address that Cluster API chose and with the authorities
// that it made.
func (m machine) join(ctx context.Context) error {
	name, namespace := m.tag("cluster-id"), m.tag("namespace")
	control := slices.Contains(m.device.Tags, "kubernetes.io/role:master")
	if control {
		if err := stack.Wait(ctx, 5*time.Minute, func(ctx context.Context) error { return m.serve(ctx, namespace, name) }); err != nil {
			return fmt.Errorf("cannot serve the cluster: %w", err)
		}
	}
	return stack.Wait(ctx, 10*time.Minute, func(ctx context.Context) error { return m.register(ctx, namespace, control) })
}

// register the server's node, as its kubelet does.
func (m machine) register(ctx context.Context, namespace string, control bool) error {
	ref := stack.Ref{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: namespace, Name: m.device.GetHostname()}
	o, err := m.p.client.Get(ctx, ref)
	if err != nil || o == nil {
		return errors.Join(fmt.Errorf("cannot find machine %q", ref.Name), err)
	}
	version, _, _ := unstructured.NestedString(o.Object, "spec", "version")
	raw, err := json.Marshal(map[string]any{
		"providerID": "equinixmetal://" + m.device.GetId(), "version": version, "controlPlane": control,
	})
	if err != nil {
		return fmt.Errorf("cannot describe a node: %w", err)
	}
	return m.p.send(ctx, http.MethodPut, m.nodeURL(), raw)
}

func (m machine) nodeURL() string {
	return m.p.workload + "/clusters/" + m.tag("namespace") + "." + m.tag("cluster-id") + "/nodes/" + m.device.GetHostname()
}

// leave with what ran on the server.
func (m machine) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return m.p.send(ctx, http.MethodDelete, m.nodeURL(), nil)
}

func (m machine) serve(ctx context.Context, namespace, name string) error {
	o, err := m.p.client.Get(ctx, stack.Ref{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Namespace: namespace, Name: name})
	if err != nil || o == nil {
		return errors.Join(stack.NotYet("there is no cluster %q", name), err)
	}
	host, _, _ := unstructured.NestedString(o.Object, "spec", "controlPlaneEndpoint", "host")
	port, _, _ := unstructured.NestedInt64(o.Object, "spec", "controlPlaneEndpoint", "port")
	address, err := netip.ParseAddr(host)
	if err != nil || port == 0 {
		return stack.NotYet("cluster %q has no endpoint", name)
	}
	spec := map[string]any{"address": netip.AddrPortFrom(address, uint16(port)).String()}
	for field, secret := range map[string]string{"ca": name + "-ca", "etcdCA": name + "-etcd"} {
		s, err := m.p.client.Get(ctx, stack.Ref{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: secret})
		if err != nil || s == nil {
			return errors.Join(stack.NotYet("there is no Secret %q", secret), err)
		}
		data, err := stack.SecretData(s)
		if err != nil {
			return err
		}
		spec[field] = map[string][]byte{"certificate": data["tls.crt"], "key": data["tls.key"]}
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("cannot describe a cluster: %w", err)
	}
	return m.p.send(ctx, http.MethodPut, m.p.workload+"/clusters/"+namespace+"."+name, raw)
}

func (p *Player) get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot make a request: %w", err)
	}
	return p.do(req)
}

func (p *Player) send(ctx context.Context, method, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot make a request: %w", err)
	}
	_, err = p.do(req)
	return err
}

func (p *Player) do(req *http.Request) ([]byte, error) {
	rsp, err := p.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer rsp.Body.Close()
	raw, err := io.ReadAll(rsp.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot read an answer: %w", err)
	}
	if rsp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %s", req.Method, req.URL.Path, rsp.Status, bytes.TrimSpace(raw))
	}
	return raw, nil
}
