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
        BADGE + "**Before you look:** which is larger?\n\n- the *first* [one](#one) <!-- right -->\n- the second",
        code("matrix(a)", shown("a sight")),
        CLAIM,
        "The first.\n\nMore words.",
        "Guess first, once more.\n\n- yes\n- no <!-- right -->\n- neither",
        CLAIM,
        code("matrix(b)", shown("another sight")),
        "## Another section",
    ],
}
UNANSWERABLE = ["", "\n\nWords.", "\n\n- yes\n- no", "\n\n- yes <!-- right -->\n- no <!-- right -->"]


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


def behind(box):
    """The sources behind the one mark of a block."""
    (mark,) = box.select(":scope > details.behind")
    return [pre.text.strip() for pre in mark.select("pre")]


def test_a_claim_becomes_a_mark_at_the_end_of_the_paragraph_before(pages):
    box = pages["idea"].select_one(".claimed")
    assert [child.name for child in box.find_all(recursive=False)] == ["p", "details"]
    assert box.p.text == "A claim."
    assert marks(box) == ["✓ code"]
    assert box.summary["title"] == "1 claim checked"
    assert "assert one == 1" in box.details.text
    assert not box.details.has_attr("open")


def test_all_the_code_behind_a_block_has_one_mark(pages):
    box = pages["idea"].select_one(".claimed:has(> .call)")
    assert marks(box) == ["code"]
    assert behind(box) == ["matrix(a)"]
    assert "a matrix" in box.select_one(".call .cell_output").text
    deep = pages["deep"].select_one("details.deeper .claimed:has(> .cell)")
    assert marks(deep) == ["✓ code", "source: short (1 line)"]
    assert deep.summary["title"] == "2 claims checked; every term"
    assert behind(deep) == ["c = a b, row by row: each sum", CLAIMS["source"]]


def test_long_source_is_named_beside_the_mark(pages):
    found = [marks(box) for box in pages["idea"].select(".claimed") if box.select(":scope > details.source")]
    assert found == [["✓ code", "source: long, short (14 lines)"]]


def test_what_sets_up_belongs_to_the_next_cell_that_shows_something(pages):
    (mark,) = pages["idea"].select("details:-soup-contains('import numpy')")
    assert mark.summary.text == "✓ code"
    assert [pre.text.strip() for pre in mark.select("pre")] == ["import numpy as np", CLAIMS["source"]]
    (alone,) = pages["one"].select(".marks")
    assert marks(alone) == ["set-up"], "nothing follows in its section"


def test_claims_that_follow_one_another_are_one_mark_that_says_if_one_has_failed(pages):
    (box,) = pages["together"].select(".claimed")
    assert marks(box) == ["✗ failed: code"]
    assert box.summary["title"] == "6 claims checked"
    assert len(box.select("details > .cell")) == 7
    assert box.details.has_attr("open")


def test_a_mark_follows_whatever_block_it_serves_but_no_title(pages):
    assert marks(pages["idea"].select_one(".claimed:has(> ul)")) == ["✓ code"]
    assert not pages["one"].select(".claimed > h1, .claimed > .badge-line")


def test_a_mark_in_details_that_a_chapter_opens_itself_does_not_close_them(tmp_path):
    page = built(
        tmp_path, {"idea": ["# A page\n\n<details><summary>More</summary>", CLAIM, "Words.\n\n</details>", "End."]}
    )
    details = page["idea"].select_one("details")
    assert marks(details) == ["✓ code"]
    assert details.find(string="Words.")
    assert not details.find(string="End.")


def test_code_that_is_to_be_read_stays_open(pages):
    cell = pages["idea"].find(string=lambda text: "seen with its code" in text).find_parent(class_="cell")
    assert not cell.find_all("details")
    assert not cell.find_parent("details")


def test_short_source_stays_open_and_its_call_folds(pages):
    box = pages["idea"].select_one(".claimed:has(> .cell.source)")
    assert "def short" in box.select_one(".cell.source").text
    assert "def short" not in box.select_one("details.behind").text


def test_long_source_folds_with_its_call_and_so_does_what_its_author_folded(pages):
    (mark,) = pages["idea"].select("details.source")
    for name in ("long", "short"):
        assert f"show({name})" in mark.text
        assert f"def {name}" in mark.text
    assert not mark.find_all("details"), "one click is enough"


def test_exercises_and_solutions_are_as_they_were(pages):
    exercises = pages["idea"].select_one("#exercises")
    assert marks(exercises) == []
    assert [cell.find_parent("details") for cell in exercises.select(".cell")] == [None, None]
    assert "solved" in exercises.select_one("details.hide").text


def test_sums_written_out_fold_if_the_section_has_had_one_or_goes_deeper(pages):
    assert not pages["idea"].select('summary[title*="every term"]')
    first = pages["deep"].select_one("#the-idea .claimed")
    assert "each sum" in first.select_one(".call").text
    assert behind(first) == ['product("a", a, b)'] * 2 + ["a = x y, row by row: each sum"]
    assert marks(pages["one"].select_one("details.deeper")) == ["terms"]
    written_out = pages["deep"].select_one("details.deeper .claimed:has(> .cell)")
    assert written_out.select_one(".cell").text.strip() == "c = a @ b\nproduct('c', a, b)", "its code stays open"


def test_a_question_to_guess_has_its_choices_and_the_rest_of_its_section_waits(pages):
    first, second = pages["guess"].select(".guess")
    assert [[button.text.strip() for button in guess.select("button")] for guess in (first, second)] == [
        ["the first one", "the second"],
        ["yes", "no", "neither"],
    ]
    assert [b.text.strip() for b in pages["guess"].select("button[data-right]")] == ["the first one", "no"]
    assert first.em
    assert not first.a, "what is pressed as a whole has no link"
    assert "right" not in first.text
    assert "which is larger?" in first.find_previous("p").text
    assert not pages["guess"].select('[role="main"] li')
    answer, again = first.find_next_sibling("details"), second.find_next_sibling("details")
    assert [fold.summary.text for fold in (answer, again)] == ["Show me"] * 2
    for said in ("a sight", "assert one == 1", "The first.", "More words.", "another sight"):
        assert said in answer.text
    assert "another sight" in again.text
    assert "Another section" not in answer.text
    assert not answer.has_attr("open")
    assert not pages["idea"].select(".guess, details.answer")


@pytest.mark.parametrize("after", UNANSWERABLE)
def test_a_question_without_one_right_choice_is_a_fault_of_the_page(tmp_path, after):
    with pytest.raises(Exception, match=r"idea.ipynb: 'Guess first: which\?' needs a list of choices"):
        built(tmp_path, {"idea": [f"# A page\n\nGuess first: which?{after}"]})


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


def test_sources_of_a_block_have_one_fold(pages):
    assert marks(pages["sources"]) == ["✓ code", "source: short, long (14 lines)"]
    assert [f"def {name}" in pages["sources"].select_one("details.source").text for name in ("short", "long")] == [
        True
    ] * 2


def test_a_source_that_stands_open_is_not_joined_with_the_fold_behind_it(pages):
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
    assert marks(pages["failing"]) == ["✗ failed: code"] * 2
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
