package equinix

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/equinix/equinix-sdk-go/services/metalv1"

	"github.com/l2cluster/function-l2cluster/fn/infra"
	"github.com/l2cluster/function-l2cluster/fn/osnet/node"
)

// Limits of the questions that one run asks the Metal API.
const (
	// callsAtOnce is how many calls are under way together.
	callsAtOnce = 8
	// callTries is how often one question is asked.
	callTries = 4
	// firstPause is before the second try; each further one is twice as long.
	firstPause = 250 * time.Millisecond
	// eventsPerPage and eventPages bound how far back a server's events are
	// read.
	eventsPerPage = 50
	eventPages    = 10
)

// Time limits where the input has none.
const (
	defaultCallTimeout  = 5 * time.Second
	defaultTotalTimeout = 15 * time.Second
)

// api reads the Metal API and changes nothing:
// https://deploy.equinix.com/developers/api/metal/.
type api struct {
	client *metalv1.APIClient
	// call bounds one call.
	call time.Duration
}

func newAPI(url, token string, call time.Duration) api {
	config := metalv1.NewConfiguration()
	config.UserAgent = "function-l2cluster " + config.UserAgent
	config.Servers = metalv1.ServerConfigurations{{URL: strings.TrimRight(url, "/")}}
	config.AddDefaultHeader("X-Auth-Token", token)
	return api{client: metalv1.NewAPIClient(config), call: call}
}

// ports are the UUIDs of a server's ports by name; none as long as the server
// has none.
func (a api) ports(ctx context.Context, device string) (map[string]string, error) {
	found, err := ask(ctx, a.call, func(ctx context.Context) (*metalv1.Device, *http.Response, error) {
		return a.client.DevicesApi.FindDeviceById(ctx, device).Execute()
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the ports of server %s: %w", device, err)
	}
	out := map[string]string{}
	for _, p := range found.GetNetworkPorts() {
		if p.GetId() != "" && p.GetName() != "" {
			out[p.GetName()] = p.GetId()
		}
	}
	return out, nil
}

// report is what a server said last about its network.
type report struct {
	state   infra.NetworkState
	message string
}

// report of a server: the newest of its events that is one, or none.
func (a api) report(ctx context.Context, device string) (report, error) {
	for page := int32(1); page <= eventPages; page++ {
		list, err := ask(ctx, a.call, func(ctx context.Context) (*metalv1.EventList, *http.Response, error) {
			return a.client.EventsApi.FindDeviceEvents(ctx, device).Page(page).PerPage(eventsPerPage).Execute()
		})
		if err != nil {
			return report{}, fmt.Errorf("cannot read the events of server %s: %w", device, err)
		}
		for _, e := range list.GetEvents() {
			if r, ours := reportOf(e.GetType(), e.GetBody()); ours {
				return r, nil
			}
		}
		meta := list.GetMeta()
		if len(list.GetEvents()) == 0 || page >= meta.GetLastPage() {
			break
		}
	}
	return report{}, nil
}

// reportOf reads an event. Other programs on a server may use the same codes, so
// the phrase has to be the script's, too.
func reportOf(kind, body string) (report, bool) {
	for state, event := range map[infra.NetworkState]node.Event{
		infra.NetworkStarted:  node.Started(),
		infra.NetworkVerified: node.Succeeded(),
		infra.NetworkFailed:   node.Failed(),
	} {
		rest, ours := strings.CutPrefix(body, event.Message)
		if !ours || kind != "user."+strconv.Itoa(event.Code) || rest != "" && !strings.HasPrefix(rest, ":") {
			continue
		}
		return report{state: state, message: oneLine(strings.TrimPrefix(rest, ":"))}, true
	}
	return report{}, false
}

// ask one question until it is answered, is refused, or the time is up.
func ask[T any](
	ctx context.Context, limit time.Duration, question func(context.Context) (T, *http.Response, error),
) (T, error) {
	var none T
	for try := 1; ; try++ {
		answer, again, err := once(ctx, limit, question)
		if err == nil {
			return answer, nil
		}
		if try == callTries || !again.possible {
			return none, err
		}
		if !pause(ctx, max(again.after, firstPause<<(try-1))) {
			return none, fmt.Errorf("no time left for another try after: %w", err)
		}
	}
}

// again says whether another try makes sense, and when the API wants it.
type again struct {
	possible bool
	after    time.Duration
}

func once[T any](
	ctx context.Context, limit time.Duration, question func(context.Context) (T, *http.Response, error),
) (T, again, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, rsp, err := question(ctx)
	if rsp == nil {
		return answer, again{possible: true}, err
	}
	defer func() { _ = rsp.Body.Close() }()
	return answer, tryAgain(rsp), err
}

// tryAgain after too many requests, or trouble on the other side.
func tryAgain(rsp *http.Response) again {
	out := again{possible: rsp.StatusCode == http.StatusTooManyRequests || rsp.StatusCode >= http.StatusInternalServerError}
	if seconds, err := strconv.Atoi(rsp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		out.after = time.Duration(seconds) * time.Second
	}
	return out
}

// pause waits, unless there is not that much time left.
func pause(ctx context.Context, wait time.Duration) bool {
	if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) <= wait {
		return false
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// each asks about all servers, some at once, and returns answers and errors in
// the servers' order.
func each[T any](
	ctx context.Context, devices []string, question func(context.Context, string) (T, error),
) ([]T, []error) {
	answers, errs := make([]T, len(devices)), make([]error, len(devices))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(callsAtOnce, len(devices)) {
		workers.Go(func() {
			for i := range next {
				answers[i], errs[i] = question(ctx, devices[i])
			}
		})
	}
	for i := range devices {
		next <- i
	}
	close(next)
	workers.Wait()
	return answers, errs
}
