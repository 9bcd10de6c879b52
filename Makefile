# `make run` and `make test` do all the set-up themselves; `make help` lists the rest.
# PYTHON says which Python to use: make run PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOKEN_RANKS := .orc/cache/tiktoken
NPM := $(shell command -v npm 2>/dev/null)
NODE_TOOLS := node_modules/.package-lock.json

RIGHT_PYTHON = import sys; sys.exit(None if (3, 11) <= sys.version_info[:2] <= (3, 13) else \
"Orc needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is %d.%d. Name another: make PYTHON=python3.12" \
% sys.version_info[:2])
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--custom-compile-command "make requirements" $(UPGRADE) pyproject.toml

.NOTPARALLEL:
.PHONY: help run test check bench provision requirements token-ranks clean
.PHONY: python install install-dev install-functions install-node

help:
	@echo "make run           set up, then serve the API (127.0.0.1:7071) and the MCP server (127.0.0.1:7072)"
	@echo "make test          set up, then all checks and tests; ORC_REQUIRE_ALL=1: nothing may be left out"
	@echo "make check         formatting, lint and types"
	@echo "make bench         measure and print a table"
	@echo "make provision     make what is missing in the services of Azure that the environment names"
	@echo "make requirements  compile pyproject.toml into the pins; UPGRADE=--upgrade takes newer versions"
	@echo "make token-ranks   obtain the file that makes token counts exact"
	@echo "make clean         remove what was installed and cached; documents and conversations stay"

run: install token-ranks
	@exec $(BIN)/orc serve

test: install-dev install-functions install-node token-ranks check
	@$(BIN)/python -m pytest

check: install-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: install-dev token-ranks
	@$(BIN)/python -m bench

provision: install
	@$(BIN)/orc provision

requirements: install-dev
	$(COMPILE) --output-file requirements.txt
	$(COMPILE) --extra dev --constraint requirements.txt --output-file requirements-dev.txt

token-ranks: install
	@$(BIN)/python -m core.llm.tokenizer_files $(TOKEN_RANKS) || echo "Token counts will be estimates."

clean:
	rm -rf $(VENV) .venv-functions node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@command -v $(PYTHON) >/dev/null || { echo "Orc needs Python 3.11, 3.12 or 3.13, and there is no $(PYTHON)." >&2; exit 1; }
	@$(PYTHON) -c '$(RIGHT_PYTHON)'

install: python
	@$(PYTHON) scripts/environment.py $(VENV) requirements.txt

install-dev: python
	@$(PYTHON) scripts/environment.py $(VENV) requirements.txt requirements-dev.txt

# Azure's own Functions runtime needs Python 3.13. Below it, one test runs tests/functions in an environment of
# their own (tests/test_functions_part.py), so that there is one pytest run with one summary.
install-functions: install-dev
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 13))'; then :; \
	elif found=$$(scripts/find-python 3.13); then \
	  "$$found" scripts/environment.py .venv-functions requirements.txt requirements-dev.txt; \
	else \
	  echo "There is no Python 3.13: the Azure Functions part is left out."; test "$$ORC_REQUIRE_ALL" != 1; \
	fi

ifeq ($(NPM),)
install-node:
	@echo "There is no npm: tests that need Node are left out."; test "$$ORC_REQUIRE_ALL" != 1
else
install-node: $(NODE_TOOLS)
endif

$(NODE_TOOLS): package.json package-lock.json
	@echo "Installing the Node tools"
	@npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@
