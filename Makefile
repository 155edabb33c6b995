# Each target makes its own environment first; make help lists them.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# a file's tests share their servers, so one process has them all
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: help demo test test-all test-long test-torch compiled coverage lint docs pictures screenshots openapi bench reproduce suite general programs testbed mutants clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | \
	  while IFS='|' read -r target text; do printf '%-15s %s\n' "$$target" "$$text"; done

demo: $(VENV)/installed  ## start a server, plan T5-small over HTTP, print the answer
	$(BIN)/interlace demo

test: $(VENV)/installed-dev  ## run the tests, of the randomized ones a sample
	$(PYTEST)

test-all: $(VENV)/installed-dev  ## run the tests with every case of the randomized ones
	$(PYTEST) --full

test-long: $(VENV)/installed-dev  ## run what test-all does and test did not: the randomized ones, all cases
	$(PYTEST) --longer

test-torch: $(VENV)/installed-torch  ## run the exports for PyTorch under PyTorch (some 200 MB)
	$(BIN)/python -m pytest tests/torch

compiled: $(VENV)/installed-dev  ## compile the solver's inner loops anew after a change to them
	$(BIN)/python setup.py --quiet build_ext --inplace

coverage: $(VENV)/installed-dev  ## measure which branches of solver/ the tests reach
	$(PYTEST) tests/solver tests/test_public.py --cov --cov-report=term:skip-covered

lint: $(VENV)/installed-dev  ## check style, types and imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/installed-docs  ## build the site in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

pictures: $(VENV)/installed-docs  ## draw the pictures of the docs anew
	$(BIN)/python -m docs.generate.pictures

screenshots: $(VENV)/installed-dev  ## take the pictures of the service's pages anew, in Chromium
	$(BIN)/python -m docs.generate.screenshots

openapi: $(VENV)/installed-dev  ## write openapi/openapi.json anew
	$(BIN)/python -m app.write_openapi
	$(BIN)/python -m app.write_client_problems

bench: $(VENV)/installed-dev  ## benchmark: speed of the parts
	$(BIN)/python -m tests.benchmarks.speed

reproduce: $(VENV)/installed-dev  ## benchmark: figures of the PACE and OSF papers beside ours
	$(BIN)/python -m tests.benchmarks.reproduce

suite: $(VENV)/installed-dev  ## benchmark: gap to the bound over graphs and clusters
	$(BIN)/python -m tests.benchmarks.suite --large

programs: $(VENV)/installed-dev  ## benchmark: programs of compiled graphs beside PyTorch's scheduler
	$(BIN)/python -m tests.benchmarks.programs --jitter

general: $(VENV)/installed-dev  ## benchmark: plans of general graphs beside the best known ones
	$(BIN)/python -m tests.benchmarks.general --branched 5000

testbed: $(VENV)/installed-torch  ## benchmark: training over slow links beside predictions
	$(BIN)/python -m tests.testbed

mutants: $(VENV)/installed-mutants  ## measure which small faults in the solver the tests notice
	$(BIN)/python -m tests.benchmarks.mutants

INPUTS := $(BIN)/python pyproject.toml constraints.txt setup.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Interlace needs Python 3.11 or newer; set PYTHON=/path/to/one."; exit 1; }
	@echo "Making an environment in $(VENV) with $$($(PYTHON) --version)."
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "No venv in this Python; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/installed: $(INPUTS)
	@echo "Installing Interlace and the libraries that it needs in $(VENV): a minute or two, once."
	@$(PIP) --editable ./client --editable .
	@touch $@

$(VENV)/installed-dev: $(INPUTS)
	@echo "Installing Interlace and what its tests need in $(VENV): a minute or two, once."
	@$(PIP) --editable ./client --editable '.[dev]'
	@touch $(VENV)/installed $@

$(VENV)/installed-torch: $(INPUTS)
	@echo "Installing PyTorch, with which the exports for it are tested, in $(VENV), once."
	@$(PIP) --editable ./client --editable '.[dev,torch]'
	@touch $(VENV)/installed $(VENV)/installed-dev $@

$(VENV)/installed-mutants: $(INPUTS)
	@echo "Installing what mutates the solver in $(VENV), once."
	$(PIP) --editable ./client --editable '.[dev,mutants]'
	@touch $(VENV)/installed $(VENV)/installed-dev $@

$(VENV)/installed-docs: $(INPUTS)
	@echo "Installing Interlace and what its docs need in $(VENV): a minute or two, once."
	@$(PIP) --editable ./client --editable '.[docs]'
	@touch $(VENV)/installed $@

clean:  ## remove everything that was made
	rm -rf $(VENV) build dist site *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
