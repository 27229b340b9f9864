"""Pictures of masks: what they hide, how they combine, and what a leak looks like."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import tile


@pic.styled
def hidden(
    panels: Mapping[str, ArrayLike], masks: Sequence[ArrayLike], words: Sequence[str]
) -> pic.Picture:
    """Weights side by side under their titles; hatched where the mask of a panel is False."""
    n = len(words)
    width = len(panels) * (0.5 + 0.75 * n)
    figure, (row,) = pic.picture(width, 1.2 + 0.62 * n, columns=len(panels))
    for axes, (title, a), mask in zip(row, panels.items(), masks, strict=True):
        pic.tiles(axes, a, pic.WEIGHTS, (0, 1), decimals=4)
        _hatch(axes, np.asarray(mask))
        axes.set_xticks(range(n), words)
        axes.set_yticks(range(n), words)
        axes.xaxis.tick_top()
        axes.set_aspect("auto")
        axes.set_xlabel(title)
    return figure


def _hatch(axes: Axes, mask: np.ndarray) -> None:
    """A hatched tile on top of every place that is False."""
    for i, j in np.argwhere(~mask):
        place = j - 0.47, i - 0.47, 0.94, 0.94
        tile(axes, place, "white", hatch="////", linewidth=0, zorder=4)


@pic.styled
def combined(
    causal: ArrayLike, padding: ArrayLike, sentences: Sequence[Sequence[str]]
) -> pic.Picture:
    """Causal (T, T) and padding (B, 1, 1, T) and what both allow, a row for each sentence.

    Filled tiles are True. Small tiles are the copies that broadcasting makes.
    """
    causal, padding = np.asarray(causal), np.asarray(padding)
    batch, n = len(padding), len(causal)
    figure, rows = pic.picture(6.2, 0.8 + 1.55 * batch, batch, 3)
    titles = ("causal  (T, T)", "padding  (B, 1, 1, T)", "both  (B, 1, T, T)")
    for b, words in enumerate(sentences):
        keys = np.broadcast_to(padding[b, 0], (n, n))
        first = np.arange(n)[:, None] == np.zeros(n)  # the one row that is stored
        stored = (np.full((n, n), b == 0), first, np.full((n, n), True))
        masks = causal, keys, causal & keys
        for axes, mask, real in zip(rows[b], masks, stored, strict=True):
            _flags(axes, mask, real)
            axes.set_yticks(range(n), words, color=pic.QUERY)
            axes.set_xticks(range(n), words, color=pic.KEY)
            axes.xaxis.tick_top()
            axes.tick_params(length=0)
    for axes, title in zip(rows[0], titles, strict=True):
        axes.set_title(title, loc="center", pad=10)
    for axes, sign in zip(rows[:, 1:].T, ("&", "="), strict=True):
        for one in axes:
            look = {"ha": "center", "va": "center", "fontsize": 16, "color": pic.INK}
            one.text(-0.42, 0.5, sign, transform=one.transAxes, **look)
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
def reach(panels: Mapping[str, Mapping[str, ArrayLike]]) -> pic.Picture:
    """How far word j reaches output i: a row of panels for each mask, a panel for each way to measure.

    Each panel is scaled to its largest number; exact zeros are written.
    """
    columns = len(next(iter(panels.values())))
    figure, grid = pic.picture(6.4, 0.4 + 3.1 * len(panels), len(panels), columns)
    for row, (mask, measured) in zip(grid, panels.items(), strict=True):
        for axes, (how, size) in zip(row, measured.items(), strict=True):
            size = np.asarray(size)
            axes.imshow(size, cmap=pic.WEIGHTS, vmin=0, vmax=size.max())
            for i, j in np.argwhere(size == 0):
                axes.text(j, i, "0", ha="center", va="center")
            numbers = [str(place + 1) for place in range(len(size))]
            axes.set_xticks(range(len(size)), numbers)
            axes.set_yticks(range(len(size)), numbers)
            axes.set_xticks(np.arange(len(size) + 1) - 0.5, minor=True)
            axes.set_yticks(np.arange(len(size) + 1) - 0.5, minor=True)
            axes.grid(which="minor", color=pic.FAINT, linewidth=0.5)
            axes.tick_params(which="both", length=0)
            axes.set_title(f"{mask}:\n{how}")
            axes.set_xlabel("of word", color=pic.KEY)
            axes.set_ylabel("on output", color=pic.QUERY)
    return figure
