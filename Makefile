PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo report test test-slow golden examples lint format types docs build audit

demo: $(STAMP)
	$(BIN)/arithmos run table-1 --store runs

STORE := $(firstword $(wildcard results) runs)
report: $(STAMP)
	$(BIN)/arithmos report --store $(STORE) -o report.html

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not slow and not gpu"

test-slow: $(STAMP)
	$(BIN)/pytest -o faulthandler_timeout=10800 -m "slow and not gpu"

golden: $(STAMP)
	$(BIN)/pytest -q --golden tests/papers tests/report tests/browser tests/test_cli.py

examples: $(STAMP)
	for name in $(basename $(notdir $(wildcard examples/*.py))); do \
		$(BIN)/python examples/$$name.py >examples/output/$$name.txt || exit 1; done
	$(BIN)/python -m tools.execute

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP)
	$(BIN)/mypy --python-version 3.11  # the oldest and the newest, for modules and functions that one of them lacks
	$(BIN)/mypy --python-version 3.14

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

build: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	ls -lh dist

audit: $(STAMP)
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --skip-editable

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@
