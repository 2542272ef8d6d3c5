# The only entry for people and for CI. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made
MAJORS ?= 14 15 16 17 18
PG_DIR ?= .cache/postgres
WORKERS ?= 3
TESTS ?= tests

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint fmt bench proof soak healthy mutants networks matrix docs clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Made anew only when the dependencies may have changed; the package itself is installed editable.
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo,test]'
	@touch $@

venv: $(STAMP) ## make .venv with everything the other targets need

demo: $(STAMP) ## run the demo: embedded PostgreSQL, real workers, the agent beside them
	$(BIN)/pgq-ops demo

test: $(STAMP) ## run all tests (WORKERS=3 processes, TESTS=tests)
	$(BIN)/python -m pytest -n $(WORKERS) $(TESTS)

lint: $(STAMP) ## ruff, the formatter's check, mypy, the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --scripts-are-modules scripts/get-postgres scripts/matrix scripts/test-image
	$(BIN)/lint-imports

fmt: $(STAMP) ## format and apply the safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## run the benchmarks
	$(BIN)/python -m benchmarks

# A seed of its own each time, which the output names; SEED=n repeats a run.
proof: $(STAMP) ## let anything happen in any order on each kind of job table (EXAMPLES=100 runs of 40 steps, SEED=n)
	PGQ_OPS_PROOF_EXAMPLES=$${EXAMPLES:-100} PGQ_OPS_PROOF_SEED=$${SEED:-$$(date +%s)} \
		$(BIN)/python -m pytest -n $(WORKERS) -rP tests/integration/proof

soak: $(STAMP) ## kill agents, sessions and servers under load for a quarter of an hour (SOAK="--kills 10 --seconds 60")
	$(BIN)/python -m soak $(SOAK)

healthy: $(STAMP) ## half an hour with nobody killed, in which nothing may be found wrong (HEALTHY="--minutes 5")
	$(BIN)/python -m soak.healthy $(HEALTHY)

networks: $(STAMP) ## the tests of cut networks, stopped proxies and failovers (some need root and iptables)
	$(BIN)/python -m pytest -m networks -s tests/integration/networks

mutants: $(STAMP) ## break the product in one place after another: a test must notice each (MUTANTS="names")
	$(BIN)/python -m mutants $(MUTANTS)

matrix: $(STAMP) ## run tests/integration on PostgreSQL MAJORS="14 15 16 17 18", one after another
	$(BIN)/python scripts/matrix --servers $(PG_DIR) --workers $(WORKERS) $(MAJORS)

docs: $(STAMP) ## check that README and docs/ say what the code does (also part of test)
	$(BIN)/python -m pytest -k "docs or documents or readme" tests

clean: ## remove everything that can be made again
	rm -rf $(VENV) .cache build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
