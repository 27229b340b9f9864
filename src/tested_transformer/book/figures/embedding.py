"""Pictures of the embedding table and of its vectors."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import ConnectionPatch
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank
from tested_transformer.book.figures.kit import DASHES, chart
from tested_transformer.book.figures.running import COLOURS, GENDERS


@pic.styled
def lookup(table: ArrayLike, rows: ArrayLike, ids: Sequence[int], words: Sequence[str]) -> pic.Picture:
    """The table, the rows taken from it, and an arrow for each token. words[i] is token i."""
    figure, ((left, right),) = pic.picture(5.4, 2.8, columns=2)
    for axes, block, title in ((left, table, "the table"), (right, rows, "the sentence")):
        pic.tiles(axes, block, pic.WEIGHTS, (0, 1.6 * np.max(table)), decimals=2)
        axes.set_title(title, loc="center")
        axes.set_xticks([])
        middle, half = (len(block) - 1) / 2, max(len(words), len(ids)) / 2
        axes.set_ylim(middle + half, middle - half)  # tiles of one size in both blocks
    left.set_yticks(range(len(words)), [f"{i}  {word}" for i, word in enumerate(words)])
    right.set_yticks(range(len(ids)), [words[i] for i in ids])
    right.yaxis.tick_right()
    right.tick_params(length=0)
    for place, i in enumerate(ids):
        arrow = ConnectionPatch((np.shape(table)[1] - 0.45, i), (-0.55, place), "data", axesA=left, axesB=right)
        arrow.set(arrowstyle="-|>", mutation_scale=13, annotation_clip=False, linewidth=1.8)
        arrow.set(linestyle=DASHES[i % 3], color=pic.SERIES[i])
        figure.add_artist(arrow)
    return figure


@pic.styled
def cosines(counts: pic.Arrays, edges: ArrayLike) -> pic.Picture:
    """How often which cosine similarity occurs: for each name the counts between the edges."""
    figure, axes = chart(2.8, 5)
    for i, (name, count) in enumerate(counts.items()):
        axes.stairs(count, edges, label=name, color=pic.SERIES[i], linewidth=2, linestyle=DASHES[i % 3])
    axes.axvline(0, color=pic.FAINT, linewidth=1)
    axes.set(xlabel="cosine similarity of two different words", ylabel="pairs of words", yticks=[], ylim=(0, None))
    figure.legend(loc="outside upper center", ncols=len(counts))
    return figure


@pic.styled
def balance(stored: Mapping[str, float], scaled: Mapping[str, float], position: float) -> pic.Picture:
    """For each way to start a table the size of its numbers, stored and scaled, beside that of positions."""
    figure, axes = chart(0.8 + 0.55 * len(stored), 5.4)
    y, before, after = np.arange(len(stored)), [*stored.values()], [*scaled.values()]
    axes.hlines(y, before, after, color=pic.FAINT, linewidth=1.5)
    axes.plot(before, y, "o", color=pic.KEY, markersize=8, label="as stored")
    axes.plot(after, y, "D", color=pic.QUERY, markersize=8, label=r"times $\sqrt{d_{model}}$")
    axes.axvline(position, color=pic.INK, linewidth=1.5, linestyle="--", label="positions")
    axes.set(xscale="log", yticks=y, yticklabels=list(stored), ylim=(len(stored) - 0.5, -0.5))
    axes.set_xlabel("typical size of a number (root mean square)")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=3)
    return figure


@pic.styled
def similarities(panels: pic.Arrays, words: Sequence[str], groups: Sequence[int]) -> pic.Picture:
    """Matrices of cosine similarities below each other; lines part the groups, given by their sizes."""
    n = len(words)
    figure, rows = pic.picture(1.2 + 0.42 * n, len(panels) * (0.8 + 0.42 * n), len(panels))
    for (axes,), (title, similarity) in zip(rows, panels.items(), strict=True):
        pic.tiles(axes, similarity, pic.SIGNED, (-1.3, 1.3), decimals=1)
        axes.set(title=title, yticks=range(n), yticklabels=words)
        axes.set_xticks(range(n), words, rotation=90)
        for border in np.cumsum(groups)[:-1] - 0.5:
            axes.axvline(border, color=pic.INK, linewidth=1.2)
            axes.axhline(border, color=pic.INK, linewidth=1.2)
    return figure


@pic.styled
def moving(steps: ArrayLike, within: ArrayLike, between: ArrayLike) -> pic.Picture:
    """While training goes on: the mean cosine similarity within groups of words and between them."""
    figure, axes = chart(3, 5)
    axes.plot(steps, within, color=pic.QUERY, label="same group")
    axes.plot(steps, between, color=pic.KEY, linestyle="--", label="different groups")
    axes.axhline(0, color=pic.FAINT, linewidth=1)
    axes.set(xlabel="steps of training", ylabel="mean cosine similarity", ylim=(-1, 1))
    axes.legend(loc="upper left")
    return figure


MARKS = {"m": "o", "f": "s", "n": "^"}


@pic.styled
def nouns(
    points: ArrayLike, genders: Sequence[str], named: Mapping[str, Sequence[str]], moved: tuple[int, ArrayLike, str]
) -> pic.Picture:
    """Nouns in a plane, with the mark and the colour of their German gender.

    Below the points of each gender stand its article and the words that are named. moved is
    the number of a point, where an arrow from it ends, and the name of the point.
    """
    points, genders = np.asarray(points), np.array(list(genders))
    number, end, name = moved
    low, scale = points.min(axis=0), 3.1 / np.ptp(points, 0).max()
    points, end = ((0.35, 1.15) + scale * (x - low) for x in (points, np.asarray(end)))
    figure, frame = blank(4.2, points[:, 1].max() + 0.1)
    for gender, article in GENDERS.items():
        own = points[genders == gender]
        frame.scatter(*own.T, marker=MARKS[gender], color=COLOURS[gender], s=36, alpha=0.75, linewidth=0)
        look = {"color": COLOURS[gender], "ha": "center", "va": "top"}
        x, y = np.clip(own[:, 0].mean(), 0.72, 3.5), own[:, 1].min() - 0.1
        frame.text(x, y, article, weight="bold", size=13, **look)
        frame.text(x, y - 0.22, textwrap.fill(", ".join(named[gender]), 15), linespacing=1.15, **look)
    start = points[number]
    frame.scatter(*np.transpose([start, end]), s=110, facecolors="none", edgecolors=pic.INK, linewidths=1.5, zorder=3)
    arrow(frame, tuple(start), tuple(end), shrinkA=6, shrinkB=6)
    frame.text(start[0], start[1] + 0.14, name, ha="center", weight="bold")
    return figure
