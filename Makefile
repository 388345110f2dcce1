# The commands of the README. They make their own environment in .venv and need nothing but
# Python 3.11 or later and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo install quick test uncompiled format clean

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

# A first answer in about a minute, once the kernels are compiled: quick tests of all stages.
quick: $(VENV)/tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal -p no:cacheprovider -q $(QUICK:%=tests/test_%.py)

QUICK := surface schema taxonomy headers labels encoding golden own_methods verification outputs files

# All that CI runs.
test: $(VENV)/tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal -p no:cacheprovider
	$(MAKE) uncompiled

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
