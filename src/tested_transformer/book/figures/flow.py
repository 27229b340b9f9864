"""What pictures are made of that show a way: arrows, boxes of numbers, tiles, and the ways around."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.kit import CENTRE, write

KINDS = {"table": pic.EMBEDDING, "attention": pic.ATTENTION, "feed": pic.FEED_FORWARD, "norm": pic.NORM}
"""The colours of the boxes of the machine, by a word of their names."""

CELL, LINE = 0.54, 0.27
"""Width and height of a tile in a box, in inches."""


def blank(width: float, height: float) -> tuple[pic.Picture, Axes]:
    """A picture with one invisible frame over all of it, measured in inches."""
    figure, ((frame,),) = pic.picture(width, height)
    figure.set_layout_engine("none")
    frame.set_position((0, 0, 1, 1))
    frame.set(xlim=(0, width), ylim=(0, height))
    frame.set_axis_off()
    return figure, frame


def tile(axes: Axes, place: pic.Place, face: object, text: str = "", ink: str = pic.INK, **look: object) -> None:
    """A rectangle with words in its middle; place is a corner, the width, the height."""
    x, y, width, height = place
    look = {"facecolor": face, "edgecolor": pic.FAINT} | look
    axes.add_patch(Rectangle((x, y), width, height, **look))
    if text:
        axes.text(x + width / 2, y + height / 2, text, color=ink, **CENTRE)


def kind(name: str) -> str:
    """The colour of a box by its name; that of letters if it is of no kind."""
    return next((colour for word, colour in KINDS.items() if word in name), pic.INK)


def part(frame: Axes, place: pic.Place, name: str, text: str = "", **look: object) -> None:
    """A box of the machine, the same in every picture: a light ground, and a rim in the colour of its kind."""
    colour = kind(name)
    face = "white" if colour == pic.INK else pic.tint(colour)(0.5)
    tile(frame, place, face, edgecolor=colour, **{"linewidth": 1.4, "zorder": 5} | look)
    x, y, width, height = place
    if text:
        write(frame, x + width / 2, y + height / 2, text, zorder=6)


def joint(frame: Axes, place: pic.Pair) -> None:
    """Where something is added to the row."""
    frame.add_patch(Circle(place, 0.11, facecolor="white", edgecolor=pic.INK, linewidth=1.4, zorder=6))
    write(frame, *place, "+", zorder=7)


def outline(axes: Axes, place: pic.Place, colour: str, line: float, **look: object) -> None:
    """A frame around a place: a corner, the width, the height."""
    x, y, width, height = place
    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=colour, linewidth=line, **look))


def box(
    figure: pic.Picture, x: ArrayLike, place: pic.Pair, title: str, words: Sequence[str], cmap: Colormap = pic.SIGNED
) -> Axes:
    """A matrix as tiles under its title; place is the middle of its upper edge. In WEIGHTS it has shares."""
    rows, columns = np.shape(x)
    (centre, top), (width, height) = place, figure.get_size_inches()
    left, bottom = centre - CELL * columns / 2, top - LINE * rows
    axes = figure.add_axes((left / width, bottom / height, CELL * columns / width, LINE * rows / height))
    shares = cmap is pic.WEIGHTS
    limits, whole = ((0, 1.25), 1) if shares else ((-3.5, 3.5), None)
    pic.tiles(axes, x, cmap, limits, decimals=2, whole=whole)
    pic.alike(axes, x, decimals=2)
    axes.set(aspect="auto", xticks=[], yticks=range(rows), yticklabels=words or [""] * rows)
    axes.set_title(title, loc="center", pad=4)
    return axes


def below(axes: Axes, across: float = 0.5) -> pic.Pair:
    """The point under a box, in inches."""
    (width, height), at = axes.figure.get_size_inches(), axes.get_position()
    return (at.x0 + across * at.width) * width, at.y0 * height - 0.04


def above(axes: Axes, across: float = 0.5) -> pic.Pair:
    """The point over the title of a box, in inches."""
    (width, height), at = axes.figure.get_size_inches(), axes.get_position()
    return (at.x0 + across * at.width) * width, at.y1 * height + 0.25


def arrow(
    where: Axes | pic.Picture,
    tail: pic.Pair,
    head: pic.Pair,
    colour: str = pic.INK,
    size: float = 12,
    width: float = 1.4,
    **look: object,
) -> None:
    """A straight arrow; its points are in data of the axes, or in shares of the picture."""
    look = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "color": colour} | look
    look |= {"mutation_scale": size, "linewidth": width}
    where.add_artist(FancyArrowPatch(tail, head, **look))


def link(start: Axes, end: Axes, colour: str, gap: float, at: float = 0.5, **look: float) -> None:
    """An arrow from a gap below one box to above the title of another, at that part of its width."""
    a, b = start.get_position(), end.get_position()
    tail, head = ((a.x0 + a.x1) / 2, a.y0 - gap), (b.x0 + at * b.width, b.y1 + 0.032)
    arrow(start.figure, tail, head, colour, **look)


def bent(frame: Axes, way: Sequence[pic.Pair], colour: str = pic.INK, line: float = 1.2, **look: object) -> None:
    """A line through some points; its last piece is an arrow."""
    frame.plot(*zip(*way[:-1], strict=True), color=colour, linewidth=line)
    arrow(frame, way[-2], way[-1], colour, **look)


def column(
    frame: Axes,
    parts: Sequence[str],
    x: pic.Pair,
    y: tuple[float, float, float],
    way: pic.Pair,
    draw: Callable[[pic.Place, str], None],
    size: float,
    widths: pic.Pair,
) -> Iterator[tuple[str, float]]:
    """The boxes of a layer below each other, an arrow between two; yields the name and the lower edge of each.

    x is the left edge and the width of a box, y the upper edge of the first, the height of each and the gap between
    two. What is added in `add & norm` comes around a box: `way` is where, and how far above the box it begins. The
    widths are those of the arrows between and around; `draw` draws a box.
    """
    (left, width), (top, high, gap), (side, over), (line, round_line) = x, y, way, widths
    middle, edge = left + width / 2, left if side < left else left + width
    for n, part in enumerate(parts):
        low = top - n * (high + gap) - high
        draw((left, low, width, high), part)
        if n:
            arrow(frame, (middle, low + high + gap), (middle, low + high), size=size, width=line)
        yield part, low
        if part == "add & norm":
            above, level = low + 2 * high + gap + over, low + high / 2
            corners = (middle, above), (side, above), (side, level), (edge, level)
            bent(frame, corners, line=round_line, size=size, width=round_line)


def layer(
    frame: Axes,
    steps: pic.Arrays,
    places: Sequence[tuple[str, float, float, str, Sequence[str]]],
    weights: Sequence[str],
    links: Sequence[tuple[str, str]],
    sums: Sequence[tuple[str, str, str]],
    side: float,
) -> dict[str, Axes]:
    """A layer with its numbers: for each step a box, by its middle, its upper edge, its title and its words.

    `weights` names the steps that are weights, `links` are arrows from one step to another, `sums` the ways around
    sub-layers (`residual`), along the side.
    """
    boxes = {}
    for name, x, top, title, words in places:
        cmap = pic.WEIGHTS if name in weights else pic.SIGNED
        boxes[name] = box(frame.figure, steps[name], (x, top), title, words, cmap)
    for start, end in links:
        arrow(frame, below(boxes[start]), above(boxes[end]))
    for start, before, after in sums:
        residual(frame, boxes[start], boxes[before], boxes[after], side)
    return boxes


def residual(frame: Axes, start: Axes, before: Axes, after: Axes, side: float) -> None:
    """The way around a sub-layer: out of `start`, along the side, into a plus between `before` and `after`."""
    (x, low), (_, high) = below(before), above(after)
    y = (low + high) / 2 + 0.03
    (width, height), at = start.figure.get_size_inches(), start.get_position()
    out, level = at.x1 * width + 0.05, (at.y0 + at.y1) / 2 * height
    frame.plot([out, side, side], [level, level, y], color=pic.FORWARD, linewidth=1.6)
    arrow(frame, (side, y), (x + 0.12, y), pic.FORWARD)
    arrow(frame, (x, low), (x, y + 0.11))
    arrow(frame, (x, y - 0.11), (x, high))
    joint(frame, (x, y))
