"""Pictures of a chat model at work: its answer, its prompt as tokens, what layers say, and what heads do."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import blank, tile
from tested_transformer.book.figures.kit import DASHES, chart, curves, listed, width, write
from tested_transformer.shares import as_share

TURNS = {"system": pic.EMBEDDING, "user": pic.KEY, "assistant": pic.QUERY}
"""The colours of who speaks."""


@pic.styled
def answer(tokens: Sequence[str], p: ArrayLike, others: Sequence[str]) -> pic.Picture:
    """For each token that was written, one below the other, its probability; beside it the runner-up."""
    p, places = np.asarray(p, dtype=float), np.arange(len(tokens))
    figure, axes = chart(0.6 + 0.36 * len(tokens), pic.WIDE)
    axes.barh(places, np.ones(len(p)), 0.62, color=pic.tint(pic.QUERY)(0.25))
    axes.barh(places, p, 0.62, color=pic.QUERY)
    for y, share, other in zip(places, p, others, strict=True):
        axes.text(1.02, y, as_share(share, 2), ha="left", va="center")
        axes.text(1.2, y, other, ha="left", va="center")
    axes.text(1.2, -0.85, "runner-up", ha="left", va="center")
    axes.set_yticks(places, tokens)
    axes.set(xlim=(0, 1.75), xticks=[0, 0.5, 1], ylim=(len(tokens) - 0.5, -1.2))
    axes.set_xlabel("probability", loc="left")
    listed(axes)
    axes.spines.bottom.set_bounds(0, 1)
    return figure


@pic.styled
def template(lines: Sequence[tuple[str, Sequence[str], Sequence[bool]]]) -> pic.Picture:
    """A prompt in its tokens. A line has who speaks, the tokens, and which of them are marks and not words.

    Marks are in full colour with white letters. On the left is who speaks, where that changes.
    """
    high, gap, left = 0.3, 0.16, 0.98
    figure, frame = blank(pic.WIDE, len(lines) * (high + gap) + 0.1)
    (_, top), speaker = figure.get_size_inches(), ""
    for n, (who, tokens, marks) in enumerate(lines):
        x, y, colour = left, top - (n + 1) * (high + gap) + gap / 2, TURNS[who]
        if who != speaker:
            frame.text(0.02, y + high / 2, who, color=colour, weight="bold", va="center_baseline")
        speaker = who
        for token, mark in zip(tokens, marks, strict=True):
            room = width(token, 12) + 0.16
            face = colour if mark else pic.tint(colour)(0.3)
            tile(frame, (x, y, room, high), face, edgecolor=colour)
            write(frame, x + room / 2, y + high / 2, token, color="white" if mark else pic.INK)
            x += room + 0.05
    return figure


@pic.styled
def layers(says: ArrayLike, words: Mapping[int, str], after: Mapping[str, ArrayLike]) -> pic.Picture:
    """Above, the probability that each layer gives the answer, with the word it likes best in some layers.

    Below, a curve for each answer: its probability at the end, if the exchange is made after so many layers.
    """
    figure, ((above,), (below,)) = pic.picture(pic.WIDE, 5.2, rows=2, sharex=True)
    x = np.arange(len(says))
    above.plot(x, says, color=pic.QUERY, marker="o", markersize=4)
    last, low = -np.inf, True
    for layer, word in words.items():  # neighbours stand at two heights
        low = not low or layer - last > 4
        last, top = layer, 0.2 if low else 0.36
        write(above, layer, top + 0.06, f"“{word}”", ha="center" if low else "right")
        above.plot([layer, layer], [says[layer] + 0.03, top], color=pic.FAINT, linewidth=1)
    above.set_title("what the lens reads after each layer")
    looks = {"dashes": ("-", (0, (4, 2))), "marks": ("o", "s"), "markersize": 4}
    curves(below, x, after, colours=(pic.QUERY, pic.KEY), **looks)
    below.set_title("the answer, if France becomes Italy there")
    below.legend(loc="center left")
    below.set_xlabel("layers")
    for axes in (above, below):
        axes.set(ylim=(-0.03, 1.05), yticks=[0, 0.5, 1], ylabel="probability")
        axes.set_xticks(range(0, len(x), 6))
    return figure


@pic.styled
def grid(panels: pic.Arrays, framed: Sequence[tuple[int, int]]) -> pic.Picture:
    """For each name a number for every head, (layers, heads): a column is a layer, and a row a head.

    All panels have one scale, from 0 to 1. The framed heads, layer and head counted from 0, are
    the same in all of them.
    """
    figure, rows = pic.picture(pic.WIDE, 2.05 * len(panels), rows=len(panels), sharex=True)
    for (axes,), (title, x) in zip(rows, panels.items(), strict=True):
        x = np.asarray(x).T
        axes.imshow(x.clip(0, 1), cmap=pic.WEIGHTS, vmin=0, vmax=1, aspect="auto")
        axes.set_title(title)
        axes.set_yticks([0, 4, 8], ["head 1", "5", "9"])
        axes.set_xticks([0, 9, 19, 29], ["layer 1", "10", "20", "30"])
        axes.tick_params(length=0)
        axes.spines[:].set(visible=True, color=pic.FAINT)
        for layer, head in framed:
            look = {"markersize": 10, "markerfacecolor": "none", "markeredgewidth": 1.6}
            axes.plot(layer, head, marker="s", color=pic.KEY, **look)
            side = -1 if layer > 24 else 1
            share = as_share(max(x[head, layer], 0), 2)
            halo = {"gid": "halo", "ha": "right" if side < 0 else "left", "va": "center_baseline"}
            axes.annotate(share, (layer, head), (9 * side, 0), textcoords="offset points", **halo)
    return figure


@pic.styled
def distances(gaps: ArrayLike, lines: pic.Arrays, most: int) -> pic.Picture:
    """A curve for each name over numbers of positions, and a dashed line where the training ended."""
    figure, axes = chart(3.5, pic.WIDE)
    looks = {"dashes": DASHES[:2], "marks": ("o", "s"), "markersize": 5, "clip_on": False}
    curves(axes, gaps, lines, colours=(pic.KEY, pic.QUERY), **looks)
    axes.axvline(most, color=pic.INK, linestyle=":", linewidth=1.5)
    axes.text(most, 0.1, f" {most:,}", ha="left", va="center")
    axes.set(xlim=(0, max(gaps)), ylim=(0, 1.02), yticks=[0, 0.5, 1])
    axes.set(xlabel="positions", ylabel="probability of the right capital")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=5)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.02))
    return figure
