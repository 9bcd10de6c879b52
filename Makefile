# `make run` and `make test` do the whole set-up; `make help` lists the other targets.
# The set-up needs a Python only: uv is taken from PATH, or installed into .venv-uv from PyPI.
# PYTHON names the Python of the environment, for example: make test PYTHON=python3.12

VENV := .venv
BIN := $(VENV)/bin
UV_VENV := .venv-uv
NPM := $(shell command -v npm 2>/dev/null)
UV := $(or $(shell command -v uv 2>/dev/null),$(UV_VENV)/bin/uv)
NODE_TOOLS := node_modules/.package-lock.json

export UV_PYTHON_DOWNLOADS := never
# A company's proxy has a certificate that only the system's store knows: uv, pip and npm use it too.
export UV_SYSTEM_CERTS ?= 1
export UV_NATIVE_TLS ?= 1
CERTIFICATES := $(firstword $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt))
ifneq ($(CERTIFICATES),)
export PIP_CERT ?= $(CERTIFICATES)
export NODE_EXTRA_CA_CERTS ?= $(CERTIFICATES)
endif
# Without bytecode every process compiles Orc again, and pytest the modules of its plugins: 2 to 10 s each.
unexport PYTHONDONTWRITEBYTECODE

# Prints the first Python of the given versions, from PATH or pyenv. Each candidate is run first: the shims of
# pyenv answer to the name of every version, and fail if that version is not active.
FIND_PYTHON = for version in $(1); do \
	for python in "python$$version" "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/"$$version".*/bin/python python3; do \
	  "$$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$version')" >/dev/null 2>&1 \
	    && echo "$$python" && exit; \
	done; done

# Without PYTHON: the Python that the environment already has, else Azure's version, else another one that is tested,
# else any that uv knows. Evaluated once, and only by targets that need it.
ifeq ($(origin PYTHON), undefined)
PYTHON = $(eval PYTHON := $(shell { $(BIN)/python -c "" && echo $(BIN)/python; } 2>/dev/null \
	|| { $(call FIND_PYTHON,3.13 3.14 3.12 3.11); } | grep . || uv python find --no-python-downloads '>=3.11' 2>/dev/null))$(PYTHON)
endif

GET_PYTHON = Install one (apt install python3 python3-venv, brew install python, uv python install 3.13) or name it: make PYTHON=...
RIGHT_PYTHON = import sys; version = sys.version_info[:2]; \
version < (3, 11) and sys.exit("Orc needs Python 3.11 or newer, and $(PYTHON) is %d.%d. $(GET_PYTHON)" % version); \
version > (3, 14) and sys.stderr.write("Orc is tested on Python 3.11 to 3.14, and not on %d.%d.\n" % version)
NO_VENV = This Python cannot create virtual environments: apt install python3-venv, or install uv.
# One process more than cores. Which tests share one, and what starts first: devkit/suite_order.py.
PYTEST = $(BIN)/python -m pytest --numprocesses auto --no-loadscope-reorder --durations 25
FAST = not emulator and not slow
SYNC = $(UV) sync --frozen $(EXTRAS:%=--extra %) $(if $(wildcard $(BIN)/python),,--compile-bytecode)

.NOTPARALLEL:
.PHONY: help run check check-text test-fast test campaigns bench studio trial provision package sbom lock vendor clean
.PHONY: python install install-dev install-functions install-node install-oldest install-studio

help:
	@echo "make run           set up, then serve the API (127.0.0.1:7071) and the MCP server (127.0.0.1:7072)"
	@echo "make check         formatting, lint, types, import contracts, spelling and wording"
	@echo "make test-fast     set up, then the unit tests that take milliseconds, and the contracts on embedded stores"
	@echo "make test          set up, then all checks and tests; ORC_REQUIRE_ALL=1: no test may be skipped"
	@echo "make campaigns     the long campaigns: kills, faults, fuzzing, leak scans"
	@echo "make bench         measure and print a table"
	@echo "make studio        serve the graph for LangGraph Studio, from a separate environment"
	@echo "make trial         ask the configured model the shipped questions, and write a report"
	@echo "make provision     create missing containers, queues and the search index on Azure"
	@echo "make package       build the wheel and the source archive into dist/"
	@echo "make sbom          write a bill of materials in CycloneDX form to dist/orc.cdx.json"
	@echo "make lock          resolve the dependencies into uv.lock and requirements.txt; UPGRADE=--upgrade for newer ones"
	@echo "make vendor        bundle the libraries of the web page from node_modules, after a change of their versions"
	@echo "make clean         remove what was installed and cached; documents and conversations stay"

run: install
	@exec $(BIN)/python -m orc serve

check: install-dev check-text
	@$(BIN)/python -m mypy

check-text: install-dev install-node
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/python $(BIN)/lint-imports
	@$(BIN)/python $(BIN)/codespell
	@$(BIN)/python scripts/check_prose.py
	@$(if $(NO_NODE),,node_modules/.bin/biome check --error-on-warnings)

test-fast: install-dev
	@$(PYTEST) tests/unit tests/contract -m "$(FAST)"

# Types are checked while the tests run, and reported after them: mypy uses one processor for half a minute.
test: install-dev install-functions install-node $(if $(filter 1,$(ORC_REQUIRE_ALL)),install-oldest install-studio) check-text
	@types=$$(mktemp); $(BIN)/python -m mypy >"$$types" 2>&1 & checking=$$!; \
	$(PYTEST); tests=$$?; \
	wait $$checking; typed=$$?; cat "$$types"; rm -f "$$types"; \
	exit $$((tests || typed))

campaigns: install-dev install-node
	@$(BIN)/python -m pytest --campaigns --timeout 7200 --verbose tests/campaigns tests/test_contracts_catch_bugs.py \
	  tests/unit/bench/test_run.py
	@$(BIN)/python -m pytest --hypothesis-profile "many examples" tests/unit/orc/contexts tests/unit/orc/limits \
	  tests/unit/orc_core/documents/test_places.py

bench: install-dev install-node
	@$(BIN)/python -m bench

# LangGraph's server counts its starts at its maker's, unless it is asked not to.
studio: install-studio
	@LANGGRAPH_CLI_NO_ANALYTICS=1 exec .venv-studio/bin/langgraph dev --allow-blocking --no-reload

trial: install
	@$(BIN)/python -m orc trial

# Azure's libraries are an extra: who runs Orc on one machine needs none of them.
provision sbom: EXTRAS += azure
provision: install
	@$(BIN)/python -m orc provision

# The wheel and the source archive, under a name that is free on PyPI.
DIST := dist
package: $(UV) python
	@$(UV) build --python "$(PYTHON)" --out-dir $(DIST)

sbom: install
	@mkdir -p dist
	@$(UV) export --quiet --frozen --no-dev --extra azure --format cyclonedx1.5 -o dist/orc.cdx.json >/dev/null
	@$(BIN)/python -m scripts.sbom dist/orc.cdx.json

# Azure installs requirements.txt, with pip, which checks its hashes; it is exported from uv.lock.
lock: $(UV) python
	$(UV) lock --python "$(PYTHON)" $(UPGRADE)
	{ echo "# Exported from uv.lock by \`make lock\`."; \
	  $(UV) export --quiet --frozen --python "$(PYTHON)" --no-dev --extra azure --no-emit-project --no-header; \
	} > requirements.txt

vendor: install-node
	@node scripts/vendor_web.mjs orc/web/vendor

clean:
	rm -rf $(VENV) .venv-functions .venv-studio $(UV_VENV) node_modules .mypy_cache .ruff_cache .import_linter_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@test -n "$(PYTHON)" || { echo "Orc needs Python 3.11 or newer, and there is none on PATH, in uv or under pyenv. $(GET_PYTHON)" >&2; exit 1; }
	@command -v "$(PYTHON)" >/dev/null || { echo "Orc needs Python 3.11 or newer, and there is no $(PYTHON). $(GET_PYTHON)" >&2; exit 1; }
	@"$(PYTHON)" -c '$(RIGHT_PYTHON)'

$(UV_VENV)/bin/uv:
	@$(MAKE) --no-print-directory python
	@"$(PYTHON)" -c "import ensurepip" 2>/dev/null || { echo "$(NO_VENV)" >&2; exit 1; }
	@echo "Installing uv into $(UV_VENV)"
	@"$(PYTHON)" -m venv --clear $(UV_VENV)
	@$(UV_VENV)/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.9,<1"

# The oldest supported Python, for tests/test_other_pythons.py. Debian 12's own is 3.11.2.
install-oldest: $(UV)
	@found=$$(ls /usr/bin/python3.11 2>/dev/null || { $(call FIND_PYTHON,3.11); }); \
	test -n "$$found" || { echo "There is no Python 3.11, on which the fast tests have to pass too." >&2; exit 1; }; \
	UV_PROJECT_ENVIRONMENT=.venv-3.11 $(UV) sync --frozen --python "$$found"

# LangGraph's server needs older versions of what Orc's own lock holds: protobuf and jsonschema-rs.
LANGGRAPH_SERVER = langgraph-cli==0.4.40 langgraph-api==0.16.7 langgraph-runtime-inmem==0.36.7
install-studio: $(UV) python
	@test "$$(cat .venv-studio/made 2>/dev/null)" = "$(LANGGRAPH_SERVER) $$(cksum uv.lock)" || { \
	  UV_PROJECT_ENVIRONMENT=.venv-studio $(UV) sync --frozen --quiet --python "$(PYTHON)" --no-dev && \
	  $(UV) pip install --quiet --python .venv-studio/bin/python $(LANGGRAPH_SERVER) && \
	  echo "$(LANGGRAPH_SERVER) $$(cksum uv.lock)" >.venv-studio/made; }

WRITABLE := $(shell test -w . && echo yes)
ifeq ($(WRITABLE),yes)
install: $(UV) python
	@$(SYNC) --python "$(PYTHON)" --no-dev --inexact
else
install:
	@test -x $(BIN)/python || { echo "Nothing is installed here yet, and this folder cannot be written." >&2; exit 1; }
	@echo "This folder cannot be written: Orc starts with what is installed in it. Set ORC_DATA_DIR to a folder that can."
endif

install-dev: $(UV) python
	@$(SYNC) --python "$(PYTHON)"

# Azure's own Functions runtime needs Python 3.13. If the environment has an older Python, one test runs
# tests/functions in a second environment (tests/test_functions_part.py): one pytest run, one summary.
install-functions: install-dev
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 13))'; then :; \
	elif found=$$($(call FIND_PYTHON,3.13)) && test -n "$$found"; then \
	  UV_PROJECT_ENVIRONMENT=.venv-functions $(SYNC) --python "$$found"; \
	else \
	  echo "There is no Python 3.13: the Azure Functions part is left out."; test "$$ORC_REQUIRE_ALL" != 1; \
	fi

NO_NODE = $(if $(NPM),$(if $(shell node -p "parseInt(process.versions.node) > 19 || ''" 2>/dev/null),,Node is older than 20),There is no npm)
install-node:
	@if test -z "$(NO_NODE)"; then $(MAKE) --no-print-directory $(NODE_TOOLS); \
	else echo "$(NO_NODE): what needs Node is left out."; test "$$ORC_REQUIRE_ALL" != 1; fi

$(NODE_TOOLS): package.json package-lock.json
	@echo "Installing the Node tools"
	@npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@
