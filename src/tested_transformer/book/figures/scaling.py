"""Losses of models of several sizes, and lines through them."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator, StrMethodFormatter
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.kit import DASHES

MARKS = "os^"
"""How the runs of each setting are marked."""


@pic.styled
def lines(
    n: ArrayLike, runs: Mapping[str, ArrayLike], through: Mapping[str, tuple[ArrayLike, ArrayLike]], fitted: int
) -> pic.Picture:
    """Left, the runs of the first setting and lines through them; right, all runs. All axes are logarithmic.

    runs have the losses of each setting, a row for each of the n sizes and a column for each seed. The lines are given
    as curves (x, y). They were fitted to so many of the smaller sizes; the others have open marks.
    """
    n, (name, first) = np.asarray(n), next(iter(runs.items()))
    if any(len(np.asarray(losses)) != len(n) for losses in runs.values()) or not 0 < fitted <= len(n):
        raise ValueError(f"{len(n)} sizes need a row of losses each, in all settings, and 1 to {len(n)} of them a line")
    figure, ((left, right),) = pic.picture(pic.WIDE, 3.9, columns=2)
    for (label, (x, y)), colour, dash in zip(through.items(), (pic.KEY, pic.VALUE), DASHES[1:], strict=False):
        left.plot(x, y, color=colour, linestyle=dash, label=label, linewidth=1.6)
    _points(left, n, first, pic.QUERY, MARKS[0], "", fitted)
    for (label, losses), colour, mark in zip(runs.items(), pic.SERIES, MARKS, strict=False):
        right.plot(n, np.mean(losses, axis=1), color=colour, linewidth=1)
        _points(right, n, losses, colour, mark, label, len(n))
    for axes, title in ((left, name), (right, "all settings")):
        axes.set(xscale="log", yscale="log", title=title, xlabel="parameters, without tables")
        low, high = axes.get_ylim()
        high *= (high / low) ** 0.4  # room for the names
        axes.set_ylim(low, high)
        step = next(size for size in (0.1, 0.2, 0.5, 1.0) if high - low < 8 * size)
        axes.set_yticks([tick for tick in step * np.arange(1, 100) if low < tick < high])
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:.1f}"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_locator(NullLocator())
        axes.legend()
    left.set_ylabel("loss on new sentences (nats)")
    return figure


def _points(axes: Axes, n: np.ndarray, losses: ArrayLike, colour: str, mark: str, label: str, fitted: int) -> None:
    """A point for each run; those of sizes that no line was fitted to are open."""
    for i, (size, row) in enumerate(zip(n, np.asarray(losses), strict=True)):
        face = colour if i < fitted else "none"
        name = {"label": label} if label and i == 0 else {}
        axes.plot([size] * len(row), row, mark, color=colour, markerfacecolor=face, markersize=5, **name)
