# Two commands are the project: `make book` and `make test`. Each sets up .venv first, if needed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
CHAPTERS ?=
FOLDERS ?=

.PHONY: help book test slow torture browser pdf zip bench mutants fix lab matrix clean
help:
	@echo "make book    build the book; prints where index.html is"
	@echo "make test    everything that CI checks: ruff, pytest, and every cell of every chapter (nbval)"
	@echo "make slow    the tests that take long, or need real sentence pairs (TESTED_TRANSFORMER_DATA)"
	@echo "make torture kill a run 1000 times, while it writes and at other moments (twenty minutes)"
	@echo "make zip     pack the built book, to be read without a network"
	@echo "make pdf     print the built book into one PDF, with Chromium or Chrome"
	@echo "make browser test the interactive figures of the built book in Chromium or Chrome, if there is one"
	@echo "make bench   measure training and decoding beside others; writes benchmarks/results (20 minutes)"
	@echo "make mutants change the code in 6500 places, one at a time: does a test notice? (hours)"
	@echo "             one folder: make mutants FOLDERS=byhand"
	@echo "make fix     format, re-run chapters from a clean kernel, update the README's list"
	@echo "             one chapter: make fix CHAPTERS=book/attention.ipynb"
	@echo "make matrix  compare all outputs under other threads, hash seeds and instruction sets (half an hour)"
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
	$(BIN)/python -m pytest -q --nbval --nbval-current-env -m "not slow" -n 2 --dist loadfile

slow: $(READY)
	$(BIN)/python -m pytest -q -rs -m slow tests

torture: $(READY)
	KILLS=1000 $(BIN)/python -m pytest -q -s -m slow tests/library/test_kill.py

browser: $(READY)
	$(BIN)/python tools/browser.py

zip: book
	$(BIN)/python -c 'import shutil; print(shutil.make_archive("_build/the-tested-transformer", "zip", "_build", "html"))'

pdf: book
	$(BIN)/python tools/pdf.py

bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/peers -r benchmarks/requirements.txt
	PYTHONPATH=build/peers $(BIN)/python benchmarks/training.py
	PYTHONPATH=build/peers $(BIN)/python benchmarks/decoding.py

mutants: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/mutmut -r tools/mutants.txt
	PYTHONHASHSEED=0 OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/build/mutmut $(BIN)/python tools/mutants.py $(FOLDERS)

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/notebooks.py run $(CHAPTERS)
	$(BIN)/python tools/address.py
	$(BIN)/python tools/readme.py
	$(BIN)/python tools/import_map.py

matrix: $(READY)
	$(BIN)/python tools/matrix.py $(CHAPTERS)

lab: $(READY)
	$(BIN)/jupyter lab book

clean:
	rm -rf _build .venv .pytest_cache .hypothesis build src/*.egg-info .ruff_cache book/.ruff_cache src/.ruff_cache
