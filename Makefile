# Everything from nothing but Python 3.11+, pip and make: each target sets up its own .venv from the locked versions.
PYTHON ?= $(shell for one in python3.13 python3.12 python3.11 python3; do $$one -c '' 2>/dev/null && echo $$one && break; done)
VENV := .venv
BIN := $(VENV)/bin
STORE ?= studio.db
PYTEST_WORKERS ?= 2

SERVERS := .cache/servers

.PHONY: run test check format bench fuzz servers lock clean

run: $(VENV)/.run
	$(BIN)/python -m studio_tui --store sqlite:///$(STORE) --seed friday-notes --model offline

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.dev
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -m fuzz -n $(PYTEST_WORKERS)

# Two model servers by others that the wire is tested against; without them those tests are skipped. The second needs npm.
servers: $(SERVERS)/llmock/.done $(SERVERS)/aimock/.done

$(SERVERS)/llmock/.done: tests/servers/llmock.lock
	$(PYTHON) -m venv $(SERVERS)/llmock
	$(SERVERS)/llmock/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

$(SERVERS)/aimock/.done: tests/servers/aimock/package-lock.json
	mkdir -p $(SERVERS)/aimock
	cp tests/servers/aimock/package.json tests/servers/aimock/package-lock.json $(SERVERS)/aimock/
	cd $(SERVERS)/aimock && npm ci --silent --no-audit --no-fund --ignore-scripts
	touch $@

lock: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --quiet pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --quiet pyproject.toml --group dev -o requirements-dev.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --quiet tests/servers/llmock.in -o tests/servers/llmock.lock
	cd tests/servers/aimock && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "studio-tui needs Python 3.11 or newer; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

$(VENV)/.dev: requirements-dev.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $@
