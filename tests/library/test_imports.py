"""No module imports from a higher floor, none from a later chapter, and nothing is loaded before it is needed."""

import re
import subprocess
import sys
from importlib import import_module

import guards
import pytest
from guards import BOOK, ORDER, ROOT
from importlinter.cli import lint_imports

import tested_transformer
from tested_transformer.__main__ import COMMANDS

PACKAGE = ROOT / "src" / "tested_transformer"
LEAVES = ("gradient", "linear", "softmax", "training")  # without a chapter of their own name
SHOWN_IN = {
    "parts": "encoder",
    "llama": "today",
    "lowrank": "answering",
    "preference": "answering",
    "marian": "reuse",
}  # what these have in others' chapters


def test_no_part_of_the_package_imports_one_on_its_floor_or_above(capsys):
    """pyproject.toml has the floors. A step up anywhere: the report names the import and its line."""
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True) == 0, capsys.readouterr().out


def looks_ahead(concept, source, order=ORDER):
    """Imports of concepts whose chapter comes later."""
    place = {name: number for number, name in enumerate(order)}
    place |= {part: place[chapter] for part, chapter in SHOWN_IN.items() if chapter in place}
    concepts = re.findall(r"^\s*(?:from|import) tested_transformer\.(?:byhand|model)\.(\w+)", source, re.M)
    return [c for c in concepts if c not in LEAVES and place.get(c, -1) > place.get(concept, -1)]


@pytest.mark.parametrize("path", [p for room in ("byhand", "model") for p in sorted((PACKAGE / room).glob("[!_]*.py"))])
def test_a_concept_has_the_name_of_its_chapter_and_imports_none_of_a_later_one(path):
    assert path.stem in (*LEAVES, *SHOWN_IN, *ORDER), "one concept, one word, one file: no chapter has this name"
    assert looks_ahead(path.stem, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted(BOOK.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_chapter_uses_nothing_of_a_later_one(path):
    code = [cell["source"] for cell in guards.cells(path) if cell["cell_type"] == "code"]
    if path.stem not in ("errata", "paper"):  # they look back on all of it
        assert looks_ahead(path.stem, "\n".join(code)) == []


def test_a_look_ahead_is_noticed():
    ahead = "from tested_transformer.byhand.heads import split\nfrom tested_transformer.byhand.softmax import softmax"
    assert looks_ahead("attention", ahead, ["attention", "heads"]) == ["heads"]


def test_the_package_itself_is_loaded_without_its_rooms_and_a_name_with_the_rooms_it_needs():
    code = "import sys, tested_transformer as package\n"
    code += "def loaded(): print(*(m for m in sys.modules if m in ('torch', 'numpy') or m.startswith('tested_')))\n"
    code += "loaded(); package.BASE; loaded(); package.Transformer; loaded()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    bare, sizes, model = map(str.split, run.stdout.splitlines())
    assert bare == ["tested_transformer"]
    assert {"torch", "numpy"}.isdisjoint(sizes)
    assert "tested_transformer.config" in sizes
    assert {"torch", "tested_transformer.model.transformer"} <= set(model)
    assert "tested_transformer.training" not in model


def test_a_translator_is_loaded_and_translates_without_pytorchs_compiler():
    """To load that takes longer than to load the translator and to translate."""
    code = """import sys
from tested_transformer.decoding.translator import Translator
print(*Translator.load().translate(["I love AI."]), {"sympy", "torch._dynamo"} & set(sys.modules))"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "Ich liebe KI. set()\n"


@pytest.mark.parametrize("words", [["--version"], ["--help"], [], ["none"]], ids=" ".join)
def test_what_needs_no_command_is_told_without_loading_one(words):
    code = "import sys; from tested_transformer.__main__ import main\n"
    code += "try: main(sys.argv[1:])\nfinally: print({'torch', 'numpy'} & set(sys.modules), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == "set()"
    told = "tested_transformer 0." in run.stdout or "translate sentences, one per line" in run.stdout
    assert (run.returncode, told) == ((0, True) if words and words[0].startswith("-") else (2, False))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_summed_up_as_its_module_says(name):
    module = import_module(f"tested_transformer.command.{name}")
    assert module.__doc__ == f"The command `{name}`: {COMMANDS[name]}."


INTERRUPTED = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts us behind it has it ignored

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)  # once
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from tested_transformer.__main__ import main
sys.exit(main(["translate"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.parametrize("module", ["numpy", "numpy._core.numeric", "numpy.linalg", "torch", "torch._C"])
def test_ctrl_c_ends_a_command_that_is_still_loading_its_libraries(module):
    """PyTorch imports NumPy, too, and takes whatever happens meanwhile for a NumPy that is not there."""
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module],
        input="I see.\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "interrupted\n")


def test_a_name_that_the_package_lacks_is_a_plain_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'tested_transformer' has no attribute 'Transfomer'$"):
        _ = tested_transformer.Transfomer
    with pytest.raises(ImportError, match="cannot import name 'Transfomer'"):
        exec("from tested_transformer import Transfomer")
    assert set(tested_transformer.__all__) <= set(dir(tested_transformer))
