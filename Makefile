# The project's checks. `make test` needs Go only; `make e2e` needs what .ci/run installs, and root for namespaces.
GO       ?= go
FUZZ     ?= 10s
JOBS     ?= 1
PACKAGES ?= ./...
BENCH    ?=

.PHONY: all build test lint unit e2e bench fuzz clean

all: build

build:
	$(GO) build -o bin/holdfast .

test: lint unit

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags e2e ./systemtest/...
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags e2e ./systemtest/...

unit:
	$(GO) test -race -timeout 20m ./...

e2e: build
	$(GO) test -tags e2e -count=1 -timeout 30m ./systemtest/...

bench:
	@$(GO) run ./systemtest/benchtable $(BENCH)

fuzz:
	@FUZZ=$(FUZZ) JOBS=$(JOBS) PACKAGES="$(PACKAGES)" sh systemtest/fuzz.sh

clean:
	rm -rf bin bench-out
