package main

import (
	"bytes"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// TestImageIsReproducible builds twice: the same binary makes the same image,
// whatever the time and the machine.
func TestImageIsReproducible(t *testing.T) {
	var digests [2]string
	for i := range digests {
		img, err := image([]byte("binary"), "arm64")
		if err != nil {
			t.Fatal(err)
		}
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[i] = d.String()
	}
	if digests[0] != digests[1] {
		t.Errorf("digests differ: %q", digests)
	}
}

func TestCertificates(t *testing.T) {
	got, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(got, []byte("-----BEGIN CERTIFICATE-----")); n < 50 {
		t.Errorf("%d certificates: want those of all common authorities", n)
	}
}

func TestImageHoldsBinary(t *testing.T) {
	img, err := image([]byte("the binary"), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	r := mutate.Extract(img)
	defer func() { _ = r.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b.Bytes(), []byte("the binary")) {
		t.Error("the image does not hold the binary")
	}
}
