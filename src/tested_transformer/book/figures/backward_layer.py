"""Pictures of gradients on their way up through the layers, and of what a norm leaves of one."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, joint, part
from tested_transformer.book.figures.kit import CENTRE, write
from tested_transformer.book.signal_propagation import Stage

WIDE, HIGH = 0.17, 1.72
"""Points of width for a unit of the gradient; inches from one box to the next."""

ROADS, TAPS = (0.86, 4.24), (2.02, 3.08)
"""Where the rows of the two words run, and where a box reads and hands back."""


@pic.styled
def climb(words: Sequence[str], stages: Sequence[Stage], end: Sequence[float]) -> pic.Picture:
    """Two rows on their way down through boxes, and above them a gradient on its way up, as wide as it is large.

    end has the sizes of the gradient with which it begins, at the bottom.
    """
    figure, frame = blank(pic.PHONE, HIGH * len(stages) + 1.0)
    top = HIGH * len(stages) + 0.62
    for x, word in zip(ROADS, words, strict=True):
        write(frame, x, top + 0.22, word, weight="bold", size=13)
    for n, stage in enumerate(stages):
        below = stages[n + 1].before if n + 1 < len(stages) else end
        _stage(frame, top - HIGH * n, stage, below)
        if stage.between is not None:  # a layer begins with its attention
            name = f"layer {1 + sum(s.between is not None for s in stages[:n])}"
            frame.text(sum(TAPS) / 2, top - HIGH * n - 0.24, name, size=11, **CENTRE)
    bottom = top - HIGH * len(stages)
    for k, size in enumerate(end):
        _beside(frame, k, bottom - 0.08, size)
        _band(frame, [(ROADS[k], bottom - 0.2), (ROADS[k], bottom)], size)
        _head(frame, (ROADS[k], bottom - 0.06), (0, 1), size)
    frame.text(sum(ROADS) / 2, bottom - 0.08, "the memory, for the decoder", size=11, **CENTRE)
    for x in ROADS:
        arrow(frame, (x, bottom + 0.02), (x, bottom - 0.42))
    return figure


def _stage(frame: Axes, top: float, stage: Stage, below: Sequence[float]) -> None:
    """One box for both rows: the fork, the box, the sum and the norm, and the gradient through them."""
    fork, plus, norm, end = top - 0.34, top - 1.2, top - 1.5, top - HIGH
    high, low = fork - 0.2, plus + 0.2
    for k, (x, tap) in enumerate(zip(ROADS, TAPS, strict=True)):
        up, added, back = stage.before[k], stage.added[k], stage.back[k]
        _band(frame, [(x, end), (x, norm)], below[k])
        _band(frame, [(x, norm), (x, fork)], added)
        _band(frame, [(x, plus), (tap, plus), (tap, low)], added)
        _band(frame, [(tap, high), (tap, fork), (x, fork)], back)
        _band(frame, [(x, fork), (x, top)], up)
        middle = (plus + fork) / 2 + 0.02
        _head(frame, (x, middle), (0, 1), added)
        side = 0.5 * (x + tap)
        _head(frame, (side, plus), (np.sign(tap - x), 0), added)
        _head(frame, (side, fork), (np.sign(x - tap), 0), back)
        line = {"color": pic.INK, "linewidth": 1.1, "zorder": 4}
        frame.plot([x, x], [top, end], **line)
        frame.plot([x, tap, tap], [fork, fork, high], **line)
        frame.plot([tap, tap, x], [low, plus, plus], **line)
        arrow(frame, (tap, high + 0.1), (tap, high), zorder=5, size=9)
        arrow(frame, (x + 0.2 * (1 if tap > x else -1), plus), (x, plus), zorder=4)
        joint(frame, (x, plus))
        part(frame, (x - 0.3, norm - 0.1, 0.6, 0.21), "norm", "norm")
        _beside(frame, k, fork + 0.2, up)
        _beside(frame, k, middle, added)
        room = 0.07 + WIDE * back / 144
        frame.text(
            side, fork + room, f"{back:.0f}", weight="bold", color=pic.GRADIENT, ha="center", va="bottom", size=12
        )
    if stage.between is None:
        for tap in TAPS:
            part(frame, (tap - 0.49, low, 0.98, high - low), "feed-forward", "feed-\nforward")
        return
    part(frame, (TAPS[0] - 0.49, low, 2.04, high - low), "attention")
    for (to, of), size in np.ndenumerate(np.asarray(stage.between)):
        _band(frame, [(TAPS[of], low + 0.03), (TAPS[to], high - 0.03)], size, color=pic.GRADIENT, alpha=0.35, zorder=6)
    write(frame, TAPS[0] - 0.02, low + 0.13, "attention", zorder=8)


def _band(frame: Axes, way: Sequence[pic.Pair], size: float, **look: object) -> None:
    """A way of the gradient, as wide as it is large; none where there is nothing."""
    look = {
        "color": pic.GRADIENT,
        "alpha": 0.55,
        "zorder": 2,
        "solid_capstyle": "butt",
        "solid_joinstyle": "miter",
    } | look
    if size >= 0.5:
        frame.plot(*zip(*way, strict=True), linewidth=WIDE * size, **look)


def _head(frame: Axes, tip: pic.Pair, towards: pic.Pair, size: float) -> None:
    """A filled head on a way of the gradient that points where it goes."""
    if size >= 0.5:
        half, (x, y) = 0.05 + 0.002 * min(size, 20) + WIDE * size / 144, tip
        long = 0.12 + 0.3 * half
        ahead, across = np.array(towards), np.array([-towards[1], towards[0]])
        base = np.array([x, y]) - 0.5 * long * ahead
        corners = base + half * across, base + long * ahead, base - half * across
        frame.add_patch(Polygon(corners, facecolor=pic.GRADIENT, zorder=3))


def _beside(frame: Axes, k: int, y: float, size: float) -> None:
    """The size of the gradient outside of the road of a word."""
    x, side = (ROADS[0] - 0.3, "right") if k == 0 else (ROADS[1] + 0.3, "left")
    frame.text(x, y, f"{size:.0f}", ha=side, va="center", color=pic.GRADIENT, weight="bold", size=12)


@pic.styled
def tangent(point: ArrayLike, gradient: ArrayLike, left: ArrayLike, word: str) -> pic.Picture:
    """A normalised row of width three in the plane of mean 0, and what the norm leaves of a gradient.

    All three are pairs of coordinates in the plane: the row, the gradient after the norm
    without its shift, and what is left without the stretch.
    """
    point, gradient, left = map(np.asarray, (point, gradient, left))
    figure, frame = blank(4.4, 3.7)
    centre, scale, large = np.array([2.75, 2.22]), 0.8, 2.0
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.sqrt(3) * np.stack([np.cos(angle), np.sin(angle)])
    frame.plot(*(centre[:, None] + scale * circle), color=pic.FAINT, linewidth=1.2)
    frame.plot(*centre, "o", color=pic.FAINT)
    start = centre + scale * point
    frame.plot(*np.stack([centre, start]).T, color=pic.FAINT, linewidth=1.2, linestyle=":")
    whole, rest = (start + large * scale * way for way in (gradient, left))
    frame.plot(*np.stack([whole, rest]).T, color=pic.KEY, linewidth=2.2, linestyle="--")
    arrow(frame, tuple(start), tuple(whole), pic.INK, 15, 1.8)
    arrow(frame, tuple(start), tuple(rest), pic.GRADIENT, 20, 3.2)
    frame.plot(*start, "o", color=pic.QUERY, markersize=11, zorder=5)
    style = {"va": "center", "size": 12}
    frame.text(*(start + 0.3 * (centre - start) + (0, 0.24)), word, color=pic.QUERY, weight="bold", **style)
    frame.text(*((start + whole) / 2 - (0.12, 0)), "without\nthe shift", ha="right", **style)
    frame.text(*(rest + np.array([0.15, -0.02])), "what is left", color=pic.GRADIENT, **style)
    frame.text(*((whole + rest) / 2 - (0, 0.2)), "stretch", color=pic.KEY, ha="center", **style)
    return figure
