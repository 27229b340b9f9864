"""No module imports from a higher floor, and none from a later chapter."""

import re
import subprocess
import sys
from importlib import import_module

import guards
import import_map
import pytest
from guards import BOOK, ORDER, ROOT

import tested_transformer
from tested_transformer.__main__ import COMMANDS

PACKAGE = ROOT / "src" / "tested_transformer"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent == PACKAGE)
LEAVES = ("gradient", "linear", "softmax", "training")  # without a chapter of their own name

LIBRARIES = {
    "byhand": {"numpy"},
    "model": {"torch"},
    "exchange": {"torch"},
    "config": set(),
    "data": {"gzip", "hashlib", "numbers", "numpy", "os", "pathlib", "torch", "zlib"},
    "phrasebook": {"random"},
    "book": {
        "ast",
        "contextlib",
        "copy",
        "hashlib",
        "html",
        "importlib",
        "inspect",
        "json",
        "matplotlib",
        "numpy",
        "os",
        "tempfile",
        "textwrap",
        "time",
        "torch",
    },
}
STANDARD = {"collections", "dataclasses", "functools", "inspect", "io", "itertools", "math", "re", "typing"}


def own(source):
    """The imports from our package, as lists of names: ["byhand", "softmax", "softmax"]."""
    return [name.split(".")[1:] for name in import_map.imports(source) if name.startswith("tested_transformer.")]


def chapter(name):
    return ORDER.index(name) if name in ORDER else -1


def climbs(part, source):
    """Imports of another room that is not on a lower floor, or of a library that the room does without."""
    rooms = ((name, import_map.room(f"tested_transformer.{name[0]}")) for name in own(source))
    found = [".".join(n) for n, room in rooms if room != part and import_map.FLOOR[room] >= import_map.FLOOR[part]]
    if part in LIBRARIES:
        outside = {name.partition(".")[0] for name in import_map.imports(source)}
        outside -= {"tested_transformer", "jaxtyping", *STANDARD}
        found += sorted(outside - LIBRARIES[part])
    return found


def looks_ahead(concept, source, order):
    """Imports of concepts whose chapter comes later."""
    later = [name for name in own(source) if name[0] in ("byhand", "model") and len(name) > 1]
    return [".".join(n[:2]) for n in later if n[1] not in LEAVES and order(n[1]) > order(concept)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_nothing_from_above_or_ahead(path):
    part, source = path.relative_to(PACKAGE).parts[0].removesuffix(".py"), path.read_text(encoding="utf-8")
    assert climbs(part, source) == []
    if part in ("byhand", "model"):
        assert path.stem in (*LEAVES, *ORDER), "one concept, one word, one file: no chapter has this name"
        assert looks_ahead(path.stem, source, chapter) == []


@pytest.mark.parametrize("path", sorted(BOOK.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_chapter_uses_nothing_of_a_later_one(path):
    code = [cell["source"] for cell in guards.cells(path) if cell["cell_type"] == "code"]
    code = [re.sub(r"^(\s*)%.*", r"\1pass", source, flags=re.M) for source in code]
    if path.stem not in ("errata", "paper"):  # they look back on all of it
        assert looks_ahead(path.stem, "\n".join(code), chapter) == []


def test_the_picture_of_the_rooms_is_the_one_that_the_tool_draws_of_them():
    assert import_map.PICTURE.read_text(encoding="utf-8") == import_map.picture(import_map.arrows()), "run `make fix`"
    for start, ends in import_map.arrows().items():
        assert all(import_map.FLOOR[end] < import_map.FLOOR[start] for end in ends), start


def test_a_step_up_and_a_look_ahead_are_noticed():
    assert climbs("byhand", "import torch") == ["torch"]
    assert climbs("byhand", "from tested_transformer.model.attention import attention") == ["model.attention.attention"]
    assert climbs("byhand", "from tested_transformer.book.show import matrix") == ["book.show.matrix"]
    assert climbs("text", "from tested_transformer import data") == ["data"]
    assert climbs("data", "import tested_transformer.phrasebook.words") == ["phrasebook.words"]
    assert climbs("decoding", "from tested_transformer import Transformer") == ["Transformer"]
    assert climbs("__init__", "from tested_transformer.command import train") == ["command.train"]
    assert climbs("__main__", "from tested_transformer import __version__") == []
    assert climbs("model", "import numpy as np") == ["numpy"]
    order = ["attention", "heads"].index
    assert looks_ahead("attention", "from tested_transformer.byhand.heads import split", order) == ["byhand.heads"]


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
    told = "tested_transformer 0." in run.stdout or "sentences in, a line each" in run.stdout
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
