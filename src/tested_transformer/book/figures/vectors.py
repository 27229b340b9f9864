"""Pictures of vectors of sentences and of words."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, tile
from tested_transformer.book.figures.kit import CENTRE, beside, chart

MARKS = "os^Dv*"
"""Shapes of points, so that a group is told by more than its colour."""
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
def cosines(panels: pic.Arrays, texts: Sequence[str]) -> pic.Picture:
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
def kinds(panels: pic.Arrays, groups: Mapping[str, Sequence[int]], named: Mapping[int, str]) -> pic.Picture:
    """Points (n, 2), one panel below the other; groups and names go by row."""
    figure, rows = pic.picture(pic.PHONE, 3.9 * len(panels) + 0.6, len(panels))
    inks = {i: ink for ink, row in zip(pic.SERIES, groups.values(), strict=False) for i in row}
    for (axes,), (title, points) in zip(rows, panels.items(), strict=True):
        points = np.asarray(points)
        for (name, members), colour, mark in zip(groups.items(), pic.SERIES, MARKS, strict=False):
            axes.scatter(*points[members].T, label=name, color=colour, marker=mark, s=40, alpha=0.75)
        axes.margins(0.12)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        axes.set_title(title, loc="center")
    handles, labels = rows[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, handletextpad=0.1, columnspacing=1.4)
    figure.draw_without_rendering()  # only now is it known where the points are
    for (axes,), points in zip(rows, panels.values(), strict=True):
        _name(axes, np.asarray(points), named, inks)
    return figure


def _name(axes: Axes, points: np.ndarray, named: Mapping[int, str], inks: Mapping[int, str]) -> None:
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
        beside(axes, word, points[i], (reach * dx, reach * dy), **look)


@pic.styled
def company(names: Sequence[str], counts: ArrayLike, columns: tuple[str, str]) -> pic.Picture:
    """Two counts of each word (n, 2) as arrows; words with the same counts share one.

    The angle between the first two arrows has its cosine.
    """
    rows = [tuple(row) for row in np.asarray(counts).tolist()]
    shared = {row: ", ".join(n for n, r in zip(names, rows, strict=True) if r == row) for row in dict.fromkeys(rows)}
    figure, axes = chart(2.75)
    axes.set_aspect("equal")
    axes.axhline(0, color=pic.FAINT, linewidth=1)
    axes.axvline(0, color=pic.FAINT, linewidth=1)
    for ((x, y), name), colour in zip(shared.items(), pic.SERIES, strict=False):
        if x or y:
            look = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.5, "mutation_scale": 16}
            axes.annotate("", (x, y), (0, 0), arrowprops=look | {"shrinkA": 0, "shrinkB": 0})
        else:
            axes.plot(x, y, "o", color=colour, markersize=7, zorder=4)
        beside(axes, name, (x, y), (9, 0 if x or y else -11), color=colour, va="center")
    first, second = (np.array(row) for row in list(shared)[:2])
    size = np.linalg.norm(first) * np.linalg.norm(second)
    turns = np.linspace(*(np.arctan2(y, x) for x, y in (first, second)), 30)
    axes.plot(0.42 * np.cos(turns), 0.42 * np.sin(turns), color=pic.INK, linewidth=1.2)
    outside = 0.55 * (first / np.linalg.norm(first) + 3 * second) / 4
    axes.text(*outside, f"cosine {first @ second / size:.2f}", va="bottom")
    axes.set(xlim=(-0.3, max(x for x, _ in rows) + 0.8), ylim=(-0.3, max(y for _, y in rows) + 0.3))
    axes.spines[:].set_visible(False)
    for axis, column in zip((axes.xaxis, axes.yaxis), columns, strict=True):
        axis.set_label_text(f'times near "{column}"')
        axis.set_major_locator(MultipleLocator(1))
    return figure


@pic.styled
def read(sentences: Sequence[str], stages: pic.Arrays, answers: Sequence[str], title: str) -> pic.Picture:
    """One word in several sentences, a row for each: its vector at each stage (n, D) as tiles, and its translation."""
    figure, frame = blank(pic.PHONE, 0.55 + 0.5 * len(sentences))
    size, lefts, top = 0.16, (1.5, 3.1), 0.5 * len(sentences)
    for left, (name, rows) in zip(lefts, stages.items(), strict=True):
        right = left + size * np.shape(rows)[1]
        frame.text((left + right) / 2, top + 0.3, name, **CENTRE)
        for i, row in enumerate(np.asarray(rows)):
            low = top - 0.5 * i - 0.3
            for n, value in enumerate(row):
                tile(frame, (left + n * size, low, size, 0.3), pic.SIGNED((value + 2) / 4))
            arrow(frame, (right + 0.1, low + 0.15), (right + 0.5, low + 0.15))
    out = pic.PHONE - 0.35
    frame.text(out, top + 0.3, title, **CENTRE)
    for i, (sentence, answer) in enumerate(zip(sentences, answers, strict=True)):
        middle = top - 0.5 * i - 0.15
        frame.text(lefts[0] - 0.1, middle, sentence, ha="right", va="center")
        frame.text(out, middle, answer, weight="bold", **CENTRE)
    return figure


@pic.styled
def step(names: Sequence[str], starts: ArrayLike, ends: ArrayLike) -> pic.Picture:
    """How vectors (n, 2) move in a step: a line from the origin to where each was, an arrow to where it is then."""
    starts, ends = np.asarray(starts), np.asarray(ends)
    figure, axes = chart(4.3)
    axes.set_aspect("equal")
    axes.plot(0, 0, "o", color=pic.FAINT, markersize=6)
    for name, start, end, colour in zip(names, starts, ends, pic.SERIES, strict=False):
        axes.plot(*zip((0, 0), start, strict=True), color=colour, linewidth=1.5)
        look = {"arrowstyle": "-|>", "color": colour, "linewidth": 3, "mutation_scale": 14}
        axes.annotate("", end, start, arrowprops=look | {"shrinkA": 0, "shrinkB": 0})
        away = (start - end) / np.linalg.norm(start - end)  # where no arrow is
        far, ha = (0.2, "right") if away[0] < -0.7 else (0.1, "left")
        va = "top" if away[1] < -0.7 else "center" if away[1] < 0 else "bottom"
        axes.text(*(start + far * away), name, color=colour, ha=ha, va=va, gid="halo")
    axes.update_datalim(np.vstack([starts, ends]))
    axes.set(xlim=(min(starts[:, 0].min(), ends[:, 0].min()) - 0.3, 2.3), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.margins(y=0.12)
    axes.spines[:].set_visible(False)
    return figure


@pic.styled
def matched(x: ArrayLike, y: ArrayLike, labels: Sequence[str]) -> pic.Picture:
    """Two numbers for each of many pairs, and the line where both are equal."""
    figure, axes = chart(4.4, 5)
    axes.axline((0, 0), slope=1, color=pic.FAINT, linewidth=1.5, linestyle="--")
    axes.scatter(x, y, color=pic.QUERY, s=12, alpha=0.5, linewidths=0)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    return figure
