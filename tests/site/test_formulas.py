"""Formulas as MathML: what TeX says must be seen, and what no browser shows is a fault of the page."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import formulas
import pytest
from docutils import nodes
from fontTools.ttLib import TTFont
from guards import ROOT


def inside(tex, display=False):
    """The MathML within the formula, without what every operator has."""
    (found,) = re.findall(r"<math[^>]*>(.*)</math>", formulas.mathml(tex, display))
    return found.replace(' lspace="0"', "").replace(' rspace="0"', "")


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\frac{a}{2}", "<mfrac><mi>a</mi><mn>2</mn></mfrac>"),
        (r"\class{query}{Q}", '<mi class="query">Q</mi>'),
        (r"\mathrm{d}x", "<mtext>d</mtext><mi>x</mi>"),
        (r"\mathsf T \mathbb R \mathbf x \mathbf B", "<mi>𝖳</mi><mi>ℝ</mi><mi>𝐱</mi><mi>𝐁</mi>"),
        (r"\hat m", '<mover accent="true"><mi>m</mi><mo stretchy="false">ˆ</mo></mover>'),
        (r"x_{i}", "<msub><mi>x</mi><mi>i</mi></msub>"),
        (r"\text{a < b}", "<mtext>a &#60; b</mtext>"),
        (r"a\,b", '<mi>a</mi><mspace width="0.167em"></mspace><mi>b</mi>'),
    ],
)
def test_what_tex_says_is_written_as_browsers_read_it(tex, shown):
    assert inside(tex) == shown


def test_the_process_that_reads_tex_ends_with_the_one_that_asked_it():
    code = "import formulas; print(formulas.mathml('x'))"
    line = [sys.executable, "-X", "dev", "-W", "error", "-c", code]  # with a word on all that is left open
    place = os.environ | {"PYTHONPATH": str(ROOT / "book" / "_ext")}
    run = subprocess.run(line, env=place, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("<math><mi>x</mi></math>\n", "")


@pytest.mark.parametrize(
    ("tex", "spaces"),
    [
        ("a = b", ["0.278em 0.278em"]),
        ("a - b", ["0.222em 0.222em"]),
        ("-b", ["0 0"]),
        ("x_{a = b}", ["0 0"]),
        ("f(a, b)", ["0 0", "0 0.167em", "0 0"]),
        (r"\ln x", ["0 0.167em"]),
        (r"a\,=-b", ["0.278em 0", "0.278em 0"]),
    ],
)
def test_operators_keep_the_spaces_of_tex(tex, spaces):
    found = re.findall(r'lspace="([^"]*)" rspace="([^"]*)"', formulas.mathml(tex))
    assert [" ".join(sides) for sides in found] == spaces


def test_two_names_stand_apart_where_tex_has_them_so():
    assert inside(r"2\ln 3").startswith('<mn>2</mn><mspace width="0.167em"></mspace><mi>ln</mi>')


@pytest.mark.parametrize(
    ("tex", "classes"),
    [
        (r"\begin{matrix} 1 & 2 \\ 3 & 4 \end{matrix}", ""),
        (r"\begin{array}{r|rr} & a & b \\ \hline c & 1 & 2 \\ d & 3 & 4 \end{array}", "right ruled-row ruled-column"),
        (r"\begin{aligned} a &= b & c &= d \\[0.6em] e &= f & g &= h \end{aligned}", "pairs joined airy"),
        (r"\begin{array}{l} a \\ b \end{array}", "left"),
    ],
)
def test_tables_look_as_their_classes_say(tex, classes):
    assert re.findall(r"<mtable(?: class=\"([^\"]*)\")?", formulas.mathml(tex, True)) == [classes]


GRID = r"\begin{bmatrix} 1 & 0 & 1 \\ 0 & 1 & 0 \end{bmatrix}"


def test_the_names_of_rows_are_told_from_the_matrix():
    node = nodes.math_block("", r"X = \begin{array}{r} \text{I} \\ \text{love} \end{array}\; " + GRID)
    assert re.findall(r'<mtable class="([^"]*)"', formulas.written(node, display=True)) == ["row-names right"]


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        (rf"A = {GRID} {GRID}", 0),
        (rf"A = {GRID} {GRID} {GRID} {GRID}", 5),
        (rf"A = {GRID} \qquad B = {GRID} \qquad C = {GRID}", 5),
        (rf"\begin{{aligned}} AB &= {GRID} {GRID} {GRID} \\[0.6em] &= {GRID} \end{{aligned}}", 6),
    ],
)
def test_a_wide_formula_may_break_on_a_phone_between_formulas_and_in_long_ones_before_signs_and_matrices(tex, parts):
    made = formulas.mathml(tex, True)
    assert made.count('<mrow class="part">') == parts
    assert ("data-wide" in made) == (parts > 0)
    plain = re.sub(r"</?mrow[^>]*>", "", made)
    assert plain.replace(' data-wide="yes"', "") == re.sub(r"</?mrow[^>]*>", "", formulas.mathml(tex, True, 1000))


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{a}",
        r"\unknown x",
        r"a \\ b",
        r"\mathcal L",
        r"\begin{array}{c|c|c} 1 & 2 & 3 \end{array}",
        r"\begin{array}{lcr} 1 & 2 & 3 \end{array}",
    ],
)
def test_a_formula_that_would_not_be_shown_right_is_refused(tex):
    with pytest.raises(ValueError, match=re.escape(repr(tex) + " is no formula: ")):
        formulas.mathml(tex)


def test_a_formula_that_cannot_be_read_is_a_fault_of_its_page(monkeypatch):
    said = []
    monkeypatch.setattr(formulas, "LOGGER", SimpleNamespace(warning=lambda *words, location: said.append(location)))
    node = nodes.math("", r"\frac{a}")
    assert formulas.written(node) == ""
    assert said == [node]


def test_the_tex_stays_to_be_copied_without_its_colours_and_out_of_the_text():
    page = nodes.paragraph("", "", nodes.math("", "Q < 1"))
    (node,) = page.children
    node["coloured"] = r"\class{query}{Q} < 1"
    formulas.keep_apart(SimpleNamespace(builder=SimpleNamespace(format="html")), page, "page")
    assert page.astext() == ""
    assert formulas.written(node).startswith('<math class="math" data-tex="Q &lt; 1"><mi class="query">Q</mi>')


def test_a_mark_of_punctuation_stays_on_the_line_of_its_formula():
    one, alone = '<math class="math">x</math>', '<math class="math" data-tex="x" display="block">x</math>'
    context = {"body": f"{one}, {one} and ({one}). {alone}.", "metatags": "", "pathto": lambda path, resource: path}
    formulas.settle(None, "page", "", context, None)
    assert context["body"] == (
        f'<span class="glued">{one},</span> {one} and (<span class="glued">{one}).</span> {alone}.'
    )


def font(letters):
    path = formulas.folder("ziamath", "ziamath/fonts/STIXTwoMath-Regular.ttf")
    return formulas.small(TTFont(path), letters)


def test_the_font_holds_the_letters_of_the_formulas_and_little_else():
    letters = formulas.characters([formulas.mathml(r"h\sqrt{x} = \text{if } \omega_2")])
    assert letters == set("ℎ√𝑥=if\N{NO-BREAK SPACE}𝜔2")
    assert {chr(point) for point in font(letters).getBestCmap()} == letters


def test_what_stretches_is_equally_wide_at_all_heights():
    cut = font("[√∑")
    variants = cut["MATH"].table.MathVariants
    widths = {}
    for name, made in zip(variants.VertGlyphCoverage.glyphs, variants.VertGlyphConstruction, strict=True):
        parts = made.GlyphAssembly.PartRecords if made.GlyphAssembly else []
        all_names = [record.VariantGlyph for record in made.MathGlyphVariantRecord] + [part.glyph for part in parts]
        widths[name] = {cut["hmtx"][each][0] for each in all_names}
    assert [len(widths[cut.getBestCmap()[ord(char)]]) for char in "[√∑"] == [1, 1, 2]
