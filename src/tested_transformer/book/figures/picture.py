"""The one look of all figures: size, type and colours that colour-blind readers can tell apart."""

import functools
import io
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from tested_transformer.book import colours
from tested_transformer.book.figures import svg
from tested_transformer.shares import as_share

Arrays = Mapping[str, ArrayLike]
"""Arrays by their names."""

Pair, Place = tuple[float, float], tuple[float, float, float, float]
"""Across and up, or two ends; a corner, the width and the height."""

QUERY, KEY, VALUE, WEIGHT, OUT = (colour.light for colour in colours.TENSORS.values())
"""The colours of queries, keys, values, weights and outputs, wherever they are drawn."""

EMBEDDING, ATTENTION, FEED_FORWARD, NORM = (colour.light for colour in colours.PARTS.values())
"""The colours of the parts of the machine."""

OURS, THEIRS = (colour.light for colour in colours.SIDES.values())
"""The colours of this book's code and of what it is measured against."""

FORWARD, GRADIENT = (colour.light for colour in colours.PASSES.values())
"""The colours of what goes forward and of what comes back."""

SERIES = (QUERY, KEY, VALUE, OUT, *(colour.light for colour in colours.OTHERS.values()))
"""Colours for things that have no role, in this order."""

INK, FAINT = colours.INK.light, colours.FAINT.light
"""Text and lines; grids and guides."""

WEIGHTS = LinearSegmentedColormap.from_list("weights", ["#ffffff", "#b9d7ea", "#2f86bd", "#00456e"])
"""From nothing (white) to much: for numbers that start at zero."""

SIGNED = LinearSegmentedColormap.from_list("signed", ["#9c3a00", "#e8985c", "#ffffff", "#6aa9d2", "#00456e"])
"""From negative (brown) through zero (white) to positive (blue)."""

PHONE, WIDE = 5.1, 5.9
"""So many inches wide are pictures; shrunk to a phone of 390 pixels, the wide ones still have letters of 10."""

STYLE = {
    "figure.dpi": svg.DPI,
    "figure.facecolor": "white",
    "font.size": 12,
    "font.family": [svg.FACE, "DejaVu Sans"],
    "mathtext.fontset": "custom",
    "mathtext.rm": svg.FACE,
    "mathtext.it": f"{svg.FACE}:italic",
    "mathtext.bf": f"{svg.FACE}:bold",
    "mathtext.cal": svg.FACE,
    "mathtext.sf": svg.FACE,
    "mathtext.fallback": "stixsans",
    "image.interpolation": "none",
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 2,
}


svg.register()

_GENDERS = dict(zip(("masculine", "feminine", "neuter"), colours.GENDERS.values(), strict=True))
ROLES = {
    "projections": ATTENTION,
    "attention": WEIGHT,
    "scores and mixtures (Table 1)": WEIGHT,
    "feed-forward": FEED_FORWARD,
    "feed-forward network": FEED_FORWARD,
    "vocabulary": EMBEDDING,
    "ours": OURS,
    "nn.Transformer": THEIRS,
    "Marian": THEIRS,
    "CTranslate2": THEIRS,
    "gradients": GRADIENT,
} | {
    word: colour.light
    for gender, words in {"masculine": "er der chair", "feminine": "sie die lamp", "neuter": "es das picture"}.items()
    for word, colour in zip([gender, *words.split()], [_GENDERS[gender]] * 9, strict=False)
}
"""What has a colour of its own, by the name under which charts show it."""

_Arguments = ParamSpec("_Arguments")


class Picture(Figure):
    """A figure that draws itself the same way in every notebook, in the face of the book, as SVG."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        svg.Canvas(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """The drawing as an element of a page; its letters are text."""
        drawing = svg.Drawing(*self.get_size_inches())
        with rc_context(STYLE):
            self.draw(drawing)
        return drawing.written()

    def paper(self, form: str) -> bytes:
        """The drawing to print, "svg" or "pdf": its letters come with it, and it has no date inside."""
        buffer, date = io.BytesIO(), "Date" if form == "svg" else "CreationDate"
        with rc_context(STYLE | {"pdf.fonttype": 42, "svg.hashsalt": "book"}):
            self.savefig(buffer, format=form, facecolor="white", metadata={"Creator": None, date: None})
        return buffer.getvalue()


def styled(draw: Callable[_Arguments, Picture]) -> Callable[_Arguments, Picture]:
    """Draw in the style of the book, whatever matplotlib is set to elsewhere."""

    @functools.wraps(draw)
    def drawn(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Picture:
        with rc_context(STYLE):
            return draw(*args, **kwargs)

    return drawn


def picture(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: object
) -> tuple[Picture, np.ndarray]:
    """A new picture of that size in inches and its axes, as an array (rows, columns)."""
    figure = Picture(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def colour_of(name: str, n: int = 0) -> str:
    """The colour of what a chart names: its own, or that of the n-th thing without a role."""
    return ROLES.get(name.strip('"“”'), SERIES[n % len(SERIES)])


def tint(colour: str) -> LinearSegmentedColormap:
    """One light tint of a colour, whatever the number."""
    light = 0.86 + 0.14 * np.array(to_rgb(colour))
    return LinearSegmentedColormap.from_list("tint", [light, light])


def ink_on(ground: Sequence[float]) -> str:
    """The ink that reads on a colour: black or white."""
    red, green, blue = np.power(ground[:3], 2.2)
    # at 0.18 black and white read equally well
    return "black" if 0.21 * red + 0.72 * green + 0.07 * blue > 0.18 else "white"


def tiles(
    axes: Axes,
    x: ArrayLike,
    cmap: LinearSegmentedColormap,
    limits: tuple[float, float],
    decimals: int,
    whole: float | None = None,
) -> None:
    """A matrix as coloured tiles with the numbers in them, in an ink that reads on the tile.

    Where the numbers are shares of a `whole` (1, or 100 for percent), they are written so.
    """
    x = np.asarray(x)
    low, high = limits
    axes.imshow(x, cmap=cmap, vmin=low, vmax=high, aspect="equal")
    for (i, j), value in np.ndenumerate(x):
        ink = ink_on(cmap((value - low) / (high - low)))
        # the last bits of a float do not decide
        plain = np.isclose(value, np.round(value), rtol=0, atol=1e-10)
        number = f"{value:z.{0 if plain else decimals}f}"
        if whole is not None:
            number = as_share(value, decimals, whole)
        axes.text(j, i, number, ha="center", va="center", color=ink)
    axes.set_xticks(np.arange(x.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(x.shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)


def alike(axes: Axes, x: ArrayLike, decimals: int) -> None:
    """Write the numbers of a matrix of tiles with decimals all, or none: 1.00 beside 1.64."""
    some = ["." in text.get_text() for text in axes.texts]
    if any(some):
        for text, value, has in zip(axes.texts, np.ravel(x), some, strict=True):
            if not has:
                text.set_text(f"{value:z.{decimals}f}")
