"""The small fonts of icons."""

import io
import pathlib

import pydata_sphinx_theme
from fontTools.ttLib import TTFont
from icons import FONTS, icons, small

STYLE = """.fa-list:before,.fa-list-squares:before{content:"\\f03a"}.fa-bell:before{content:"\\f0f3"}
.fa-x:before{content:"x"}details summary:after{content:"\\f107"}html{--own:"\\f058"}"""
WEBFONTS = pathlib.Path(pydata_sphinx_theme.__file__).parent.joinpath(
    "theme", "pydata_sphinx_theme", "static", "vendor", "fontawesome", "webfonts"
)


def test_icons_are_found_by_any_of_their_names_in_any_text():
    own = {0xF107, 0xF058}
    assert icons([], STYLE) == own
    assert icons(['<i class="fas fa-bell"></i>', "box.classList.add('fa-list-squares')"], STYLE) == own | {
        0xF0F3,
        0xF03A,
    }
    assert icons(["fa-lists", "alfa-list", "fa-x"], STYLE) == own


def test_a_small_font_draws_the_same_icons_and_no_others():
    for source in FONTS.values():
        whole = TTFont(WEBFONTS / source)
        points = dict.fromkeys(list(whole.getBestCmap())[100:103])
        file = io.BytesIO()
        small(TTFont(WEBFONTS / source), {*points, 0x4E00}).save(file)
        assert file.tell() < 5_000
        cut = TTFont(file)
        assert cut.flavor == "woff2"
        assert cut.getBestCmap().keys() == points.keys()
        for point in points:
            (before, width), (after, same_width) = (
                (font["glyf"][font.getBestCmap()[point]], font["hmtx"][font.getBestCmap()[point]])
                for font in (whole, cut)
            )
            assert before.getCoordinates(whole["glyf"])[0] == after.getCoordinates(cut["glyf"])[0]
            assert width == same_width
        assert cut["name"].getDebugName(1) == "Icons of the book", "a changed font has its own name"
        assert "Font Awesome" in cut["name"].getDebugName(0), "and says whose icons they are"
