package equinix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/l2cluster/function-l2cluster/test/e2e/stack"
)

// api is the Metal API, as a ProviderConfig says how to reach it.
type api struct {
	url, token string
	http       *http.Client
}

// apiOf the ProviderConfig that an object names; its credentials do not change as
// long as the provider runs.
func (p *Provider) apiOf(ctx context.Context, o *stack.Object) (*api, error) {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "providerConfigRef", "name")
	p.mu.Lock()
	a := p.apis[name]
	p.mu.Unlock()
	if a != nil {
		return a, nil
	}
	config, err := p.client.Get(ctx, stack.Ref{APIVersion: "equinix.jet.crossplane.io/v1alpha1", Kind: "ProviderConfig", Name: name})
	if err != nil || config == nil {
		return nil, errors.Join(fmt.Errorf("cannot get referenced ProviderConfig %q", name), err)
	}
	ref, _, _ := unstructured.NestedStringMap(config.Object, "spec", "credentials", "secretRef")
	secret, err := p.client.Get(ctx, stack.Ref{APIVersion: "v1", Kind: "Secret", Namespace: ref["namespace"], Name: ref["name"]})
	if err != nil || secret == nil {
		return nil, errors.Join(fmt.Errorf("cannot get the credentials of ProviderConfig %q", name), err)
	}
	data, err := stack.SecretData(secret)
	if err != nil {
		return nil, err
	}
	if a, err = newAPI(data[ref["key"]]); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.apis[name] = a
	return a, nil
}

// newAPI from credentials: a JSON object of strings, of which the provider needs
// these even where they are numbers.
func newAPI(credentials []byte) (*api, error) {
	var c map[string]string
	if err := json.Unmarshal(credentials, &c); err != nil {
		return nil, fmt.Errorf("cannot unmarshal credentials as JSON: %w", err)
	}
	for _, key := range []string{"auth_token", "request_timeout", "response_max_page_size"} {
		if c[key] == "" {
			return nil, fmt.Errorf("credentials have no %s", key)
		}
	}
	seconds, err := strconv.Atoi(c["request_timeout"])
	if err != nil {
		return nil, fmt.Errorf("request_timeout is no number: %w", err)
	}
	return &api{
		url: c["endpoint"], token: c["auth_token"], http: &http.Client{Timeout: time.Duration(seconds) * time.Second},
	}, nil
}

// statusError is an answer that is none.
type statusError struct {
	status int
	body   string
}

// Error says what the API said.
func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.status, e.body) }

func isStatus(err error, status int) bool {
	var e *statusError
	return errors.As(err, &e) && e.status == status
}

// do one call; the body may be nil.
func (a *api) do(ctx context.Context, method, path string, body any) (map[string]any, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("cannot write a request: %w", err)
		}
		payload = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, payload)
	if err != nil {
		return nil, fmt.Errorf("cannot make a request: %w", err)
	}
	req.Header.Set("X-Auth-Token", a.token)
	req.Header.Set("Content-Type", "application/json")
	rsp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer rsp.Body.Close()
	raw, err := io.ReadAll(rsp.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot read an answer: %w", err)
	}
	if rsp.StatusCode/100 != 2 {
		return nil, &statusError{status: rsp.StatusCode, body: strings.TrimSpace(string(raw))}
	}
	out := map[string]any{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("cannot read an answer: %w", err)
	}
	return out, nil
}
