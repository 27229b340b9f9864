"""Old addresses of headings go on leading somewhere."""

import json

import anchors
import pytest
import yaml


def test_every_address_that_was_ever_published_leads_somewhere():
    assert list(anchors.faults()) == []


def test_headings_are_read_as_they_stand_in_addresses(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# The *one* thing\n", "\n", "## It's `code`, and [a link](x.md)\n"]},
        {"cell_type": "code", "source": "# no heading"},
        {"cell_type": "markdown", "source": "```python\n# no heading\n```\n\n### The factor √d_model"},
    ]
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert anchors.anchors(path) == {"the-one-thing", "it-s-code-and-a-link", "the-factor-d-model"}
    words = tmp_path / "page.md"
    words.write_text("# Words\n\n:::{note}\n# no heading\n:::\n\n## More\n", encoding="utf-8")
    assert anchors.anchors(words) == {"words", "more"}


@pytest.fixture
def book(tmp_path, monkeypatch):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "one.md").write_text("# One\n\n## Here\n", encoding="utf-8")
    (tmp_path / "book" / "two.md").write_text("# Two\n\n## There\n", encoding="utf-8")
    monkeypatch.setattr(anchors, "RECORD", tmp_path / "record.yml")
    monkeypatch.setattr(anchors, "MOVED", tmp_path / "moved.yml")
    every = anchors.pages
    monkeypatch.setattr(anchors, "pages", lambda: every(tmp_path / "book"))
    anchors.main()
    return tmp_path


def test_the_record_grows_and_never_shrinks(book):
    assert anchors.recorded() == {"one": ["here", "one"], "two": ["there", "two"]}
    (book / "book" / "one.md").write_text("# One\n\n## New\n", encoding="utf-8")
    anchors.main()
    assert anchors.recorded()["one"] == ["here", "new", "one"]


def test_a_heading_that_goes_without_a_word_is_a_fault(book):
    assert list(anchors.faults()) == []
    (book / "book" / "one.md").write_text("# One\n", encoding="utf-8")
    assert list(anchors.faults()) == ["one#here is gone, and book/anchors.yml does not say where it went"]
    for new in ("#one", "two.md#there", "two.ipynb"):
        (book / "moved.yml").write_text(yaml.safe_dump({"one": {"here": new}}), encoding="utf-8")
        assert list(anchors.faults()) == []


@pytest.mark.parametrize(
    ("page", "old", "new", "fault"),
    [
        ("one", "gone", "#nowhere", "one#gone is said to have moved to '#nowhere', and there is no such heading"),
        ("one", "gone", "two.md#here", "one#gone is said to have moved to 'two.md#here', and there is no such heading"),
        ("one", "gone", "three.md", "one#gone is said to have moved to 'three.md', and there is no such heading"),
        ("one", "gone", "", "one#gone is said to have moved to '', and there is no such heading"),
        ("one", "here", "#one", "one#here has not moved: the page has this heading"),
        ("three", "here", "one.md", "three#here: there is no such page that could lead on"),
    ],
)
def test_a_wrong_word_about_a_move_is_a_fault(book, page, old, new, fault):
    (book / "moved.yml").write_text(yaml.safe_dump({page: {old: new}}), encoding="utf-8")
    assert list(anchors.faults()) == [fault]
