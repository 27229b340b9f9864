"""No module imports from a higher floor, and none from a later chapter."""

import ast

import guards
import pytest
from guards import BOOK, ORDER, ROOT

PACKAGE = ROOT / "src" / "tested_transformer"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
LEAVES = ("linear", "softmax")  # without a chapter of their own

# Rooms by their floors, from the ground up. Only chapters, tools and tests import `book`.
FLOORS = {
    "checks": 0, "files": 0, "params": 0, "config": 0, "device": 0, "byhand": 1, "model": 1, "exchange": 2, "text": 2,
    "data": 3, "phrasebook": 3, "training": 4, "decoding": 5, "command": 6, "__main__": 7, "book": 8,
}  # fmt: skip
LIBRARIES = {
    "byhand": {"numpy"},
    "model": {"torch"},
    "exchange": {"torch"},
    "config": set(),
    "data": {"gzip", "hashlib", "numpy", "os", "pathlib", "torch", "zlib"},
    "phrasebook": {"random"},
    "book": {"copy", "html", "importlib", "inspect", "json", "matplotlib", "numpy", "textwrap", "torch"},
}
STANDARD = {"collections", "dataclasses", "functools", "inspect", "io", "itertools", "math", "re", "typing"}


def imports(source):
    """The full names of all modules that a piece of code imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def own(source):
    """The imports from our package, as lists of names: ["byhand", "softmax"]."""
    return [name.split(".")[1:] for name in imports(source) if name.startswith("tested_transformer.")]


def chapter(name):
    return ORDER.index(name) if name in ORDER else -1


def climbs(part, source):
    """Imports of a higher floor, of the other track, or of a library that the floor does without."""
    found = []
    for name in own(source):
        if FLOORS[name[0]] > FLOORS[part] or {part, name[0]} == {"byhand", "model"}:
            found.append(".".join(name))
    if part in LIBRARIES:
        outside = {name.split(".")[0] for name in imports(source)} - {"tested_transformer", "jaxtyping"} - STANDARD
        found += sorted(outside - LIBRARIES[part])
    return found


def looks_ahead(concept, source, order):
    """Imports of concepts whose chapter comes later."""
    later = [name for name in own(source) if name[0] in ("byhand", "model") and len(name) > 1]
    return [".".join(n) for n in later if n[1] not in LEAVES and order(n[1]) > order(concept)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_nothing_from_above_or_ahead(path):
    part, source = path.relative_to(PACKAGE).parts[0].removesuffix(".py"), path.read_text(encoding="utf-8")
    assert climbs(part, source) == []
    if part in ("byhand", "model"):
        assert path.stem in (*LEAVES, *ORDER), "one concept, one word, one file: no chapter has this name"
        assert looks_ahead(path.stem, source, chapter) == []


@pytest.mark.parametrize("path", sorted(BOOK.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_chapter_uses_nothing_of_a_later_one(path):
    code = [cell["source"] for cell in guards.cells(path) if cell["cell_type"] == "code" and "%" not in cell["source"]]
    if path.stem not in ("errata", "paper"):  # they look back on all of it
        assert looks_ahead(path.stem, "\n".join(code), chapter) == []


def test_a_step_up_and_a_look_ahead_are_noticed():
    assert climbs("byhand", "import torch") == ["torch"]
    assert climbs("byhand", "from tested_transformer.model.attention import attention") == ["model.attention"]
    assert climbs("byhand", "from tested_transformer.book.show import matrix") == ["book.show"]
    assert climbs("model", "import numpy as np") == ["numpy"]
    order = ["attention", "heads"].index
    assert looks_ahead("attention", "from tested_transformer.byhand.heads import split", order) == ["byhand.heads"]
