"""The cards of the first page: the routes and the chapters, each with a title, a time and one line.

The picture on the card of a chapter is its first one.
"""

import base64
import functools
import io
import xml.etree.ElementTree as ET
from html import escape
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils import nodes
from docutils.utils.smartquotes import smartyPants
from front import chapter, parts, routes
from PIL import Image
from sphinx.util.docutils import SphinxDirective

# The box that a picture is made to fit: twice what is seen, for sharp screens.
WIDTH, HEIGHT = 480, 270

ROUTES = {
    "story": (
        "Start the story",
        "The idea of each chapter on the main road, with pictures, small numbers and a real translator.",
    ),
    "workshop": (
        "Start the workshop",
        "The same chapters in full, with the code, and the side trips: models for pictures, costs, every gradient.",
    ),
    "reference": (
        "Open the reference",
        "The paper recomputed, the errata, a glossary, and every function.",
    ),
}


class Thumbnail(NamedTuple):
    """A small picture: its bytes, how a file of it ends, and the room that it takes."""

    data: bytes
    kind: str
    width: int
    height: int


@functools.cache
def after():
    """What a reader can do after each page."""
    path = routes.BOOK / "cards.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@functools.cache
def thumbnail(name):
    """The first picture of a chapter, small, or None where there is none."""
    if not (routes.BOOK / f"{name}.ipynb").is_file():
        return None
    cells = (part.cell for part in routes.chapter(name))
    return first_picture(
        output.get("data", {})
        for cell in cells
        if cell["cell_type"] == "code"
        for output in cell["outputs"]
    )


def first_picture(outputs):
    """The first picture among outputs of cells: as it is, where it is drawn; small, where it consists of dots."""
    for data in outputs:
        if drawn := "".join(data.get("image/svg+xml", "")):
            *_, width, height = map(float, ET.fromstring(drawn).get("viewBox").split())
            share = min(WIDTH / width, HEIGHT / height, 1)
            return Thumbnail(
                drawn.encode(), "svg", round(width * share), round(height * share)
            )
        if dots := "".join(data.get("image/png", "")):
            with Image.open(io.BytesIO(base64.b64decode(dots))) as image:
                small = image.convert("RGB")
            small.thumbnail((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
            packed = io.BytesIO()
            small.save(packed, "WEBP", quality=60, method=6)
            return Thumbnail(packed.getvalue(), "webp", *small.size)
    return None


def card(title, address, line, minutes=0, picture=""):
    """A card, as an item of a list: all of it leads to one page."""
    time = f"<small>{routes.clock(minutes)}</small>" if minutes else ""
    return f'<li>{picture}<a href="{escape(address)}">{escape(title)}</a>{time}<p>{escape(line)}</p></li>'


def of_chapter(name, address, static):
    """The card of a chapter: what one can do after it, and how long its idea takes."""
    idea, whole, _ = routes.times(name)
    picture = '<div class="thumb"></div>'
    if made := thumbnail(name):
        size = f'width="{made.width}" height="{made.height}"'
        picture = f'<div class="thumb"><img src="{static}cards/{name}.{made.kind}" alt="" loading="lazy" {size}></div>'
    can = after()[name]
    line = smartyPants(f"{can[0].upper()}{can[1:]}.", attr="q")
    return card(chapter(f"book/{name}").title, address, line, idea or whole, picture)


class Chapters(SphinxDirective):
    """The directive `chapters`: a fold for each part, with a card for each of its chapters."""

    def run(self):
        """The folds, one below the other."""
        builder, here = self.env.app.builder, self.env.docname
        static = "../" * here.count("/") + "_static/"
        out = []
        for caption, pages in parts().items():
            cards = [
                of_chapter(
                    page.removeprefix("book/"),
                    builder.get_relative_uri(here, page),
                    static,
                )
                for page in pages
            ]
            names = " · ".join(escape(chapter(page).title) for page in pages)
            out.append(
                f'<details class="deeper"><summary><h3>{escape(caption)}</h3><small>{names}</small></summary>'
                f'<ul class="cards">{"".join(cards)}</ul></details>'
            )
        return [nodes.raw("", "".join(out), format="html")]


class Routes(SphinxDirective):
    """The directive `routes`: three ways to read the book, with the sums of their times."""

    def run(self):
        """Three cards, and a line about the exercises."""
        names = routes.pages()
        sums = routes.sums([(routes.route(name), routes.times(name)) for name in names])
        cards = []
        for route, (title, line) in ROUTES.items():
            apart = route == "reference"
            first = next(n for n in names if (routes.route(n) == "reference") == apart)
            address = self.env.app.builder.get_relative_uri(
                self.env.docname, f"book/{first}"
            )
            cards.append(card(title, address, line, sums[route]))
        hours = round(sums["exercises"] / 60)
        more = f"The exercises are extra: allow about {hours} hours for the ones in the chapters."
        return [
            nodes.raw(
                "", f'<ul class="cards routes">{"".join(cards)}</ul>', format="html"
            ),
            nodes.paragraph("", more, classes=["small-print"]),
        ]


def write_thumbnails(app, error):
    """Write the pictures of the cards."""
    if error or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "cards")
    folder.mkdir(parents=True, exist_ok=True)
    for name in routes.pages():
        if made := thumbnail(name):
            (folder / f"{name}.{made.kind}").write_bytes(made.data)
