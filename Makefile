# make demo, make test: each makes its own environment first.
# make test-all tries every case of the randomized tests, of which make test tries a sample.
# make coverage, make lint, make openapi; make bench, make reproduce and make suite are benchmarks.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-all coverage lint openapi bench reproduce suite clean

demo: $(VENV)/installed
	$(BIN)/interlace demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest --numprocesses auto

test-all: $(VENV)/installed-dev
	$(BIN)/python -m pytest --numprocesses auto --full

coverage: $(VENV)/installed-dev
	$(BIN)/python -m pytest --numprocesses auto tests/solver --cov --cov-report=term:skip-covered

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

openapi: $(VENV)/installed-dev
	$(BIN)/python -m app.openapi
	$(BIN)/python -m app.problem_classes

bench: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks.speed

reproduce: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks.reproduce

suite: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks.suite --large

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

$(VENV)/installed-docs: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ./client --editable '.[docs]'
	@touch $(VENV)/installed $@

clean:
	rm -rf $(VENV) build dist site *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
