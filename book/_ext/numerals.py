"""Numbers on the pages written one way: thin spaces between thousands, a true minus, powers of ten."""

import re

from docutils import nodes

POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?)0*(\d+)\b")
THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:(?:,\d{3})+|[ ,\xa0]000)(?!\w|,\d)")
MINUS = re.compile(r"(?<![^\s(\[|])-(?=\d)")
ALONE = re.compile(r"\d{5,}")
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
THIN = "\u202f"


def typeset(text, alone=False):
    """A piece of text, its numbers as print has them; a number that stands alone in a cell of a table is always one."""
    text = POWER.sub(power, text)
    text = THOUSANDS.sub(lambda m: re.sub(r"\D", THIN, m[0]), text)
    if alone and ALONE.fullmatch(text):
        text = f"{int(text):,}".replace(",", THIN)
    return MINUS.sub("−", text)


def power(found):
    """A number by its power of ten."""
    raised = "10" + (found[2].strip("+") + found[3]).translate(RAISED)
    return raised if float(found[1]) == 1 else f"{found[1]}{THIN}·{THIN}{raised}"


def typeset_page(app, doctree, page):
    """Set the numbers of a page, but for code and formulas."""
    if app.builder.format != "html":
        return
    kept = (
        nodes.literal | nodes.literal_block | nodes.math | nodes.math_block | nodes.raw
    )
    for text in list(doctree.findall(nodes.Text)):
        above, parts = text.parent, set()
        while above is not None and not isinstance(above, kept):
            parts.add(type(above))
            above = above.parent
        if above is None:
            alone = nodes.entry in parts and text.parent.astext() == text.astext()
            if (made := typeset(text.astext(), alone)) != text.astext():
                text.parent.replace(text, nodes.Text(made))
