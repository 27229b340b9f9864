"""Pictures stand in the page itself: their words are words of the page, and their colours follow its theme."""

import pathlib
import re
from html import escape

import themes
from docutils import nodes

DRAWING = re.compile(
    r'<svg xmlns="[^"]*" width="([\d.]+)" height="([\d.]+)".*?\n</svg>(?!\n)', re.DOTALL
)
GROUND = re.compile(r'<rect x="0" y="0" [^>]*fill="#ffffff"/>\n')
ON_TILE = {"#ffffff": "white", "#000000": "black"}
QUOTED, APOSTROPHE = re.compile("&quot;(.+?)&quot;"), re.compile(r"(?<=\w)'")
TEXT = re.compile(r"(<text[^>]*>)([^<]+)")
WORDS = re.compile(r'(<text[^>]*?) fill="(#ffffff|#000000)"')
COLOUR = re.compile(r'(fill|stroke)="(#[0-9a-f]{6})"')
# A picture with which a page begins is as wide as the text, unless it would become too high, or its letters too large.
COLUMN, HIGHEST, LARGEST = 688, 460, 1.15


def curly(words):
    """With the quotation marks and apostrophes of the text around a drawing."""
    return APOSTROPHE.sub("’", QUOTED.sub("“\\1”", words))


def placed(svg, number, known, alt=None, opens=False):
    """A drawing as a part of its page, the so-manieth there; `known` are the colours that the page has in the dark."""
    new = {}

    def themed(found):
        what, colour = found.groups()
        named = themes.named(colour)
        if named is None and colour not in known:
            new[colour] = themes.dark(colour)
        return f'{what}="var({named or f"--ink-{colour[1:]}"},{colour})"'

    def on_tile(found):
        return f'{found[1]} fill="var(--{ON_TILE[found[2]]}-on-tile,{found[2]})"'

    width, height = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg).groups()
    svg = COLOUR.sub(themed, WORDS.sub(on_tile, GROUND.sub("", svg, count=1)))
    svg = TEXT.sub(lambda found: found[1] + curly(found[2]), svg)
    svg = re.sub(r'(id="|url\(#)(hatch)', rf"\1d{number}-\2", svg)
    svg = re.sub(r' xmlns="[^"]*"| font-family="[^"]*"', "", svg, count=2)
    if alt is not None:
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)
    known |= new
    night = "".join(f"--ink-{colour[1:]}:{dark};" for colour, dark in new.items())
    style = f'<style>html[data-theme="dark"]{{{night}}}</style>' if new else ""
    fits = min(COLUMN / float(width), HIGHEST / float(height), LARGEST)
    wide = f"{float(width) * max(1, fits):g}" if opens else width
    room = f"width:{wide}px;aspect-ratio:{width}/{height}"
    return f'{style}<div class="drawn" style="{room}">{svg}</div>'


def before_headings(node):
    """Whether this stands before the first heading below the title."""
    while not isinstance(node.parent, nodes.section | nodes.document):
        node = node.parent
    return isinstance(node.parent.parent, nodes.document | None)


def place_drawings(app, doctree, page):
    """Put every drawing of a page where its file would be linked."""
    if app.builder.format != "html":
        return
    known, number = {}, 0
    for node in list(doctree.findall(lambda n: isinstance(n, nodes.image | nodes.raw))):
        if (
            isinstance(node, nodes.image)
            and node["uri"].endswith(".svg")
            and "jupyter_execute" in node["uri"]
        ):
            svg = pathlib.Path(app.srcdir, node["uri"]).read_text(encoding="utf-8")
            opens = not number and before_headings(node)
            html = placed(svg, number, known, node.get("alt", ""), opens)
            number += 1
            node.replace_self(nodes.raw("", html, format="html"))
        elif isinstance(node, nodes.raw) and DRAWING.search(text := node.astext()):
            number += 1
            html = DRAWING.sub(lambda found: placed(found[0], number, known), text)  # noqa: B023
            node.replace_self(nodes.raw("", html, format="html"))
