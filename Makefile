# Each target sets up .venv first, once; a second run sets nothing up again.
PYTHON ?= python3.11
VENV := .venv
PIP := $(VENV)/bin/pip --disable-pip-version-check
USER_READY := $(VENV)/.installed
DEV_READY := $(VENV)/.installed-dev

.PHONY: help demo test docs coverage dist mutants house results clean

# Two processes with a thread each are faster than two threads.
test docs coverage mutants house: export OMP_NUM_THREADS = 1

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(USER_READY) ## learn ten digits without a label, and write demo/report.html
	$(VENV)/bin/likewise demo

test: $(DEV_READY) ## lint, type-check, build the documentation and run all tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m pytest -n 2

docs: $(DEV_READY) ## build the documentation into site/ and run its tutorials
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build
	@echo "Open site/index.html."

coverage: $(DEV_READY) ## run all tests, and show the share of lines and branches that they run
	$(VENV)/bin/python -m pytest -n 2 --cov --cov-report=term

dist: $(DEV_READY) ## build the wheel and the source archive into dist/
	$(VENV)/bin/python -m build --outdir dist

mutants: $(DEV_READY) ## put mistakes into the code, and count those that the tests notice
	$(PIP) install -q -c constraints.txt 'mutmut>=3.8'
	$(VENV)/bin/python benchmarks/mutation.py

house: $(USER_READY) ## count the files, and those on the way from `likewise fit` to the gradient
	$(VENV)/bin/python benchmarks/house.py

results: $(USER_READY) ## write RESULTS.md from the records in results/
	$(VENV)/bin/likewise paper show

clean: ## delete what the other targets made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist site .coverage* src/*.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(USER_READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -q -c constraints.txt -e .
	@touch $@

$(DEV_READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -q -c constraints.txt -e '.[dev]'
	@touch $@ $(USER_READY)
