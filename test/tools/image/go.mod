module github.com/l2cluster/function-l2cluster/test/tools/image

go 1.26.0

require (
	github.com/google/go-containerregistry v0.21.9
	golang.org/x/crypto/x509roots/fallback v0.0.0-20261030153154-30a33513ff6d
)

require (
	github.com/klauspost/compress v1.19.1 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
)
