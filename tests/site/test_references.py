"""The bibliography: a key is the first author and the year, and every entry is cited."""

import re
import unicodedata

import pybtex.database
import pytest
from guards import BOOK, cells
from pybtex.richtext import Text

BIB = (BOOK / "references.bib").read_text(encoding="utf-8")


def faults(bib, cited):
    """What is wrong with the entries and their keys; `cited` are those that the pages cite."""
    entries = pybtex.database.parse_string(bib, "bibtex").entries
    for key, entry in entries.items():
        first, year = entry.persons["author"][0], entry.fields["year"]
        letter = re.sub(r"\d", "", year)  # tells apart what a page would cite by the same name and year
        year = year.removesuffix(letter)
        name = str(Text.from_latex("".join(first.prelast_names + first.last_names)))
        name = re.sub(r"[^a-z]", "", unicodedata.normalize("NFKD", name).lower())  # ä without its dots
        if not re.fullmatch(f"{name}{year}{letter.replace('a', '') if letter else '[b-z]?'}", key):
            yield f"{key} is of {name} {year}{letter}"
        for preprint in re.findall(r"arXiv:(\d\d)\d\d\.\d", " ".join(map(str, entry.fields.values()))):
            if int(f"20{preprint}") > int(year):
                yield f"{key} has a preprint of 20{preprint}"
    yield from (f"{key} is cited by no page" for key in sorted(set(entries) - cited))
    yield from (f"{key} is cited and not there" for key in sorted(cited - set(entries)))


def citations(text):
    """The keys that a text cites."""
    return {key.strip() for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text) for key in keys.split(",")}


def test_the_bibliography_has_its_years_and_all_that_is_cited_and_nothing_else():
    pages = [*BOOK.rglob("*.ipynb"), *BOOK.rglob("*.md")]
    cited = set().union(*(citations(cell["source"]) for page in pages for cell in cells(page)))
    assert len(cited) > 90
    assert list(faults(BIB, cited)) == []


GOOD = """
@misc{sparckjones1972, author = {Karen {Sp{\\"a}rck Jones}}, title = {A}, year = {1972}}
@misc{vanderwal2018, author = {Ann van der Wal and Bob Ba}, title = {B}, year = {2018}, note = {arXiv:1706.03762}}
@misc{vanderwal2018b, author = {van der Wal, Ann}, title = {C}, year = {2018}}
"""
KEYS = {"sparckjones1972", "vanderwal2018", "vanderwal2018b"}


def test_a_key_is_the_last_name_of_the_first_author_without_accents_and_the_year():
    assert list(faults(GOOD, KEYS)) == []


@pytest.mark.parametrize(
    ("right", "wrong", "found"),
    [
        ("{1972}", "{1973}", ["sparckjones1972 is of sparckjones 1973"]),
        ("C}, year = {2018}", "C}, year = {2018b}", []),
        ("B}, year = {2018}", "B}, year = {2018a}", []),
        ("C}, year = {2018}", "C}, year = {2018a}", ["vanderwal2018b is of vanderwal 2018a"]),
        ("Karen", "Ann Lee and Karen", ["sparckjones1972 is of lee 1972"]),
        ("arXiv:17", "arXiv:19", ["vanderwal2018 has a preprint of 2019"]),
        ("2018b", "2018c", ["vanderwal2018c is cited by no page", "vanderwal2018b is cited and not there"]),
        (
            "2018b",
            "2018B",
            [
                "vanderwal2018B is of vanderwal 2018",
                "vanderwal2018B is cited by no page",
                "vanderwal2018b is cited and not there",
            ],
        ),
    ],
)
def test_a_wrong_entry_is_found(right, wrong, found):
    assert GOOD.count(right) == 1
    assert list(faults(GOOD.replace(right, wrong), KEYS)) == found


@pytest.mark.parametrize(
    "text", ["{cite:t}`a2001, b2002`", "see {cite}`a2001` and {cite:p}`b2002`", "{cite:p}`b2002,a2001`"]
)
def test_citations_are_read_one_by_one(text):
    assert citations(text) == {"a2001", "b2002"}
