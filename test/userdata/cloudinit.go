package userdata

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed render.py
var renderScript string

// ErrNoJinja says that no Python with jinja2 is installed.
var ErrNoJinja = errors.New("no python3 with jinja2 is installed (Debian: python3-jinja2)")

// Server is what cloud-init knows of the server that it runs on.
type Server struct {
	// InstanceID is the server's UUID.
	InstanceID string
	// Hostname of the server.
	Hostname string
}

// CloudInit renders user data as cloud-init does when it starts with a template
// header. The error is ErrNoJinja where that is not possible:
// https://docs.cloud-init.io/en/latest/explanation/instancedata.html.
func CloudInit(data []byte, s Server) ([]byte, error) {
	header, body, found := strings.Cut(string(data), "\n")
	if !found || header != "## template: jinja" {
		return nil, fmt.Errorf("the user data begins with %q and not with cloud-init's template header", header)
	}
	running, err := engine()
	if err != nil {
		return nil, err
	}
	text, err := running.render(request{Text: body, Data: map[string]any{
		"v1": map[string]any{"instance_id": s.InstanceID, "local_hostname": s.Hostname},
		"ds": map[string]any{"meta_data": map[string]any{"instance_id": s.InstanceID, "hostname": s.Hostname}},
	}})
	return []byte(text), err
}

type request struct {
	Text string         `json:"text"`
	Data map[string]any `json:"data"`
}

// jinja is a running Python that renders one text after the other. It ends when
// this process does.
type jinja struct {
	mu       sync.Mutex
	requests *json.Encoder
	answers  *json.Decoder
}

// engine is started once: a Python takes longer to start than to render.
var engine = sync.OnceValues(func() (*jinja, error) {
	interpreter, err := python()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), interpreter, "-c", renderScript)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", interpreter, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", interpreter, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", interpreter, err)
	}
	return &jinja{requests: json.NewEncoder(in), answers: json.NewDecoder(out)}, nil
})

// python is the first Python that has jinja2: the one of the PATH, or Debian's.
func python() (string, error) {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(context.Background(), name, "-c", "import jinja2").Run() == nil {
			return name, nil
		}
	}
	return "", ErrNoJinja
}

func (j *jinja) render(r request) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.requests.Encode(r); err != nil {
		return "", fmt.Errorf("cannot hand the user data to jinja: %w", err)
	}
	var answer struct {
		Text  string `json:"text"`
		Error string `json:"error"`
	}
	if err := j.answers.Decode(&answer); err != nil {
		return "", fmt.Errorf("cannot read jinja's answer: %w", err)
	}
	if answer.Error != "" {
		return "", fmt.Errorf("cloud-init cannot render the user data: %s", answer.Error)
	}
	return answer.Text, nil
}

// Config is a cloud-config document, as far as Cluster API writes one.
type Config struct {
	// Files in their order.
	Files []File
	// Commands that run in one shell.
	Commands []string
}

// File that cloud-init writes.
type File struct {
	Path        string
	Owner       string
	Permissions string
	Content     string
}

// Script is what cloud-init makes of the commands.
func (c Config) Script() string {
	return "#!/bin/sh\n" + strings.Join(c.Commands, "\n") + "\n"
}

// File at the path, or nothing.
func (c Config) File(path string) (File, bool) {
	for _, f := range c.Files {
		if f.Path == path {
			return f, true
		}
	}
	return File{}, false
}

// Parse a rendered cloud-config document and decode its files, with the owner and
// the permissions that cloud-init gives those that name none:
// https://docs.cloud-init.io/en/latest/reference/modules.html#write-files.
func Parse(data []byte) (Config, error) {
	if !bytes.HasPrefix(data, []byte("#cloud-config\n")) {
		return Config{}, errors.New("the document does not say that it is a cloud-config")
	}
	var document struct {
		WriteFiles []struct {
			Path        string `json:"path"`
			Encoding    string `json:"encoding"`
			Owner       string `json:"owner"`
			Permissions string `json:"permissions"`
			Content     string `json:"content"`
		} `json:"write_files"`
		RunCmd []string `json:"runcmd"`
	}
	if err := yaml.UnmarshalStrict(data, &document); err != nil {
		return Config{}, fmt.Errorf("cannot parse the document: %w", err)
	}
	out := Config{Commands: document.RunCmd}
	for _, f := range document.WriteFiles {
		content, err := decode(f.Encoding, f.Content)
		if err != nil {
			return Config{}, fmt.Errorf("cannot decode file %q: %w", f.Path, err)
		}
		out.Files = append(out.Files, File{
			Path: f.Path, Owner: cmp.Or(f.Owner, "root:root"), Permissions: cmp.Or(f.Permissions, "0644"), Content: content,
		})
	}
	return out, nil
}

func decode(encoding, content string) (string, error) {
	if encoding == "" {
		return content, nil
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(content))
	if err != nil || encoding == "base64" {
		return string(raw), err
	}
	if encoding != "gzip+base64" {
		return "", fmt.Errorf("unknown encoding %q", encoding)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	plain, err := io.ReadAll(r)
	return string(plain), err
}
