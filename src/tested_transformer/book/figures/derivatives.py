"""Pictures of slopes: a number that is turned, a nudge to both sides, slopes along arrows, the error of a nudge."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank
from tested_transformer.book.figures.kit import CENTRE, beside, chart


@pic.styled
def turned(curve: tuple[ArrayLike, ArrayLike], points: Mapping[str, pic.Pair], slope: float, name: str) -> pic.Picture:
    """The surprise against one number, with points on the curve; the last one with its slope."""
    figure, axes = chart(3.2)
    axes.plot(*curve, color=pic.INK)
    for (text, point), (off, side) in zip(points.items(), (((0, 14), "center"), ((-12, 8), "right")), strict=True):
        axes.plot(*point, "o", color=pic.QUERY, markersize=8, zorder=3)
        beside(axes, text, point, off, color=pic.QUERY, ha=side)
    x, y = point
    reach = np.array([-y, 2.2]) / slope  # from the axis upwards
    axes.plot(x + reach, y + slope * reach, "--", color=pic.GRADIENT)
    beside(axes, f"slope {slope:.2f}", point, (10, -14), color=pic.GRADIENT)
    low, high = min(curve[0]), max(curve[0])
    axes.set_xlim(low, high + 0.14 * (high - low))  # and room for the slope
    axes.set(ylim=(-0.12, None), xlabel=name, ylabel="surprise in nats")
    return figure


@pic.styled
def nudged(curve: tuple[ArrayLike, ArrayLike], points: Sequence[pic.Pair], slopes: Sequence[float]) -> pic.Picture:
    """A curve with a point, and one on either side of it.

    Lines from side to side, along the curve, and from the middle to the right, each with its slope.
    """
    figure, axes = chart(3.4)
    axes.plot(*curve, color=pic.INK)
    left, middle, right = (np.array(point, dtype=float) for point in points)
    both, touching, one = slopes
    ends = (right[0] - middle[0]) * np.array([-0.8, 1.1])
    axes.plot(*np.transpose([left, right]), "-", color=pic.QUERY, label=f"to both sides: {both:g}")
    axes.plot(*np.transpose([middle, right]), ":", color=pic.VALUE, label=f"to the right alone: {one:g}")
    tangent = middle[0] + ends, middle[1] + touching * ends
    axes.plot(*tangent, "--", color=pic.GRADIENT, label=f"touching the curve: {touching:g}")
    sides = ((-4, 9), "right"), ((9, -14), "left"), ((8, -3), "left")
    for point, (off, side) in zip((left, middle, right), sides, strict=True):
        axes.plot(*point, "o", color=pic.INK, markersize=7, zorder=3)
        beside(axes, f"({point[0]:g}, {point[1]:g})", point, off, ha=side)
    axes.set(xlim=(min(curve[0]), max(curve[0]) + 0.7), xlabel="$w$", ylabel="$L = w^2$")
    axes.legend(title="slope", loc="upper left", alignment="left")
    return figure


@pic.styled
def ways(
    nodes: Mapping[str, tuple[float, float, str]], links: Sequence[tuple[str, str, str]], totals: Mapping[str, str]
) -> pic.Picture:
    """A calculation that runs downwards, and the slopes that are passed back up.

    Args:
        nodes: where each number stands, in inches from the left and the top, and how it is made.
        links: from which number to which other one, and the slope of that step.
        totals: the slope of the loss for a number, to the left of it.

    """
    high = max(y for _, y, _ in nodes.values()) + 0.32
    figure, frame = blank(pic.PHONE, high)
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": pic.INK}
    for name, (x, y, text) in nodes.items():
        frame.text(x, high - y, text, bbox=box, zorder=3, **CENTRE)
        if name in totals:
            frame.text(x - 0.98, high - y, totals[name], ha="right", va="center", color=pic.GRADIENT)
    for start, end, slope in links:
        tail, head = (np.array([x, high - y]) for x, y, _ in (nodes[start], nodes[end]))
        _way(frame, tail, head, slope)
    return figure


def _way(frame: Axes, tail: np.ndarray, head: np.ndarray, slope: str) -> None:
    """An arrow down, and to its right a dashed one back up with the slope."""
    along = (head - tail) / np.linalg.norm(head - tail)
    across = 0.09 * np.array([-along[1], along[0]])  # to the right, seen downwards
    gap = 0.23 / abs(along[1])
    tail, head = tail + gap * along, head - gap * along
    arrow(frame, tuple(tail - across), tuple(head - across))
    arrow(frame, tuple(head + across), tuple(tail + across), pic.GRADIENT, linestyle="--")
    x, y = (tail + head) / 2 + across + [0.12, 0.06 * np.sign(across[1])]
    frame.text(x, y, slope, va="center", color=pic.GRADIENT)


@pic.styled
def errors(nudges: ArrayLike, curves: pic.Arrays, best: Mapping[str, float]) -> pic.Picture:
    """The error of a measured slope against the size of the nudge, one curve for each kind of number.

    A mark where the best nudge is.
    """
    figure, axes = chart(3.6)
    for (name, error), colour, line in zip(curves.items(), (pic.QUERY, pic.KEY), ("-", "--"), strict=False):
        axes.loglog(nudges, error, line, color=colour, label=name, linewidth=1.6)
        near = int(np.abs(np.log(np.asarray(nudges) / best[name])).argmin())
        axes.plot(np.asarray(nudges)[near], np.asarray(error)[near], "o", color=colour, markersize=8)
    axes.set(xlabel="size of the nudge, $h$", ylabel="relative error of the slope")
    axes.legend(loc=(0.03, 0.52))
    return figure
