# Tasks of this repository; `make` alone lists them.

CARGO ?= cargo
EXAMPLE := examples/starved-by-two-workers

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast lint bench bench-plan accept

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build whyidle and read the trace that ships with it
	@echo '> whyidle trace $(EXAMPLE)'
	@$(CARGO) build --locked --package whyidle
	@$(CARGO) run --locked --quiet --package whyidle -- trace $(EXAMPLE)

test: lint test-fast ## all that CI runs: lint, then every test

test-fast: ## every test, without the lints
	$(CARGO) fetch --locked
	$(CARGO) test --locked --workspace --no-fail-fast

lint: ## formatting and clippy, warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings

bench: ## speed, memory and ratios to other tools; results go to bench/results
	bench/run.sh

bench-plan: ## how long a search of strategies takes
	$(CARGO) run --locked --release --quiet --package whyidle-planner --example search

accept: ## take today's output as right: snapshots, and the screens in both READMEs; read the diff
	INSTA_UPDATE=always $(CARGO) test --locked --workspace
	git diff --stat
