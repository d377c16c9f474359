package metal

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// basePath is where the API lies below the server's address.
const basePath = "/metal/v1"

// Options says what a cloud looks like. The zero value is usable: no project,
// any token, every change at once, real time.
type Options struct {
	// Seed makes the ids, MACs and passwords of one cloud differ from another's.
	Seed string
	// Tokens are the accepted values of X-Auth-Token. Without any, every token
	// that is not empty is accepted.
	Tokens []string
	// Projects are the projects that exist: name by UUID.
	Projects map[string]string
	// Metros are the codes of the metros that exist; without any, DefaultMetros.
	Metros []string
	// Plans are the server plans that exist: number of network ports, 2 or 4, by
	// slug; without any, DefaultPlans.
	Plans map[string]int
	// LoopbackOctet is the second octet of the first of four /16 blocks inside
	// 127.0.0.0/8 from which all addresses come: public ones of servers, private
	// ones, elastic ones, and those of gateways. 0 means 64; at most 252.
	LoopbackOctet uint8
	// ElasticIPs is how many addresses a project may reserve; 0 means 256.
	ElasticIPs int
	// PortsNeedActive makes the API refuse changes of a port (HTTP 422) until its
	// server is active. What the real API does before is not documented.
	PortsNeedActive bool
	// Schedule says how long things take.
	Schedule Schedule
	// Now tells the time; without it, time.Now.
	Now func() time.Time
}

// Schedule says how long the cloud's own work takes. Whatever the schedule,
// what is done in the background is seen at the earliest by the next request.
type Schedule struct {
	Life
	// Batch is from the creation of a batch of VLAN assignments to its end.
	Batch time.Duration
	// Gateway is from ready to active, GatewayDeletion from deleting to gone.
	Gateway, GatewayDeletion time.Duration
	// Of returns the life of the server with that host name; it must not call the
	// cloud. Without it, every server lives the same Life.
	Of func(hostname string, usual Life) Life
}

// Life says how long a server stays in its states.
type Life struct {
	// Queued is from creation to provisioning. A queued server has no ports and
	// no addresses yet.
	Queued time.Duration
	// Provisioning is from there to active.
	Provisioning time.Duration
	// Deprovisioning is from deletion until the server, its ports, their VLANs
	// and its addresses are gone.
	Deprovisioning time.Duration
}

// Cloud is a fake Equinix Metal. It is an http.Handler and safe for concurrent
// use.
type Cloud struct {
	opts    Options
	handler http.Handler

	mu           sync.Mutex
	now          time.Time // the moment that is being worked on
	timers       timers
	given        map[string]int
	projects     *table[*project]
	devices      *table[*device]
	failed       map[string]bool
	ports        *table[*port]
	vlans        *table[*vlan]
	vrfs         *table[*vrf]
	reservations *table[*reservation]
	assignments  *table[*assignment]
	gateways     *table[*gateway]
	sessions     *table[*session]
	events       *table[*event]
	pools        pools
	log          []Change
	refused      []Refusal
	faults       []*fault
	limit        limit
	requests     map[Request]int

	server   *http.Server
	listener net.Listener
}

// New returns a cloud without servers.
func New(opts Options) *Cloud {
	opts = withDefaults(opts)
	c := &Cloud{
		opts:         opts,
		now:          opts.Now(),
		given:        map[string]int{},
		projects:     newTable[*project](),
		devices:      newTable[*device](),
		failed:       map[string]bool{},
		ports:        newTable[*port](),
		vlans:        newTable[*vlan](),
		vrfs:         newTable[*vrf](),
		reservations: newTable[*reservation](),
		assignments:  newTable[*assignment](),
		gateways:     newTable[*gateway](),
		sessions:     newTable[*session](),
		events:       newTable[*event](),
		pools:        newPools(opts.LoopbackOctet),
		requests:     map[Request]int{},
	}
	for _, id := range slices.Sorted(maps.Keys(opts.Projects)) {
		c.projects.put(id, &project{id: id, name: opts.Projects[id], created: c.now})
	}
	c.handler = c.newHandler()
	return c
}

func withDefaults(o Options) Options {
	if len(o.Metros) == 0 {
		o.Metros = DefaultMetros()
	}
	if len(o.Plans) == 0 {
		o.Plans = DefaultPlans()
	}
	if o.LoopbackOctet == 0 {
		o.LoopbackOctet = 64
	}
	o.LoopbackOctet = min(o.LoopbackOctet, 252)
	if o.ElasticIPs == 0 {
		o.ElasticIPs = 256
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// DefaultMetros returns the codes of the metros that exist unless told
// otherwise.
func DefaultMetros() []string {
	return []string{"am", "da", "dc", "fr", "ny", "sg", "sv", "ty"}
}

// DefaultPlans returns the number of network ports of the server plans that
// exist unless told otherwise.
func DefaultPlans() map[string]int {
	return map[string]int{
		"c3.small.x86": 2, "c3.medium.x86": 2, "m3.small.x86": 2, "m3.large.x86": 2,
		"s3.xlarge.x86": 2, "a3.large.x86": 2, "c3.large.arm64": 2,
		"n2.xlarge.x86": 4, "n3.xlarge.x86": 4,
	}
}

// Start serves the cloud at addr, an address and port of this machine's
// loopback interface; an empty addr is a free port of 127.0.0.1. It fails for
// any other address, and when it cannot listen there.
func (c *Cloud) Start(addr string) error {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("cannot serve the fake API at %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("cannot serve the fake API at %q: not a loopback address", addr)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot serve the fake API at %q: %w", addr, err)
	}
	server := &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	c.mu.Lock()
	c.listener, c.server = listener, server
	c.mu.Unlock()
	go func() { _ = server.Serve(listener) }()
	return nil
}

// Close ends what Start began. Requests that are still being answered are cut
// off.
func (c *Cloud) Close() error {
	c.mu.Lock()
	server := c.server
	c.mu.Unlock()
	if server == nil {
		return nil
	}
	if err := server.Close(); err != nil {
		return fmt.Errorf("cannot close the fake API: %w", err)
	}
	return nil
}

// Address returns the scheme, host and port of a started cloud, without a path.
func (c *Cloud) Address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener == nil {
		return ""
	}
	return "http://" + c.listener.Addr().String()
}

// URL returns the API's base URL of a started cloud: what goes into a client's
// server list.
func (c *Cloud) URL() string {
	return c.Address() + basePath
}

// Client returns an SDK client of a started cloud with an accepted token.
func (c *Cloud) Client() *metalv1.APIClient {
	token := "any"
	if len(c.opts.Tokens) > 0 {
		token = c.opts.Tokens[0]
	}
	return NewClient(c.URL(), token)
}

// NewClient returns an SDK client of the API at url.
func NewClient(url, token string) *metalv1.APIClient {
	config := metalv1.NewConfiguration()
	config.Servers = metalv1.ServerConfigurations{{URL: url}}
	config.AddDefaultHeader("X-Auth-Token", token)
	return metalv1.NewAPIClient(config)
}

// SetSchedule changes how long things take from now on. What has begun already
// keeps the time that it was given.
func (c *Cloud) SetSchedule(s Schedule) {
	defer c.work()()
	c.opts.Schedule = s
}

// work takes the lock and does what is due; the function that it returns
// releases the lock.
func (c *Cloud) work() func() {
	c.mu.Lock()
	c.advance()
	return c.mu.Unlock
}

// ServeHTTP answers the API's paths below /metal/v1 and those of the servers'
// own metadata service below /nodes.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.handler.ServeHTTP(w, r)
}

// pause waits; it tells whether the caller is still there.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
