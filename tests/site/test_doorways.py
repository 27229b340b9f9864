"""Numbers of a page that may become links: which of them, and where in its texts they are."""

import doorways
import pytest
from docutils import nodes

CITED = {"refuri": "bibliography.html#id7"}


def text(*parts):
    return nodes.paragraph("", "", *(nodes.Text(part) if isinstance(part, str) else part for part in parts))


def found(block):
    for leaf, spans in doorways.numbers(block):
        formula = isinstance(leaf, nodes.math)  # which becomes a link as a whole
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


def test_a_text_keeps_its_words_around_a_door(monkeypatch):
    block = text("It falls from 0.47 to 0.5 at once.")
    monkeypatch.setattr(doorways, "link_to", lambda *_: nodes.reference("", "", refuri="#out-a"))
    monkeypatch.setattr(doorways, "address", lambda *_: "#out-a")
    ((node, spans),) = doorways.numbers(block)

    class Door:
        def __init__(self, number):
            self.key = doorways.doors.identity(number)

    doorways.open_in(None, "page", node, spans, [Door(number) for *_, number in spans], None)
    assert block.astext() == "It falls from 0.47 to 0.5 at once."
    assert [child.astext() for child in block if isinstance(child, nodes.reference)] == ["0.47", "0.5"]


def test_a_number_without_a_door_is_a_fault_of_the_page(monkeypatch):
    warned = []
    monkeypatch.setattr(doorways.LOGGER, "warning", lambda *words: warned.append(words[0] % words[1:]))
    ((node, spans),) = doorways.numbers(text("It is 0.47."))
    doorways.open_in(None, "book/page", node, spans, [], None)
    assert warned == ["book/page: 0.47 leads nowhere: no cell and no source has it"]
