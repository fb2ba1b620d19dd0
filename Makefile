# Ullage: `make bench STRATEGY=auto` does the main job, `make test` runs everything that CI runs.
SHELL := /bin/bash
# The first interpreter that runs and is new enough; looked for only when an environment has to be made.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
  "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev

STRATEGY ?= auto
THRESHOLD ?=
TRACES ?=
WINDOW ?=
ULLAGE_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup bench compare gate test check format speed parity corpus notebooks clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1|/' | column -t -s '|'

$(STAMP): pyproject.toml
	@python="$(PYTHON)"; [ -n "$$python" ] || { echo "make: no Python 3.11 or newer on the path; expected python3 (or PYTHON=…)" >&2; exit 2; }; \
	  echo "setting up $(VENV) with $$("$$python" --version) (once) …" >&2; start=$$SECONDS; "$$python" -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check -e . && touch $@ \
	  && echo "installed in $$((SECONDS - start)) s" >&2

$(DEV_STAMP): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' && touch $@

setup: $(STAMP)  ## create the environment, once

bench: $(STAMP)  ## run STRATEGY (THRESHOLD, TRACES, WINDOW) and write reports/…
	@$(BIN)/ullage run --strategy '$(STRATEGY)' $(if $(THRESHOLD),--set threshold=$(THRESHOLD)) $(foreach t,$(TRACES),--traces $(t)) \
	  $(if $(WINDOW),--window $(WINDOW)) $(ULLAGE_ARGS)

compare: $(STAMP)  ## paired table of A against B: make compare A='auto(threshold=0.7)' B='auto(threshold=0.85)'
	@$(BIN)/ullage compare --strategy '$(A)' --strategy '$(B)' $(foreach t,$(TRACES),--traces $(t)) $(if $(WINDOW),--window $(WINDOW)) $(ULLAGE_ARGS)

gate: $(STAMP)  ## run the specs of reports/baseline on its traces and judge the difference
	@$(BIN)/ullage gate --baseline reports/baseline $(ULLAGE_ARGS)

test: $(DEV_STAMP)  ## everything CI runs
	@$(BIN)/python -m pytest -q -n auto $(PYTEST_ARGS)

check: $(DEV_STAMP)  ## format, lint, types
	@$(BIN)/ruff format --check bench strategies tests
	@$(BIN)/ruff check bench strategies tests
	@$(BIN)/mypy bench tests

format: $(DEV_STAMP)  ## rewrite the formatting
	@$(BIN)/ruff format bench strategies tests && $(BIN)/ruff check --fix bench strategies tests

speed: $(DEV_STAMP)  ## the speed suite
	@$(BIN)/python -m pytest -q -m speed tests --benchmark-only --benchmark-columns=min,median,ops $(PYTEST_ARGS)

parity: $(DEV_STAMP)  ## hold the Strands family against the real packages, in environments of their own
	@$(BIN)/python -m tests.parity.run $(PARITY_ARGS)

corpus: $(DEV_STAMP)  ## re-record datasets/longhaul and compare digests
	@$(BIN)/python -m ullage.corpus check --seeds 1

notebooks: $(DEV_STAMP)  ## execute the notebooks
	@$(BIN)/python -m pytest -q tests/test_notebooks.py

clean:  ## remove what builds and tests leave behind
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks bench/*.egg-info
