"""Pictures of the embedding table and of its vectors."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import ConnectionPatch
from numpy.typing import ArrayLike

from tested_transformer.draw.picture import (
    FAINT,
    INK,
    KEY,
    QUERY,
    SERIES,
    SIGNED,
    WEIGHTS,
    Picture,
    picture,
    styled,
    tiles,
)


@styled
def lookup(table: ArrayLike, rows: ArrayLike, ids: Sequence[int], words: Sequence[str]) -> Picture:
    """The table on the left, the rows taken from it on the right, and an arrow for each token. words[i] is token i."""
    figure, ((left, right),) = picture(6.4, 3.2, columns=2)
    top = 1.6 * np.max(table)
    tiles(left, table, WEIGHTS, (0, top), decimals=2)
    tiles(right, rows, WEIGHTS, (0, top), decimals=2)
    left.set_title("the table", loc="center")
    right.set_title("the sentence", loc="center")
    left.set_yticks(range(len(words)), [f"{i}  {word}" for i, word in enumerate(words)])
    right.yaxis.tick_right()
    right.set_yticks(range(len(ids)), [words[i] for i in ids])
    height = max(len(words), len(ids))
    for axes, n in ((left, len(words)), (right, len(ids))):
        axes.set_xticks([])
        axes.set_ylim((n - 1 + height) / 2, (n - 1 - height) / 2)  # tiles of one size, both blocks in the middle
        axes.tick_params(length=0)
    width = np.shape(table)[1]
    for place, i in enumerate(ids):
        start, end = (width - 0.45, i), (-0.55, place)
        arrow = ConnectionPatch(start, end, "data", axesA=left, axesB=right, arrowstyle="-|>", color=SERIES[i])
        arrow.set(mutation_scale=13, linewidth=1.8, linestyle=("-", "--", ":")[i % 3], annotation_clip=False)
        figure.add_artist(arrow)
    return figure


@styled
def cosines(counts: Mapping[str, ArrayLike], edges: ArrayLike) -> Picture:
    """How often which cosine similarity occurs: for each name the counts between the edges."""
    figure, ((axes,),) = picture(6, 3)
    for i, (name, count) in enumerate(counts.items()):
        axes.stairs(count, edges, color=SERIES[i], linewidth=2, linestyle=("-", "--", ":")[i % 3], label=name)
    axes.axvline(0, color=FAINT, linewidth=1)
    axes.set_xlabel("cosine similarity of two different words")
    axes.set_ylabel("pairs of words")
    axes.set_yticks([])
    axes.set_ylim(0, None)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=len(counts))
    return figure


@styled
def balance(names: Sequence[str], stored: ArrayLike, scaled: ArrayLike, position: float) -> Picture:
    """For each way to start a table: the size of a number in a row, as stored and scaled, beside that of positions."""
    figure, ((axes,),) = picture(6.4, 0.75 + 0.6 * len(names))
    y = np.arange(len(names))
    axes.hlines(y, stored, scaled, color=FAINT, linewidth=1.5)
    axes.plot(stored, y, "o", color=KEY, markersize=8, label="as stored")
    axes.plot(scaled, y, "D", color=QUERY, markersize=8, label=r"times $\sqrt{d_{model}}$")
    axes.axvline(position, color=INK, linewidth=1.5, linestyle="--", label="positions")
    axes.set_xscale("log")
    axes.set_yticks(y, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("typical size of a number (root mean square)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


@styled
def similarities(panels: Mapping[str, ArrayLike], words: Sequence[str], groups: Sequence[int]) -> Picture:
    """Matrices of cosine similarities as tiles, one below the other; lines part the groups, given by their sizes."""
    n = len(words)
    figure, axes = picture(1.2 + 0.42 * n, len(panels) * (0.8 + 0.42 * n), rows=len(panels))
    for ax, (title, similarity) in zip(axes[:, 0], panels.items(), strict=True):
        tiles(ax, similarity, SIGNED, (-1.3, 1.3), decimals=1)
        ax.set_title(title)
        ax.set_yticks(range(n), words)
        ax.set_xticks(range(n), words, rotation=90)
        for border in np.cumsum(groups)[:-1] - 0.5:
            ax.axvline(border, color=INK, linewidth=1.2)
            ax.axhline(border, color=INK, linewidth=1.2)
    return figure


@styled
def moving(steps: ArrayLike, within: ArrayLike, between: ArrayLike) -> Picture:
    """While training goes on: the mean cosine similarity within groups of words and between them."""
    figure, ((axes,),) = picture(6, 3.2)
    axes.plot(steps, within, color=QUERY, label="same group")
    axes.plot(steps, between, color=KEY, linestyle="--", label="different groups")
    axes.axhline(0, color=FAINT, linewidth=1)
    axes.set_xlabel("steps of training")
    axes.set_ylabel("mean cosine similarity")
    axes.set_ylim(-1, 1)
    axes.legend(loc="upper left")
    return figure
