"""The face of the text: Source Sans, cut down to the characters of the pages, and asked for early.

Until it is there, a page is read in a face of the system that takes the same room: the build measures both.
"""

import importlib.metadata
import pathlib
import re
from collections import Counter

import matplotlib
from fontTools.agl import UV2AGL
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FACES = {"regular": "Regular", "italic": "It", "semibold": "Semibold"}
KINDS = {
    "regular": "font-weight:400",
    "italic": "font-weight:400;font-style:italic",
    "semibold": "font-weight:600 700",
}

# What systems have, by the names that they know it under. Arial has the widths of Helvetica, which Matplotlib brings
# along, as it does DejaVu. A line of Roboto is as long as one of Arial times this.
ROBOTO = {"regular": 0.9965, "italic": 0.9686, "semibold": 0.9436}
STAND_INS = {
    "Near Arial": {
        "regular": ("Arial", "ArialMT", "Liberation Sans", "Helvetica"),
        "italic": (
            "Arial Italic",
            "Arial-ItalicMT",
            "Liberation Sans Italic",
            "Helvetica Oblique",
        ),
        "semibold": (
            "Arial Bold",
            "Arial-BoldMT",
            "Liberation Sans Bold",
            "Helvetica Bold",
        ),
    },
    "Near Roboto": {
        "regular": ("Roboto", "Roboto Regular", "Roboto-Regular"),
        "italic": ("Roboto Italic", "Roboto-Italic"),
        "semibold": ("Roboto Bold", "Roboto-Bold"),
    },
    "Near DejaVu": {
        "regular": ("DejaVu Sans", "Verdana"),
        "italic": ("DejaVu Sans Oblique", "Verdana Italic"),
        "semibold": ("DejaVu Sans Bold", "Verdana Bold"),
    },
}
HELVETICA = {"regular": "phvr8a", "italic": "phvro8a", "semibold": "phvb8a"}
DEJAVU = {
    "regular": "DejaVuSans",
    "italic": "DejaVuSans-Oblique",
    "semibold": "DejaVuSans-Bold",
}
QUOTES = {"'": "quotesingle", "`": "grave"}

# Fonts are asked for before anything else of a page, by a script that runs at once: a page that is read from the disk
# may not ask like this, and would complain.
EARLY = (
    '<script>if (location.protocol !== "file:") for (const href of [%s]) document.head.append(Object.assign('
    'document.createElement("link"), {rel: "preload", as: "font", type: "font/woff2", crossOrigin: "", href}))</script>'
)
SILENT = re.compile(r"<(script|style|math|pre)\b.*?</\1>", re.S)


def ask_early(app, page, template, context, doctree):
    """Have the fonts of a page fetched before it is laid out."""
    names = [*FACES, *["formulas"] * ("<math" in context.get("body", ""))]
    paths = (
        context["pathto"](f"_static/fonts/{name}.woff2", resource=True)
        for name in names
    )
    script = EARLY % ", ".join(f'"{path}"' for path in paths)
    context["metatags"] = context.get("metatags", "") + script


def small(font, letters):
    """A font cut down to some letters, with their kerning and figures of one width, to be saved as WOFF2."""
    options = Options(
        hinting=False,
        layout_features=["kern", "liga", "mark", "tnum"],
        name_IDs=[0, 13, 14],
    )
    cut = Subsetter(options)
    cut.populate(unicodes=[ord(letter) for letter in letters])
    cut.subset(font)
    font.flavor = "woff2"
    return font


def length(font, letters):
    """How long the letters are in a font, in sizes of it."""
    named, wide = font.getBestCmap(), font["hmtx"]
    units = sum(wide[named[ord(letter)]][0] * n for letter, n in letters.items())
    return units / font["head"].unitsPerEm


def length_by_list(metrics, letters):
    """The same from a list of widths, in thousandths, as Adobe publishes them for its fonts."""
    wide = {
        name: int(width) for width, name in re.findall(r"WX (\d+) ; N (\w+)", metrics)
    }
    names = {letter: QUOTES.get(letter, UV2AGL[ord(letter)]) for letter in letters}
    return sum(wide[names[letter]] * n for letter, n in letters.items()) / 1000


def lengths(face, letters):
    """How long the letters are in each face that stands in."""
    fonts = pathlib.Path(matplotlib.get_data_path(), "fonts")
    metrics = (fonts / "afm" / f"{HELVETICA[face]}.afm").read_text(encoding="ascii")
    arial = length_by_list(metrics, letters)
    dejavu = length(TTFont(fonts / "ttf" / f"{DEJAVU[face]}.ttf"), letters)
    return dict(zip(STAND_INS, (arial, arial * ROBOTO[face], dejavu), strict=True))


def stand_in(name, face, font, letters):
    """A face of the system under a name of ours, at the size at which the letters take the room they have in a font."""
    size = length(font, letters) / lengths(face, letters)[name]
    up, down = (
        abs(edge) / font["head"].unitsPerEm / size
        for edge in (font["hhea"].ascent, font["hhea"].descent)
    )
    where = ",".join(f'local("{local}")' for local in STAND_INS[name][face])
    return (
        f'@font-face{{font-family:"{name}";{KINDS[face]};src:{where};size-adjust:{size:.2%};'
        f"ascent-override:{up:.2%};descent-override:{down:.2%};line-gap-override:0%}}\n"
    )


def style(fonts, letters):
    """The faces of the book and those that stand in for them, as a style that lies beside the folder of the fonts."""
    own = "".join(
        f'@font-face{{font-family:"Text of the book";{KINDS[face]};'
        f"font-display:optional;src:url(fonts/{face}.woff2)}}\n"
        for face in fonts
    )
    return own + "".join(
        stand_in(name, face, font, letters)
        for name in STAND_INS
        for face, font in fonts.items()
    )


def cut_faces(app, error):
    """Write the fonts of the text beside the built pages, and into their style."""
    if error or app.builder.format != "html":
        return
    letters = Counter()
    for path in pathlib.Path(app.outdir).rglob("*.html"):
        letters.update(SILENT.sub("", path.read_text(encoding="utf-8")))
    static = pathlib.Path(app.outdir, "_static")
    package = importlib.metadata.distribution("font-source-sans-pro")
    files = pathlib.Path(package.locate_file("font_source_sans_pro/files"))
    fonts = {
        name: TTFont(files / f"SourceSansPro-{face}.ttf", recalcTimestamp=False)
        for name, face in FACES.items()
    }
    common = {letter: n for letter, n in letters.items() if " " <= letter <= "~"}
    book = static / "book.css"
    book.write_text(style(fonts, common) + book.read_text("utf-8"), encoding="utf-8")
    (static / "fonts").mkdir(exist_ok=True)
    for name, font in fonts.items():
        small(font, letters).save(static / "fonts" / f"{name}.woff2")
