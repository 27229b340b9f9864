"""The face of the text, as the pages bring it."""

import importlib.metadata
import re

import faces
import pytest
from fontTools.ttLib import TTFont
from guards import BOOK

FILES = importlib.metadata.distribution("font-source-sans-pro").locate_file("font_source_sans_pro/files")


@pytest.mark.parametrize("face", faces.FACES.values())
def test_a_face_is_cut_to_the_letters_of_the_pages_and_keeps_its_kerning(face):
    cut = faces.small(TTFont(FILES / f"SourceSansPro-{face}.ttf"), set("AVé1\n☃"))
    assert {chr(point) for point in cut.getBestCmap()} == set("AVé1")
    assert {record.FeatureTag for record in cut["GPOS"].table.FeatureList.FeatureRecord} >= {"kern"}


def test_each_face_is_named_in_the_style_and_some_are_asked_for_early():
    style = (BOOK / "_static" / "book.css").read_text(encoding="utf-8")
    assert set(re.findall(r"url\(fonts/(\w+)\.woff\)", style)) == {*faces.FACES, "formulas"}
    context = {"pathto": lambda path, resource: f"../{path}"}
    faces.ask_for_text(None, "page", "", context, None)
    assert re.findall(r"fonts/(\w+)\.woff", context["metatags"]) == ["regular", "italic", "semibold"]
