"""The cards of the first page: the routes with their times, and the chapters with what one can do after each."""

import base64
import functools
import io
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from front import chapter, parts, routes
from PIL import Image
from sphinx.util.docutils import SphinxDirective

# The box that a picture is made to fit: twice what is seen, for sharp screens.
WIDTH, HEIGHT = 480, 270

ROUTES = {
    "story": (
        "The story",
        "The idea of every chapter: what earlier attempts got wrong, a picture, small numbers, "
        "and what the idea does in a real translator.",
        "Start the story",
    ),
    "workshop": (
        "The workshop",
        "Everything: the same chapters in full, with the PyTorch code, measurements and pitfalls, "
        "and a side trip through every gradient.",
        "Start the workshop",
    ),
    "reference": (
        "The reference",
        "Pages to come back to: how to use the code, the paper recomputed, the errata, a glossary, every function.",
        "Open the reference",
    ),
}


@functools.cache
def after():
    """What a reader can do after each page."""
    path = routes.BOOK / "cards.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@functools.cache
def thumbnail(name):
    """The first picture of a chapter, small: its bytes and its size, or None where there is no picture."""
    pictures = (
        output["data"]["image/png"]
        for part in (
            routes.chapter(name) if (routes.BOOK / f"{name}.ipynb").is_file() else []
        )
        if part.cell["cell_type"] == "code"
        for output in part.cell["outputs"]
        if "image/png" in output.get("data", {})
    )
    first = next(pictures, None)
    if first is None:
        return None
    with Image.open(io.BytesIO(base64.b64decode(first))) as image:
        small = image.convert("RGB")
    small.thumbnail((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    packed = io.BytesIO()
    small.save(packed, "WEBP", quality=60, method=6)
    return packed.getvalue(), small.size


def card(name, address, static):
    """The card of a chapter, as an item of a list."""
    title = chapter(f"book/{name}").title
    idea, whole, _ = routes.times(name)
    minutes = [f"idea {routes.clock(idea)}"] * (idea > 0) + [
        f"all {routes.clock(whole)}"
    ] * (whole > 0)
    picture = ""
    if thumbnail(name):
        _, (width, height) = thumbnail(name)
        picture = f'<img src="{static}cards/{name}.webp" alt="" loading="lazy" width="{width}" height="{height}">'
    can = after()[name]
    return (
        f'<li><div class="thumb">{picture}</div><a href="{escape(address)}">{escape(title)}</a>'
        f"<p>{escape(can[0].upper() + can[1:])}.</p>"
        + (f'<p class="small-print">{" · ".join(minutes)}</p>' if minutes else "")
        + "</li>"
    )


class Chapters(SphinxDirective):
    """The directive `chapters`: a fold for each part, with a card for each of its chapters."""

    def run(self):
        """The folds, one below the other."""
        builder, here = self.env.app.builder, self.env.docname
        static = "../" * here.count("/") + "_static/"
        out = []
        for caption, pages in parts().items():
            cards = [
                card(
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
        for route, (title, words, button) in ROUTES.items():
            apart = route == "reference"
            first = next(n for n in names if (routes.route(n) == "reference") == apart)
            address = self.env.app.builder.get_relative_uri(
                self.env.docname, f"book/{first}"
            )
            cards.append(
                f"<li><p><strong>{title}</strong> {routes.clock(sums[route])}</p><p>{words}</p>"
                f'<a class="start" href="{address}">{button}</a></li>'
            )
        hours = round(sums["exercises"] / 60)
        more = f"Exercises are extra, as many as you like. All of them together take about {hours} hours."
        return [
            nodes.raw("", f'<ul class="routes">{"".join(cards)}</ul>', format="html"),
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
            (folder / f"{name}.webp").write_bytes(made[0])
