"""Pictures are put into the pages: named colours, colours of their own, names that are theirs alone, words for ears."""

import re

import drawings
import numpy as np
import pytest
import themes
from docutils import nodes
from helpers import contrast
from matplotlib.colors import to_hex

from tested_transformer.book import colours
from tested_transformer.book.figures import picture as pic

SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="490" height="300" viewBox="0 0 490 300" font-family="Face">
<defs>
<pattern id="hatch-1" width="9"><path d="M0 0" stroke="#98a2ad"/></pattern>
</defs>
<rect x="0" y="0" width="490" height="300" fill="#ffffff"/>
<rect x="1" y="1" width="9" height="9" fill="#0072b2" stroke="#ffffff"/>
<rect x="9" y="1" width="9" height="9" fill="#2f86bd"/>
<rect x="9" y="9" width="9" height="9" fill="url(#hatch-1)"/>
<text x="1" y="2" fill="#1d2530">it</text>
</svg>"""


def test_the_colours_of_the_dictionary_are_named_and_any_other_has_one_for_the_dark():
    html = drawings.placed(SVG, 0, {}, "alt")
    assert 'fill="var(--book-query,#0072b2)" stroke="var(--pst-color-background,#ffffff)"' in html
    assert 'fill="var(--pst-color-text-base,#1d2530)"' in html
    assert 'fill="var(--ink-2f86bd,#2f86bd)"' in html
    assert html.startswith('<style>html[data-theme="dark"]{--ink-2f86bd:#0f76b0;}</style>')
    assert len(re.findall("<rect", html)) == 3, "the ground is that of the page"


def test_a_colour_is_given_once_on_a_page():
    known = {}
    assert "<style>" in drawings.placed(SVG, 0, known)
    assert "<style>" not in drawings.placed(SVG, 1, known)


def test_two_drawings_of_a_page_share_no_name():
    one, two = (drawings.placed(SVG, number, {}) for number in (0, 1))
    for html, name in ((one, "d0-hatch-1"), (two, "d1-hatch-1")):
        assert f'id="{name}"' in html
        assert f'fill="url(#{name})"' in html


def test_a_drawing_has_its_words_for_ears_and_keeps_its_room():
    html = drawings.placed(SVG, 0, {}, 'Tiles & "words".')
    assert '<svg role="img" aria-label="Tiles &amp; &quot;words&quot;." width="490"' in html
    assert '<div class="drawn" style="width:490px;aspect-ratio:490/300">' in html
    assert "font-family" not in html
    assert "xmlns" not in html


@pytest.mark.parametrize("name", ["INK", "FAINT", "QUERY", "ATTENTION", "GRADIENT", "OURS"])
def test_what_pictures_are_drawn_in_follows_the_theme_by_its_name(name):
    drawn = SVG.replace("#0072b2", getattr(pic, name))
    assert f",{getattr(pic, name)})" in drawings.placed(drawn, 0, {})
    assert f"--ink-{getattr(pic, name)[1:]}" not in drawings.placed(drawn, 0, {})


def test_a_drawing_within_a_figure_to_change_is_found_in_its_html():
    html = f"<p>before</p>{SVG}<table></table>{SVG}"
    assert [found.group(2) for found in drawings.DRAWING.finditer(html)] == ["300", "300"]
    assert colours.PAPER.light == "#ffffff"


@pytest.mark.parametrize("cmap", [pic.WEIGHTS, pic.SIGNED], ids=lambda cmap: cmap.name)
def test_a_number_on_a_tile_can_be_read_in_the_dark(cmap):
    for shade in np.linspace(0, 1, 101):
        tile = cmap(shade)
        ink = {"white": "#000000", "black": "#ffffff"}[pic.ink_on(tile)]
        assert contrast(ink, themes.dark(to_hex(tile))) >= 4.2, shade
        word = f'<text x="1" fill="{to_hex(pic.ink_on(tile))}">7</text>'
        assert f"var(--{pic.ink_on(tile)}-on-tile," in drawings.placed(SVG.replace("</svg>", f"{word}\n</svg>"), 0, {})
    assert "--white-on-tile:#000" in themes.style().partition("dark")[2]


def test_words_have_the_quotation_marks_of_the_text():
    said = SVG.replace(">it<", ">write &quot;er&quot; or &quot;sie&quot; in the book's way, 5' and x &lt; y<")
    assert ">write “er” or “sie” in the book’s way, 5’ and x &lt; y<" in drawings.placed(said, 0, {})


@pytest.mark.parametrize(
    ("size", "wide"), [((490, 300), 563.5), ((660, 300), 688), ((490, 440), 512.273), ((300, 500), 300)]
)
def test_a_picture_with_which_a_page_begins_is_larger_where_there_is_room(size, wide):
    svg = SVG.replace('width="490" height="300"', f'width="{size[0]}" height="{size[1]}"', 1)
    assert f"width:{wide:g}px;aspect-ratio:{size[0]}/{size[1]}" in drawings.placed(svg, 0, {}, opens=True)
    assert f"width:{size[0]}px;" in drawings.placed(svg, 0, {})


def test_only_what_stands_before_the_first_heading_begins_a_page():
    document, picture, later = (nodes.document(None, None), nodes.image(), nodes.image())
    title = nodes.section("", nodes.title(), nodes.figure("", picture), nodes.section("", nodes.title(), later))
    document += title
    assert drawings.before_headings(picture)
    assert not drawings.before_headings(later)
