"""Where the numbers of a page lead: nearest cells, several, none, sources and links, on small notebooks."""

import doors
import pytest
import tracing
from cells import code, displayed, markdown, printed

PUBLISHED = {
    "512": "Section 3, the length of a row",
    "24": "Section 3, the layers of BERT-large",
    "16": "a side of patches",
    "0.6": "Section 6: length penalty",
}


@pytest.fixture
def page(write, monkeypatch):
    """Writes cells as a notebook, each time to one place, of which nothing is remembered."""
    monkeypatch.setattr(tracing, "OTHERS", {"devlin2019": PUBLISHED, "vaswani2017": {"640": "a width in tokens"}})

    def written(*cells):
        for read in (tracing.sections, tracing.known, doors.evidence, doors.doors):
            read.cache_clear()
        return write(*(cell | {} for cell in cells))

    return written


def prints(text, **metadata):
    return code("f()", printed(text), **metadata)


def solution(source, *outputs, **metadata):
    return code(source, *outputs, tags=["hide-cell"], **metadata)


def marked(source, **doors):
    cell = markdown(source)
    return cell | {"metadata": cell["metadata"] | {"doors": doors}}


def exercise(text, n=1):
    return markdown(*["## Exercises", ""] * (n == 1), f"**{n}. Do** ★ {text}")


A, B, C, MORE = markdown("## A"), markdown("## B"), markdown("### C"), markdown("text")
LOSS, SAYS_LOSS = prints("the loss is 0.4711"), markdown("The loss is 0.47.")
HEADS, FAR = markdown("## A", "Take 64 heads."), [MORE] * 3
FIGURE = {"mystnb": {"figure": {"caption": "A loss of 0.25."}}}
SAYS_300, HAS_300 = (
    markdown("## A", "It takes 300 steps."),
    [code("steps = 300"), code("assert steps == 300"), prints("300 steps")],
)
ROW_OF_640 = ["## A", "", "| who | says |", "|:--|:--|"]
LOSSES = [prints("loss 0.25"), code("a = 300\nassert b == 300"), prints("loss 0.25")]
SAYS_LOSSES = "## A\nAfter 300 steps it is 0.25, and with the other start 0.25 again."
SECTION_A, SECTION_B = ("section", ("page", "a")), ("section", ("page", "b"))

LEADS = {
    # cells that print it, assert it, or have it in their code
    "to the nearest cell before it": ([A, LOSS, LOSS, SAYS_LOSS, LOSS, LOSS], [("0.47", "printed", "cell-2")]),
    "or to the first after it": ([A, SAYS_LOSS, code("x = 1"), LOSS], [("0.47", "printed", "cell-3")]),
    "to what is printed": ([SAYS_300, *HAS_300], [("300", "printed", "cell-3")]),
    "before what is asserted": ([SAYS_300, *HAS_300[:2]], [("300", "asserted", "cell-2")]),
    "before what is in code": ([SAYS_300, HAS_300[0]], [("300", "in code", "cell-1")]),
    "nowhere, if it is untraced": ([markdown("## A", "It is 0.25."), prints("0.26")], []),
    "to the cells of its own small heading": (
        [A, prints("width 512 there"), markdown("### B", "", "At width 512 it falls."), code("x"), prints("width 512")],
        [("512", "printed", "cell-4")],
    ),
    "behind a colon, to the next cell": (
        [A, prints("loss 200"), markdown("The loss of 200 rows:"), code("n = 200")],
        [("200", "in code", "cell-3")],
    ),
    "unless a line speaks more of it": (
        [A, prints("loss of rows: 200"), markdown("The loss of 200 rows:"), code("n = 200")],
        [("200", "printed", "cell-1")],
    ),
    # what is found by chance
    "to a line that has its word": (
        [HEADS, prints("15 48 64 185"), code("assert heads == 64"), code("x")],
        [("64", "asserted", "cell-2")],
    ),
    "to the section, if only a far cell has it, without its word": (
        [HEADS, *FAR, prints("15 48 64 185")],
        [("64", *SECTION_A)],
    ),
    "to no exponent": (
        [markdown("## A", "Take 16 heads."), code("assert heads == 2**16"), code("heads = 16")],
        [("16", "in code", "cell-2")],
    ),
    "to no line of many numbers": (
        [markdown("## A", "It takes 20 bytes."), prints(" ".join(map(str, range(13, 33)))), code("assert n == 20")],
        [("20", "asserted", "cell-2")],
    ),
    "to no 50, if it is a fiftieth": (
        [
            markdown("## A", "Every fiftieth gradient is pulled."),
            code("pulled(every=50)"),
            prints("one gradient to another: 50.0"),
        ],
        [("fiftieth", "in code", "cell-1")],
    ),
    # a text that looks back on the page
    "of several cells of a page, to none": (
        [markdown("## A", "The loss is 0.47."), LOSS, B, LOSS, markdown("## Summary", "0.47")],
        [("0.47", "printed", "cell-1"), ("0.47", *SECTION_A)],
    ),
    "if it is exact, to the nearest": (
        [A, prints("rate 0.00069877"), B, prints("rate 0.00069877"), markdown("## Summary", "It is 0.00069877.")],
        [("0.00069877", "printed", "cell-3")],
    ),
    "to the one cell of the page": ([A, LOSS, markdown("## Summary", "It was 0.47.")], [("0.47", "printed", "cell-1")]),
    "where its paragraph leads to": (
        [A, LOSS, B, LOSS, markdown("## Summary", "[There](#b) 0.47.")],
        [("0.47", "printed", "cell-3")],
    ),
    "to the section with more of its sentence": (
        [A, code("n = 64"), B, code("n, m = 64, 27"), markdown("## Summary", "64 × 27")],
        [("64", *SECTION_B), ("27", "in code", "cell-3")],
    ),
    "by one common word, to no cell of several": (
        [A, code("assert heads == 64"), B, code("n = 64"), markdown("## Summary", "64 heads")],
        [("64", *SECTION_A)],
    ),
    "by one common word, to the only cell": (
        [A, code("assert heads == 64"), markdown("## Summary", "64 heads")],
        [("64", "asserted", "cell-1")],
    ),
    # links
    "where it is linked to": ([A, LOSS, markdown("## B", "It was [0.47](#a).")], [("0.47", "linked", ("page", "a"))]),
    "in a row, where its own link leads to": (
        [
            markdown("# T", "", "| [one](#a) | loss 0.47 |", "|:--|--:|", "| [two](#b) | loss 0.47 |"),
            *(A, LOSS, B, LOSS),
        ],
        [("0.47", "printed", "cell-2"), ("0.47", "printed", "cell-4")],
    ),
    # sources
    "to its source, if no cell has calculated it": (
        [markdown("## A", "A row has a length of 512 {cite:p}`devlin2019`."), code("width = 512")],
        [("512", "published", "devlin2019")],
    ),
    "to a cell that has printed it": (
        [markdown("## A", "A row has a length of 512 {cite:p}`devlin2019`."), prints("row: 512")],
        [("512", "printed", "cell-1")],
    ),
    "to code, if another sentence has the source": (
        [markdown("## A", "Theirs {cite:p}`devlin2019` is wide.", "We try 512 tokens."), code("tokens = 512")],
        [("512", "in code", "cell-1")],
    ),
    "to a source before a line that says nothing of it": (
        [markdown("## A", "A side of 16 won {cite:p}`devlin2019`."), prints("16 32")],
        [("16", "published", "devlin2019")],
    ),
    "to a line that says more": (
        [markdown("## A", "A side of 16 won {cite:p}`devlin2019`."), prints("side 16 32")],
        [("16", "printed", "cell-1")],
    ),
    "to the paper, if that is said to say it": (
        [markdown("## A", "The paper says that 0.6 was tried {cite:p}`devlin2019`."), code("alphas = [0.6]")],
        [("0.6", "published", "devlin2019")],
    ),
    "and not, if it is of the paper": (
        [markdown("## A", "Of the paper's models we try 0.6 {cite:p}`devlin2019`."), code("alphas = [0.6]")],
        [("0.6", "in code", "cell-1")],
    ),
    "in a row, to a cell": (
        [markdown(*ROW_OF_640, "| 640 wide | the paper differs |"), prints("640 wide")],
        [("640", "printed", "cell-1")],
    ),
    "in the column of the paper, to the paper": (
        [markdown(*ROW_OF_640, "| wide | the paper has 640 |"), prints("640 wide")],
        [("640", "published", "vaswani2017")],
    ),
    "to what is announced before the paper": (
        [markdown("## A", "As wide as the paper, and 640 tokens:"), code("n = 640")],
        [("640", "in code", "cell-1")],
    ),
    # exercises
    "nowhere, if an exercise gives it, and to no solution": (
        [
            exercise("A model of 64 heads."),
            solution("assert model.heads == 64"),
            exercise("A model of 64 heads.", 2),
            solution("heads = 64", printed("heads 64")),
        ],
        [("64", "given", "")] * 2,
    ),
    "to what its own exercise shows": (
        [exercise("it."), exercise("A model of 64 heads.", 2), code("assert model.heads == 64")],
        [("64", "asserted", "cell-2")],
    ),
    "to no other exercise": (
        [exercise("it."), code("assert model.heads == 64"), exercise("A model of 64 heads.", 2), solution("n = 64")],
        [("64", "given", "")],
    ),
    "in a solution, to its own cell": (
        [
            exercise("it."),
            prints("0.25", tags=["hide-cell"]),
            exercise("it.", 2),
            solution("f()", printed("0.25"), **FIGURE),
        ],
        [("0.25", "printed", "cell-3")],
    ),
    "in a solution, to no other one": (
        [
            exercise("it."),
            solution("g()"),
            exercise("it.", 2),
            solution("f()", **FIGURE),
            solution("f()", printed("0.25")),
        ],
        [("0.25", "printed", "cell-4")],
    ),
    "back to the page, if two of its words are asserted there": (
        [A, code("assert len(model.layers) == 30"), exercise("This model has 30 layers."), solution("print(30 * 2)")],
        [("30", "asserted", "cell-1")],
    ),
    "not by one word, if its exercise has it": (
        [A, code("assert model.width == 30"), exercise("This model has 30 layers."), solution("print(30 * 2)")],
        [("30", "given", "")],
    ),
    "by one word, if its exercise lacks it": (
        [A, code("assert n_answers == 14"), exercise("Sort the fourteen answers."), solution("print(n)")],
        [("fourteen", "asserted", "cell-1")],
    ),
    "to the section, if two cells have it": (
        [A, code("answers = 14"), code("answers = range(14)"), exercise("The fourteen answers."), solution("print(n)")],
        [("fourteen", *SECTION_A)],
    ),
    "to a source that an exercise names": (
        [exercise("BERT-large has 24 layers {cite:p}`devlin2019`."), solution("n_layers = 24")],
        [("24", "published", "devlin2019")],
    ),
    "nowhere, if only an exercise has it": (
        [exercise("it."), solution("n = 64"), markdown("## Summary", "64 heads")],
        [],
    ),
    # marks
    "without a mark, to what is asserted and the first loss": (
        [markdown(SAYS_LOSSES), *LOSSES],
        [("300", "asserted", "cell-2"), *[("0.25", "printed", "cell-1")] * 2],
    ),
    "with a mark, to the cell and the line that it says": (
        [marked(SAYS_LOSSES, **{"300 steps": "cell-2: a =", "0.25 again": "cell-3"}), *LOSSES],
        [("300", "in code", "cell-2"), ("0.25", "printed", "cell-1"), ("0.25", "printed", "cell-3")],
    ),
    "to a line that holds it in another form": (
        [marked("## A\nTake $10^{-9}$.", **{"1e-9": "cell-2: half("}), MORE, code("print(half(1e-9))", printed("0.5"))],
        [("1e-9", "in code", "cell-2")],
    ),
    "nowhere, if it is marked as given": (
        [marked("## A\nTake 64 heads.", **{"64": "given"}), code("assert heads == 64")],
        [("64", "given", "")],
    ),
}


@pytest.mark.parametrize("where", LEADS)
def test_a_number_leads(page, where):
    cells, found = LEADS[where]
    assert [(one.number.text.strip(), one.kind, one.place) for one in doors.doors(page(*cells))] == found


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([code("assert sum(kept) == 104"), code("assert 104 < sum(er) == 108")], "asserted"),
        ([code("assert 104 == 2 * 52"), code("n = 104")], "asserted"),
        ([prints("right translations: 104")], "printed"),
        ([prints("15 48 104 185")], "section"),
        ([code("assert a == 104"), code("assert b == 104")], "section"),
        ([code("assert a == 1040"), code("n = 104")], "section"),
    ],
)
def test_a_far_cell_is_meant_if_it_alone_asserts_the_number_or_has_it_with_a_word(page, cells, kind):
    (found,) = doors.doors(page(markdown("## A", "We got 104."), *FAR, *cells))
    assert found.kind == kind


def test_numbers_in_words_and_in_captions_are_doors_and_those_in_comments_are_not(page):
    settings = {"figure": {"caption": "A curve of 0.25."}, "image": {"alt": "It falls to 0.25."}}
    cell = code("heads = 16  # 16 of them", printed("0.25"), mystnb=settings)
    assert [
        (one.number.text, one.where, one.kind) for one in doors.doors(page(markdown("## A", "Sixteen."), cell))
    ] == [
        ("Sixteen", "sentence", "in code"),
        ("0.25", "caption", "printed"),
        ("0.25", "alt", "printed"),
    ]


def test_a_door_says_what_was_printed_in_which_sentence_and_what_is_asserted_near_it(page):
    first, second = doors.doors(
        page(
            markdown("## A", "First this. Then the loss is 0.47, *at last*.", "", "| row | 12.5 |", "|:--|--:|"),
            prints("step 1: 0.5\nstep 2: loss 0.4711\n12.5"),
            code("assert loss < 0.5"),
        )
    )
    assert (first.line, first.sentence) == ("step 2: loss 0.4711", "Then the loss is 0.47, *at last*.")
    assert first.proof == "assert loss < 0.5"
    assert second.sentence == "| row | 12.5 |"


def test_of_a_long_line_what_is_beside_the_number_is_kept(page):
    line = " ".join(["word"] * 100) + " 0.4711 " + " ".join(["word"] * 100)
    (door,) = doors.doors(page(markdown("## A", "It is 0.47."), prints(line)))
    assert "0.4711" in door.line
    assert len(door.line) <= doors.LONGEST + 2


def test_a_table_of_tags_is_read_as_its_text(page):
    cell = code("f()", displayed(text_html="<td>&minus; 0.47</td>"))
    (door,) = doors.doors(page(markdown("## A", "It is 0.47."), cell))
    assert door.line == "- 0.47"


def test_a_row_is_one_sentence_and_its_link_leads_to_the_very_heading(page):
    rows = ["| who | says | is |", "|:--|:--|:--|", "| The text: [here](x.md) | 512. Or so | [wrong](#c) |"]
    (door,) = doors.doors(page(markdown("# T", "", *rows), B, C, code("assert n == 512")))
    assert (door.kind, door.place) == ("linked", ("page", "c"))
    assert door.sentence.startswith("| The text")


def test_each_traced_number_of_the_book_has_a_door_that_leads_to_a_cell_or_a_place():
    for path in doors.pages()[:6]:
        ids = {cell["id"] for cell in tracing.cells(path)}
        quotes = [quote for quote in tracing.quotes(path) if quote.kind != "comment"]
        found = doors.doors(path)
        assert len(found) == sum(quote.traced for quote in quotes)
        assert all(one.place in ids for one in found if one.kind in doors.KINDS)


@pytest.mark.parametrize(
    ("mark", "target", "said"),
    [
        ("65", "cell-1", r"\['65'\] are marked, and no such number"),
        ("64 tails", "cell-1", r"\['64 tails'\] are marked"),
        ("4 heads", "cell-1", r"\['4 heads'\] are marked"),
        ("64", "cell-9", "'64' is marked to lead to 'cell-9', and no cell"),
        ("64", "cell-1: tails", "'64' is marked to lead to 'cell-1: tails'"),
    ],
)
def test_a_mark_that_meets_nothing_is_an_error(page, mark, target, said):
    with pytest.raises(ValueError, match=said):
        doors.doors(page(marked("## A\nTake 64 heads.", **{mark: target}), code("assert heads == 64")))
