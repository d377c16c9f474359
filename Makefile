# Everything a contributor runs. `make help` lists it. CI runs the same targets
# (.ci/run).

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Where built things go.
OUT ?= _output
# Architecture of image and package.
ARCH ?= $(shell go env GOARCH)
# Executions of each target of `make fuzz`, half a minute at most. A count and not a
# time: before Go 1.27 a target may fail when its time ends, with nothing found
# (https://go.dev/issue/75804).
FUZZTIME ?= 10000x
# Seeds of the model of the world, each of which runs in a process of its own, and
# the steps that each takes, a million in all. They are fixed, so that a suite that
# fails has a change to blame; MODEL_SEEDS=$RANDOM looks elsewhere.
MODEL_SEEDS ?= 1 2
MODEL_STEPS ?= 500000

# The race detector needs a C compiler; where there is none, tests run without. It
# makes tests ten times as slow: those that are long and do one thing after the other
# are left out there, as -short ones.
RACE := $(shell command -v "$$(go env CC)" >/dev/null && echo -race -short)

# Where python3 really lies. Version managers put a script in its place that takes
# longer than most scripts under test.
ifneq ($(filter test%,$(MAKECMDGOALS)),)
PYTHON := $(shell python3 -c 'import os, sys; print(os.path.dirname(sys.executable))' 2>/dev/null)
export PATH := $(if $(PYTHON),$(PYTHON):)$(PATH)
endif

# Modules of their own, so that what tests need never reaches the function's
# own dependencies.
MODULES := . $(patsubst %/go.mod,%,$(wildcard test/*/go.mod test/tools/*/go.mod))
# Suites that take minutes, or tools that take minutes to build.
SLOW := $(patsubst %/go.mod,%,$(wildcard $(addsuffix /go.mod,$(addprefix test/,render xpkg boot e2e))))
# Modules that only pin a tool have no tests.
QUICK := $(filter-out . $(SLOW),$(patsubst %/,%,$(sort $(dir $(foreach m,$(filter-out .,$(MODULES)),$(wildcard $(m)/*_test.go))))))

# Modules around other projects' programs: vetting them would mean to compile
# those once more.
FOREIGN := $(addprefix test/tools/,kubernetes capp workload-clusters)

# Packages whose tests wait in real time, as a server does.
PATIENT := ./fn/osnet/script

GO_BUILD := CGO_ENABLED=0 go build -trimpath -ldflags="-s -w"

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  test-NAME      Run one suite of a module of its own:$(foreach m,$(sort $(QUICK) $(SLOW)), $(notdir $(m)))"

.PHONY: build
build: ## Build the function for this machine: _output/function-l2cluster.
	@mkdir -p $(OUT)
	$(GO_BUILD) -o $(OUT)/function-l2cluster ./fn

.PHONY: run-example
run-example: ## Show what the smallest example expands to.
	go run ./fn render example/claim.yaml

.PHONY: test
test: ## Run all quick tests: the function's own and those of quick suites.
	go test $$(go list ./... | grep -v '/fn/osnet/script$$')
	$(if $(RACE),go test $(RACE) $$(go list ./... | grep -v '/fn/osnet/script$$'))
	@[[ -n "$${EQUINIX_CRDS_DIR:-}" ]] || echo "EQUINIX_CRDS_DIR names no folder with the Equinix provider's CRDs: its objects are not checked against them"
	@for m in $(QUICK); do echo "== $$m"; (cd $$m && go test ./...); done

.PHONY: test-slow
test-slow: ## Run the slow suites too: real Crossplane tools, packages, budgets, fuzzing.
	@for m in $(filter-out test/e2e,$(SLOW)); do echo "== $$m"; (cd $$m && go test -timeout 45m ./...); done
	go test -timeout 30m $(PATIENT)
	go test -tags slow -timeout 30m ./test/bench
	@$(MAKE) test-model
	@$(MAKE) fuzz

# Any suite by name: make test-render, make test-schema, ...
test-%: test/%/go.mod
	cd test/$* && go test -timeout 45m ./...

.PHONY: test-model
test-model: ## Drive the function through MODEL_STEPS random steps of a modelled world from each of MODEL_SEEDS.
	@mkdir -p $(OUT)
	go test -c -o $(OUT)/model.test ./test/model
	@cd test/model; pids=(); for s in $(MODEL_SEEDS); do \
		MODEL_SEED=$$s MODEL_STEPS=$(MODEL_STEPS) $(abspath $(OUT))/model.test -test.v -test.timeout 60m -test.run TestWorld & pids+=($$!); \
	done; \
	status=0; for p in "$${pids[@]}"; do wait $$p || status=1; done; exit $$status

.PHONY: test-boot
test-boot: ## Boot real machines in every mode with every back end. Needs root and Debian.
	cd test/boot && L2CLUSTER_BOOT=1 go test -count 1 -timeout 120m -v ./...

.PHONY: test-boot-quick
test-boot-quick: ## Boot the three most important of them, once each.
	cd test/boot && L2CLUSTER_BOOT=1 go test -count 1 -timeout 60m -v -run 'TestQuick$$' ./...

# A whole control plane on this machine, see docs/e2e.md. The first time its programs
# are built, for half an hour or more.
E2E := go test -count 1 -v

.PHONY: e2e-programs
e2e-programs: ## Build the programs that it runs; those that are built already are kept.
	@for p in etcd kubernetes crossplane cluster-api-core cluster-api-bootstrap cluster-api-control-plane \
		workload-clusters capp provider-http ipam-in-cluster; do echo "== $$p"; test/tools/tool $$p; done

.PHONY: test-e2e-smoke
test-e2e-smoke: ## Apply one claim to a whole control plane, and delete it.
	cd test/e2e && $(E2E) -timeout 90m -run '^TestSmoke$$' .

.PHONY: test-e2e
test-e2e: ## Run all scenarios on it, except those that measure.
	cd test/e2e && L2CLUSTER_E2E=all $(E2E) -timeout 120m -parallel 6 -skip '^TestMeasure' .

.PHONY: test-e2e-scale
test-e2e-scale: ## Measure many clusters, and one of a hundred servers.
	cd test/e2e && L2CLUSTER_E2E=all $(E2E) -timeout 120m -run '^TestMeasure' .

.PHONY: dev
dev: ## Start a whole control plane with the examples, and leave it running.
	@cd test/e2e && go run ./dev up $(abspath $(OUT))/dev

.PHONY: dev-down
dev-down: ## End it.
	@cd test/e2e && go run ./dev down $(abspath $(OUT))/dev

.PHONY: bench
bench: ## Measure RunFunction over gRPC beside a floor that only decodes and encodes.
	go run ./test/bench

.PHONY: fuzz
fuzz: ## Fuzz every target, for FUZZTIME.
	@for file in $$(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do \
		for f in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9]+)\(.*/\1/p' $$file); do \
			p=./$$(dirname $$file); echo "== $$p $$f, $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$p; \
		done; \
	done

.PHONY: generate
generate: ## Generate XRDs, the input's CRD and other files from their sources.
	go generate ./...

.PHONY: lint
lint: ## Check formatting, modules, Go and shell.
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [[ -z $$unformatted ]] || { echo "run gofmt -w on:" $$unformatted; exit 1; }
	@for m in $(MODULES); do (cd $$m && go mod tidy -diff) || { echo "run go mod tidy in $$m"; exit 1; }; done
	go vet ./...
	@lint=$$(test/tools/tool golangci-lint); "$$lint" run --config .golangci.yml ./...
	@for m in $(filter-out . $(FOREIGN),$(MODULES)); do \
		[[ -z $$(cd $$m && go list ./... 2>/dev/null) ]] || { echo "== go vet $$m"; (cd $$m && go vet ./...); }; done
	shellcheck --severity=warning $$(git ls-files -z | LC_ALL=C xargs -0 awk 'FNR == 1 && /^#!.*[\/ ](ba|da)?sh/ {print FILENAME} {nextfile}')

.PHONY: image
image: ## Build the runtime image as a tarball, with Go alone: _output/image-ARCH.tar.
	@mkdir -p $(OUT)
	GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o $(OUT)/function-linux-$(ARCH) ./fn
	"$$(test/tools/tool image)" -arch $(ARCH) -o $(OUT)/image-$(ARCH).tar $(OUT)/function-linux-$(ARCH)

.PHONY: xpkg
xpkg: image ## Build the Crossplane packages of function and configurations into _output.
	@crossplane=$$(test/tools/tool crossplane-cli); \
	"$$crossplane" xpkg build -f package/function -e example --embed-runtime-image-tarball $(OUT)/image-$(ARCH).tar -o $(OUT)/function-l2cluster-$(ARCH).xpkg; \
	for c in configuration configuration-v2; do "$$crossplane" xpkg build -f package/$$c -e example -o $(OUT)/$$c.xpkg; done
	@ls -l $(OUT)/*.xpkg

.PHONY: clean
clean: ## Remove what was built here; built tools stay in the user's cache.
	rm -rf $(OUT)
