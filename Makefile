# `make reproduce` and `make test` do all set-up themselves: a .venv from pyproject.toml and constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help reproduce test test-slow test-browser lint docs notebooks bench clean

help:
	@echo "make reproduce   check every formula and redraw the figures (into figures/)"
	@echo "make test        ruff, mypy, the tests, and the documentation"
	@echo "make test-slow   the tests that take minutes"
	@echo "make test-browser  the explorer of the documentation, in Chromium"
	@echo "make lint        ruff and mypy only"
	@echo "make docs        the documentation, into docs/_build/html"
	@echo "make notebooks   execute the notebooks in place"
	@echo "make bench       side-by-side timings, ratios from one run"
	@echo "make clean       remove the environment and caches"

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "signalprop needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/created pyproject.toml constraints.txt
	@echo "installing signalprop into $(VENV) ..."
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	@echo "installing what the tests need into $(VENV) ..."
	@# torch on its own first, so that nothing else picks another build of it.
	$(PIP) install --constraint constraints.txt torch
	$(PIP) install --constraint constraints.txt --editable ".[test,docs]"
	@touch $@

reproduce: $(VENV)/installed
	$(BIN)/signalprop verify
	$(BIN)/signalprop reproduce

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not browser" --durations=15
	$(MAKE) docs

# Warnings are errors; cells that fail are errors; so is a link inside the site that leads nowhere.
docs: $(VENV)/installed-test
	$(BIN)/python -m sphinx -W --keep-going --quiet -j $(JOBS) -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

notebooks: $(VENV)/installed-test
	$(BIN)/python notebooks/run.py

test-slow: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(JOBS) -m slow

$(VENV)/installed-browser: $(VENV)/installed-test
	$(PIP) install --constraint constraints.txt --editable ".[browser]"
	@touch $@

test-browser: $(VENV)/installed-browser
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ apt-get update --quiet && apt-get install --yes --no-install-recommends chromium chromium-driver; } || \
		{ echo "the browser tests need chromium and chromedriver, and apt-get could not install them here;" \
			"on Debian: sudo apt-get install chromium chromium-driver"; exit 2; }
	$(BIN)/python -m pytest -rP -m browser tests/browser

bench: $(VENV)/installed-test
	$(PIP) install --constraint constraints.txt --editable ".[bench]"
	$(BIN)/python -m benchmarks --write build/benchmarks

clean:
	rm -rf $(VENV) docs/_build docs/notebooks .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
