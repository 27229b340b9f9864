"""The cards of the first page: one for each page, with what can be done after it, its minutes and a small picture."""

import base64
import gzip
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
    assert sum(len(gzip.compress(made.data)) for made in found.values()) < 300_000
    assert all(made.width <= cards.WIDTH and made.height <= cards.HEIGHT for made in found.values())


DRAWN = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 200"><path d="M0 0h9"/></svg>'
DOTS = io.BytesIO()
Image.new("RGB", (900, 900)).save(DOTS, "PNG")
DOTS = base64.b64encode(DOTS.getvalue()).decode()


def test_a_picture_that_is_drawn_is_taken_as_it_is_and_one_of_dots_is_made_small():
    drawn = cards.first_picture([{"text/plain": "1"}, {"image/svg+xml": DRAWN, "image/png": DOTS}])
    assert drawn == (DRAWN.encode(), "svg", 480, 100)
    dots = cards.first_picture([{"image/png": DOTS}, {"image/svg+xml": [DRAWN]}])
    assert dots[1:] == ("webp", 270, 270)
    with Image.open(io.BytesIO(dots.data)) as image:
        assert image.size == (270, 270)
    assert cards.first_picture([{"text/plain": "1"}]) is None


def test_a_card_has_a_link_a_line_its_minutes_and_a_picture_that_says_nothing():
    html = cards.of_chapter("addnorm", "addnorm.html?a&b", "../_static/")
    made = cards.thumbnail("addnorm")
    time = routes.clock(routes.times("addnorm").idea)
    assert f'<a href="addnorm.html?a&amp;b">Add &amp; norm</a><small>{time}</small>' in html
    assert "<p>Stack twenty-four boxes, and keep the signal and the gradient alive.</p>" in html
    size = f'width="{made.width}" height="{made.height}"'
    img = f'<img src="../_static/cards/addnorm.{made.kind}" alt="" loading="lazy" {size}>'
    assert f'<div class="thumb">{img}</div>' in html


def test_a_page_without_a_picture_or_a_time_has_neither():
    html = cards.of_chapter("glossary", "glossary.html", "")
    assert '<div class="thumb"></div>' in html
    assert "<small>" not in html
    assert "<small>" in cards.of_chapter("notation", "x", "")


def test_quotes_and_apostrophes_are_those_of_print():
    assert "why your Transformer isn’t learning" in cards.of_chapter("trouble", "x", "")
