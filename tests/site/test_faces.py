"""The face of the text, as the pages bring it."""

import importlib.metadata
import re

import faces
import matplotlib
import pytest
from fontTools.ttLib import TTFont
from guards import BOOK

FILES = importlib.metadata.distribution("font-source-sans-pro").locate_file("font_source_sans_pro/files")


@pytest.mark.parametrize("face", faces.FACES.values())
def test_a_face_is_cut_to_the_letters_of_the_pages_and_keeps_its_kerning(face):
    cut = faces.small(TTFont(FILES / f"SourceSansPro-{face}.ttf"), set("AVé1\n☃"))
    assert {chr(point) for point in cut.getBestCmap()} == set("AVé1")
    assert {record.FeatureTag for record in cut["GPOS"].table.FeatureList.FeatureRecord} >= {"kern"}


LETTERS = {"e": 12, "t": 9, " ": 18, "W": 1, "'": 1}


def test_what_stands_in_for_a_face_takes_the_same_room():
    font = TTFont(FILES / "SourceSansPro-Regular.ttf")
    made = faces.stand_in("Near DejaVu", "regular", font, LETTERS)
    size, up, down = (
        float(re.search(rf"{key}:([\d.]+)%", made)[1]) / 100
        for key in ("size-adjust", "ascent-override", "descent-override")
    )
    dejavu = TTFont(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    assert size * faces.length(dejavu, LETTERS) == pytest.approx(faces.length(font, LETTERS), rel=1e-3)
    assert (size * up, size * down) == pytest.approx((0.984, 0.273), rel=1e-3)


def test_the_list_of_widths_is_read_in_the_units_of_the_fonts():
    listed = faces.length_by_list("C 32 ; WX 278 ; N space ;\nC 39 ; WX 191 ; N quotesingle ;\n", {" ": 2, "'": 1})
    assert listed == pytest.approx(0.747)


def test_the_style_of_the_book_has_each_face_and_pages_ask_for_what_they_need_early():
    fonts = {face: TTFont(FILES / f"SourceSansPro-{name}.ttf") for face, name in faces.FACES.items()}
    assert re.findall(r"url\(fonts/(\w+)\.woff2\)", faces.style(fonts, LETTERS)) == [*faces.FACES]
    families = (BOOK / "_static" / "book.css").read_text(encoding="utf-8")
    assert all(f'"{name}"' in families for name in ("Text of the book", *faces.STAND_INS))
    for body, asked in (("", [*faces.FACES]), ("<math>", [*faces.FACES, "formulas"])):
        context = {"pathto": lambda path, resource: f"../{path}", "body": body}
        faces.ask_early(None, "page", "", context, None)
        assert re.findall(r"\.\./_static/fonts/(\w+)\.woff2", context["metatags"]) == asked
