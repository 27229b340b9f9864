"""What folds on a built page, how, and what stays open. Small pages are built as the book's are."""

import json

import fold
import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx

SOURCE = '**`tested_transformer.book.show.{0}`**\n\n```python\ndef {0}():\n    """What it does."""\n{1}```'
SHORT = SOURCE.format("short", "    return 1\n")
LONG = SOURCE.format("long", "    x = 1\n" * 13)
PRINTED = {"output_type": "stream", "name": "stdout", "text": ["printed\n"]}
ERROR = {"output_type": "error", "ename": "AssertionError", "evalue": "", "traceback": ["it failed"]}


def shown(text, kind="text/plain"):
    return {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {kind: text}}


def code(source, *outputs, tags=()):
    made = {"cell_type": "code", "execution_count": 1, "metadata": {"tags": list(tags)} if tags else {}}
    return made | {"source": source, "outputs": list(outputs)}


PRODUCT = code('product("a", a, b)', shown("a = x y, row by row: each sum"))
CLAIM = code("assert one == 1")
CLAIMS = code("two = one + one\nassert two == 2\nassert two != 1")
SET_UP = code("import numpy as np")
BADGE = "# A page\n\n{.badge-line}\nChecked.\n\n"

PAGES = {
    "idea": [
        BADGE + "A claim.",
        CLAIM,
        "Two claims, and an import.",
        SET_UP,
        CLAIMS,
        "- a list",
        CLAIM,
        "## Calls\n\nA matrix:",
        code("matrix(a)", shown("a matrix")),
        code("a = 1\nmatrix(a)", shown("seen with its code")),
        PRODUCT,
        "Source:",
        code("from x import short\n\nshow(short)", shown(SHORT, "text/markdown")),
        code("show(long)", shown(LONG, "text/markdown")),
        CLAIM,
        code("show(short)", shown(SHORT, "text/markdown"), tags=["hide-output"]),
        "## Exercises\n\nTry it.",
        code("assert mine == 1"),
        code("assert solved == 1", tags=["hide-cell"]),
    ],
    "deep": [
        BADGE,
        "## The idea",
        PRODUCT,
        PRODUCT,
        "## Going deeper\n\nMore of it.\n\n### First *of all*\n\n" + "word " * 400,
        PRODUCT,
        code("c = a @ b\nproduct('c', a, b)", shown("c = a b, row by row: each sum")),
        code("show(short)", shown(SHORT, "text/markdown")),
        CLAIMS,
        "### Second\n\nNothing to check.\n\n$$\nx = 1\n$$ (one)\n\n#### Within\n\nIt.",
        "## Exercises",
        "## Summary",
    ],
    "one": [BADGE, SET_UP, "## Going deeper\n\n### Only\n\nAll products fold.", PRODUCT, PRODUCT],
    "failing": [
        BADGE + "A claim.",
        code("assert one == 2\nassert one == 1", ERROR),
        code("matrix(a)", ERROR, shown("1")),
    ],
    "nothing": [BADGE + "Words."],
    "together": [
        "# A page\n\nSix claims.",
        *(CLAIM, CLAIMS, SET_UP, dict(SET_UP), CLAIM, code("assert 1 == 2", ERROR), CLAIM),
    ],
    "sources": [
        "# A page\n\n## Going deeper\n\n### Some source\n\nShort and long, a claim, then short.",
        code("show(short)", shown(SHORT, "text/markdown")),
        code("show(long)", shown(LONG, "text/markdown")),
        CLAIM,
        code("show(short)", shown(SHORT, "text/markdown")),
    ],
    "open": [
        "# A page\n\nLong and short, short and long.",
        code("show(long)", shown(LONG, "text/markdown")),
        code("show(short)", shown(SHORT, "text/markdown")),
        code("show(short)", shown(SHORT, "text/markdown")),
        code("show(long)", shown(LONG, "text/markdown")),
        "## Going deeper\n\nMore.",
    ],
    "guess": [
        BADGE + "**Before you look:** which is larger?",
        code("matrix(a)", shown("a sight")),
        CLAIM,
        "The first.\n\nMore words.",
        "Guess first, once more.",
        CLAIM,
        code("matrix(b)", shown("another sight")),
        "## Another section",
    ],
}


def written(folder, pages):
    for name, cells in pages.items():
        made = [{"cell_type": "markdown", "metadata": {}, "source": c} if isinstance(c, str) else c for c in cells]
        made = [cell | {"id": f"cell-{n}"} for n, cell in enumerate(made)]
        head = {"metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
        (folder / f"{name}.ipynb").write_text(json.dumps(head | {"cells": made}), encoding="utf-8")


def built(folder, pages):
    written(folder, pages)
    (folder / "conf.py").write_text(
        'extensions = ["myst_nb", "folds"]\nnb_execution_mode = "off"\nroot_doc = "idea"\nexclude_patterns = ["out"]\n'
        'myst_enable_extensions = ["attrs_block", "dollarmath"]\nnb_render_markdown_format = "myst"\n',
        encoding="utf-8",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        (folder / "folds.py").write_text("from fold import add_folds as setup\n", encoding="utf-8")
        Sphinx(folder, folder, folder / "out", folder / "out" / "trees", "html", status=None, warning=None).build()
    return {name: BeautifulSoup((folder / "out" / f"{name}.html").read_text("utf-8"), "lxml") for name in pages}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return built(tmp_path_factory.mktemp("book"), PAGES)


def marks(part):
    return [mark.text.strip() for mark in part.select("details.mark > summary")]


def test_a_claim_becomes_a_mark_at_the_end_of_the_paragraph_before(pages):
    box = pages["idea"].select_one(".claimed")
    assert [child.name for child in box.find_all(recursive=False)] == ["p", "details"]
    assert box.p.text == "A claim."
    assert marks(box) == ["✓ checked: 1 claim"]
    assert "assert one == 1" in box.details.text
    assert not box.details.has_attr("open")


def test_marks_that_follow_one_another_stand_on_one_line(pages):
    assert marks(pages["idea"].select(".claimed")[1]) == ["set-up", "✓ checked: 2 claims"]
    assert marks(pages["idea"].select(".marks")[1]) == [
        "source: long (13 lines)",
        "✓ checked: 1 claim",
        "source: short (1 line)",
    ]


def test_claims_and_set_up_that_follow_one_another_are_one_mark_unless_one_failed(pages):
    box = pages["together"].select_one(".claimed")
    said = ["✓ checked: 3 claims", "set-up", "✓ checked: 1 claim", "✗ failed: 1 claim", "✓ checked: 1 claim"]
    assert marks(box) == said
    assert [len(fold.select(".cell")) for fold in box.select("details")] == [2, 2, 1, 1, 1]


def test_a_mark_after_anything_but_a_paragraph_stands_on_a_line_of_its_own(pages):
    own = pages["idea"].select_one(".marks")
    assert own.find_previous_sibling().name == "ul"
    assert marks(own) == ["✓ checked: 1 claim"]
    assert not pages["one"].select(".claimed"), "the badge is no sentence"


def test_a_call_folds_and_what_it_shows_stays(pages):
    cell = pages["idea"].select_one(".cell.call")
    assert marks(cell) == ["code"]
    assert cell.details.find_next_sibling().text.strip() == "a matrix"


def test_code_that_is_to_be_read_stays_open(pages):
    cell = pages["idea"].find(string=lambda text: "seen with its code" in text).find_parent(class_="cell")
    assert not cell.find_all("details")
    assert not cell.find_parent("details")


def test_short_source_stays_open_and_its_call_folds(pages):
    cell = pages["idea"].select_one(".cell.source")
    assert marks(cell) == ["code"]
    assert "def short" not in cell.details.text
    assert "def short" in cell.text


def test_long_source_folds_with_its_call_and_so_does_what_its_author_folded(pages):
    for name in ("long", "short"):
        mark = next(d for d in pages["idea"].select(".marks > details") if f"source: {name}" in d.summary.text)
        assert f"show({name})" in mark.text
        assert f"def {name}" in mark.text
        assert not mark.find_all("details"), "one click is enough"


def test_exercises_and_solutions_are_as_they_were(pages):
    exercises = pages["idea"].select_one("#exercises")
    assert marks(exercises) == []
    assert [cell.find_parent("details") for cell in exercises.select(".cell")] == [None, None]
    assert "solved" in exercises.select_one("details.hide").text


def test_sums_written_out_fold_if_the_section_has_had_one_or_goes_deeper(pages):
    assert not [mark for mark in marks(pages["idea"]) if "every term" in mark]
    assert marks(pages["deep"].select_one("#the-idea")) == ["code", "every term of a"]
    assert marks(pages["one"].select_one("details.deeper")) == ["every term of a", "every term of a"]
    first, written_out = pages["deep"].select("details.deeper details.sum")
    assert "each sum" in first.text
    assert 'product("a", a, b)' in first.text
    assert written_out.find_previous_sibling().text.strip() == "c = a @ b\nproduct('c', a, b)", "its code stays open"
    assert "every term of c" in written_out.text


def test_what_answers_a_guess_waits_for_a_click_up_to_the_next_paragraph(pages):
    first, second = pages["guess"].select("details.answer")
    assert [fold.find("summary").text for fold in (first, second)] == ["look at the answer"] * 2
    assert "a sight" in first.text
    assert first.select_one(".claimed, .marks").text
    assert "The first." in first.text
    assert "More words." not in first.text
    assert "which is larger?" in first.find_previous("p").text
    assert "another sight" in second.text
    assert "Another section" not in second.text
    assert not any(fold.has_attr("open") for fold in (first, second))
    assert not pages["idea"].select("details.answer")


def test_deeper_sections_fold_with_their_headings_and_what_they_cost(pages):
    first, second = pages["deep"].select("details.deeper")
    assert [first.summary.h3.em.text, second.summary.h3.contents[0]] == ["of all", "Second"]
    assert [fold.summary.small.text for fold in (first, second)] == ["2 min · 2 claims", "1 min"]
    assert second.h4.contents[0] == "Within"
    assert [fold.has_attr("open") for fold in (first, second)] == [False, False]
    assert not pages["deep"].select("#the-idea details.deeper")


def test_places_in_a_deeper_section_lie_in_its_fold_and_not_in_its_summary(pages):
    for place in ("first-of-all", "second", "equation-one", "within"):
        found = pages["deep"].find(id=place)
        assert found.find_parent("details"), place
        assert not found.find_parent("summary"), place
    assert pages["deep"].select_one("summary a.headerlink")["href"] == "#first-of-all"


def test_source_after_source_has_one_mark(pages):
    assert marks(pages["sources"]) == ["source: short, long (14 lines)", "✓ checked: 1 claim", "source: short (1 line)"]
    first = pages["sources"].select_one("details.source")
    assert [f"def {name}" in first.text for name in ("short", "long")] == [True, True]


def test_a_source_that_stands_open_is_not_joined_with_the_mark_behind_it(pages):
    folded = "source: long (13 lines)"
    assert marks(pages["open"]) == [folded, "code", "code", folded]


def test_in_the_deeper_lane_all_source_folds(pages):
    assert "source: short (1 line)" in marks(pages["deep"].select_one("details.deeper"))


def test_one_switch_for_all_stands_below_the_badge_where_there_is_something_to_open(pages):
    for name in ("idea", "deep", "one"):
        (switch,) = pages[name].select("p.unfold")
        assert "badge-line" in switch.find_previous_sibling()["class"]
        assert switch.label.input["type"] == "checkbox"
    assert not pages["nothing"].select("p.unfold")


def test_a_cell_that_failed_says_so_in_words_and_stands_open(pages):
    failed, call = pages["failing"].select("details.failed")
    assert marks(pages["failing"]) == ["✗ failed: 2 claims", "✗ failed: code"]
    assert failed.has_attr("open")
    assert "it failed" in failed.text
    assert call.has_attr("open")
    assert not pages["idea"].select("details.failed")


def test_nothing_is_lost(pages):
    for name, cells in PAGES.items():
        text = pages[name].select_one('[role="main"]').text
        for cell in (cell for cell in cells if not isinstance(cell, str)):
            assert cell["source"].strip() in text


def test_a_section_of_the_second_level_does_not_go_deeper(tmp_path):
    cells = ["# A page\n\n## Going deeper\n\n### One", "## Two\n\nWords."]
    with pytest.raises(Exception, match=r"idea.ipynb: below Going deeper stand One, Two; .* third level"):
        built(tmp_path, {"idea": cells})


@pytest.mark.parametrize(("number", "said"), [(0, "0 claims"), (1, "1 claim"), (2, "2 claims")])
def test_things_are_counted_in_words(number, said):
    assert fold.counted(number, "claim") == said
