# Each target makes its own environment first; make help lists them.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# uv installs in a tenth of the time of pip, whose configuration it does not read
UV = $$(command -v uv || echo $(BIN)/uv)
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt
# tests of one file share servers, so one process has them all; pages are last: their browser has an
# event loop in the main thread
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: help demo test test-live test-torch test-torch-2.14 test-long compiled wheels coverage lint docs pictures reference screenshots openapi bench reproduce suite general programs testbed mutants clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | \
	  while IFS='|' read -r target text; do printf '%-15s %s\n' "$$target" "$$text"; done

demo: $(VENV)/installed  ## start a server, plan T5-small over HTTP, print the answer
	$(BIN)/interlace demo

test: $(VENV)/installed-dev  ## run the pure tests, and a smoke of server, page and command
	$(PYTEST) --lane test

test-live: $(VENV)/installed-dev  ## run what needs servers, browsers, databases, Dask, kills
	$(PYTEST) --lane live $(if $(AGAIN),--last-failed --last-failed-no-failures none)

test-torch: $(VENV)/installed-torch  ## run the exports for PyTorch under PyTorch (some 200 MB)
	$(BIN)/python -m pytest --lane torch tests/torch

test-torch-2.14: $(VENV)/torch-2.14  ## run compiled plans under PyTorch 2.14 (a build for CUDA: 5 GB)
	INTERLACE_TORCH_PYTHON=$(CURDIR)/$(VENV)/torch-2.14/bin/python \
	  $(BIN)/python -m pytest --lane torch tests/torch/test_compiled_reach.py

test-long: $(VENV)/installed-dev  ## run all cases of the randomized tests, and exact rivals; PART=2/6
	$(PYTEST) --lane long $(if $(PART),--part $(PART))

compiled: $(VENV)/installed-dev  ## compile the solver's inner loops anew after a change to them
	@$(compile)

wheels: $(VENV)/installed-dev  ## build a compiled wheel in dist/ for each Python from 3.11 to 3.14 here
	@for version in 3.11 3.12 3.13 3.14; do \
	  if python=$$($(UV) python find --no-python-downloads --system $$version 2>/dev/null); then \
	    echo "Building the wheel for Python $$version."; \
	    $(UV) build --quiet --wheel --python $$python --out-dir dist || exit 1; \
	  else echo "No Python $$version here: no wheel for it."; fi; \
	done
	@ls dist/*.whl

coverage: $(VENV)/installed-dev  ## measure which branches of solver/ the tests reach
	$(PYTEST) tests/solver tests/test_public.py --cov --cov-report=term:skip-covered

lint: $(VENV)/installed-dev  ## check style, types and imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(scripts)

docs: $(VENV)/installed-docs  ## build the site in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

pictures: $(VENV)/installed-docs  ## draw the pictures of the docs anew
	$(BIN)/python -m docs.generate.pictures

reference: $(VENV)/installed-dev  ## write the generated parts of the reference anew
	$(BIN)/python -m docs.generate.reference

screenshots: $(VENV)/installed-dev  ## take the pictures of the service's pages anew, in Chromium
	$(BIN)/python -m docs.generate.screenshots

openapi: $(VENV)/installed-dev  ## write openapi/openapi.json anew, and what is made of tables and models
	$(BIN)/python -m app.write_names
	$(BIN)/python -m app.write_fields
	$(BIN)/python -m app.write_openapi
	$(BIN)/python -m app.write_client

bench: $(VENV)/installed-dev  ## benchmark: speed of the parts
	$(BIN)/python -m tests.benchmarks.speed

reproduce: $(VENV)/installed-dev  ## benchmark: figures of five papers beside ours, with page and plots
	$(BIN)/python -m tests.benchmarks.reproduce

suite: $(VENV)/installed-dev  ## benchmark: gap to the bound over graphs and clusters
	$(BIN)/python -m tests.benchmarks.suite --large

programs: $(VENV)/installed-dev  ## benchmark: programs of compiled graphs beside PyTorch's scheduler
	$(BIN)/python -m tests.benchmarks.programs --jitter --rules

general: $(VENV)/installed-dev  ## benchmark: plans of general graphs beside the best known ones
	$(BIN)/python -m tests.benchmarks.general --branched 5000

testbed: $(VENV)/installed-torch  ## benchmark: training over slow links beside predictions
	$(BIN)/python -m tests.testbed $(if $(PARTS),--parts $(PARTS))

mutants: $(VENV)/installed-mutants  ## measure which small faults in the solver the tests notice
	$(BIN)/python -m tests.benchmarks.mutants

INPUTS := $(BIN)/python pyproject.toml constraints.txt setup.py

# a line every three seconds until the recipe's line ends
still = (while sleep 3 > /dev/null; do echo "  still at it"; done) & trap "kill $$!" EXIT

# $(call install,WHAT,FOR WHAT): by uv, or by pip where uv cannot be had or fails
define install
@echo "Installing Interlace and the libraries that $(2) in $(VENV), once."
@$(still); export INTERLACE_COMPILE=0 UV_SYSTEM_CERTS=1; \
  if { command -v uv > /dev/null || $(PIP) --retries 1 uv; } \
    && $(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt $(1); \
  then :; else echo "  uv cannot be had here or failed; pip takes a minute or two."; $(PIP) $(1); fi
endef

# the solver's inner loops, where there is a compiler; without one the same lines run as Python
compile = $(still); echo "Compiling the solver's inner loops: half a minute on two cores." \
  && $(BIN)/python setup.py --quiet build_ext --inplace

# the pages' scripts; Node is no need of Interlace's: without it, or its registry, the rest is checked
define scripts
if ! node -e 'process.exit(+(parseInt(process.versions.node) < 20))' 2> /dev/null \
    || ! command -v npm > /dev/null; then \
  echo "No Node 20 or newer with npm here: the pages' scripts are not linted."; \
elif ! { [ node_modules/.package-lock.json -nt package-lock.json ] \
    || npm ci --no-audit --no-fund --silent --fetch-retries=0 --fetch-timeout=30000; }; then \
  echo "npm cannot install package-lock.json here: the pages' scripts are not linted."; \
else \
  npm run --silent lint; \
fi
endef

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Interlace needs Python 3.11 or newer; set PYTHON=/path/to/one."; exit 1; }
	@echo "Making an environment in $(VENV) with $$($(PYTHON) --version)."
	@$(still); $(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "No venv in this Python; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/installed: $(INPUTS)
	$(call install,--editable ./client --editable '.[service]',the service needs)
	@touch $@

$(VENV)/installed-dev: $(INPUTS)
	$(call install,--editable ./client --editable '.[dev]',its tests need)
	@$(compile)
	@touch $(VENV)/installed $@

$(VENV)/installed-torch: $(VENV)/installed-dev
	@echo "Installing PyTorch, with which the exports for it are tested, in $(VENV), once."
	@$(still); $(PIP) --editable ./client --editable '.[dev,torch]'
	@touch $@

$(VENV)/torch-2.14: $(VENV)/installed-torch
	@echo "Installing PyTorch 2.14 in $@, once."
	@$(still); rm -rf $@; $(PYTHON) -m venv $@ \
	  && $@/bin/python -m pip --quiet --disable-pip-version-check install torch==2.14.0 \
	  && $(BIN)/python -c 'import site; print(site.getsitepackages()[0])' \
	    > "$$($@/bin/python -c 'import site; print(site.getsitepackages()[0])')/rest.pth" \
	  || { rm -rf $@; exit 1; }

$(VENV)/installed-mutants: $(VENV)/installed-dev
	$(call install,--editable ./client --editable '.[dev$(comma)mutants]',mutate the solver)
	@touch $@

$(VENV)/installed-docs: $(INPUTS)
	$(call install,--editable ./client --editable '.[docs]',its docs need)
	@touch $(VENV)/installed $@

comma := ,

clean:  ## remove everything that was made
	rm -rf $(VENV) node_modules build dist site *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
