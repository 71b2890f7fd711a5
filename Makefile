PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What test-versions runs: all tests, or those that are named.
TESTS ?=

.PHONY: demo test docs soak coverage mutants test-versions lint format bench reproduce clean

# The stamp files remember which requirements the environment was made for.
$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("modeseek needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/.demo

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

$(VENV)/.reproduce: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot,image,peers]'
	touch $@ $(VENV)/.demo

$(VENV)/.bench: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

# By file, as the tests of one share fitted models; a thread of BLAS for each process.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile

# Test by test, as most of its hour is many batches in one file; who is done takes
# some from others.
soak: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m soak -n auto --dist worksteal tests

coverage: $(VENV)/.test
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under 95

# Goes on where it stopped: a run takes ten minutes at most, all of it about an hour.
mutants: $(VENV)/.test
	$(BIN)/python tools/mutants.py

# The tests with the oldest releases that are supported and with the newest, each with
# the models that the other saved. TESTS="tests/test_persist.py" runs those only.
test-versions: $(VENV)-oldest/.test $(VENV)-newest/.test
	$(VENV)-oldest/bin/python tests/data/make_model.py out/models/oldest
	$(VENV)-newest/bin/python tests/data/make_model.py out/models/newest
	MODESEEK_MODELS=out/models/newest $(VENV)-oldest/bin/python -m pytest -q $(TESTS)
	MODESEEK_MODELS=out/models/oldest $(VENV)-newest/bin/python -m pytest -q $(TESTS)

$(VENV)-oldest/.test: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' --constraint tests/oldest.txt
	touch $@

$(VENV)-newest/.test: pyproject.toml
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager --editable '.[test]'
	touch $@

docs: $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs out/docs
	@echo "Open out/docs/index.html."

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Hours; TASKS="20k imports" for parts. The cytometry set needs MODESEEK_DATA.
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/speed.py --output docs/speed.json --docs docs/speed.md $(if $(TASKS),--tasks $(TASKS))
	$(BIN)/python benchmarks/gradient.py

# Reduced size; FULL=1 for the paper's. Goes on after an interruption. Entries on real
# data need the folder that the environment variable MODESEEK_DATA names.
reproduce: $(VENV)/.reproduce
	$(BIN)/python -m reproduce $(if $(FULL),--size full)

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-newest build dist out docs/auto_gallery docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
