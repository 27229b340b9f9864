"""The face of the text: Source Sans, cut down to the characters of the pages, and asked for early."""

import importlib.metadata
import pathlib
import re

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FACES = {"regular": "Regular", "italic": "It", "semibold": "Semibold"}

# Fonts are asked for before a page is laid out, so that nothing moves when they are there. A page that is read from the
# disk may not ask like this, and would complain.
EARLY = (
    '<script>if (location.protocol !== "file:") document.head.append(Object.assign(document.createElement("link"), '
    '{rel: "preload", as: "font", type: "font/woff", crossOrigin: "", href: "%s"}))</script>'
)
SILENT = re.compile(r"<(script|style|math|pre)\b.*?</\1>", re.S)


def ask_early(context, *names):
    """Have some fonts fetched before the page is laid out."""
    for name in names:
        path = context["pathto"](f"_static/fonts/{name}.woff", resource=True)
        context["metatags"] = context.get("metatags", "") + EARLY % path


def ask_for_text(app, page, template, context, doctree):
    """Have the fonts of the text fetched."""
    ask_early(context, *FACES)


def small(font, letters):
    """A font cut down to some letters, with their kerning and figures of one width, to be saved as WOFF."""
    options = Options(
        hinting=False,
        layout_features=["kern", "liga", "mark", "tnum"],
        name_IDs=[0, 13, 14],
    )
    cut = Subsetter(options)
    cut.populate(unicodes=[ord(letter) for letter in letters])
    cut.subset(font)
    font.flavor = "woff"
    return font


def cut_faces(app, error):
    """Write the fonts of the text beside the built pages."""
    if error or app.builder.format != "html":
        return
    letters = set()
    for path in pathlib.Path(app.outdir).rglob("*.html"):
        letters.update(SILENT.sub("", path.read_text(encoding="utf-8")))
    package = importlib.metadata.distribution("font-source-sans-pro")
    files = pathlib.Path(package.locate_file("font_source_sans_pro/files"))
    fonts = pathlib.Path(app.outdir, "_static", "fonts")
    fonts.mkdir(exist_ok=True)
    for name, face in FACES.items():
        font = TTFont(files / f"SourceSansPro-{face}.ttf", recalcTimestamp=False)
        small(font, letters).save(fonts / f"{name}.woff")
