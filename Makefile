# The project's checks. `make test` needs Go and Python 3; the others need what .ci/run installs, and e2e root for namespaces.
GO       ?= go
FUZZ     ?= 10s
JOBS     ?= 1
PACKAGES ?= ./...
BENCH    ?=
LONG     ?=
RACE     ?=
DOMAINS  ?= 1000000
HARVESTS ?= 10000
SAMPLES  ?=
SEEDS    ?= 5
SIMULATE ?=

# The tags of all tests that are not built by default.
TAGS       = e2e,browser,samples,nemesis,apicheck,slow

# The tests of whole nodes that make race runs.
RACED      = ^Test(ThreeNodesHarvestByTheClock|BatchesOfARealCluster|NoticesOfThreeNodes|ASessionHoldsOnTheOtherNode|LedgersOfAReplica|NobodyIsGivenWrongBytes|ACrawlUsesASealedPassword|IngestOutlivesItsNodeAndTheLeader|AClusterIsRestoredFromABackup)$$

# The last thing that is made of the readers of our WARC files.
READERS    = bin/readers/classes/ReadWithJWAT.class

.PHONY: all build test lint unit slow race long browser samples e2e apicheck nemesis bench simulate fuzz clean

all: build

build:
	$(GO) build -o bin/holdfast .

test: lint unit

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(GO) vet -tags $(TAGS) ./...
	$(GO) tool staticcheck -tags $(TAGS) ./...

# Clones share what was compiled.
export GOFLAGS ?= -trimpath

# Tests take less processor time when memory is collected less often.
unit slow: export GOGC := 400
race: export GOGC := 200
unit slow race: export GOMEMLIMIT := 3GiB
unit slow race: export GOTMPDIR := $(or $(TMPDIR),/tmp)
unit slow race: export TMPDIR := $(shell sh systemtest/tmp.sh)

# The unit tests with fixed seeds, and the smaller part of what takes many of them.
unit:
	$(GO) test -short -vet=off -timeout 20m -p 2 -parallel 4 ./...

# The tests of whole nodes, of killed processes and of long calculations (//go:build slow).
slow:
	sh systemtest/slow.sh $(GO) test -short -vet=off -timeout 20m -p 2 -parallel 4

# The unit tests with the race detector, for the packages in which something can race, without the scripts of the command
# line, each line of which starts a process; then tests of whole nodes that between them use each room of a node. RACE=all
# takes all tests of both kinds, which takes 33 minutes of processor time.
race:
ifeq ($(RACE),all)
	$(GO) test -tags slow -short -vet=off -timeout 90m -race -p 2 -parallel 4 $$(sh systemtest/packages.sh)
else
	$(GO) test -short -vet=off -timeout 30m -race -p 2 -parallel 4 -skip '^TestScripts$$' $$(sh systemtest/packages.sh)
	$(GO) test -tags slow -short -vet=off -timeout 30m -race -parallel 2 -run '$(RACED)' ./node
endif

# All of both with random seeds: many kills, crashes, models and large inputs. HOLDFAST_SEED=N repeats a run.
long:
	$(GO) test -tags slow -vet=off -count=1 -timeout 40m -parallel 4 ./...

# The tests that need Chromium; those of our own pages let npm bring axe-core, and signing in a real service of OpenID Connect. HOLDFAST_PAGES=all looks at every page in every
# language, in light and dark and in both widths, and HOLDFAST_PICTURES=/path/to/folder keeps a picture of each.
browser:
	$(GO) test -tags browser -race -vet=off -count=1 -timeout 10m -run Browser ./crawler
	$(GO) test -tags browser -race -vet=off -count=1 -timeout 10m ./crawler/browser
	$(GO) test -tags browser,slow -vet=off -count=1 -timeout 60m -run Browser ./internal/browsertest ./web ./replay ./node

# Reads a collection of files that other tools wrote: make samples SAMPLES=/path/to/samples
samples:
	HOLDFAST_SAMPLES="$(SAMPLES)" $(GO) test -tags samples -vet=off -count=1 -run TestForeignFiles ./warc

e2e: build $(READERS)
	$(GO) test -tags e2e -count=1 -parallel 2 -timeout 30m ./systemtest/...

# Other programs that read our WARC files in the tests: warcio, from the Python package index, and JWAT, from Maven's.
$(READERS): $(wildcard systemtest/readers/*)
	rm -rf bin/readers && python3 -m venv bin/readers
	bin/readers/bin/pip install --quiet --requirement systemtest/readers/requirements.txt
	mvn --quiet --batch-mode --file systemtest/readers/pom.xml dependency:copy-dependencies -DoutputDirectory=$(abspath bin/readers/jars)
	javac -cp 'bin/readers/jars/*' -d bin/readers/classes systemtest/readers/ReadWithJWAT.java

# Lets an independent tool, from the Python package index, compare the API's description with a node's answers.
# CASES=60 SEED=2 tries more and others.
apicheck: build bin/apicheck
	$(GO) test -tags apicheck -count=1 -timeout 60m ./systemtest/apicheck

bin/apicheck: systemtest/apicheck/requirements.txt
	rm -rf $@ && python3 -m venv $@ && $@/bin/pip install --quiet --requirement $<

# Attacks a cluster under the plans of seeds 1 to SEEDS, two at a time; SEED=n runs the plan of one seed again. Needs root.
nemesis:
	SEEDS=$(SEEDS) SEED=$(SEED) $(GO) test -tags nemesis -run TestNemesis -count=1 -parallel 2 -timeout 120m -v ./systemtest/nemesis

# The table of figures; with LONG=1, what takes an hour: harvests of DOMAINS domains, and HARVESTS harvests with schedules.
bench:
ifeq ($(LONG),)
	@$(GO) run ./systemtest/benchtable $(BENCH)
else
	HOLDFAST_DOMAINS=$(DOMAINS) HOLDFAST_HARVESTS=$(HARVESTS) $(GO) test -run '^$$' -bench '^Benchmark(ManyDomains|ManySchedules|Schedules|WaitingJobs)$$' \
		-benchtime 1x -timeout 3h ./node ./node/harvester
endif

# How the policies of revisiting do in worlds that do not exist, with seeds 1 to SEEDS (doc/revisiting.md). All worlds, budgets and
# policies take some two minutes of processor time a seed; SIMULATE="-worlds mixed -budgets medium -policies adaptive" takes a part.
simulate:
	@$(GO) run ./systemtest/simulate -seeds $(SEEDS) $(SIMULATE)

fuzz:
	@FUZZ=$(FUZZ) JOBS=$(JOBS) PACKAGES="$(PACKAGES)" sh systemtest/fuzz.sh

clean:
	rm -rf bin bench-out
