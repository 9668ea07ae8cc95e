# make demo, make test: each sets up .venv first, once; a second run sets nothing up again.
PYTHON ?= python3.11
VENV := .venv
PIP := $(VENV)/bin/pip --disable-pip-version-check
USER_READY := $(VENV)/.installed
DEV_READY := $(VENV)/.installed-dev

.PHONY: demo test mutants house results clean

demo: $(USER_READY)
	$(VENV)/bin/likewise demo

test: $(DEV_READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2  # a thread each: two processes are faster than two threads

mutants: $(DEV_READY)
	$(PIP) install -q -c constraints.txt 'mutmut>=3.8'
	OMP_NUM_THREADS=1 $(VENV)/bin/python benchmarks/mutation.py

house: $(USER_READY)
	OMP_NUM_THREADS=1 $(VENV)/bin/python benchmarks/house.py

results: $(USER_READY)
	$(VENV)/bin/likewise paper show

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist src/*.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(USER_READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -q -c constraints.txt -e .
	@touch $@

$(DEV_READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -q -c constraints.txt -e '.[dev]'
	@touch $@ $(USER_READY)
