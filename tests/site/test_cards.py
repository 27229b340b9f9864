"""The cards of the first page: one for each page, with what can be done after it, its minutes and a small picture."""

import io

import cards
import guards
import pytest
import routes
from PIL import Image

TOP = [name for name in routes.pages() if "/" not in name]


def test_every_page_has_one_line_and_every_line_a_page():
    lines = list(cards.after())
    guards.nothing(f"book/cards.yml: {name} has no line" for name in TOP if name not in lines)
    guards.nothing(f"book/cards.yml: {name} is no page of _toc.yml" for name in lines if name not in TOP)
    assert lines == TOP, "book/cards.yml has the order of _toc.yml"


@pytest.mark.parametrize("name", TOP)
def test_a_line_says_what_a_reader_can_do_in_a_few_words(name):
    line = cards.after().get(name, "")
    rule = f"book/cards.yml, {name}: a verb first and small, 6 to 14 words, no full stop: {line}"
    assert 6 <= len(line.split()) <= 14, rule
    assert line[0].islower(), rule
    assert not line.endswith("."), rule


def test_the_pictures_are_small_and_all_together_light():
    made = {name: cards.thumbnail(name) for name in TOP}
    found = {name: thumbnail for name, thumbnail in made.items() if thumbnail}
    assert len(found) > 20
    assert sum(len(data) for data, _ in found.values()) < 300_000
    for data, size in found.values():
        with Image.open(io.BytesIO(data)) as image:
            assert image.size == size
        assert size[0] <= cards.WIDTH
        assert size[1] <= cards.HEIGHT


def test_a_card_has_a_link_a_line_its_minutes_and_a_picture_that_says_nothing():
    html = cards.card("addnorm", "addnorm.html?a&b", "../_static/")
    idea, whole, _ = routes.times("addnorm")
    width, height = cards.thumbnail("addnorm")[1]
    assert '<a href="addnorm.html?a&amp;b">Add &amp; norm</a>' in html
    assert "<p>Stack twenty-four boxes, and keep the signal and the gradient alive.</p>" in html
    assert f'<p class="small-print">idea {idea} min · all {whole} min</p>' in html
    img = f'<img src="../_static/cards/addnorm.webp" alt="" loading="lazy" width="{width}" height="{height}">'
    assert f'<div class="thumb">{img}</div>' in html


def test_a_page_without_a_picture_or_a_time_has_neither():
    html = cards.card("glossary", "glossary.html", "")
    assert '<div class="thumb"></div>' in html
    assert "small-print" not in html
    assert "small-print" in cards.card("notation", "x", "")
