# make demo, make test: each makes its own environment first.
# make coverage, make lint, make openapi; make bench, make reproduce, make suite and
# make mutants are benchmarks.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test coverage lint openapi bench reproduce suite mutants clean

demo: $(VENV)/installed
	$(BIN)/interlace demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest --numprocesses auto

coverage: $(VENV)/installed-dev
	$(BIN)/python -m pytest --numprocesses auto -m 'not slow' tests/solver --cov --cov-report=term:skip-covered

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

openapi: $(VENV)/installed-dev
	$(BIN)/python -m app.openapi

bench: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks.speed

reproduce: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks.reproduce

suite: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks.suite --large

mutants: $(VENV)/installed-dev
	$(PIP) --editable '.[dev,mutants]'
	$(BIN)/python -m tests.benchmarks.mutants

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Interlace needs Python 3.11 or newer; set PYTHON=/path/to/one."; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "No venv in this Python; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ./client --editable .
	@touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ./client --editable '.[dev]'
	@touch $(VENV)/installed $@

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
