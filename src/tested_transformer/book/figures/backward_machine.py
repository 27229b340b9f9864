"""The way back through the whole machine, and what the three uses of the table teach it."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, tile
from tested_transformer.book.figures.kit import chart

SIDE, LEFT, TALL = 0.4, 0.98, 0.34
"""Inches: the width of a tile, the left edge of the first, the height of a stage."""

GAP = 0.52
"""Inches between two stages, where a layer stands."""

BACK = {"colour": pic.GRADIENT, "width": 2.2, "linestyle": (0, (2.6, 1.2)), "zorder": 5}
"""The look of the way back."""


@pic.styled
def way(
    encoder: Sequence[ArrayLike],
    decoder: Sequence[ArrayLike],
    words: tuple[Sequence[str], Sequence[str]],
    logits: Mapping[str, float],
    steps: Mapping[str, Sequence[tuple[int, int, int]]],
) -> pic.Picture:
    """How long the gradient of each row is at each stage; the data run down, the gradient up.

    encoder and decoder have a list of lengths for each stage. steps has for each half
    the arrows of the way back: from the stage of that number up to the one before, from
    one token to another. The last logits belong to the decoder's last token.
    """
    most = max(np.max(stage) for stage in [*encoder, *decoder])
    height = sum(len(half) * TALL + (len(half) - 1) * GAP for half in (encoder, decoder)) + 3.02
    figure, frame = blank(5.1, height)
    memory = _half(frame, height - 0.86, encoder, words[0], "memory", most, steps["encoder"])
    top = memory - 1.2
    last = _half(frame, top, decoder, words[1], "rows", most, steps["decoder"])
    _read(frame, memory, top, np.shape(decoder), steps["memory"])
    _logits(frame, last, _middle(len(words[1]) - 1), logits)
    return figure


def _middle(place: float) -> float:
    """The middle of a column, in inches."""
    return LEFT + SIDE * (place + 0.5)


def _half(
    frame: Axes,
    top: float,
    stages: Sequence[ArrayLike],
    words: Sequence[str],
    end: str,
    most: float,
    steps: Sequence[tuple[int, int, int]],
) -> float:
    """A half of the machine, from the tokens down; the lower edge of its last stage."""
    for place, word in enumerate(words):
        frame.text(_middle(place), top + 0.08, word, ha="center", va="bottom", rotation=90)
    right = _middle(len(words) - 1) + SIDE / 2
    for n, stage in enumerate(stages):
        bottom = top - TALL - n * (TALL + GAP)
        name = end if n == len(stages) - 1 else "" if n else "input"
        frame.text(LEFT - 0.12, bottom + TALL / 2, name, ha="right", va="center")
        for place, length in enumerate(stage):
            face = pic.WEIGHTS(0.85 * length / most)
            ink = "white" if length > 0.6 * most else "black"
            tile(frame, (_middle(place) - SIDE / 2, bottom, SIDE, TALL), face, f"{length:.1f}" if length else "0", ink)
        if n:
            tile(frame, (LEFT, bottom + TALL + 0.16, right - LEFT, GAP - 0.32), "#eef2f6", edgecolor="none", zorder=0)
            y = bottom + TALL + GAP / 2
            frame.text(LEFT - 0.12, y, f"layer {n}", ha="right", va="center")
            x = LEFT + 0.1  # so the data go
            arrow(frame, (x, y + GAP / 2), (x, y - GAP / 2), pic.INK, 9, 1.1)
    for n, tail, head in steps:
        low = top - n * (TALL + GAP)
        arrow(frame, (_middle(tail), low), (_middle(head), low + GAP), size=13, **BACK)
    return bottom


def _read(
    frame: Axes, memory: float, top: float, shape: tuple[int, int], steps: Sequence[tuple[int, int, int]]
) -> None:
    """The layers of the decoder read the memory beside its rows, where the gradient returns, too.

    shape counts the stages of the decoder and its tokens.
    """
    stages, tokens = shape
    edge, up, down = (_middle(tokens - 0.5 + side) for side in (0, 0.65, 1.55))
    layers = [top - TALL - GAP / 2 - n * (TALL + GAP) for n in range(stages - 1)]
    frame.plot([down, down], [memory, layers[-1] - 0.06], color=pic.INK, linewidth=1.1)
    for y in layers:
        arrow(frame, (down, y - 0.06), (edge, y - 0.06), pic.INK, 9, 1.1)
    for n, _, place in steps:
        level, y, x = memory - 0.24, layers[n - 1] + 0.07, _middle(place)
        look = {"color": BACK["colour"], "linewidth": BACK["width"], "linestyle": BACK["linestyle"], "zorder": 5}
        frame.plot([edge, up, up, x], [y, y, level, level], **look)
        arrow(frame, (x, level), (x, memory), size=13, **BACK)


def _logits(frame: Axes, last: float, middle: float, logits: Mapping[str, float]) -> None:
    """Two logits of the last row, each with its gradient."""
    frame.text(LEFT - 0.12, last - 0.66, "logits", ha="right", va="center")
    arrow(frame, (LEFT + 0.1, last), (LEFT + 0.1, last - 0.5), pic.INK, 9, 1.1)
    for side, (word, number) in zip((-1, 1), logits.items(), strict=True):
        x = middle + 0.5 * side
        tile(frame, (x - 0.46, last - 0.66 - TALL / 2, 0.92, TALL), "white", f"{word} {number:+.1f}".replace("-", "−"))
    arrow(frame, (middle, last - 0.5), (middle, last), size=13, **BACK)


@pic.styled
def uses(parts: pic.Arrays, words: Sequence[str]) -> pic.Picture:
    """How much each use adds to each row of the table: a bar for a use and a word."""
    figure, axes = chart(3.4, 5.6)
    places, thick = np.arange(len(words)), 0.8 / len(parts)
    colours = (pic.QUERY, pic.KEY, pic.VALUE)
    for i, (use, sizes) in enumerate(parts.items()):
        axes.barh(places + (i - (len(parts) - 1) / 2) * thick, sizes, height=thick, color=colours[i], label=use)
    axes.set_yticks(places, words)
    axes.invert_yaxis()
    axes.set_xlabel("length of the gradient of the row")
    figure.legend(loc="outside upper center", ncols=len(parts))
    return figure
