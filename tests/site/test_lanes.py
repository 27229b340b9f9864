"""The lanes of a chapter, and what a page does with each code cell."""

import json

import lanes
import pytest

SHOW = '**`tested_transformer.book.Thing.{0}`**\n\n```python\ndef {0}(\n    x,\n):\n    """What it does."""\n{1}```\n'


def code(source, *outputs, tags=(), id="c"):
    return {"cell_type": "code", "id": id, "metadata": {"tags": list(tags)}, "source": source, "outputs": list(outputs)}


def markdown(source):
    return {"cell_type": "markdown", "id": "m", "metadata": {}, "source": source}


def shown(*functions):
    text = "\n".join(SHOW.format(name, "    x += 1\n" * lines) for name, lines in functions)
    return {"output_type": "display_data", "data": {"text/markdown": text.splitlines(keepends=True)}}


OUT = {"output_type": "execute_result", "data": {"text/plain": "1"}}
PICTURE = {"output_type": "execute_result", "data": {"image/svg+xml": "abc"}}
ERROR = {"output_type": "error", "ename": "AssertionError"}


@pytest.fixture
def chapter(tmp_path):
    def written(*cells):
        path = tmp_path / "chapter.ipynb"
        path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    ("source", "outputs", "kind"),
    [
        ("import numpy as np\n\nnp.set_printoptions(precision=4)", [], "set-up"),
        ("import numpy as np\n\nrng = np.random.default_rng(0)", [], "set-up"),
        ("x = 1 + 1", [], ""),
        ("def f(x):\n    return x", [], ""),
        ("", [], ""),
        ("assert x == 1", [], "checked"),
        ("y = x + 1\nassert y == 2", [], "checked"),
        ("for y in x:\n    assert y", [], "checked"),
        ("kept = x + 1\nassert kept == 2", [], ""),
        ("assert x == 1", [ERROR], "checked"),
        ("assert x == 1\nprint(x)", [OUT], ""),
        ("from a import f\n\nshow(f)", [OUT], "source"),
        ("show(f)\nshow(g)", [OUT], "source"),
        ("matrix('X', X)", [OUT], "call"),
        ("import torch\n\nproduct('X Y', X, Y)", [OUT], "call"),
        ("Q = X @ W\nproduct('Q', X, W)", [OUT], ""),
        ("figures.loss.curve(x)", [OUT], "call"),
        ("rows = [1, 2]\nfigures.loss.curve(rows)", [OUT], "call"),
        ("rows = [[1, 2]]\ntable('ab', rows)", [OUT], "call"),
        ("rows = [[1, 2]]\nmatrix('A', rows)", [OUT], ""),
        ("matrix('X', X)", [ERROR], ""),
        ("x", [OUT], ""),
        ("%pip install x\nassert x", [], ""),
    ],
)
def test_a_cell_is_of_a_kind(source, outputs, kind):
    assert lanes.kind(code(source, *outputs), {"kept", "x"}) == kind


@pytest.mark.parametrize(
    ("last", "kind"),
    [("## Going deeper", "sum"), ("## Aside", "call")],
)
def test_of_the_sums_that_a_section_writes_out_the_first_stays_open_and_deeper_none(chapter, last, kind):
    path = chapter(
        markdown("## First"),
        code("product('a', x, w)", OUT, id="1"),
        code("product('b', x, w)", OUT, id="2"),
        code("softmax_terms('s', x)", OUT, id="3"),
        markdown("## Next"),
        code("product('a', x, w)", OUT, id="4"),
        code("q = x @ w\nproduct('q', x, w)", OUT, id="5"),
        markdown(last),
        code("product('a', x, w)", OUT, id="6"),
    )
    assert list(lanes.kinds(path).values()) == ["call", "sum", "call", "call", "", kind]


@pytest.mark.parametrize(
    ("row", "kinds"), [("idea", ["sum", "call", "call", "sum"]), ("deeper", ["call"] * 3 + ["sum"])]
)
def test_where_the_idea_writes_out_single_rows_whole_products_wait(chapter, row, kinds):
    several = {"output_type": "execute_result", "data": {"text/plain": ["a, row by row:\n", "  row 2, column 1: 1·1"]}}
    single = OUT if row == "idea" else several
    path = chapter(
        markdown("## First"),
        code("product('Q', x, w)", several, id="1"),
        markdown("## Next"),
        code("product('q', x[:1], w)", single, id="2"),
        markdown("## Third"),
        code("softmax_terms('s', x)", OUT, id="3"),
        markdown("## Going deeper"),
        code("product('a', x[:1], w)", OUT, id="4"),
    )
    assert list(lanes.kinds(path).values()) == kinds


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ("print(y)", ""),
        ("print(other)", "checked"),
        ("y = 2\nprint(y)", "checked"),
        ("y, z = 2, 3\nprint(y)", "checked"),
        ("y = y + 1", ""),
        ("y[0] = 2", ""),
        ("for y in z:\n    print(y)", "checked"),
        ("for z in y:\n    print(z)", ""),
        ("for z in x:\n    y = z\nprint(y)", ""),
        ("for z in x:\n    y = z\n    print(y)", "checked"),
        ("def f():\n    return y", ""),
        ("from a import y\n\nprint(y)", "checked"),
        ("from a import b as y\n\nwith y(x):\n    print(y)", "checked"),
        ("print(y)\nfrom a import y", ""),
    ],
)
def test_what_a_check_makes_may_not_be_needed_later(chapter, after, kind):
    path = chapter(code("y = x + 1\nassert y == 2", id="first"), code(after, id="after"))
    assert lanes.kinds(path)["first"] == kind


@pytest.mark.parametrize(
    ("source", "outputs", "kind"),
    [
        ("x = trouble.load()\nprint(x)", [OUT], "call"),
        ("x = load()", [], "set-up"),
        ("x = np.ones(2)\nprint(x)", [OUT], ""),
        ("matrix('X', example.X)\nprint(x)", [OUT], ""),
        ("def f():\n    return trouble.load()", [], ""),
    ],
)
@pytest.mark.parametrize("last", ["## Going deeper\n\nMore.", "## Sources\n\nBooks."])
def test_code_that_reads_the_scenery_is_folded_where_an_idea_is_told(chapter, source, outputs, kind, last):
    rooms = (
        "from tested_transformer.book import example, trouble\nfrom tested_transformer.book.small.training import load"
    )
    path = chapter(code(rooms, id="set-up"), code(source, *outputs, id="it"), markdown(last))
    assert lanes.kinds(path)["it"] == (kind if "deeper" in last else "")


def test_exercises_and_cells_that_are_hidden_already_have_no_kind(chapter):
    path = chapter(
        code("assert x", id="idea"),
        code("assert x", id="hidden", tags=["hide-cell"]),
        code("x", ERROR, id="raises", tags=["raises-exception"]),
        markdown("## Exercises\n\nTry."),
        code("assert x", id="mine"),
        markdown("## Summary\n\nDone."),
        code("assert x", id="last"),
    )
    assert lanes.kinds(path) == {"idea": "checked", "last": "checked"}


def test_the_lanes_are_told_by_headings(chapter):
    path = chapter(
        markdown("# Title\n\nWords.\n\n## Idea\n\n### Detail\n\nMore."),
        code("x", id="x"),
        markdown("## Going deeper\n\nSo.\n\n### One\n\nText."),
        code("y", id="y"),
        markdown("### Two"),
        markdown("## Aside"),
        markdown("## Exercises"),
        markdown("## Summary"),
    )
    found = [(lane, section) for lane, section, _ in lanes.parts(path)]
    assert found == [
        *[("idea", "")],
        *[("idea", "Idea")] * 3,
        *[("deeper", "Going deeper"), ("deeper", "One"), ("deeper", "One"), ("deeper", "Two"), ("deeper", "Aside")],
        *[("exercises", "Exercises"), ("summary", "Summary")],
    ]


def test_shown_functions_have_their_names_and_their_lines():
    cell = code("show(a)\nshow(b)", shown(("a", 3), ("b", 5)), shown(("c", 1)))
    assert lanes.shown(cell) == {"Thing.a": 3, "Thing.b": 5, "Thing.c": 1}
    assert lanes.lines_of(cell) == 5
    assert lanes.lines_of(code("x", OUT)) == 0


@pytest.mark.parametrize(
    ("lines", "lane", "tags", "opened"),
    [
        (12, "idea", [], True),
        (13, "idea", [], False),
        (12, "deeper", [], False),
        (12, "idea", ["hide-output"], False),
    ],
)
def test_short_source_is_open_in_the_idea_lane(lines, lane, tags, opened):
    assert lanes.is_open(code("show(a)", shown(("a", lines)), tags=tags), "source", lane) == opened


def test_of_other_kinds_only_code_to_be_read_is_open():
    assert [lanes.is_open(code("x"), kind, "idea") for kind in ("", "call", "checked", "set-up")] == [True] + [
        False
    ] * 3


def test_an_error_is_a_failure_unless_it_is_meant():
    assert lanes.failed(code("x", OUT, ERROR))
    assert not lanes.failed(code("x", OUT))
    assert not lanes.failed(code("x", ERROR, tags=["raises-exception"]))


def test_a_product_is_told_by_its_call():
    assert lanes.multiplies(code("q = x @ w\nproduct('q', x, w)", OUT))
    assert not lanes.multiplies(code("matrix('product', x)", OUT))


def test_time_is_words_and_open_lines_and_what_is_looked_at(chapter):
    path = chapter(
        markdown("word " * 100 + "and $x = 1$."),
        code("x = 1\ny = 2", id="read"),
        code("matrix('x', x)", OUT, id="seen"),
        code("figures.loss.curve(x)", PICTURE, id="picture"),
        code("assert x", id="checked"),
        code("show(a)", shown(("a", 4)), id="short"),
        code("show(b)", shown(("b", 13)), id="long"),
        code("x", OUT, id="gone", tags=["hide-cell"]),
    )
    wanted = 102 * 60 / 200 + 2 * 2 + 10 + 20 + 4 * 2
    assert lanes.seconds(lanes.parts(path), lanes.kinds(path)) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("One two, don't.", 3),
        ("Before:\n\n$$\nx = y z\n$$ (name)\n\nthree words after", 4),
        ("$$\na\n$$\n\nbetween\n\n$$\nb\n$$\n\nand after", 3),
        ("A formula $x + y$ is one.", 5),
        ("Code `f(x)` is none, nor {term}`this`.", 4),
        ("A [link](page.ipynb#some-place) has its words.", 5),
        (":::{note}\nInside it.\n:::\n\nAfter it.", 4),
    ],
)
def test_words_are_counted_before_and_after_what_is_none(text, number):
    assert lanes.words(text) == number
