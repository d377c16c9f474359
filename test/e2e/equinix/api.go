package equinix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// api is the Metal API.
type api struct {
	url, token string
	http       *http.Client
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
func (a api) do(ctx context.Context, method, path string, body any) (map[string]any, error) {
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
