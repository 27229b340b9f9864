# Two commands are the project: `make book` and `make test`. Each sets up .venv first, if needed.
PYTHON ?= python3
BIN := .venv/bin
CHAPTERS ?=
ROWS ?=
SINCE ?=
SLOW ?=
FOLDERS ?=
# Around the commands of a target, whose clock starts when all is set up:
BEGIN = $(eval BEGAN_$@ := $(shell date +%s))
END = @s=$$(($$(date +%s) - $(BEGAN_$@))); echo "make $@ took $$((s / 60)) min $$((s % 60)) s, set-up apart"

# Images of containers often forbid Python to keep what it compiled. Then each process compiles all libraries anew:
# half a minute for each that runs tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup book test report slow torture browser pdf zip bench mutants fix lab matrix links clean
help:
	@echo "make book    build the book; prints where index.html is"
	@echo "make test    everything that CI checks: ruff, mypy, pytest, and every cell of every chapter (nbval)"
	@echo "             with the slow tests: make test SLOW=yes"
	@echo "make report  what an editor wants to know and no test forbids: form, lengths, words, letters"
	@echo "             what is asserted no more: make report SINCE=COMMIT"
	@echo "make setup   only set up .venv, which the others do first where it is not ready"
	@echo "make slow    the tests that take long, or need real sentence pairs (TESTED_TRANSFORMER_DATA)"
	@echo "make torture kill a run 1000 times, while it writes and at other moments (eight minutes)"
	@echo "make zip     pack the built book, to be read without a network"
	@echo "make pdf     print the built book into one PDF, with Chromium or Chrome"
	@echo "make browser test the interactive figures of the built book in Chromium or Chrome, if there is one"
	@echo "make bench   measure training and decoding beside others; writes benchmarks/results (20 minutes)"
	@echo "make mutants change the code in 6500 places, one at a time: does a test notice? (hours)"
	@echo "             one folder: make mutants FOLDERS=byhand"
	@echo "make fix     format, and re-run chapters from a clean kernel"
	@echo "             one chapter: make fix CHAPTERS=book/attention.ipynb"
	@echo "make matrix  compare all outputs under other threads, hash seeds and instruction sets (half an hour)"
	@echo "make links   try every link that leads out of the book (needs a network)"
	@echo "make lab     open the chapters in JupyterLab"
	@echo "make clean   remove what was built, and .venv"

# The Python of .venv says in a moment whether it is ready; another one makes it so.
setup:
	@$(BIN)/python -I -S tools/environment.py --ready 2>/dev/null || $(PYTHON) tools/environment.py || \
	{ [ $$? != 127 ] || echo "Install Python 3.11 or newer, or name the one that you have: make test PYTHON=python3.12"; \
	exit 1; } >&2

book: setup
	$(BEGIN)
	$(BIN)/python tools/build.py
	$(END)

test: setup
	$(BEGIN)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q --nbval --nbval-current-env $(if $(SLOW),-rs -m "not nightly",-m "not slow") -n 2 --dist loadfile
	$(END)

slow: setup
	$(BIN)/python -m pytest -q -rs -m slow -n 2 tests

torture: setup
	KILLS=1000 $(BIN)/python -m pytest -q -s -m slow -o faulthandler_timeout=0 tests/library/test_kill.py

browser: setup
	$(BIN)/python tools/browser.py

zip: book
	$(BIN)/python -c 'import shutil; print(shutil.make_archive("_build/the-tested-transformer", "zip", "_build", "html"))'

pdf: book
	$(BIN)/python tools/pdf.py

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/peers -r benchmarks/requirements.txt
	PYTHONPATH=build/peers $(BIN)/python benchmarks/training.py
	PYTHONPATH=build/peers $(BIN)/python benchmarks/decoding.py
	PYTHONPATH=build/peers $(BIN)/python benchmarks/language.py
	$(BIN)/python benchmarks/changes.py

mutants: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/mutmut -r tools/mutants.txt
	PYTHONHASHSEED=0 OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/build/mutmut $(BIN)/python tools/mutants.py $(FOLDERS)

fix: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/notebooks.py run $(CHAPTERS)

report: setup
	@$(BIN)/python tests/report.py $(CHAPTERS) $(if $(SINCE),--since $(SINCE))

matrix: setup
	$(BIN)/python tools/matrix.py $(if $(ROWS),--rows "$(ROWS)") $(CHAPTERS)

links: setup
	$(BIN)/jupyter-book build --builder linkcheck .

lab: setup
	$(BIN)/jupyter lab book

clean:
	rm -rf _build .venv .pytest_cache .hypothesis .mypy_cache build src/*.egg-info .ruff_cache book/.ruff_cache src/.ruff_cache
