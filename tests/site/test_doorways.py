"""Numbers of a page that may become links: which of them, and where in its texts they are."""

import json
from types import SimpleNamespace

import doorways
import pytest
from docutils import nodes

CITED = {"refuri": "bibliography.html#id7"}


def text(*parts):
    return nodes.paragraph("", "", *(nodes.Text(part) if isinstance(part, str) else part for part in parts))


def found(block, free=True):
    for leaf, may_be, spans in doorways.numbers(block):
        formula = isinstance(leaf, nodes.math | nodes.math_block)  # which becomes a link as a whole
        if may_be == free:
            yield [number.text if formula else leaf.astext()[begin:end] for begin, end, number in spans]


@pytest.mark.parametrize(
    ("block", "numbers"),
    [
        (text("It falls from 0.47 to −0.50 in 300 steps of 12."), [["0.47", "−0.50", "300"]]),
        (text("about 6.3 million, 47 %, sixteen"), [["6.3 million", "47 %", "sixteen"]]),
        (text("1 234.50 and 1e-5"), [["1 234.50", "1e-5"]]),
        (text("it is ", nodes.strong("", "0.47"), " or 0.48"), [["0.47"], ["0.48"]]),
        (text("it is ", nodes.math("", "x = 0.47 \\cdot 10^{-5}"), " here"), [["0.47e-5"]]),
        (text("see ", nodes.reference("", "the 0.47", refuri="a.html#b"), " there"), []),
        (text("run ", nodes.literal("", "f(0.47)"), " there"), []),
        (text("of ", nodes.reference("", "Devlin et al., 2019", **CITED), " it is 0.47"), [["0.47"]]),
        (text(nodes.strong("", "1. Predict"), " (15 minutes). It is 0.47."), [["0.47"]]),
        (text("in 2017, Section 3.2, Table 3, NumPy 2.10"), []),
    ],
)
def test_numbers_are_found_in_texts_and_formulas_but_not_in_links_code_and_citations(block, numbers):
    assert list(found(block)) == numbers


class Door:
    """A door of which only the number matters."""

    def __init__(self, number, sentence="A sentence."):
        self.key, self.number, self.sentence, self.kind = doorways.doors.identity(number), number, sentence, "printed"


@pytest.fixture
def warned(monkeypatch):
    """What the builder warns of."""
    said = []
    monkeypatch.setattr(doorways.LOGGER, "warning", lambda *words: said.append(words[0] % words[1:]))
    return said


def test_numbers_in_links_and_formulas_that_stand_alone_are_found_too():
    link = nodes.reference("", "the 0.47", refuri="a.html#b")
    assert list(found(text("see ", link, " of 0.48"), free=False)) == [["0.47"]]
    assert list(found(nodes.math_block("", "x = 0.47 + 16"))) == [["0.47", "16"]]


def test_a_text_keeps_its_words_around_a_door(monkeypatch):
    block = text("It falls from 0.47 to 0.5 at once.")
    monkeypatch.setattr(doorways, "link_to", lambda *_: nodes.reference("", "", refuri="#out-a"))
    ((node, _, spans),) = doorways.numbers(block)
    doorways.open_in(None, "page", node, [(begin, end, Door(number)) for begin, end, number in spans], None)
    assert block.astext() == "It falls from 0.47 to 0.5 at once."
    assert [child.astext() for child in block if isinstance(child, nodes.reference)] == ["0.47", "0.5"]


def test_a_formula_that_stands_alone_has_one_door(monkeypatch):
    block = nodes.math_block("", "x = 0.47 + 0.5")
    monkeypatch.setattr(doorways, "link_to", lambda *_: nodes.reference("", "", refuri="#out-a", classes=["door"]))
    monkeypatch.setattr(doorways, "address", lambda *_: "#out-a")
    ((node, _, spans),) = doorways.numbers(block)
    doorways.open_in(None, "page", node, [(begin, end, Door(number)) for begin, end, number in spans], None)
    assert block["door"]["refuri"] == "#out-a"


def test_a_number_is_met_once_and_in_order(warned):
    ((_, _, spans),) = doorways.numbers(text("0.47 or 0.47"))
    waiting = [Door(number, sentence) for sentence, (*_, number) in zip("ab", spans, strict=True)]
    assert [door.sentence for *_, door in doorways.meet("page", spans, waiting)] == ["a", "b"]
    assert (waiting, warned) == ([], [])


def test_a_number_without_a_door_is_a_fault_of_the_page(warned):
    ((_, _, spans),) = doorways.numbers(text("It is 0.47."))
    assert doorways.meet("book/page", spans, []) == []
    assert warned == ["book/page: 0.47 leads nowhere: no cell and no source has it"]


def test_headings_and_choices_have_no_doors():
    item, other = (nodes.list_item("", text("0.47")) for _ in range(2))
    nodes.section(
        "", text("Before you look: which?"), nodes.bullet_list("", item), text("x"), nodes.bullet_list("", other)
    )
    assert doorways.standing(nodes.title("", "0.47")) == "heading"
    assert [doorways.standing(each[0]) for each in (item, other)] == ["choice", "door"]


def test_what_an_exercise_gives_is_met_but_gets_no_link(monkeypatch, tmp_path):
    block = text("Take 64 heads of width 0.47.")
    block.line = 10000
    number, other = (number for *_, number in next(iter(doorways.numbers(block)))[2])
    of = "a", "sentence", "Exercises", "a", "Take 64 heads of width 0.47."
    given = doorways.doors.Door(number, *of, "given", "")
    held = doorways.doors.Door(other, *of, "printed", "cell-1")
    document = nodes.section("", block)
    cells = [{"id": "a", "cell_type": "markdown", "metadata": {}, "source": block.astext()}]
    monkeypatch.setattr(doorways, "notebook", lambda *_: "page")
    monkeypatch.setattr(doorways.lanes, "cells", lambda _: cells)
    monkeypatch.setattr(doorways.doors, "doors", lambda _: [given, held])
    monkeypatch.setattr(doorways, "SHOWN", {})
    app = SimpleNamespace(builder=SimpleNamespace(format="html"))
    doorways.open_doors(app, document, "book/page")
    assert doorways.SHOWN["book/page"] == [(given, "given"), (held, "door")]
    assert [link.astext() for link in document.findall(nodes.reference)] == ["0.47"]


def test_each_traced_number_is_counted_once_or_the_build_fails(warned, monkeypatch, tmp_path):
    (number,) = (number for *_, number in doorways.numbers(text("It is 0.47."))[0][2])
    door = doorways.doors.Door(number, "a", "sentence", "A", "a", "It is 0.47.", "printed", "cell-1")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    app.config = SimpleNamespace(html_baseurl="https://example.org/")
    monkeypatch.setattr(doorways.doors, "pages", lambda: ["page"])
    monkeypatch.setattr(doorways.doors, "doors", lambda path: [door, door])
    for shown, said in ([(door, "door"), (door, "heading")], []), ([(door, "door")], ["2 numbers were traced"]):
        monkeypatch.setattr(doorways, "SHOWN", {"book/page": shown})
        doorways.write_claims(app, None)
        assert [words[: len(part)] for words, part in zip(warned, said, strict=True)] == said
    (written,) = json.loads((tmp_path / doorways.FILE).read_text(encoding="utf-8"))
    assert (written["shown as"], written["cell"], written["url"]) == (
        "door",
        "cell-1",
        "https://example.org/book/page.html#a",
    )
