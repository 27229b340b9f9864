"""What the report says of a small page: nothing where its form is good, and each fault that is planted."""

import re
import subprocess

import pytest
import report
import tracing
from cells import code, displayed, markdown

PICTURE = displayed(image_svg="AAAA\n")
LATEX = displayed(text_latex="$$X$$")


def chapter(**other):
    """The cells of a chapter in good form, by name; others are put in their place, none with None."""
    cells = {
        "title": [markdown("# Title", "", "*Why?*")],
        "picture": [code("figures.a.b(x)", PICTURE)],
        "idea": [markdown("## An idea", "", "Words.")],
        "guess": [markdown("Before you look: which one is larger?")],
        "sight": [code('matrix("X", x)', LATEX), code("assert x")],
        "lines": [markdown("## In three lines", "", "1. One.", "2. Two.", "3. Three.")],
        "deeper": [markdown("## Going deeper", "", "For a second reading.")],
        "section": [markdown("### More", "", "Words."), code("y = 1")],
        "exercises": [markdown("## Exercises", "", "Words.")],
        "summary": [markdown("## Summary", "", "Words.")],
    }
    return [dict(cell) for name, found in cells.items() for cell in (other.get(name, found) or [])]


CHECKS = (report.over_budget, report.out_of_form, report.late_picture, report.unheld_guess, report.unnamed)
CHECKS += (report.open_claims, report.house_words, report.long_sentences)


def said(path):
    return [fault for check in CHECKS for fault in check(path)]


PLANTED = [
    ({"section": [markdown("### More", "word " * 2550)]}, "words without exercises; 2500"),
    ({"idea": [code("x = f()\nx")] * 21}, "21 open cells in the idea lane"),
    ({"idea": [code('matrix("X", x)', LATEX)] * 100}, "minutes in the idea lane"),
    ({"lines": [markdown("## In three lines", "", "- One.", "- Two.")]}, "In three lines: a list of 2"),
    ({"section": None}, "no section of the third level"),
    ({"summary": None}, "its sections are not ideas"),
    ({"deeper": [markdown("## Going deeper"), code("x")]}, "it would belong to none"),
    ({"title": [markdown("# Title", "word " * 121)]}, "122 words before the first picture; 120 fit"),
    ({"picture": None, "sight": None, "section": None}, "no picture"),
    ({"sight": [code("assert x")]}, "no sight, or no assert, in the three cells after the guess"),
    ({"idea": [code("np.tril(x)")]}, "tril is called, and no sentence has named it"),
    ({"idea": [code("y = x + 1\nassert y\nassert x"), code("y")]}, "2 claims stand open"),
    ({"idea": [markdown("It fails without a word.")]}, '"without a word": say silently'),
    ({"idea": [markdown("word " * 36 + ".")]}, "a sentence of 37 words"),
    ({"idea": [markdown("By 1, 2, 3 and 4. " * 30)]}, "numbers in 1,000 words"),
]


@pytest.mark.parametrize(("other", "words"), PLANTED, ids=lambda given: given if isinstance(given, str) else "")
def test_what_is_planted_is_said_and_a_good_page_gets_no_word(write, other, words):
    assert said(write(*chapter(), name="heads.ipynb")) == []
    assert any(words in fault for fault in said(write(*chapter(**other), name="heads.ipynb")))


@pytest.mark.parametrize(
    ("words", "found"),
    [("A mixture is made.", ["mixture"]), ("A `mixture`, and a [mixture](heads.ipynb).", []), ("Sub-mixtures.", [])],
)
def test_a_term_before_its_home_is_said(write, tmp_path, words, found):
    page = tmp_path / "glossary.md"
    page.write_text("```{glossary}\nmixture\n  A sum. See [heads](heads.ipynb#a).\n```\n", encoding="utf-8")
    for name, terms in (("masks.ipynb", found), ("heads.ipynb", [])):
        path = write(*chapter(idea=[markdown("## An idea", "", words)]), name=name)
        assert [fault.split(" is explained later")[0] for fault in report.early_terms(path, page)] == [
            f"{name}: {term}" for term in terms
        ]


ROWS = [
    "| Letter | Meaning | Where |",
    "|:--|:--|:--|",
    "| $e$ | a number | everywhere |",
    "| $d_k$ | a width | everywhere |",
]


@pytest.mark.parametrize(
    ("formula", "row", "found", "twice"),
    [
        (r"$\frac{e}{\sqrt{d_k}} + \operatorname{softmax}(e)$", "", [], []),
        (r"$d_v$ and $\eta$", "", [r"\eta", "d", "v"], []),
        ("$e$", "| $e$ | another | [Heads](heads.ipynb) |", [], ["e has two meanings in heads"]),
    ],
)
def test_letters_that_the_list_lacks_or_has_twice_are_said(write, formula, row, found, twice):
    tracing.sections.cache_clear()
    notation = write(markdown("## Letters", "", *ROWS, row), name="notation.ipynb")
    faults = report.letters_without_a_meaning(write(markdown(formula), name="heads.ipynb"), notation)
    assert [re.search(r"row of (\S+) in", fault)[1] for fault in faults] == found
    assert [fault.partition(": ")[2] for fault in report.letters_with_two_meanings(notation)] == twice


def test_what_a_chapter_asserts_no_more_is_said(write, tmp_path):
    path = write(code("assert a"), code("assert b"), name="heads.ipynb")
    who = ["-c", "user.name=a", "-c", "user.email=b", "-c", "commit.gpgsign=false"]
    for line in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "a"]):
        subprocess.run(["git", *line], cwd=tmp_path, check=True)
    assert list(report.gone(path, "HEAD")) == []
    write(code("assert (b)"), code("assert c"), name="heads.ipynb")
    assert list(report.gone(path, "HEAD")) == ["heads.ipynb: gone since HEAD: assert a"]
    with pytest.raises(SystemExit, match="Git knows no commit nowhere"):
        list(report.gone(path, "nowhere"))


def test_the_report_is_said_of_a_page_and_holds_nobody_back(capsys, monkeypatch):
    path = report.guards.BOOK / "heads.ipynb"
    monkeypatch.setattr(report.sys, "argv", ["report", str(path)])
    report.main()
    assert all(line.startswith("heads.ipynb: ") for line in capsys.readouterr().out.splitlines())
