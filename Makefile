# The project's verbs, for people and for CI alike. `make demo` and `make test` set up their own .venv first.
PYTHON ?= python3
BIN := .venv/bin
# --no-compile: Python compiles what is imported when it is, which is a small part
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint requirements.lock --editable

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-checked lint types imports unit warmup wheel format docs bench bench-peers clean

help:            ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 14

demo: .venv/core    ## the Appell-Hamel mechanism and the planar four-bar: certificates, figures and animations in out/
	@$(BIN)/dalembert run appell_hamel four_bar --out out

test: .venv/ready lint types imports unit    ## everything CI checks

lint: .venv/ready    ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready    ## mypy
	$(BIN)/mypy

imports: .venv/ready    ## one-way imports
	$(BIN)/lint-imports --no-cache

test-checked: .venv/ready    ## the tests of native code with an engine that checks the bounds of arrays (slow)
	DALEMBERT_CHECKED=1 $(BIN)/dalembert warmup
	DALEMBERT_CHECKED=1 $(BIN)/python -m pytest -n auto --dist worksteal tests/native tests/solve tests/run tests/initial

test-slow: warmup    ## the tests that take minutes each; `make test` leaves them out
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow

warmup: .venv/ready    ## build the native engine once
	$(BIN)/dalembert warmup

unit: warmup    ## pytest, warnings as errors
	$(BIN)/python -m pytest -n auto --dist worksteal

wheel: .venv/ready    ## a wheel with the native engine inside, in dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

format: .venv/ready    ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/docs    ## build the site in docs/_build/html, examples executed, warnings as errors, no network
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: .venv/ready    ## measure; writes benchmarks/RESULTS.md
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

bench-peers: .venv/peers    ## measure beside other packages (optional group `peers`); writes benchmarks/peers/RESULTS.md and LARGE.md
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.peers
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.peers.large

clean:    ## remove what the other verbs made
	rm -rf docs/_build docs/_static docs/gallery docs/sg_execution_times.rst
	rm -rf .venv out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/core: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("dalembert needs Python 3.11 or newer; set PYTHON=/path/to/it") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(INSTALL) ".[build]"
	@touch $@

.venv/ready: .venv/core
	$(INSTALL) ".[dev]"
	@touch $@

.venv/peers: .venv/ready
	$(INSTALL) ".[peers]"
	@touch $@

.venv/docs: .venv/ready
	$(INSTALL) ".[docs]"
	@touch $@
