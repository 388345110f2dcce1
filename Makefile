# The commands of the README. They make their own environment in .venv and need nothing but
# Python 3.11 or later and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo install quick test fresh thorough uncompiled format clean

# Invent a table of people, anonymize it, and show what happened.
demo: install
	$(BIN)/covey demo

# covey in .venv, its compiled code warmed.
install: $(VENV)/installed

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[charts]'
	$(BIN)/covey warm-up
	touch $@

$(VENV)/tools: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	# Tests compare with it. It pins older versions of what covey uses, and works with these.
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps 'pycanon>=1.3.5,<1.4'
	touch $@

PYTEST := $(BIN)/pytest -n 2 --dist worksteal -p no:cacheprovider -q

# A first answer within a minute: one case of each test that is not marked as slow, with a tenth
# of the examples. It names the slowest tests, so that one that should be marked is seen.
quick: $(VENV)/tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not slow" --durations=5 --durations-min=2

# All that CI runs.
test: $(VENV)/tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST)
	$(MAKE) fresh
	$(MAKE) uncompiled

# Random tests try other examples each time. To repeat a run, give the seed that it printed, as in
# `make fresh SEED=7`.
ifndef SEED
SEED := $(shell $(PYTHON) -c 'import secrets; print(secrets.randbelow(2**32))')
endif

fresh: $(VENV)/tools
	HYPOTHESIS_PROFILE=fresh $(PYTEST) -m hypothesis --hypothesis-seed=$(SEED)

# Ten times the examples of `make test`: for a night, or before a version.
thorough: $(VENV)/tools
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m hypothesis --hypothesis-seed=$(SEED)

# The kernels as plain Python: what the compiler does must not matter.
uncompiled: $(VENV)/tools
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 --dist worksteal -p no:cacheprovider -q -m "not compiled" \
		tests/test_k_member.py tests/test_methods.py tests/test_rings.py tests/test_covey.py \
		tests/test_examples.py

format: $(VENV)/tools
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) covey-demo
