"""Pictures of vectors of sentences and of words."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic

MARKS = "os^Dv*"
"""Shapes of points, so that a group is told by more than its colour."""
HALO = [withStroke(linewidth=3, foreground="white")]


@pic.styled
def cosines(panels: Mapping[str, ArrayLike], texts: Sequence[str]) -> pic.Picture:
    """Cosines of all texts with all texts, one panel below the other."""
    n = len(texts)
    figure, rows = pic.picture(5.4, len(panels) * (0.6 + 0.45 * n), len(panels))
    for (axes,), (title, x) in zip(rows, panels.items(), strict=True):
        pic.tiles(axes, x, pic.WEIGHTS, (0, 1.3), decimals=2)
        axes.set_anchor("E")  # the long labels stand to the left
        axes.set_title(title, loc="center")
        axes.set_yticks(range(n), [f"{text}  {i}" for i, text in enumerate(texts, 1)])
        axes.set_xticks(range(n), range(1, n + 1))
    return figure


@pic.styled
def kinds(
    panels: Mapping[str, ArrayLike],
    groups: Mapping[str, Sequence[int]],
    named: Mapping[int, str],
) -> pic.Picture:
    """Points (n, 2), one panel below the other; groups and names go by row."""
    figure, rows = pic.picture(6.4, 4.1 * len(panels), len(panels))
    for (axes,), (title, points) in zip(rows, panels.items(), strict=True):
        points = np.asarray(points)
        looks = zip(groups.items(), pic.SERIES, MARKS, strict=False)
        for (name, members), colour, mark in looks:
            look = {"color": colour, "marker": mark, "s": 40, "alpha": 0.75}
            axes.scatter(*points[members].T, label=name, **look)
        for i, word in named.items():
            look = {"textcoords": "offset points", "path_effects": HALO, "zorder": 3}
            axes.annotate(word, points[i], (5, 4), color=pic.INK, **look)
        axes.margins(0.12)
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, loc="center")
    handles, labels = rows[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


@pic.styled
def matched(x: ArrayLike, y: ArrayLike, labels: Sequence[str]) -> pic.Picture:
    """Two numbers for each of many pairs, and the line where both are equal."""
    figure, ((axes,),) = pic.picture(5, 4.4)
    axes.axline((0, 0), slope=1, color=pic.FAINT, linewidth=1.5, linestyle="--")
    axes.scatter(x, y, color=pic.QUERY, s=12, alpha=0.5, linewidths=0)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    return figure
