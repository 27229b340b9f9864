"""A sentence as a matrix, and several sentences as a batch."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, outline, tile
from tested_transformer.book.figures.kit import CENTRE, beside, chart

FULL = 3
"""Numbers of this size and above have the full colour."""


@pic.styled
def rows(tokens: Sequence[str], vectors: ArrayLike, row: int, first: int = 5) -> pic.Picture:
    """A sentence as a matrix (T, D): a row for each token, one of them lit, with its first numbers written below."""
    vectors = np.asarray(vectors)
    count, width = vectors.shape
    if len(tokens) != count:
        raise ValueError(f"{len(tokens)} tokens for {count} rows")
    line, left, right, bottom = 0.23, 1.3, 4.1, 1.0
    top = bottom + line * count
    figure, frame = blank(4.2, top + 0.42)
    _sheet(frame, vectors, (left, right, bottom, top))
    for place, token in enumerate(tokens):
        lit = place == row
        look = {"color": pic.QUERY, "weight": "bold"} if lit else {}
        y = top - line * (place + 0.5)
        frame.text(left - 0.08, y, token.strip(), ha="right", va="center", **look)
    _axis(frame, (left, top + 0.1), (right, top + 0.1), f"{width} numbers")
    _axis(frame, (0.36, top), (0.36, bottom), f"{count} tokens")
    low = top - line * (row + 1)
    outline(frame, (left, low, right - left, line), pic.QUERY, 2, zorder=3)
    box = (left, left + 0.5 * first, 0.35, 0.65)
    share = (right - left) * first / width
    look = {"color": pic.QUERY, "linewidth": 1, "zorder": 4}
    for start, end in ((left, box[0]), (left + share, box[1])):
        frame.plot([start, end], [low, box[3]], **look)
    place = box[0], box[2], box[1] - box[0], box[3] - box[2]
    zoom = figure.add_axes(np.divide(place, (*figure.get_size_inches(),) * 2))
    pic.tiles(zoom, vectors[row : row + 1, :first], pic.SIGNED, (-FULL, FULL), 2)
    zoom.set(aspect="auto", xticks=[], yticks=[])
    frame.text(left - 0.08, 0.5, tokens[row].strip(), ha="right", va="center", color=pic.QUERY, weight="bold")
    frame.text(box[1] + 0.06, 0.5, "…", va="center")
    frame.text(left, 0.1, f"its first {first} numbers")
    return figure


@pic.styled
def batch(sentences: pic.Arrays, row: int | None = None) -> pic.Picture:
    """Several sentences behind each other, each a matrix (T, D) under its name: together (B, T, D).

    A row can be framed in all of them.
    """
    shapes = {np.shape(vectors) for vectors in sentences.values()}
    if len(shapes) != 1:
        raise ValueError(f"a batch has sentences of one shape, not of {sorted(shapes)}")
    (count, width) = shapes.pop()
    step, left, bottom, size = 0.32, 0.95, 0.42, (2.2, 1.5)
    back = step * (len(sentences) - 1)
    figure, frame = blank(4.2, bottom + size[1] + back + 0.2)
    for place, (name, vectors) in reversed(list(enumerate(sentences.items()))):
        x, y = left + step * place, bottom + step * place
        _sheet(frame, vectors, (x, x + size[0], y, y + size[1]), 2 * (len(sentences) - place))
        if row is not None:
            line, level = size[1] / count, 2 * (len(sentences) - place) + 0.7
            outline(frame, (x, y + size[1] - line * (row + 1), size[0], line), pic.QUERY, 2, zorder=level)
        frame.text(x - 0.07, y + size[1] - 0.02, name, ha="right", va="top")
    x, y = left + size[0] + 0.08, bottom - 0.03
    _axis(frame, (left, bottom - 0.1), (x - 0.08, bottom - 0.1), f"D = {width} numbers")
    _axis(frame, (0.42, bottom + size[1] - 0.3), (0.42, bottom), f"T = {count} tokens")
    _axis(frame, (x, y), (x + back, y + back), f"B = {len(sentences)}")
    return figure


def _sheet(frame: Axes, vectors: ArrayLike, extent: Sequence[float], level: int = 1) -> None:
    """A matrix as tiles too small for numbers, with an edge."""
    x0, x1, y0, y1 = extent
    look = {"vmin": -FULL, "vmax": FULL, "interpolation": "none", "aspect": "auto"}
    frame.imshow(vectors, cmap=pic.SIGNED, extent=extent, zorder=level, **look)
    outline(frame, (x0, y0, x1 - x0, y1 - y0), pic.INK, 1, zorder=level + 0.5)


def _axis(frame: Axes, start: pic.Pair, end: pic.Pair, name: str) -> None:
    """An arrow along an axis with its name beside it."""
    arrow(frame, start, end, size=10)
    (x0, y0), (x1, y1) = start, end
    middle = (x0 + x1) / 2, (y0 + y1) / 2
    if y0 == y1:
        above = y0 > 1
        frame.text(middle[0], y0 + (0.07 if above else -0.24), name, ha="center")
    elif x0 == x1:
        frame.text(x0 - 0.15, middle[1], name, rotation=90, **CENTRE)
    else:
        frame.text(middle[0] + 0.12, middle[1] - 0.12, name, va="center")


@pic.styled
def sides(x: ArrayLike, w: ArrayLike, a: ArrayLike, words: Sequence[str]) -> pic.Picture:
    """A product from the right and one from the left: an arrow from each row of x to each row that it has a part in.

    From the left, an arrow is as wide as its number in a, which stands on it.
    """
    x, w, a = map(np.asarray, (x, w, a))
    line, cell, left = 0.4, 0.4, 0.56  # a tile, and where the first one begins
    gap = 4.14 - left - cell * (2 * x.shape[1])  # the room for arrows
    one = line * len(x) + 0.56
    _, frame = blank(4.2, 2 * one)
    parts = (
        ("from the right: each word by itself", x @ w, np.eye(len(x)), "W"),
        ("from the left: words mix", a @ x, a, ""),
    )
    for n, (title, result, shares, name) in enumerate(parts):
        top = one * (2 - n) - 0.44
        start = left + cell * x.shape[1]
        frame.text(0.06, top + 0.2, title, weight="bold", va="center")
        for matrix, corner in ((x, left), (result, start + gap)):
            for (i, j), number in np.ndenumerate(matrix):
                place = corner + cell * j, top - line * (i + 1), cell, line
                tile(frame, place, "white", f"{number:g}", edgecolor=pic.INK)
        for i, word in enumerate(words):
            y = top - line * (i + 0.5)
            frame.text(left - 0.06, y, word, ha="right", va="center")
        for (i, j), share in np.ndenumerate(shares):
            if share:
                _share(frame, (start, start + gap), top, line, (j, i), share, name)
    return frame.figure


def _share(
    frame: Axes, ends: pic.Pair, top: float, line: float, rows: tuple[int, int], share: float, name: str
) -> None:
    """An arrow between the rows of two matrices, as wide as a share, with a name or the share on it."""
    start, end = (top - line * (row + 0.5) for row in rows)
    colour = pic.QUERY if name else pic.KEY
    tail, head = (ends[0] + 0.05, start), (ends[1] - 0.05, end)
    arrow(frame, tail, head, colour, 10, 0.6 + 2.4 * share, zorder=2)
    at = 0.5 if name else 0.3 if start == end else 0.7 if end > start else 0.55
    middle = tail[0] + at * (head[0] - tail[0]), start + at * (end - start)
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    look = {"ha": "center", "va": "center_baseline", "color": colour, "bbox": ground}
    frame.text(*middle, name or f"{share:g}", style="italic" if name else "normal", zorder=3, **look)


@pic.styled
def taken(tokens: Sequence[str], vectors: ArrayLike, weights: ArrayLike, giver: int, name: str) -> pic.Picture:
    """What one row of weights makes of the rows of a sentence: each row beside its weight, and their sum below.

    The row that gives most is framed, and so is the sum, under the name of the token that takes.
    """
    vectors, weights = np.asarray(vectors), np.asarray(weights)
    count = len(vectors)
    if not len(tokens) == len(weights) == count:
        raise ValueError(f"{len(tokens)} tokens and {len(weights)} weights for {count} rows")
    line, left, right, bottom = 0.23, 0.92, 3.4, 0.78
    top = bottom + line * count
    _, frame = blank(4.2, top + 0.34)
    _sheet(frame, vectors, (left, right, bottom, top))
    for text, x in ((r"$X\,W$", (left + right) / 2), ("weight", right + 0.4)):
        frame.text(x, top + 0.17, text, **CENTRE)
    for place, (token, weight) in enumerate(zip(tokens, weights, strict=True)):
        look, y = {"weight": "bold"} if place == giver else {}, top - line * (place + 0.5)
        for x, text in ((left - 0.08, token.strip()), (right + 0.72, pic.as_share(weight, 3))):
            frame.text(x, y, text, ha="right", va="center", **look)
    low = 0.2
    _sheet(frame, weights[None] @ vectors, (left, right, low, low + line))
    frame.text(left - 0.08, low + line / 2, name, ha="right", va="center", color=pic.QUERY, weight="bold")
    for y, colour in ((top - line * (giver + 1), pic.KEY), (low, pic.QUERY)):
        outline(frame, (left, y, right - left, line), colour, 2, zorder=3)
    middle = (left + right) / 2
    arrow(frame, (middle, bottom - 0.05), (middle, low + line + 0.05), size=10)
    return frame.figure


@pic.styled
def broadcast(x: ArrayLike, sums: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> pic.Picture:
    """A matrix, for each name an array that is stretched to its shape, and what both give together.

    What stretching repeats has a dashed edge.
    """
    x = np.asarray(x)
    high, wide = x.shape
    line, space = 0.31, 0.42  # a tile, and the room for a sign between two matrices
    cell = (pic.PHONE - 0.2 - 2 * space) / (3 * wide)
    one = line * high + 0.5
    _, frame = blank(pic.PHONE, one * len(sums))
    for n, (name, (other, result)) in enumerate(sums.items()):
        other, top = np.asarray(other), one * (len(sums) - n) - 0.34
        stretched = np.broadcast_to(other, x.shape)
        own = np.zeros(x.shape, dtype=bool)
        own[tuple(slice(size) for size in np.atleast_2d(other).shape)] = True
        for k, matrix in enumerate((x, stretched, result)):
            left = 0.1 + k * (cell * wide + space)
            for (i, j), number in np.ndenumerate(np.asarray(matrix)):
                copied = k == 1 and not own[i, j]
                look = {"linestyle": "--"} if copied else {"edgecolor": pic.INK}
                face = "#dfe7ee" if k == 1 and not copied else "white"
                place = left + cell * j, top - line * (i + 1), cell, line
                tile(frame, place, face, f"{number:g}", zorder=1 if copied else 2, **look)
            if k:
                frame.text(left - space / 2, top - line * high / 2, "+="[k - 1], **CENTRE)
            if k == 1:
                frame.text(left + cell * wide / 2, top + 0.1, name, ha="center", color=pic.QUERY)
    return frame.figure


@pic.styled
def step(curve: tuple[ArrayLike, ArrayLike], slope: float, points: Sequence[pic.Pair]) -> pic.Picture:
    """The loss against one weight, its slope at the first point, and a step to each other one.

    Points are (weight, loss), in the order in which they come.
    """
    figure, axes = chart(3.1)
    axes.plot(*curve, color=pic.INK)
    (x, y), *others = points
    reach = np.array([-0.35, 0.6])
    axes.plot(x + reach, y + slope * reach, "--", color=pic.KEY, linewidth=1.6)
    place, name = (x + 0.6, y + 0.6 * slope), f"slope {slope:g}".replace("-", "\N{MINUS SIGN}")
    beside(axes, name, place, (6, -4), color=pic.KEY, va="center")
    for n, (to, loss) in enumerate(others):
        axes.plot(to, loss, "o", color=pic.QUERY, markersize=8, zorder=3)
        name, offset, side = ("too long a step", (-10, 0), "right") if n else ("after the step", (6, 12), "left")
        beside(axes, name, (to, loss), offset, va="center", ha=side, color=pic.QUERY)
    axes.plot(x, y, "o", color=pic.INK, markersize=8, zorder=3)
    beside(axes, "before", (x, y), (-8, -8), ha="right", va="center")
    axes.set(xlabel="one weight", ylabel="loss")
    return figure
