"""The guards, held against every page of the book."""

import ast
import inspect
import pathlib
import pkgutil

import claims
import guards
import notebooks
import pytest
import tracing
import yaml
from guards import BOOK, ORDER, ROOT, public

import tested_transformer

CHAPTERS = notebooks.chapters()
PAGES = CHAPTERS + sorted(BOOK.rglob("*.md"))


def named(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.name)


@named(CHAPTERS)
def test_a_chapter_is_fully_run_and_in_normal_form(path):
    guards.nothing(notebooks.faults(path))


@named(PAGES)
@pytest.mark.parametrize(
    "guard",
    [
        guards.typed_matrices,
        guards.pictures_without_words,
        guards.interactive_without_words,
        guards.broken_links,
        guards.misled_links,
    ],
    ids=lambda guard: guard.__name__,
)
def test_a_page_keeps(path, guard):
    guards.nothing(guard(path))


@named(PAGES)
def test_every_number_in_a_sentence_is_traced(path):
    guards.nothing(tracing.untraced(path))


@named(CHAPTERS)
@pytest.mark.parametrize(
    "guard",
    [guards.source_that_is_not_real, guards.figures_without_a_claim],
    ids=lambda guard: guard.__name__,
)
def test_a_chapter_keeps(path, guard):
    guards.nothing(guard(path))


@named(CHAPTERS)
def test_what_a_cell_is_to_show_stands_at_its_end(path):
    guards.nothing(guards.shows_nothing(path))


def test_every_page_is_in_the_table_of_contents_and_the_other_way_round():
    there, listed = {path.stem for path in PAGES}, {*ORDER, "index"}
    guards.nothing(f"_toc.yml: {name} has no line" for name in there - listed)
    guards.nothing(f"_toc.yml: there is no book/{name}" for name in listed - there)


@named(CHAPTERS)
def test_a_chapter_installs_the_package_where_it_is_missing(path):
    url = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
    first = next(cell for cell in guards.cells(path) if cell["cell_type"] == "code")
    assert f'    home = "git+{url}"\n' in first["source"]
    assert '    %pip install --quiet "tested-transformer[chapters] @ {home}"' in first["source"]
    assert sum("pip install" in cell["source"] for cell in guards.cells(path) if cell["cell_type"] == "code") == 1
    assert first["metadata"]["tags"] == ["remove-cell"]


def is_shown(name, shown):
    """A function or class is shown whole, or a class by all its public methods, one by one."""
    obj = pkgutil.resolve_name(name)
    members = vars(obj).items() if inspect.isclass(obj) else ()
    methods = [
        m for m, value in members if m[0] != "_" and (isinstance(value, classmethod) or inspect.isfunction(value))
    ]
    return name in shown or (bool(methods) and all(f"{name}.{method}" in shown for method in methods))


def test_every_public_function_of_the_mathematics_is_shown_in_a_chapter():
    shown = {name for path in CHAPTERS for name, _ in guards.shown(path)}
    parts = ("byhand", "model", "config", "exchange", "text", "data", "decoding")
    wanted = [name for name in public(tested_transformer) if name.split(".")[1] in parts]
    assert [name for name in wanted if not is_shown(name, shown)] == []


def uses(tree, module=""):
    """Full names of what code uses of the package: what it has imported and reads, and of its own module what it reads.

    A function that only calls itself is not used by that.
    """
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)} if module else set()
    bound = {name: f"{module}.{name}" for name in own}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for top in tree.body:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id != getattr(top, "name", ""):
                yield bound.get(node.id, "")
            elif isinstance(node, ast.Attribute):
                first, _, rest = ast.unparse(node).partition(".")
                yield f"{bound.get(first, '')}.{rest}"


def test_every_drawing_and_helper_is_used_in_a_chapter():
    pages = (ast.Module([top for tree in claims.trees(path).values() for top in tree.body], []) for path in CHAPTERS)
    used = {name for page in pages for name in uses(page)}
    for path in (ROOT / "src").rglob("*.py"):  # what figures and helpers are made of
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        used |= set(uses(ast.parse(path.read_text(encoding="utf-8")), module))
    wanted = [name for name in public(tested_transformer) if name.split(".")[1] == "book"]
    assert [name for name in wanted if name not in used] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from a import b\nb.c.rows(x)", {"a.b", "a.b.c", "a.b.c.rows"}),
        ("from a import rows as r\nr(1)", {"a.rows"}),
        ("from a import rows", set()),
        ("x.rows()", {".rows"}),
        ("def rows():\n    rows()", set()),
        ("def rows():\n    pass\ndef other():\n    rows()", {"m.rows"}),
    ],
)
def test_a_name_is_used_where_its_own_module_is_asked_for_it(code, found):
    assert set(uses(ast.parse(code), "m")) - {""} == found


def test_every_line_of_the_source_checklist_has_its_place():
    lines = yaml.safe_load((pathlib.Path(__file__).with_name("checklist.yml")).read_text(encoding="utf-8"))
    for place in (line["place"] for line in lines):  # none is "planned" any more
        page, _, anchor = place.partition("#")
        path = next((p for p in PAGES if p.stem == page), None)
        assert path, f"{place}: there is no such page"
        assert anchor in guards.slugs(path), f"{place}: there is no such heading"
    assert len(lines) == 51
