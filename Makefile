# Two commands are the project: `make book` and `make test`. Each sets up .venv first, if needed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
CHAPTERS ?=

.PHONY: help book test fix lab clean
help:
	@echo "make book    build the book; prints where index.html is"
	@echo "make test    everything that CI checks: ruff, pytest, and every cell of every chapter (nbval)"
	@echo "make fix     format, re-run chapters from a clean kernel, update the README's list"
	@echo "             one chapter: make fix CHAPTERS=book/attention.ipynb"
	@echo "make lab     open the chapters in JupyterLab"
	@echo "make clean   remove what was built, and .venv"

$(READY): requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

book: $(READY)
	$(BIN)/python tools/build.py

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -q --nbval --nbval-current-env -m "not slow"

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/notebooks.py run $(CHAPTERS)
	$(BIN)/python tools/readme.py

lab: $(READY)
	$(BIN)/jupyter lab book

clean:
	rm -rf _build .venv .pytest_cache .ruff_cache .hypothesis src/*.egg-info build
