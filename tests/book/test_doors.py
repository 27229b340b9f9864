"""Where the numbers of a page lead: nearest cells, several, none, sources and links, on small notebooks."""

import doors
import pytest
import tracing
from cells import code, displayed, markdown, printed


@pytest.fixture(autouse=True)
def afresh():
    """A test writes several notebooks to one place."""

    def forget():
        for read in (tracing.sections, tracing.known, doors.evidence, doors.doors):
            read.cache_clear()

    forget()
    return forget


def led(path):
    return [(one.number.text.strip(), one.kind, one.place) for one in doors.doors(path)]


def test_a_number_leads_to_the_cell_that_printed_it_the_nearest_before_its_sentence(write):
    outputs = [code("f()", printed("the loss is 0.4711")) for _ in range(4)]
    page = write(markdown("## A", "text"), *outputs[:2], markdown("The loss is 0.47."), *outputs[2:])
    assert led(page) == [("0.47", "printed", "cell-2")]


def test_where_none_is_before_it_the_first_one_after_it_is_meant(write):
    page = write(markdown("## A", "The loss is 0.47."), code("x = 1"), *[code("f()", printed("0.4711"))] * 1)
    assert led(page) == [("0.47", "printed", "cell-2")]


def test_what_is_printed_goes_before_an_assertion_and_an_assertion_before_code(write, afresh):
    cells = [code("steps = 300"), code("assert steps == 300"), code("f()", printed("300 steps"))]
    for n in (3, 2, 1):
        page = write(markdown("## A", "It takes 300 steps."), *cells[:n])
        afresh()
        assert led(page) == [("300", doors.KINDS[3 - n], f"cell-{n}")]


def test_a_small_number_found_by_chance_is_not_meant_where_another_line_has_its_word(write):
    page = write(
        markdown("## A", "Take 64 heads."), code("f()", printed("15 48 64 185")), code("assert heads == 64"), code("x")
    )
    assert led(page) == [("64", "asserted", "cell-2")]


def test_a_small_number_that_only_a_far_cell_has_without_its_word_leads_to_the_section(write):
    far = [markdown("a"), markdown("b"), markdown("c")]
    page = write(markdown("## A", "Take 64 heads."), *far, code("f()", printed("15 48 64 185")))
    assert led(page) == [("64", "section", ("page", "a"))]


def test_of_several_cells_of_a_page_none_is_guessed_where_the_text_looks_back(write):
    cell = code("f()", printed("the loss is 0.4711"))
    page = write(
        markdown("## A", "The loss is 0.47."), cell, markdown("## B"), cell | {}, markdown("## Summary", "0.47")
    )
    assert led(page) == [("0.47", "printed", "cell-1"), ("0.47", "section", ("page", "a"))]


def test_of_an_exact_number_the_nearest_cell_is_meant_where_the_text_looks_back(write):
    cell = code("f()", printed("the rate is 0.00069877"))
    page = write(markdown("## A"), cell, markdown("## B"), cell | {}, markdown("## Summary", "It is 0.00069877."))
    assert led(page) == [("0.00069877", "printed", "cell-3")]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([code("assert sum(kept) == 104"), code("assert 104 < sum(er) == 108")], "asserted"),
        ([code("assert 104 == 2 * 52"), code("n = 104")], "asserted"),
        ([code("f()", printed("right translations: 104"))], "printed"),
        ([code("f()", printed("15 48 104 185"))], "section"),
        ([code("assert a == 104"), code("assert b == 104")], "section"),
        ([code("assert a == 1040"), code("n = 104")], "section"),
    ],
)
def test_a_far_cell_is_meant_if_it_alone_asserts_the_number_or_has_it_with_a_word(write, cells, kind):
    page = write(markdown("## A", "We got 104."), markdown("a"), markdown("b"), markdown("c"), *cells)
    ((_, found, _),) = led(page)
    assert found == kind


def test_where_one_cell_of_the_page_has_it_a_summary_leads_to_it(write):
    page = write(markdown("## A"), code("f()", printed("0.4711")), markdown("## Summary", "It was 0.47."))
    assert led(page) == [("0.47", "printed", "cell-1")]


def test_a_summary_follows_its_own_link(write):
    cell = code("f()", printed("the loss is 0.4711"))
    page = write(markdown("## A"), cell, markdown("## B"), cell | {}, markdown("## Summary", "[There](#b) 0.47."))
    assert led(page) == [("0.47", "printed", "cell-3")]


def test_a_published_figure_leads_to_its_source_where_no_cell_has_calculated_it(write, afresh, monkeypatch):
    monkeypatch.setattr(tracing, "OTHERS", {"devlin2019": {"512": "Section 3, the length of a row"}})
    page = write(markdown("## A", "A row has a length of 512 {cite:p}`devlin2019`."), code("width = 512"))
    assert led(page) == [("512", "published", "devlin2019")]
    afresh()
    page = write(markdown("## A", "A row has a length of 512 {cite:p}`devlin2019`."), code("f()", printed("row: 512")))
    assert led(page) == [("512", "printed", "cell-1")]
    afresh()
    page = write(
        markdown("## A", "Their model {cite:p}`devlin2019` is wide.", "We try 512 tokens."), code("tokens = 512")
    )
    assert led(page) == [("512", "in code", "cell-1")]


def test_a_number_of_a_linked_section_leads_there(write):
    cells = [markdown("## A", "text"), code("f()", printed("0.4711")), markdown("## B", "It was [0.47](#a).")]
    assert led(write(*cells)) == [("0.47", "linked", ("page", "a"))]


def test_numbers_in_words_and_in_captions_are_doors_and_those_in_comments_are_not(write):
    settings = {"figure": {"caption": "A curve of 0.25."}, "image": {"alt": "It falls to 0.25."}}
    page = write(markdown("## A", "Sixteen heads."), code("heads = 16  # 16 of them", printed("0.25"), mystnb=settings))
    assert [(one.number.text, one.where, one.kind) for one in doors.doors(page)] == [
        ("Sixteen", "sentence", "in code"),
        ("0.25", "caption", "printed"),
        ("0.25", "alt", "printed"),
    ]


def test_an_untraced_number_has_no_door(write):
    assert led(write(markdown("## A", "It is 0.25."), code("f()", printed("0.26")))) == []


def test_a_door_says_what_was_printed_in_which_sentence_and_what_is_asserted_near_it(write):
    page = write(
        markdown("## A", "First this. Then the loss is 0.47, *at last*.", "", "| row | 12.5 |", "|:--|--:|"),
        code("f()", printed("step 1: 0.5\nstep 2: loss 0.4711\n12.5")),
        code("assert loss < 0.5"),
    )
    first, second = doors.doors(page)
    assert (first.line, first.sentence) == ("step 2: loss 0.4711", "Then the loss is 0.47, *at last*.")
    assert first.proof == "assert loss < 0.5"
    assert second.sentence == "| row | 12.5 |"


def test_of_a_long_line_what_is_beside_the_number_is_kept(write):
    line = " ".join(["word"] * 100) + " 0.4711 " + " ".join(["word"] * 100)
    (door,) = doors.doors(write(markdown("## A", "It is 0.47."), code("f()", printed(line))))
    assert "0.4711" in door.line
    assert len(door.line) <= doors.LONGEST + 2


def test_a_table_of_tags_is_read_as_its_text(write):
    (door,) = doors.doors(
        write(markdown("## A", "It is 0.47."), code("f()", displayed(text_html="<td>&minus; 0.47</td>")))
    )
    assert door.line == "- 0.47"


def test_each_traced_number_of_the_book_has_a_door_that_leads_to_a_cell_or_a_place():
    for path in doors.pages()[:6]:
        ids = {cell["id"] for cell in tracing.cells(path)}
        quotes = [quote for quote in tracing.quotes(path) if quote.kind != "comment"]
        found = doors.doors(path)
        assert len(found) == sum(quote.traced for quote in quotes)
        assert all(one.place in ids for one in found if one.kind in doors.KINDS)


def test_an_exponent_is_not_the_number_of_a_sentence(write):
    page = write(markdown("## A", "Take 16 heads."), code("assert heads == 2**16"), code("heads = 16"))
    assert led(page) == [("16", "in code", "cell-2")]


def test_a_line_of_many_numbers_is_not_meant_where_another_one_has_it(write):
    dump = printed("bytes " + " ".join(str(n) for n in range(13, 33)))
    page = write(markdown("## A", "It takes 20 bytes."), code("f()", dump), code("assert n_bytes == 20"))
    assert led(page) == [("20", "asserted", "cell-2")]


def solution(source, *outputs, **metadata):
    return code(source, *outputs, tags=["hide-cell"], **metadata)


def test_what_an_exercise_gives_leads_nowhere_and_no_solution_is_given_away(write):
    asks, again = (
        markdown(*rest, f"**{n}. Do** A model of 64 heads.") for n, rest in ((1, ("## Exercises", "")), (2, ()))
    )
    page = write(asks, solution("assert model.heads == 64"), again, solution("heads = 64", printed("heads 64")))
    assert led(page) == [("64", "given", ""), ("64", "given", "")]


def test_what_an_exercise_shows_is_for_its_own_text(write, afresh):
    asks, again = markdown("## Exercises", "", "**1. Do** it."), markdown("**2. Do** A model of 64 heads.")
    shown = code("assert model.heads == 64")
    assert led(write(asks, again, shown)) == [("64", "asserted", "cell-2")]
    afresh()
    assert led(write(asks, shown, again, solution("n = 64"))) == [("64", "given", "")]


def test_a_number_in_a_solution_leads_to_its_own_cell_and_never_to_another_solution(write):
    asks, asks_again = markdown("## Exercises", "", "**1. Do** it."), markdown("**2. Do** it.")
    figure = {"figure": {"caption": "A loss of 0.25."}}
    one, two = (solution("f()", printed("loss 0.25"), **metadata) for metadata in ({}, {"mystnb": figure}))
    assert led(write(asks, one, asks_again, two)) == [("0.25", "printed", "cell-3")]
    page = write(asks, solution("g()"), asks_again, two | {"outputs": []}, one, name="other.ipynb")
    assert led(page) == [("0.25", "printed", "cell-4")]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (code("assert len(model.layers) == 30"), "asserted"),
        (code("assert model.width == 30"), "given"),
        (code("layers = 30"), "given"),
    ],
)
def test_an_exercise_leads_back_to_the_page_where_two_words_of_it_are_asserted_there(write, cell, kind):
    asks = markdown("## Exercises", "", "**1. Count** ★ This model has 30 layers.")
    page = write(markdown("## A"), cell, asks, solution("print(30 * 2)"))
    assert [found for _, found, _ in led(page)] == [kind]


def test_what_the_cells_of_an_exercise_lack_it_has_from_the_page(write, afresh):
    asks = markdown("## Exercises", "", "**1. Sort** ★ Sort the fourteen answers.")
    cells = [markdown("## A"), code("assert n_answers == 14"), asks, solution("print(n)")]
    assert led(write(*cells)) == [("fourteen", "asserted", "cell-1")]
    afresh()
    cells[1:2] = code("answers = 14"), code("answers = range(14)")
    assert led(write(*cells)) == [("fourteen", "section", ("page", "a"))]


def test_an_exercise_that_names_a_source_leads_to_it(write, monkeypatch):
    monkeypatch.setattr(tracing, "OTHERS", {"devlin2019": {"24": "Section 3, the layers of BERT-large"}})
    asks = markdown("## Exercises", "", "**1. Count** ★ BERT-large has 24 layers {cite:p}`devlin2019`.")
    assert led(write(asks, solution("n_layers = 24"))) == [("24", "published", "devlin2019")]


def test_what_only_an_exercise_has_proves_nothing_outside_of_it(write):
    page = write(markdown("## Exercises", "", "**1. Do** it."), solution("n = 64"), markdown("## Summary", "64 heads"))
    assert list(tracing.untraced(page)) != []
    assert led(page) == []


def test_below_a_smaller_heading_its_own_cells_go_first(write):
    near, far = code("f()", printed("width 512 here")), code("f()", printed("width 512 there"))
    page = write(markdown("## A"), far, markdown("### B", "", "At width 512 it falls."), code("x"), near)
    assert led(page) == [("512", "printed", "cell-4")]


def test_a_sentence_that_ends_with_a_colon_means_the_next_cell_unless_a_line_speaks_more_of_it(write, afresh):
    cells = [markdown("## A"), code("f()", printed("loss 200")), markdown("The loss of 200 rows:"), code("n = 200")]
    assert led(write(*cells)) == [("200", "in code", "cell-3")]
    afresh()
    cells[1] = code("f()", printed("loss of rows: 200"))
    assert led(write(*cells)) == [("200", "printed", "cell-1")]


def test_every_fiftieth_is_not_fifty_times_as_large(write):
    ratio = code("f()", printed("one gradient to another: 50.0"))
    page = write(markdown("## A", "Every fiftieth gradient is pulled."), code("pulled(every=50)"), ratio)
    assert led(page) == [("fiftieth", "in code", "cell-1")]


def test_a_row_is_one_sentence_and_its_link_leads_to_the_very_heading(write):
    rows = ["| who | says | is |", "|:--|:--|:--|", "| The text: [here](x.md) | 512. Or so | [wrong](#c) |"]
    page = write(markdown("# T", "", *rows), markdown("## B"), markdown("### C"), code("assert n == 512"))
    (door,) = doors.doors(page)
    assert (door.kind, door.place) == ("linked", ("page", "c"))
    assert door.sentence.startswith("| The text")


def test_a_source_that_a_sentence_cites_goes_before_a_printed_line_that_says_nothing_of_it(write, afresh, monkeypatch):
    monkeypatch.setattr(tracing, "OTHERS", {"devlin2019": {"16": "a side of patches"}})
    text = markdown("## A", "A side of 16 won {cite:p}`devlin2019`.")
    assert led(write(text, code("f()", printed("16 32")))) == [("16", "published", "devlin2019")]
    afresh()
    assert led(write(text, code("f()", printed("side 16 32")))) == [("16", "printed", "cell-1")]


def test_in_a_row_the_paper_is_meant_only_in_its_own_column(write, afresh, monkeypatch):
    monkeypatch.setattr(tracing, "OTHERS", {"vaswani2017": {"640": "a width"}})
    head = ["| who | says |", "|:--|:--|"]
    for row, kind in (("| 640 wide | the paper differs |", "printed"), ("| wide | the paper has 640 |", "published")):
        afresh()
        assert led(write(markdown("## A", "", *head, row), code("f()", printed("640 wide"))))[0][1] == kind


def test_what_is_announced_goes_before_a_paper_that_is_named(write, monkeypatch):
    monkeypatch.setattr(tracing, "OTHERS", {"vaswani2017": {"640": "tokens"}})
    page = write(markdown("## A", "As wide as the paper, and 640 tokens:"), code("n = 640"))
    assert led(page) == [("640", "in code", "cell-1")]


def test_of_several_sections_the_one_with_more_of_the_sentence_is_meant(write):
    cells = markdown("## A"), code("n = 64"), markdown("## B"), code("n, m = 64, 27"), markdown("## Summary", "64 × 27")
    assert led(write(*cells))[0] == ("64", "section", ("page", "b"))


def test_the_row_of_a_table_follows_its_own_link(write):
    rows = ["| [one](#a) | the loss is 0.47 |", "|:--|:--|", "| [two](#b) | the loss is 0.47 |"]
    cell = code("f()", printed("the loss is 0.4711"))
    page = write(markdown("# T", "", *rows), markdown("## A"), cell, markdown("## B"), cell | {})
    assert [place for *_, place in led(page)] == ["cell-2", "cell-4"]


def test_one_common_word_tells_no_cell_from_others_where_a_text_looks_back(write):
    page = write(
        markdown("## A"),
        code("assert heads == 64"),
        markdown("## B"),
        code("n = 64"),
        markdown("## Summary", "64 heads"),
    )
    assert led(page) == [("64", "section", ("page", "a"))]
    page = write(markdown("## A"), code("assert heads == 64"), markdown("## Summary", "64 heads"), name="other.ipynb")
    assert led(page) == [("64", "asserted", "cell-1")]


def test_what_the_paper_says_leads_to_the_paper_whatever_the_page_has_calculated(write, afresh, monkeypatch):
    monkeypatch.setattr(tracing, "OTHERS", {"devlin2019": {"0.6": "Section 6: length penalty"}})
    cells = [markdown("## A", "The paper says that 0.6 was tried {cite:p}`devlin2019`."), code("alphas = [0.6]")]
    assert led(write(*cells)) == [("0.6", "published", "devlin2019")]
    afresh()
    cells[0] = markdown("## A", "Of the paper's models we try 0.6 {cite:p}`devlin2019`.")
    assert led(write(*cells)) == [("0.6", "in code", "cell-1")]


def marked(source, **doors):
    cell = markdown(source)
    return cell | {"metadata": cell["metadata"] | {"doors": doors}}


def test_a_mark_says_which_cell_and_which_line_is_meant_and_nothing_else_moves(write, afresh):
    cells = [code("f()", printed("loss 0.25")), code("a = 300\nassert b == 300"), code("f()", printed("loss 0.25"))]
    text = "After 300 steps it is 0.25, and with the other start 0.25 again."
    unmarked = write(markdown("## A", text), *cells)
    assert led(unmarked) == [("300", "asserted", "cell-2"), *[("0.25", "printed", "cell-1")] * 2]
    page = write(marked("## A\n" + text, **{"300 steps": "cell-2: a =", "0.25 again": "cell-3"}), *cells)
    afresh()
    found = doors.doors(page)
    assert [(one.kind, one.place) for one in found] == [
        ("in code", "cell-2"),
        ("printed", "cell-1"),
        ("printed", "cell-3"),
    ]
    assert found[0].line == "a = 300"


def test_a_mark_finds_a_line_that_holds_the_number_in_another_form_and_the_section_that_is_linked_to(write):
    there = [markdown("## B"), code("a = 300\nprint(half(1e-9))", printed("0.5"))]
    page = write(marked("## A\nTake $10^{-9}$.", **{"1e-9": "cell-2: half("}), markdown("text"), there[1])
    assert [(one.kind, one.line) for one in doors.doors(page)] == [("in code", "print(half(1e-9))")]


def test_a_number_that_a_question_presupposes_is_marked_as_given(write):
    page = write(marked("## A\nTake 64 heads.", **{"64": "given"}), code("assert heads == 64"))
    assert led(page) == [("64", "given", "")]


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
def test_a_mark_that_meets_nothing_is_an_error(write, mark, target, said):
    page = write(marked("## A\nTake 64 heads.", **{mark: target}), code("assert heads == 64"))
    with pytest.raises(ValueError, match=said):
        doors.doors(page)
