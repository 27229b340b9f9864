"""Numbers on the pages, written one way."""

from types import SimpleNamespace

import numerals
import pytest
from docutils import nodes


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("10,000 pairs, 37 000 tokens", "10\u202f000 pairs, 37\u202f000 tokens"),
        ("36,858,880 (884,736)", "36\u202f858\u202f880 (884\u202f736)"),
        ("(1,024, 7), 3.1,000, id 1099 of 20000", None),
        ("-0.5 and (-4.06), [-1]", "−0.5 and (−4.06), [−1]"),
        ("float-16, 3-5, a-1, 2017-06-12", None),
        ("5.88e+21 and 1e-09, 3e-08", "5.88\u202f·\u202f10²¹ and 10⁻⁹, 3\u202f·\u202f10⁻⁸"),
        ("-2.1e-05", "−2.1\u202f·\u202f10⁻⁵"),
    ],
)
def test_numbers_are_set_as_print_has_them(text, written):
    assert numerals.typeset(text) == (written or text.replace("1,024", "1\u202f024"))


def test_code_and_formulas_stay_and_a_long_number_alone_in_a_cell_is_parted():
    cell = nodes.entry("", nodes.paragraph("", "", nodes.Text("12288")))
    others = [nodes.literal("", "-1,000"), nodes.math("", "-1"), nodes.raw("", "-1", format="html")]
    page = nodes.section("", cell, nodes.paragraph("", "", nodes.Text("id 12288 "), *others))
    numerals.typeset_page(SimpleNamespace(builder=SimpleNamespace(format="html")), page, "page")
    assert page.astext() == "12\u202f288\n\nid 12288 -1,000-1-1"
