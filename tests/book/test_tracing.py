"""Numbers in sentences: how they are read, and that one which no cell has is found."""

from decimal import Decimal

import pytest
import tracing
from cells import code, displayed, markdown, printed

QUOTED = {
    "the weight is 0.4711.": ["0.4711"],
    "by 47 %, or 70.70 %, or 1.5%": ["47%", "70.70%", "1.5%"],
    r"$47\,\%$ and $12\%$": ["47%", "12%"],
    "falls by −0.5000 or $-0.50$ (-0.25)": ["-0.5000", "-0.50", "-0.25"],
    "falls to –0.5": ["-0.5"],
    "between 0.25–0.50, and 0.25-0.50, or 0.25 – 0.50": ["0.25", "0.50"] * 3,
    r"a = (x)-0.50 and x_{1}-0.25": ["0.50", "0.25"],
    "1 234.50 or 1,234.50 or 1\u202f234.50 or 12 345 678.90": ["1234.50"] * 3 + ["12345678.90"],
    "100 % and 12 3456.78": ["100%", "3456.78"],
    "(0.25,0.50) [0.125; 0.75]": ["0.25", "0.50", "0.125", "0.75"],
    r"$1.25 \cdot 10^{-9}$, $1.25\times 10^3$, 1.25e-09": ["1.25e-9", "1.25e3", "1.25e-09"],
    r"$3 \cdot 10^{-4}$, 2e-5, 1e-9 and 2e3": ["3e-4", "2e-5", "1e-9", "2e3"],
    r"$10^{-9}$ and $10^4$, not $2^{10}$ or $x10^2$": ["1e-9", "1e4"],
    ".75 of 4.7x": [".75", "4.7"],
    "3–5 words, 6 of 12": [],
    "13 words, 1 000 000, 10 000": ["13", "1000000", "10000"],
    "version 3.11, Python 3.11.2, PyTorch 2.10, 2.13.0+cpu, 3.20b1, v1.25": [],
    "Section 3.2.1, Sections 5.10, 5.3 and 5.4, § 3.10, Table 3, arXiv:1706.03762": [],
    "on 13.05.2024": [],
    "In 2017 nobody knew where the curve bends. Whoever reads this on an RTX 4090 may wait.": [],
    "since 2019, by 2026; Vaswani et al. (2017), (Ruder, 2017), Bahdanau (2015); Llama 70, Windows 2022": [],
    "2017 steps, 2018 steps, in 2000 steps, in 1735 of 4090, by 20.17": [
        "2017",
        "2018",
        "2000",
        "1735",
        "4090",
        "20.17",
    ],
    "Section 3.2.1 says 0.25": ["0.25"],
    "In Table 3, 93 million; as in Section 5.3, 7777 steps; since PyTorch 2.10, 47 %": ["93e6", "7777", "47%"],
    "in Chapters 13 to 15, Tables 13 and 14, Figures 20.1, 20.2, Equations 13 and 14": [],
    "65 million, 6.3 million and $4.5$ billion": ["65e6", "6.3e6", "4.5"],
    "three, twelve, a hundred, few hundred, thousands of": [],
    "Thirteen, forty-two, sixty": ["13", "42", "60"],
    "two hundred, ten thousand, three million": ["200", "10000", "3000000"],
    "two thirds of 1998 sentences; In 2017 networks read word by word, the layer of 2018 has": ["1998"],
    "every fiftieth, the fifteenth, the hundredth, a ninetieth": ["50", "15", "100", "90"],
    "one hundredth, a thousandth, its thousandth word": ["0.01", "0.001", "1000"],
    "the third, a tenth": [],
    "Ten percent, ten per cent, forty-two percent, three in ten": ["10%", "10%", "42%"],
}


@pytest.mark.parametrize("sentence", QUOTED)
def test_quoted_are_all_numbers_but_small_whole_ones_places_and_sayings(sentence):
    found = [str(n.value) + "%" * n.percent for n in tracing.quoted(sentence)]
    assert [Decimal(x.rstrip("%")) for x in found] == [Decimal(x.rstrip("%")) for x in QUOTED[sentence]]
    assert ["%" in x for x in found] == ["%" in x for x in QUOTED[sentence]]


def found(path):
    tracing.sections.cache_clear()  # a test writes several notebooks to one place
    tracing.known.cache_clear()
    return list(tracing.untraced(path))


@pytest.mark.parametrize(
    ("quoted", "output"),
    [
        ("0.47", "0.4711"),
        ("0.48", "[0.1 0.475]"),
        ("−0.50", "x is -0.5000"),
        ("−0.50", r"e^{-0.5000}"),
        ("47 %", "47.11%"),
        ("70.70 %", "70.70 %"),
        ("12 %", r"12\%"),
        ("1 234.50", "1,234.50"),
        (r"$1.3 \cdot 10^{-5}$ and 0.25", "1.3e-05 and 0.25"),
        ("2e-5 and $10^{-9}$", "2.1e-05 1e-09"),
        ("0.5", "0.5000"),
        ("6.3 million", "6,312,345"),
        ("ten percent", "10%"),
        ("every fiftieth", "50 steps"),
    ],
)
def test_a_number_that_was_printed_may_be_quoted(write, quoted, output):
    assert found(write(markdown(f"So it is {quoted}."), code("f()", printed(output)))) == []


@pytest.mark.parametrize(
    ("quoted", "output"),
    [
        ("0.4711", ""),  # never printed
        ("0.4711", "0.4712"),  # another value
        ("0.4711", "0.471"),  # fewer digits than quoted
        ("0.4711", "10.4711 0.47110x2 v0.4711"),  # part of something else
        ("0.48", "0.4711"),  # rounded wrongly
        ("−0.50", "0.50"),  # another sign
        ("0.50", "-0.50"),
        ("0.50", "3.0.50"),  # a version
        ("47 %", "47"),  # no percentage
        ("47 %", "0.4711"),
        ("47.0 %", "47%"),
        ("0.47", "0.47%"),
        ("1 234.50", "234.50"),
        ("234.50", "1,234.50"),
        ("1.25", "1.25e-9"),
        (r"$10^{-9}$", "1e-8"),
        ("0.3", "0.2612"),  # one decimal is not rounded
        ("ten percent", "10"),
        ("every fiftieth", "every 40th"),
    ],
)
def test_a_number_that_was_not_printed_is_found(write, quoted, output):
    page = write(markdown(f"So it is {quoted}."), code("f()", printed(output)))
    (fault,) = found(page)
    assert fault.startswith("page.ipynb, beginning: ")
    assert fault.endswith(", and no cell there has it")


def test_numbers_count_as_printed_in_text_results_and_formulas(write):
    page = write(
        markdown("0.1250 and 0.3750 and 0.62"),
        code("f()", displayed(text_plain="0.1250"), displayed(text_latex="$x = 0.3750$"), printed("0.6222")),
    )
    assert found(page) == []


def test_numbers_in_captions_and_alternative_texts_are_traced_too(write):
    for where in ({"image": {"alt": "a bar of 0.25"}}, {"figure": {"caption": "a bar of 25 %"}}):
        (fault,) = found(write(code("figures()", mystnb=where)))
        assert "what is drawn doesn't count" in fault
        assert found(write(code("figures()", printed("0.25, 25%"), mystnb=where))) == []


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        (["```python", "x = 0.25", "```"], 0),
        (["- a list", "", "  ```", "  0.25", "  ```"], 0),
        (['`0.25`, {cite:p}`a0.25`, [a](b-0.25.md), <br>, <img src="0.25">, https://a.org/0.25'], 0),
        (["<!-- 0.25", "-->"], 0),
        (["$x = 0.25$"], 1),
        (["| a | 0.25 |", "|:--|--:|"], 1),
        (["**0.25** and [0.50](a.md)"], 2),
        (["````{note}", "It is 0.25", "```python", "0.50", "```", "````", "and 0.75"], 2),
        (["```{code-block} python", "0.25", "```", "and 0.75"], 1),
        ([":::{note}", "It is 0.25", ":::"], 1),
        (["# Title of 0.25"], 1),
    ],
)
def test_code_and_links_are_no_sentences_but_all_else_is(write, lines, faults):
    assert len(found(write(markdown(*lines)))) == faults


def test_a_published_figure_may_stand_where_its_source_is_cited(write, monkeypatch):
    monkeypatch.setattr(tracing, "OTHERS", {"devlin2019": {"110 million": "Section 3", "25%": "Section 4"}})
    cited = "BERT {cite:p}`gage1994,devlin2019` in 2019 has 110 million and 25 %."
    for sentence in (cited, "The paper has 65 million."):
        assert found(write(markdown(sentence))) == []
    assert len(found(write(markdown("BERT in 2019 has 110 million and 25 %.", "", "As {cite}`devlin2019` says.")))) == 2
    assert len(found(write(markdown("Ours has 65 million, 0.98 and 28.4.", "", "The paper.")))) == 3
    assert found(write(markdown("This paper's 65 million, with {cite}`vaswani2017,devlin2019` 65 million."))) == []
    for other in ("A newspaper has", "On paper", "Papers have", "The paper {cite}`devlin2019` has"):
        assert len(found(write(markdown(f"{other} 65 million.")))) == 1
    assert found(write(markdown("As {cite}`mikolov2013b` said in 2013."))) == []
    assert len(found(write(markdown("{cite}`mikolov2013b` has 13 of them.")))) == 1
    assert len(found(write(markdown("In 2018 {cite}`devlin2019` counted 111 million and 26 %.")))) == 2


def test_what_others_published_is_not_rounded(write):
    assert found(write(markdown("The paper has 25.1."))) == []  # its Table 3, row (B)
    assert len(found(write(markdown("The paper's words, in 25 tokens.")))) == 1


def test_a_markdown_page_is_held_to_it_too(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nIt is 0.25.\n", encoding="utf-8")
    assert len(found(page)) == 1


NUMBERS = {
    "13": ["print(13)", "f(a=13)", "x = 1_3", "x = [-13]"],
    "thirteen": ["f(13)"],
    "0.5": ["assert x > 0.5", "x = -0.5"],
    "-0.5": ["x = 0.5"],
    "1.5 million": ["1_500_000"],
}


@pytest.mark.parametrize(("quoted", "source"), [(q, s) for q, sources in NUMBERS.items() for s in sources])
def test_whole_numbers_and_those_with_one_decimal_may_stand_in_code_instead(write, quoted, source):
    assert found(write(markdown(f"It is {quoted}."), code(source))) == []


@pytest.mark.parametrize("source", ["# 13", "'13'", "x13 = 1", "0x13", "14", "0.13", "13j", "f'{x:13}'", "("])
def test_comments_words_and_names_are_no_numbers_of_the_code(write, source):
    assert any("(It is 13.)" in fault for fault in found(write(markdown("It is 13."), code(source))))


@pytest.mark.parametrize(("quoted", "source"), [("0.7", "0.65"), ("13", "13.2"), ("65 million", "65_000_001")])
def test_what_stands_in_code_is_not_rounded(write, quoted, source):
    assert len(found(write(markdown(f"It is {quoted}."), code(source)))) == 1


@pytest.mark.parametrize("quoted", ["0.47", "0.50", "47 %"])
def test_more_decimals_and_percentages_must_have_been_printed(write, quoted):
    assert len(found(write(markdown(f"It is {quoted}."), code("f(0.47, 0.5, 47, 0.50)")))) == 1


def test_a_comment_in_a_cell_is_a_sentence(write):
    assert found(write(code("f(13)  # all 13 of them, the first of 2"))) == []
    (fault,) = found(write(markdown("## A"), code("f(13)\n# all 14 of them\ns = '# 15'")))
    assert "14 stands in a comment (# all 14 of them)" in fault
    shown = "**`a.b`**\n```python\nx = 1  # of 4711\n```\n"
    assert found(write(code("show(b)", displayed(text_markdown=shown)))) == []


def test_what_a_cell_shows_of_the_package_counts_as_its_code(write):
    shown = "**`a.b`**\n```python\ndef b(x: int = 13) -> int:\n    return x + 4711\n```\n"
    assert found(write(markdown("It is 13, or 4711."), code("show(b)", displayed(text_markdown=shown)))) == []
    table = "| a | b |\n|--|--|\n| 13 | 0.25 |"
    assert found(write(markdown("It is 13, or 0.25."), code("table", displayed(text_markdown=table)))) == []


def test_tables_of_a_figure_are_printed_its_data_and_drawings_are_not(write):
    page = "<script>[13]</script><style>a{width:14px}</style><svg><path d='15'></svg><p title='16'>17 and 0.25</p>"
    cell = code("figure", displayed(text_html=page))
    assert found(write(markdown("17 and 0.25"), cell)) == []
    assert len(found(write(markdown("13, 14, 15 and 16"), cell))) == 4


def test_a_number_of_another_section_is_found_unless_the_section_looks_back_or_links(write):
    cells = [markdown("# T", "It begins with 13."), markdown("## A", "text"), code("f(13)")]

    def last(*lines):
        return found(write(*cells, markdown(*lines)))

    assert last("## Summary", "It is 13.") == last("## Exercises", "It is 13.") == []
    assert last("## B", "It is 13 ([there](#a)).") == last("## B", "It is 13 ([there](page.ipynb#a)).") == []
    assert last("## B", "It is 13 ([there](page.ipynb)).") == []
    (fault,) = last("## B", "It is 13.", "", "As [there](#a).")
    assert fault == "page.ipynb, B: 13 stands in a sentence (## B It is 13.), and no cell there has it"
    assert len(last("## B", "It is 13 ([here](#b)), not [there](other.ipynb#a).")) == 1


def test_below_going_deeper_each_section_of_the_third_level_prints_its_own_numbers(write):
    cells = [markdown("# T", "## A", "text", "### B", "more"), code("f(13)")]

    def deeper(*more):
        return found(write(*cells, markdown("## Going deeper", "### C", "text"), code("f(14)"), *more))

    assert found(write(*cells, markdown("### C", "It is 13."))) == []
    assert deeper(markdown("It is 14 ([above](#b): 13).", "### D", "So it is 14 ([above](#c)).")) == []
    assert deeper(markdown("## Exercises", "It is 13 or 14.")) == []
    assert deeper(markdown("## E", "text"), code("f(15)"), markdown("### F", "It is 15.")) == []
    assert [fault.partition(" stands")[0] for fault in deeper(markdown("It is 13.", "### D", "It is 14."))] == [
        "page.ipynb, C: 13",
        "page.ipynb, D: 14",
    ]


def test_minutes_of_an_exercise_and_of_a_chapter_are_no_results(write):
    page = write(markdown("It takes about forty minutes.", "", "**1. Predict** (15 minutes). Do it."))
    assert found(page) == []
    assert found(write(markdown(r"$$a = b \\\\[0.6em] c = d$$"))) == []
    assert len(found(write(markdown("It took forty minutes, or 15 minutes.")))) == 2
