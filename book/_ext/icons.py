"""The icons of the pages: from the theme's fonts of nearly 2 000 icons, those that a page or its scripts name.

`book.css` declares the small fonts under the families of the large ones. A browser takes the later declaration first,
and asks for the large font only for an icon that the small one lacks.
"""

import logging
import pathlib
import re

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

# It would tell of each table that it leaves out.
logging.getLogger("fontTools").setLevel(logging.WARNING)

FONTS = {"solid": "fa-solid-900.ttf", "brands": "fa-brands-400.ttf"}
POINT = r'"\\(f[0-9a-f]{3})"'
RULE = re.compile(rf"([^{{}}]*)\{{content:{POINT}\}}")
ICON = re.compile(r"\bfa-[a-z0-9-]+")


def icons(texts, style):
    r"""The code points of the icons that are named in pages and scripts, or that the style sheets show by themselves.

    Args:
        texts: what may name icons: HTML and JavaScript.
        style: the style sheets, where `.fa-list:before{content:"\f03a"}` tells the code point of an icon.

    """
    rules = [(set(ICON.findall(names)), point) for names, point in RULE.findall(style)]
    shown = re.findall(
        POINT, RULE.sub(lambda m: "" if ICON.search(m[1]) else m[0], style)
    )
    named = {name for text in texts for name in ICON.findall(text)}
    return {
        int(point, 16)
        for point in (*shown, *(point for names, point in rules if names & named))
    }


def small(font, points):
    """A TrueType font cut down to some code points, to be saved as WOFF2; its own name, as it is not the whole one."""
    options = Options(
        drop_tables=["FFTM"],
        hinting=False,
        layout_features=[],
        name_IDs=[0, 11],
        notdef_outline=True,
    )
    cut = Subsetter(options)
    cut.populate(unicodes=points)
    cut.subset(font)
    font["name"].setName("Icons of the book", 1, 3, 1, 0x409)
    font.flavor = "woff2"
    return font


def cut_icons(app, error):
    """Write the small fonts beside the built pages."""
    if error or app.builder.format != "html":
        return
    static = pathlib.Path(app.outdir, "_static")
    scripts = [path for path in static.rglob("*.js") if path.stem != "fontawesome"]
    texts = [
        path.read_text(encoding="utf-8")
        for path in (*pathlib.Path(app.outdir).rglob("*.html"), *scripts)
    ]
    points = icons(
        texts,
        "".join(path.read_text(encoding="utf-8") for path in static.rglob("*.css")),
    )
    (static / "icons").mkdir(exist_ok=True)
    for name, source in FONTS.items():
        font = TTFont(
            static / "vendor" / "fontawesome" / "webfonts" / source,
            recalcTimestamp=False,
        )
        small(font, points).save(static / "icons" / f"{name}.woff2")
