# Tasks of this repository; `make` alone lists them.

CARGO ?= cargo
# What is not built unless asked for – servers and the like – is tested all the same.
FEATURES := --all-features
# Always the same packages: a smaller choice has other features of shared dependencies, and builds all anew.
BUILD := $(CARGO) build --locked --workspace $(FEATURES)
EXAMPLE := examples/starved-by-two-workers
# A Python with PyTorch, for the tests of attach and run.
VENV := $(CURDIR)/target/test-venv
TEST_PYTHON := $(VENV)/bin/python
# Tools that link against an old C library.
PACKAGING := $(CURDIR)/target/package-venv

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-python test-report test-fleet examples lint bench bench-plan bench-ranks bench-memory bench-history bench-watching bench-agent bench-fix bench-experiments bench-tokenize bench-feed bench-feed-gpu bench-watch package book accept fuzz advisories

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build whyidle and read the trace that ships with it
	@echo '> whyidle trace $(EXAMPLE)'
	@$(CARGO) build --locked --package whyidle
	@$(CARGO) run --locked --quiet --package whyidle -- trace $(EXAMPLE)

test: lint $(VENV)/ready ## all that CI runs: lint, then every test, those on a real PyTorch program and on Ray too
	WHYIDLE_TEST_PYTHON=$(TEST_PYTHON) $(MAKE) test-fast
	$(MAKE) test-python
	$(MAKE) test-report
	$(MAKE) test-fleet

test-fleet: ## alerts, dashboard and manifests of deploy/ on a real Prometheus; says so where there is none
	$(BUILD)
	$(if $(wildcard $(TEST_PYTHON)),$(TEST_PYTHON),python3) -B tests/fleet/fleet.py --program "$${CARGO_TARGET_DIR:-target}/debug/whyidle" $(ARGS)

test-report: ## reports in a real browser, without a window; says so where there is none. ARGS="--pictures FOLDER" keeps pictures
	$(BUILD)
	python3 tests/browser/report.py --program "$${CARGO_TARGET_DIR:-target}/debug/whyidle" --python "$(wildcard $(TEST_PYTHON))" $(ARGS)

examples: ## write the pages of examples/ anew
	$(BUILD)
	"$${CARGO_TARGET_DIR:-target}/debug/whyidle" trace $(EXAMPLE) --lang en --force -o $(EXAMPLE)/report.html > /dev/null
	mkdir -p examples/pages
	grep -v '^#' examples/gallery.txt | while IFS="$$(printf '\t')" read -r name command; do \
		"$${CARGO_TARGET_DIR:-target}/debug/whyidle" $$command --lang en --force -o examples/pages/$$name.html > /dev/null || exit 1; done

test-python: $(VENV)/ready ## the Python package: its parts, its extension, its wheel, and a real Ray of this machine
	$(BUILD)
	cp "$${CARGO_TARGET_DIR:-target}/debug/lib_native.so" python/whyidle/_native.abi3.so
	cd python && WHYIDLE_TEST_PROGRAM=$$($(CARGO) metadata --locked --no-deps --format-version 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')/debug/whyidle $(TEST_PYTHON) -m pytest -q

$(VENV)/ready: requirements-test.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-test.txt
	touch $@

test-fast: ## every test, without the lints; without PyTorch some say that they are skipped
	$(CARGO) fetch --locked
	$(CARGO) test --locked --workspace $(FEATURES) --no-fail-fast

lint: ## formatting and clippy, warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets $(FEATURES) -- --deny warnings

fuzz: ## each door of fuzz/ for TIME seconds (default 60), one after the other; TARGET=NAME for one; needs cargo-fuzz
	@cd fuzz && for name in $(or $(TARGET),$$(ls corpus)); do \
		echo "> $$name"; \
		mkdir -p target/found/$$name && \
		$(CARGO) fuzz run --sanitizer none --fuzz-dir . $$name target/found/$$name corpus/$$name -- \
			-max_total_time=$(or $(TIME),60) -timeout=20 -rss_limit_mb=3000 -max_len=65536 -print_final_stats=1 || exit 1; done

advisories: ## versions that were yanked, and advisories against them; says so where it cannot look
	python3 tests/advisories/advisories.py

bench: ## speed, memory and ratios to other tools; results go to bench/results
	bench/run.sh

bench-plan: ## how long a search of strategies takes
	$(CARGO) run --locked --release --quiet --package whyidle-planner --example search

bench-ranks: ## how the verdict on many ranks grows: CPU seconds and memory for 64, 1 024 and 4 096
	$(CARGO) build --locked --release --package whyidle
	python3 bench/ranks.py --program "$${CARGO_TARGET_DIR:-target}/release/whyidle" $(ARGS)

bench-memory: ## what reading a CUDA memory snapshot of a gigabyte costs: CPU seconds and memory
	$(CARGO) build --locked --release --package whyidle
	python3 bench/memory.py --program "$${CARGO_TARGET_DIR:-target}/release/whyidle" $(ARGS)

bench-history: ## how long ten thousand measured runs take to list
	$(CARGO) build --locked --release --package whyidle
	python3 bench/history.py --program "$${CARGO_TARGET_DIR:-target}/release/whyidle" $(ARGS)

bench-fix: $(VENV)/ready ## whether fix finds the best change of five programs with two faults each; half an hour
	$(CARGO) build --locked --release --package whyidle
	$(TEST_PYTHON) bench/fix.py --program "$${CARGO_TARGET_DIR:-target}/release/whyidle" --python $(TEST_PYTHON) $(ARGS)

bench-experiments: $(if $(WHYIDLE_TEST_PYTHON),,$(VENV)/ready) ## what compare and fix find on real programs on a GPU; ARGS=--small for a try without one
	$(CARGO) build --locked --release --package whyidle
	$(or $(WHYIDLE_TEST_PYTHON),$(TEST_PYTHON)) bench/experiments.py --program "$${CARGO_TARGET_DIR:-target}/release/whyidle" $(ARGS)

bench-watching: $(if $(WHYIDLE_TEST_PYTHON),,$(VENV)/ready) ## what watching costs the watcher and the watched program; ARGS=--small for a try
	$(CARGO) build --locked --release --package whyidle
	$(or $(WHYIDLE_TEST_PYTHON),$(TEST_PYTHON)) bench/watching.py --whyidle $${CARGO_TARGET_DIR:-target}/release/whyidle $(ARGS)

bench-agent: ## what the agent costs beside 64 processes and 8 stand-in GPUs: a quarter of an hour; ARGS="--seconds 180" for less
	$(CARGO) build --locked --release --package whyidle --features agent
	$(CARGO) build --locked --release --package whyidle-standin
	python3 bench/agent.py --target "$${CARGO_TARGET_DIR:-target}/release" $(ARGS)

bench-tokenize: $(if $(WHYIDLE_TEST_PYTHON),,$(VENV)/ready) ## what tokenising costs against datasets.map, and reading tokens; ARGS=--small for a try
	$(CARGO) build --locked --release --package whyidle --features feed
	$(or $(WHYIDLE_TEST_PYTHON),$(TEST_PYTHON)) bench/tokenizing.py --program "$${CARGO_TARGET_DIR:-target}/release/whyidle" $(ARGS)

bench-feed: $(if $(WHYIDLE_TEST_PYTHON),,$(VENV)/ready) ## the Python parts that feed a GPU, without one; ARGS=--small for a try
	$(or $(WHYIDLE_TEST_PYTHON),$(TEST_PYTHON)) bench/feed.py $(ARGS)

bench-feed-gpu: $(if $(WHYIDLE_TEST_PYTHON),,$(VENV)/ready) ## the same parts beside what they replace, on a GPU; ARGS="--device cpu --small" for a try
	$(CARGO) build --locked --release --package whyidle --features feed
	$(or $(WHYIDLE_TEST_PYTHON),$(TEST_PYTHON)) bench/feed_gpu.py --program "$${CARGO_TARGET_DIR:-target}/release/whyidle" $(ARGS)

bench-watch: $(if $(WHYIDLE_TEST_PYTHON),,$(VENV)/ready) ## what whyidle.watch() costs a training loop; ARGS="--device cuda --launch-bound"
	$(CARGO) build --locked --release --package whyidle
	PATH="$$(realpath $${CARGO_TARGET_DIR:-target})/release:$$PATH" PYTHONPATH=python $(or $(WHYIDLE_TEST_PYTHON),$(TEST_PYTHON)) bench/watching_in_loop.py $(ARGS)

package: $(PACKAGING)/ready ## archive and wheel for x86-64 Linux, glibc 2.28 and newer, in target/package; half an hour
	$(PACKAGING)/bin/python packaging/package.py $(ARGS)

$(PACKAGING)/ready: packaging/requirements.txt
	python3 -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --requirement packaging/requirements.txt
	touch $@

book: ## the pages of docs/ for the browser, in target/book; needs mdbook
	mdbook build docs/en
	mdbook build docs/zh

accept: ## take today's output as right: snapshots, the screens in both READMEs, and pages of the book; read the diff
	$(MAKE) examples
	INSTA_UPDATE=always $(CARGO) test --locked --workspace
	git diff --stat
