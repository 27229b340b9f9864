"""The numbers of the first page are counted, and counted right."""

import json
import types

import front
from docutils import nodes


def written(tmp_path, *cells):
    path = tmp_path / "small.ipynb"
    made = [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]
    path.write_text(json.dumps({"cells": made}), encoding="utf-8")
    return tmp_path / "small"


def test_a_chapter_is_read_with_its_title_question_cells_and_assertions(tmp_path):
    name = written(
        tmp_path,
        ("markdown", "# Sums\n\n*Does it add up?*"),
        ("code", "%pip install nothing\nassert 1 + 1 == 2"),
        ("code", "for x in range(3):\n    assert x < 3\n    assert x >= 0  # assert nothing here\n'assert'"),
    )
    assert front.chapter(name) == ("Sums", "Does it add up?", 2, 3)


def test_a_page_without_cells_has_nothing_to_count(tmp_path):
    path = tmp_path / "words.md"
    path.write_text("# Words\n\nA list.\n", encoding="utf-8")
    assert front.chapter(tmp_path / "words") == ("Words", "", 0, 0)


def test_tests_and_properties_are_counted(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "test_a.py").write_text(
        "def test_x(): pass\n\n@given(n=integers())\ndef test_y(n): pass\n\ndef helper(): pass\n"
    )
    (tmp_path / "deeper" / "test_b.py").write_text(
        "class Test:\n    @hypothesis.given(1)\n    def test_z(self): pass\n"
    )
    (tmp_path / "helpers.py").write_text("def test_nothing(): pass\n")
    assert front.tests(tmp_path.rglob("test_*.py")) == (3, 2)


def test_lines_are_counted_without_empty_ones(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n\n   \ny = 2\n")
    (tmp_path / "b.txt").write_text("no\n")
    assert front.lines(tmp_path) == 2


def test_every_page_of_the_book_can_be_counted():
    found = {name: front.chapter(name) for names in front.parts().values() for name in names}
    assert sum(c.cells for c in found.values()) > 1000
    teaching = {name for caption, names in front.parts().items() if caption != "Reference" for name in names}
    assert all(found[name].question for name in teaching)


def test_a_chapter_has_the_tests_of_the_file_with_its_name():
    functions, drawn = front.beside("book/attention")
    assert functions > drawn > 0
    assert front.beside("book/no_such_chapter") == (0, 0)


def test_the_badge_counts_what_is_checked_on_a_page():
    builder = types.SimpleNamespace(format="html", get_relative_uri=lambda page, other: "index.html")
    page = nodes.section("", nodes.paragraph("", "Does it add up?"))
    front.show_badge(types.SimpleNamespace(builder=builder), page, "book/attention")
    found, (functions, _) = front.chapter("book/attention"), front.beside("book/attention")
    said = f"Checked: {found.cells} cells, {found.asserts} assertions, {functions} tests"
    assert page[1].astext().endswith(said)
