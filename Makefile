# The commands of the README. They make their own environment in .venv and need nothing but
# Python 3.11 or later and a package index; a C++ compiler comes from there, too, if there is none.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests start many processes: without compiled modules on the disk, each compiles covey again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo studio install quick test fresh thorough sanitize format clean

# Invent a table of people, anonymize it, and show what happened.
demo: install
	$(BIN)/covey demo

# The whole way in a browser, with invented people.
studio: $(VENV)/studio
	$(BIN)/covey demo --quiet
	$(BIN)/covey studio covey-demo/people.csv

$(VENV)/studio: $(VENV)/installed
	$(PIP) --no-build-isolation --editable '.[studio]'
	touch $@

# covey in .venv, its core compiled: again when one of its sources has changed.
install: $(VENV)/installed

CORE := CMakeLists.txt $(wildcard src/covey/_core/*.?pp) src/covey/_core/sources.py
PIP := $(BIN)/pip install --quiet --disable-pip-version-check

$(VENV)/builder: pyproject.toml build_backend/covey_build.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python build_backend/covey_build.py | xargs -d '\n' $(PIP)
	touch $@

$(VENV)/installed: $(VENV)/builder $(CORE)
	$(PIP) --no-build-isolation --editable '.[charts]'
	touch $@

$(VENV)/tools: $(VENV)/installed
	$(PIP) wheel # some tools come as sources, which older versions of pip build only with it
	$(PIP) --no-build-isolation --editable '.[dev]'
	# Tests compare with it. It pins older versions of what covey uses, and works with these.
	$(PIP) --no-deps 'pycanon>=1.3.5,<1.4'
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

# Random tests try other examples each time, which CI does not: a failure there comes from the
# change. To repeat a run, give the seed that it printed, as in `make fresh SEED=7`.
ifndef SEED
SEED := $(shell $(PYTHON) -c 'import secrets; print(secrets.randbelow(2**32))')
endif

fresh: $(VENV)/tools
	HYPOTHESIS_PROFILE=fresh $(PYTEST) -m hypothesis --hypothesis-seed=$(SEED)

# 33 times the examples of `make test`: for a night, or before a version.
thorough: $(VENV)/tools
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m hypothesis --hypothesis-seed=$(SEED)

# The kernels' tests with checks of addresses, bounds and undefined behaviour.
sanitize: $(VENV)/tools
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCOVEY_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug \
		-DPython_EXECUTABLE=$(abspath $(BIN)/python) \
		-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) --log-level=WARNING
	$(BIN)/cmake --build build/sanitize
	COVEY_KERNELS=$(abspath build/sanitize) HYPOTHESIS_PROFILE=quick ASAN_OPTIONS=detect_leaks=0 \
		LD_PRELOAD="$$(for one in asan stdc++; do \
			$(or $(CXX),c++) -print-file-name=lib$$one.so; done | xargs)" \
		$(BIN)/pytest -p no:cacheprovider -q --capture=sys tests/clustering tests/reference

format: $(VENV)/tools
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build covey-demo
