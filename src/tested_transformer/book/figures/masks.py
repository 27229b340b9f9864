"""Pictures of masks: what they hide, where the answer is, how they combine, and what a leak looks like."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import outline, tile
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import CENTRE, chart, listed
from tested_transformer.shares import as_share

ANSWER = pic.SERIES[4]
"""The colour of what is to be guessed."""


@pic.styled
def answers(weights: ArrayLike, tokens: Sequence[str], following: Sequence[str], marked: int) -> pic.Picture:
    """Weights (T, T) of tokens that look back, with the token after each on the right.

    Hidden tiles are hatched. A frame marks the token that follows, if it is in the sentence.
    """
    weights, n, side, left = np.asarray(weights), len(tokens), 0.31, 0.62
    if weights.shape != (n, n) or len(following) != n:
        raise ValueError(f"{n} tokens need as many rows, columns and answers: {weights.shape}, {len(following)}")
    width, height = left + side * n + 0.72, side * n + 0.72
    figure = pic.Picture(figsize=(width, height))
    axes = figure.add_axes(np.divide((left, 0.04, side * n, side * n), (width, height) * 2))
    pic.tiles(axes, weights, pic.WEIGHTS, (0, 1), decimals=0)
    for text in axes.texts:
        text.set_visible(False)
    _hatch(axes, np.tri(n, dtype=bool), edgecolor=pic.FAINT)
    for i, answer in enumerate(following):
        axes.text(n - 0.35, i, answer.strip(), va="center", color=ANSWER, weight="bold" if i == marked else "normal")
        if i + 1 < n:
            look = {"edgecolor": ANSWER, "linewidth": 3.5 if i == marked else 1.8}
            tile(axes, (i + 0.56, i - 0.44, 0.88, 0.88), "none", zorder=5, **look)
    names = [token.strip() for token in tokens]
    axes.set_xticks(range(n), names, rotation=90)
    axes.set_yticks(range(n), names)
    axes.yaxis.get_ticklabels()[marked].set_weight("bold")
    axes.xaxis.tick_top()
    return figure


@pic.styled
def kinds(panels: Mapping[str, tuple[ArrayLike, Sequence[str], Sequence[str]]], marked: int) -> pic.Picture:
    """Masks under their titles, two side by side, with their queries and keys.

    Filled tiles may be looked at, hatched tiles are hidden, and the marked row is framed.
    """
    figure, grid = pic.picture(pic.PHONE, 2.55 * len(panels) / 2, len(panels) // 2, 2)
    for axes, (title, (mask, rows, columns)) in zip(grid.flat, panels.items(), strict=True):
        mask = np.asarray(mask)
        _flags(axes, mask, np.ones_like(mask))
        axes.set_xticks(range(len(columns)), columns, rotation=90, color=pic.KEY)
        axes.set_yticks(range(len(rows)), rows, color=pic.QUERY)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.set_xlabel(title)
        outline(axes, (-0.5, marked - 0.5, len(columns), 1), pic.INK, 2.5, zorder=5, clip_on=False)
    return figure


@pic.styled
def votes(bars: pic.Arrays, words: Sequence[str]) -> pic.Picture:
    """Weights of one word as bars with a piece for each key. The last piece is grey, and a gap is hatched."""
    figure, axes = chart(0.5 + 0.55 * len(bars))
    for line, weights in enumerate(bars.values()):
        left = 0.0
        for key, (word, weight) in enumerate(zip(words, weights, strict=True)):
            if weight:
                face = pic.FAINT if key == len(words) - 1 else pic.WEIGHTS(0.3)
                axes.barh(line, weight, 0.7, left, color=face, edgecolor="white")
                axes.text(left + weight / 2, line, f"{word}\n{as_share(weight, 2)}", **CENTRE)
            left += weight
        if left < 0.999:
            axes.barh(line, 1 - left, 0.7, left, color="white", edgecolor=pic.FAINT, hatch="////")
    axes.set(xlim=(0, 1), xticks=[0, 0.5, 1], yticks=range(len(bars)))
    axes.set_yticklabels(list(bars))
    axes.invert_yaxis()
    listed(axes)
    return figure


def painter(
    scores: ArrayLike, words: Sequence[str], real: ArrayLike, masks: pic.Arrays, weights: pic.Arrays, marked: int
) -> Interactive:
    """One attention whose mask a reader paints, look by look.

    `scores` (T, T) are divided by the root already, `real` is False where a word is
    padding. For each name there is a mask (T, T) and the weights under it: the first is
    there at first. On paper stand the masks, with the row `marked` framed, and the weights.
    """
    scores, real = np.asarray(scores, dtype=float), np.asarray(real)
    n = len(words)
    if scores.shape != (n, n) or real.shape != (n,):
        raise ValueError(f"{n} words need {n} by {n} scores and {n} flags: scores {scores.shape}, real {real.shape}")
    if masks.keys() != weights.keys():
        raise ValueError(f"each mask needs its weights: masks {sorted(masks)}, weights {sorted(weights)}")
    data = {"words": list(words), "scores": scores, "real": real, "mask": np.asarray(next(iter(masks.values())))}
    tables = {f"Weights, {name}": (words, words, weights[name]) for name in masks}
    still = kinds({name: (mask, words, words) for name, mask in masks.items()}, marked)
    return Interactive("masks", data, tables, still, pictured=True, shares=tuple(tables))


def _hatch(axes: Axes, mask: np.ndarray, **look: object) -> None:
    """A hatched tile on top of every place that is False."""
    look = {"hatch": "////", "linewidth": 0, "zorder": 4} | look
    for i, j in np.argwhere(~mask):
        tile(axes, (j - 0.47, i - 0.47, 0.94, 0.94), "white", **look)


@pic.styled
def combined(causal: ArrayLike, padding: ArrayLike, sentences: Sequence[Sequence[str]]) -> pic.Picture:
    """Causal (T, T) and padding (B, 1, 1, T) and what both allow, a row for each sentence.

    Filled tiles are True. Small tiles are the copies that broadcasting makes.
    """
    causal, padding = np.asarray(causal), np.asarray(padding)
    batch, n = len(padding), len(causal)
    figure, rows = pic.picture(pic.PHONE, 0.8 + 1.4 * batch, batch, 3)
    titles = ("causal\n(T, T)", "padding\n(B, 1, 1, T)", "both\n(B, 1, T, T)")
    for b, words in enumerate(sentences):
        keys = np.broadcast_to(padding[b, 0], (n, n))
        first = np.arange(n)[:, None] == np.zeros(n)  # the one row that is stored
        stored = (np.full((n, n), b == 0), first, np.full((n, n), True))
        for axes, mask, real in zip(rows[b], (causal, keys, causal & keys), stored, strict=True):
            _flags(axes, mask, real)
            first = axes is rows[b, 0]
            axes.set_yticks(range(n), words if first else [""] * n, color=pic.QUERY)
            axes.set_xticks(range(n), words, color=pic.KEY)
            axes.xaxis.tick_top()
            axes.tick_params(length=0)
    for axes, title in zip(rows[0], titles, strict=True):
        axes.set_title(title, loc="center", pad=10)
    for axes, sign in zip(rows[:, 1:].T, ("&", "="), strict=True):
        for one in axes:
            one.text(-0.14, 0.5, sign, transform=one.transAxes, fontsize=16, color=pic.INK, **CENTRE)
    return figure


def _flags(axes: Axes, mask: np.ndarray, stored: np.ndarray) -> None:
    """A mask as tiles: filled for True, hatched for False, small where only copied."""
    for (i, j), allowed in np.ndenumerate(mask):
        size = 0.92 if stored[i, j] else 0.5
        face, hatch = (pic.WEIGHTS(0.6), "") if allowed else ("white", "//////")
        tile(axes, (j - size / 2, i - size / 2, size, size), face, hatch=hatch)
    n = len(mask)
    axes.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
    axes.spines[:].set_visible(False)


@pic.styled
def reach(panels: Mapping[str, pic.Arrays]) -> pic.Picture:
    """How far word j reaches output i: a row of panels for each mask, a panel for each way to measure.

    Each panel is scaled to its largest number; exact zeros are written.
    """
    figure, grid = pic.picture(pic.PHONE, 0.4 + 2.95 * len(panels), len(panels), len(next(iter(panels.values()))))
    for row, (mask, measured) in zip(grid, panels.items(), strict=True):
        for axes, (how, size) in zip(row, measured.items(), strict=True):
            size = np.asarray(size)
            axes.imshow(size, cmap=pic.WEIGHTS, vmin=0, vmax=size.max())
            for i, j in np.argwhere(size == 0):
                axes.text(j, i, "0", **CENTRE)
            numbers = [str(place + 1) for place in range(len(size))]
            axes.set(xticks=range(len(size)), xticklabels=numbers, yticks=range(len(size)), yticklabels=numbers)
            axes.set_xticks(np.arange(len(size) + 1) - 0.5, minor=True)
            axes.set_yticks(np.arange(len(size) + 1) - 0.5, minor=True)
            axes.grid(which="minor", color=pic.FAINT, linewidth=0.5)
            axes.tick_params(which="both", length=0)
            axes.set_title(f"{mask}:\n{how}")
            axes.set_xlabel("of word", color=pic.KEY)
            axes.set_ylabel("on output", color=pic.QUERY)
    return figure
