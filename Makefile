# `make reproduce` and `make test` do all set-up themselves: a .venv from pyproject.toml and locks/.

PYTHON ?= python3
VENV := .venv
TOOLS := .venv-tools
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(BIN)/python maintenance/install.py
JOBS ?= 2
# Modules are compiled once, whatever the surroundings say, and not by each of the many processes that tests start.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help reproduce test test-slow test-browser lint docs notebooks bench lock audit clean

help:
	@echo "make reproduce   check every formula and redraw the figures (into figures/)"
	@echo "make test        ruff, mypy, the tests, and the documentation"
	@echo "make test-slow   the tests that take minutes"
	@echo "make test-browser  the explorer of the documentation, in Chromium"
	@echo "make lint        ruff and mypy only"
	@echo "make docs        the documentation, into docs/_build/html"
	@echo "make notebooks   execute the notebooks in place"
	@echo "make bench       side-by-side timings, ratios from one run"
	@echo "make lock        locks/ anew from pyproject.toml and constraints.txt"
	@echo "make audit       licences and known vulnerabilities of the dependencies"
	@echo "make clean       remove the environment and caches"

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "signalprop needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Nothing is resolved, built or run that its hash in locks/ does not name; PyTorch alone comes by its version.
# uv only makes it faster: where it cannot be had, maintenance/install.py does the same with pip.
$(VENV)/installed: $(VENV)/created pyproject.toml locks/uv.txt locks/core.txt
	@echo "installing signalprop into $(VENV) ..."
	-$(PIP) install --only-binary :all: --require-hashes --no-deps --requirement locks/uv.txt
	$(INSTALL) locks/core.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/installed-test: $(VENV)/installed constraints.txt locks/all.txt
	@echo "installing what tests, documentation and benchmarks need into $(VENV) ..."
	$(INSTALL) locks/all.txt
	$(PIP) install --no-compile --constraint constraints.txt torch
	@touch $@

$(TOOLS)/installed: $(VENV)/created
	@echo "installing uv and pip-audit into $(TOOLS) ..."
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip --disable-pip-version-check --quiet install uv pip-audit
	@touch $@

# The locks anew, after a change of pyproject.toml or constraints.txt.
lock: $(TOOLS)/installed
	$(BIN)/python maintenance/lock.py $(TOOLS)/bin/uv

# Licences of what is installed, then known vulnerabilities of what is pinned, as far as the network answers.
audit: $(VENV)/installed-test $(TOOLS)/installed
	$(BIN)/python maintenance/licences.py
	$(BIN)/python maintenance/vulnerabilities.py $(TOOLS)/bin/pip-audit

reproduce: $(VENV)/installed
	$(BIN)/signalprop verify
	$(BIN)/signalprop reproduce

# Several processes share the cores: more threads in each would wait for each other, at full load.
test test-slow docs: export OMP_NUM_THREADS ?= 1

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# mypy needs one core; the documentation takes the other, and compiles kernels that the tests then find in the cache.
test: $(VENV)/installed-test
	$(MAKE) --jobs 2 lint docs
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not slow and not browser" --durations=15

# Warnings are errors; cells that fail are errors; so is a link inside the site that leads nowhere.
docs: $(VENV)/installed-test
	$(BIN)/python -m sphinx -W --keep-going --quiet -j $(JOBS) -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

notebooks: $(VENV)/installed-test
	$(BIN)/python notebooks/run.py

test-slow: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(JOBS) -m slow

test-browser: $(VENV)/installed-test
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ apt-get update --quiet && apt-get install --yes --no-install-recommends chromium chromium-driver; } || \
		{ echo "the browser tests need chromium and chromedriver, and apt-get could not install them here;" \
			"on Debian: sudo apt-get install chromium chromium-driver"; exit 2; }
	$(BIN)/python -m pytest -rP -m browser tests/browser

bench: $(VENV)/installed-test
	$(BIN)/python -m benchmarks --write build/benchmarks

clean:
	rm -rf $(VENV) $(TOOLS) docs/_build docs/notebooks .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
