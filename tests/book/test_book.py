"""The guards, held against every page of the book."""

import inspect
import pathlib
import pkgutil
import re

import form
import guards
import notebooks
import pytest
import routes
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
    assert notebooks.faults(path) == []


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
    assert guard(path) == []


@named(PAGES)
def test_every_number_in_a_sentence_is_traced(path):
    assert list(tracing.untraced(path)) == []


@named(CHAPTERS)
@pytest.mark.parametrize(
    "guard",
    [guards.source_that_is_not_real, guards.figures_without_a_claim, guards.too_wide, guards.hard_to_read],
    ids=lambda guard: guard.__name__,
)
def test_a_chapter_keeps(path, guard):
    assert guard(path) == []


@named(CHAPTERS)
def test_what_a_cell_is_to_show_stands_at_its_end(path):
    assert list(guards.shows_nothing(path)) == []


@named([path for path in CHAPTERS if path.stem not in ("errata", "index")])
def test_a_chapter_ends_with_exercises_of_all_kinds(path):
    assert list(guards.exercises_that_lack(path)) == []


STORY = [path for path in CHAPTERS if routes.route(path.stem) == "story"]


@pytest.mark.parametrize(
    "guard",
    [
        form.over_budget,
        form.late_picture,
        form.unnamed,
        form.early_terms,
        form.letters_without_a_meaning,
        form.house_words,
        form.open_claims,
    ],
    ids=lambda guard: guard.__name__,
)
def test_a_page_of_the_story_keeps(guard):
    assert [fault for path in STORY for fault in guard(path)] == []


@pytest.mark.parametrize("guard", [form.out_of_form, form.unheld_guess], ids=lambda guard: guard.__name__)
def test_a_chapter_of_the_story_keeps(guard):
    assert [fault for path in STORY if path.stem != form.FRONT for fault in guard(path)] == []


def test_a_letter_means_one_thing_in_a_chapter():
    assert list(form.letters_with_two_meanings(BOOK / "notation.ipynb")) == []


@named([ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
def test_what_stands_around_the_book_has_the_words_of_the_field(path):
    assert list(form.house_words(path)) == []


def test_every_page_is_in_the_table_of_contents_and_the_other_way_round():
    assert sorted(path.stem for path in PAGES) == sorted([*ORDER, "index"])


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


def test_a_class_is_shown_whole_or_by_all_its_public_methods():
    name = "tested_transformer.text.tokens.WordPiece"
    methods = {f"{name}.{method}" for method in ("train", "encode", "decode", "to_json", "save", "load")}
    assert is_shown(name, {name})
    assert is_shown(name, methods)
    assert not is_shown(name, methods - {f"{name}.load"})
    assert not is_shown("tested_transformer.text.tokens.pad", methods)


def test_every_drawing_and_helper_is_used_in_a_chapter():
    code = "\n".join(cell["source"] for path in CHAPTERS for cell in guards.cells(path) if cell["cell_type"] == "code")
    wanted = [n for n in public(tested_transformer) if n.split(".")[1] == "book"]
    room = ROOT / "src" / "tested_transformer" / "book"
    for path in [room / "walk.py", *(room / "draw").glob("*.py")]:  # what figures are made of
        code += re.sub(r"^ *(def|class) \w+", "", path.read_text(encoding="utf-8"), flags=re.M)
    helpers = {
        "Shown",
        "Report",
        "Printed",
        "Frame",
        "Answer",
        "Around",
        "Blamed",
        "Course",
        "Corpus",
        "Learned",
        "Phrases",
        "Link",
        "Marked",
        "Fed",
        "Followed",
        "Reel",
        "Run",
        "Stage",
        "Stop",
        "Take",
        "Uses",
        "alone",
        "styled",
        "writer",
    }  # what others are or return, and the decorator of figures
    assert [
        name
        for name in wanted
        if (last := name.rpartition(".")[2]) not in helpers and not re.search(rf"\b{last}\(|\.{last}\b", code)
    ] == []


def test_every_line_of_the_source_checklist_has_its_place():
    lines = yaml.safe_load((pathlib.Path(__file__).with_name("checklist.yml")).read_text(encoding="utf-8"))
    for place in (line["place"] for line in lines):  # none is "planned" any more
        page, _, anchor = place.partition("#")
        path = next((p for p in PAGES if p.stem == page), None)
        assert path, f"{place}: there is no such page"
        assert anchor in guards.slugs(path), f"{place}: there is no such heading"
    assert len(lines) == 51
