"""Pictures of vectors of sentences and of words."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic

MARKS = "os^Dv*"
"""Shapes of points, so that a group is told by more than its colour."""
HALO = [withStroke(linewidth=3, foreground="white")]
POINTS = 72 / pic.STYLE["figure.dpi"]
"""So many points of type is a pixel."""
AROUND = [
    (reach, side, shift, x, y)
    for reach in (7, 15, 26, 38, 52)
    for side, shift, x, y in [
        ("left", 0, 1, 0), ("right", 1, -1, 0), ("center", 0.5, 0, 1.3), ("center", 0.5, 0, -1.3),
        ("left", 0, 0.8, 0.9), ("right", 1, -0.8, 0.9), ("left", 0, 0.8, -0.9), ("right", 1, -0.8, -0.9),
    ]
]  # fmt: skip
"""Where a name may stand: how far off in points, how aligned, as a share of its width, and in which direction."""


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
    figure, rows = pic.picture(pic.PHONE, 3.9 * len(panels) + 0.6, len(panels))
    inks = {
        i: ink
        for ink, row in zip(pic.SERIES, groups.values(), strict=False)
        for i in row
    }
    for (axes,), (title, points) in zip(rows, panels.items(), strict=True):
        points = np.asarray(points)
        looks = zip(groups.items(), pic.SERIES, MARKS, strict=False)
        for (name, members), colour, mark in looks:
            look = {"color": colour, "marker": mark, "s": 40, "alpha": 0.75}
            axes.scatter(*points[members].T, label=name, **look)
        axes.margins(0.12)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        axes.set_title(title, loc="center")
    handles, labels = rows[0, 0].get_legend_handles_labels()
    look = {"ncols": 3, "handletextpad": 0.1, "columnspacing": 1.4}
    figure.legend(handles, labels, loc="outside upper center", **look)
    figure.draw_without_rendering()  # only now is it known where the points are
    for (axes,), points in zip(rows, panels.values(), strict=True):
        _name(axes, np.asarray(points), named, inks)
    return figure


def _name(
    axes: Axes, points: np.ndarray, named: Mapping[int, str], inks: Mapping[int, str]
) -> None:
    """Each name goes beside its point, where it covers the fewest points and names; a line leads to it from afar."""
    places = axes.transData.transform(points) * POINTS
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in places]
    for i, word in named.items():
        (x, y), width, free = places[i], 7 * len(word) + 2, []
        for n, (reach, _, shift, dx, dy) in enumerate(AROUND):
            left, low = x + reach * dx - width * shift, y + reach * dy - 6
            box = Bbox.from_bounds(left, low, width, 12)
            free.append((box.count_overlaps(taken), n, box))
        _, n, box = min(free, key=lambda one: one[:2])
        reach, side, _, dx, dy = AROUND[n]
        taken.append(box)
        look = {"ha": side, "va": "center", "color": inks.get(i, pic.INK), "zorder": 3}
        if reach > 10:
            line = {"arrowstyle": "-", "color": look["color"], "linewidth": 1}
            look["arrowprops"] = line | {"shrinkA": 1, "shrinkB": 2}
        at = {"textcoords": "offset points", "path_effects": HALO}
        axes.annotate(word, points[i], (reach * dx, reach * dy), **look, **at)


@pic.styled
def step(names: Sequence[str], starts: ArrayLike, ends: ArrayLike) -> pic.Picture:
    """How vectors (n, 2) move in a step: a line from the origin to where each was, an arrow to where it is then."""
    starts, ends = np.asarray(starts), np.asarray(ends)
    figure, ((axes,),) = pic.picture(pic.PHONE, 4.3)
    axes.set_aspect("equal")
    axes.axhline(0, color=pic.FAINT, linewidth=1)
    axes.axvline(0, color=pic.FAINT, linewidth=1)
    looks = zip(names, starts, ends, pic.SERIES, strict=False)
    for name, start, end, colour in looks:
        axes.plot(*zip((0, 0), start, strict=True), color=colour, linewidth=1.5)
        look = {"arrowstyle": "-|>", "color": colour, "linewidth": 3, "shrinkA": 0}
        look |= {"shrinkB": 0, "mutation_scale": 14}
        axes.annotate("", end, start, arrowprops=look)
        away = (start - end) / np.linalg.norm(start - end)  # where no arrow is
        look = {"color": colour, "path_effects": HALO}
        look["ha"] = "right" if away[0] < -0.7 else "left"
        look["va"] = "top" if away[1] < 0 else "bottom"
        axes.text(*(start + 0.1 * away), name, **look)
    axes.update_datalim(np.vstack([starts, ends]))
    axes.set_xlim(min(starts[:, 0].min(), ends[:, 0].min()) - 0.3, 2.3)
    axes.margins(y=0.12)
    axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.spines[:].set_visible(False)
    return figure


@pic.styled
def matched(x: ArrayLike, y: ArrayLike, labels: Sequence[str]) -> pic.Picture:
    """Two numbers for each of many pairs, and the line where both are equal."""
    figure, ((axes,),) = pic.picture(5, 4.4)
    axes.axline((0, 0), slope=1, color=pic.FAINT, linewidth=1.5, linestyle="--")
    axes.scatter(x, y, color=pic.QUERY, s=12, alpha=0.5, linewidths=0)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    return figure
