"""What nearly every picture repeats: a chart, curves, names, words beside a place, an arc, a sentence in one line."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import cycle, pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.textpath import TextPath
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic

CENTRE = {"ha": "center", "va": "center"}
"""How words stand in the middle of a place, by all they are; `text` puts them there by their line."""

DASHES = ("-", "--", ":", "-.")
"""Curves, so that they can be told apart without colours."""


def chart(height: float, width: float = pic.PHONE) -> tuple[pic.Picture, Axes]:
    """A picture with one set of axes."""
    figure, ((axes,),) = pic.picture(width, height)
    return figure, axes


def curves(
    axes: Axes,
    x: ArrayLike | None,
    lines: pic.Arrays,
    colours: Sequence[str] = (),
    dashes: Sequence[object] = DASHES,
    marks: Sequence[str] = ("",),
    **look: object,
) -> None:
    """A curve for each name, over x or over 1, 2, 3 …, with its name for the legend, in these colours or its own."""
    colours = colours or [pic.colour_of(name, i) for i, name in enumerate(lines)]
    for (name, y), colour, dash, mark in zip(lines.items(), cycle(colours), cycle(dashes), cycle(marks), strict=False):
        over = np.arange(1, len(np.asarray(y)) + 1) if x is None else x
        axes.plot(over, y, color=colour, linestyle=dash, marker=mark, label=name, **look)


def write(axes: Axes, x: ArrayLike, y: ArrayLike, words: str, **look: object) -> None:
    """Words on a line, centred if nothing else is said."""
    axes.text(x, y, words, **{"ha": "center", "va": "center_baseline"} | look)


def beside(axes: Axes, words: str, place: Iterable, offset: Iterable, **look: object) -> None:
    """Words so many points across and up from a place, with a rim in the colour of the ground."""
    axes.annotate(words, place, offset, textcoords="offset points", **{"gid": "halo"} | look)


def at_ends(axes: Axes, width: int = 14) -> None:
    """The name of each curve at its right end, in its colour; where too many end together, a legend.

    Names of more than `width` letters take several lines. Those that would meet move apart, and none hangs below.
    """
    lines = {line: textwrap.wrap(line.get_label(), width) for line in axes.lines if line.get_label()[0] != "_"}
    axes.get_xlim(), axes.get_ylim()  # Matplotlib decides them when it is asked for them
    ends = [line.get_xydata()[-1] for line in lines]
    high = 0.75 * 72 * axes.figure.get_figheight() / axes.get_subplotspec().get_gridspec().nrows  # points, about
    levels = high * (axes.transData + axes.transAxes.inverted()).transform(ends)[:, 1]
    half = np.array([7 * len(words) for words in lines.values()])
    order, moved = np.argsort(levels, kind="stable"), np.maximum(levels, half)
    for _ in range(100):
        for low, above in pairwise(order):
            missing = max(0.0, half[low] + half[above] - (moved[above] - moved[low]))
            down = min(missing / 2, moved[low] - half[low])
            moved[low], moved[above] = moved[low] - down, moved[above] + missing - down
    if (np.abs(moved - levels) > 30).any():
        axes.legend()
        return
    for (line, words), end, up in zip(lines.items(), ends, moved - levels, strict=True):
        beside(axes, "\n".join(words), end, (7, up), color=line.get_color(), va="center", annotation_clip=False)


def named(axes: Axes, rows: Sequence[str], columns: Sequence[str], **look: object) -> None:
    """Names beside the rows of tiles and above their columns; `look` is that of the columns'.

    As many as there are tiles: Matplotlib refuses names of the wrong axis.
    """
    counted = [image.get_array().shape[:2] for image in axes.images] or [(len(rows), len(columns))]
    axes.set_yticks(range(counted[0][0]), rows)
    axes.set_xticks(range(counted[0][1]), columns, **look)
    axes.xaxis.tick_top()
    upright(axes)


def upright(axes: Axes) -> None:
    """Names of a single character stand, where the others lie: a lying I is a dash."""
    for name in axes.get_xticklabels():
        if name.get_rotation() == 90 and len(name.get_text().strip()) == 1:
            name.set_rotation(0)


def bare(axes: Axes) -> None:
    """Names without the small lines at them, and no frame."""
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def listed(axes: Axes) -> None:
    """Names of rows without an axis beside them."""
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def arc(axes: Axes, start: float, end: float, level: float, height: float, **look: object) -> None:
    """An arc from one place on a level to another, so high, or so deep; none from a place to itself."""
    turn, half = np.linspace(0, np.pi, 40), (end - start) / 2
    if half:
        axes.plot(start + half * (1 - np.cos(turn)), level + height * np.sin(turn), **look)


def middles(tokens: Sequence[str], space: float = 0.0) -> np.ndarray:
    """Where the tokens of a sentence stand in one line, in letters, with this space between two."""
    return np.cumsum([len(token) + space for token in tokens]) - np.array([len(token.strip()) for token in tokens]) / 2


def width(word: str, size: float = 11, weight: str = "normal") -> float:
    """How far a word reaches from where it begins, in inches."""
    return TextPath((0, 0), word, size=size, prop={"weight": weight}).get_extents().x1 / 72


def spread(words: Sequence[str], room: float) -> np.ndarray:
    """The middles of words in a line so many inches wide, with equal gaps around them."""
    wide = np.array([TextPath((0, 0), word, size=11).get_extents().width / 72 for word in words])
    gap = (room - wide.sum()) / len(words)
    return np.cumsum(wide + gap) - (wide + gap) / 2
