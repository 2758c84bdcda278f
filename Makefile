# `make` alone lists the targets. Everything is made on demand: `make demo` and `make test` work on a fresh clone.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Every command here starts Python several times; without cached bytecode each start compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(if $(shell command -v $(name)),$(name))))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-stamp
PYTEST := $(BIN)/pytest
PACKAGES := shards fleet chaos docs/examples benchmarks tests

.PHONY: help setup demo check format unit contract integration browser model sim sim-long chaos cluster clients histories peers simulate-watches fuzz test test-long bench-main bench-transport bench-devcluster bench-queue bench-store bench-staleness bench-runtime bench-coordinator bench-rebalancing clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv with the pinned dependencies and the `fleet` command

$(STAMP): pyproject.toml constraints.txt
	test -n "$(PYTHON)" || { echo "no python3 found: install Python 3.11 or later" >&2; exit 1; }
	@echo "Making $(VENV) with the packages of constraints.txt: a minute or two, and only this once."
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup ## run the main job here: an embedded API server, 2,000 Websites, 4 workers, one of them killed
	$(BIN)/fleet dev docs/examples/websites.py:websites --workers 4 --shards 16 --objects 2000 --until-settled --kill worker@5s

check: setup ## format, lint, types, import contracts and unit tests: under a minute
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) -n 2 tests/unit

format: setup ## rewrite the sources in the project's format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

unit: setup ## unit tests, on a virtual clock
	$(PYTEST) -n 2 tests/unit

contract: setup cluster ## the same histories on the embedded and on the real API server
	$(PYTEST) tests/contract

integration: setup cluster ## whole fleets, on both servers; and the test cluster itself
	$(PYTEST) tests/cluster tests/integration

browser: setup ## the report of chaos experiments in a real browser (chromium; on Debian, apt-get install chromium)
	$(PYTEST) tests/browser

model: setup ## the ownership protocol, exhaustively, within the smaller fault budgets (about a minute)
	$(PYTEST) tests/model

sim: setup ## a minute of fresh simulated histories, all in which something was found once, and the scenarios (SECONDS=60)
	SIM_SECONDS=$(or $(SECONDS),60) $(PYTEST) tests/simulation tests/scenarios

sim-long: setup ## a million histories of the protocol and ten thousand of the whole stack (SEEDS= and STACK_SEEDS= for others): hours
	$(BIN)/fleet sim --seeds $(or $(SEEDS),1000000) --keep-going --json | tee sim-protocol.json
	$(BIN)/fleet sim --seeds $(or $(STACK_SEEDS),10000) --depth stack --keep-going --json | tee sim-stack.json

chaos: setup cluster ## ten chaos experiments on a real API server: five minutes (`fleet chaos run --all` for all, on the embedded one)
	$(PYTEST) tests/chaos

cluster: setup ## build the real API server for tests, kubectl and promtool, unless cached (about twelve minutes from nothing)
	$(BIN)/python -m tests.cluster.build
	$(BIN)/python -m tests.clients.kubectls
	$(BIN)/python -m tests.integration.alerts.promtool

clients: setup cluster ## two kubectls say the same about the embedded and the real API server
	$(PYTEST) tests/clients/test_kubectl.py

histories: setup cluster ## 6,000 steps of histories that nobody has seen yet, on both servers
	HISTORY_SEED=new HISTORY_STEPS=6000 $(PYTEST) tests/contract/test_generated.py

peers: setup cluster ## controllers in Go, Rust and Python that nobody here wrote do their work on both servers (builds them)
	$(PYTEST) tests/clients/test_peers.py

simulate-watches: setup ## a day of faults between informers and a server, in virtual time (SEED=, HOURS=24): half a minute
	$(BIN)/python -m tests.integration.watchsim.simulation --seed $(or $(SEED),0) --hours $(or $(HOURS),24)

fuzz: setup ## readers of what others wrote, MINUTES=10 each, two at a time; READER= for one
	$(BIN)/python -m tests.fuzz.long --minutes $(or $(MINUTES),10) $(if $(READER),--reader $(READER))

test: check cluster ## everything: check, then all tests that need a server, the simulation's slice, and the model
	$(PYTEST) tests --ignore=tests/unit --ignore=tests/clients/test_peers.py

test-long: test histories peers simulate-watches ## everything, new histories, foreign controllers, a day of watch faults, and the protocol model with its full budgets and every removed rule
	$(BIN)/python -m tests.model

bench-main: setup ## the main job with a killed worker, as a table; JSON=1 for one object a line; fails on a missed target
	$(BIN)/python -m benchmarks.main_job

bench-runtime: setup cluster ## CPU, memory, latency and requests beside controllers in Go and Rust (N=100000 ROUNDS=2 for all; DOCS=1)
	$(BIN)/python -m benchmarks.runtime

bench-transport: setup ## CPU per request against plain aiohttp, likewise
	$(BIN)/python -m benchmarks.transport

bench-devcluster: setup ## the embedded API server: writes, deliveries, lists, memory, virtual time; likewise
	$(BIN)/python -m benchmarks.devcluster

bench-queue: setup ## keys a second and core from put to done, in the queue and through an engine; likewise
	$(BIN)/python -m benchmarks.queue

bench-store: setup ## the store: memory an object, CPU of ingest and reads, longest step; likewise
	$(BIN)/python -m benchmarks.store

bench-staleness: setup ## one stale key among 10,000, late watches, the gate's CPU; likewise (three minutes; DOCS=1)
	$(BIN)/python -m benchmarks.staleness

bench-coordinator: setup ## CPU of one look of a coordinator, up to 1,024 ranges and 64 members; likewise
	$(BIN)/python -m benchmarks.coordinator

bench-rebalancing: setup cluster ## handovers, deaths, rolling restarts, resharding, plans; likewise (an hour; ROWS= for some, QUICK=1, DOCS=1)
	$(BIN)/python -m benchmarks.rebalancing

clean: ## remove .venv and the tools' caches; the cached test cluster stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis build *.egg-info
	find $(PACKAGES) -name __pycache__ -type d -prune -exec rm -rf {} +
