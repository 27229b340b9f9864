"""Pictures of writing for many: how long calls take, who drafts and who checks, and who sits where."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import blank, tile
from tested_transformer.book.figures.kit import DASHES, chart, curves, listed, width, write
from tested_transformer.book.serving import Ride, calls

LARGE, SMALL = pic.QUERY, pic.KEY
"""The colours of the model that decides, and of the one that drafts."""


@pic.styled
def reading(n: int, read: float, written: float) -> pic.Picture:
    """So many tokens, read in one call and written one by one: seconds from left to right, a piece for each call."""
    figure, axes = chart(1.7, pic.WIDE)
    axes.barh(0, read, 0.5, color=LARGE)
    starts = np.arange(n) * written / n
    axes.barh(np.ones(n), np.full(n, 0.78 * written / n), 0.5, left=starts, color=LARGE)
    for y, end in ((0, read), (1, written)):
        axes.text(end + written / 60, y, f"{end:.1f} s", ha="left", va="center")
    axes.set_yticks([0, 1], [f"reads {n} tokens", f"writes {n} tokens"])
    axes.set(xlim=(0, 1.12 * written), ylim=(1.6, -0.6), xlabel="seconds")
    listed(axes)
    return figure


@pic.styled
def times(tokens: Sequence[int], lines: pic.Arrays) -> pic.Picture:
    """How long a call takes, over the tokens that it reads: a curve for each model, both scales logarithmic."""
    figure, axes = chart(3.5, pic.WIDE)
    looks = {"dashes": DASHES[:2], "marks": ("o", "s"), "markersize": 5, "clip_on": False}
    curves(axes, tokens, lines, colours=(LARGE, pic.OUT), **looks)
    axes.set(xscale="log", yscale="log", xlabel="tokens that a call reads", ylabel="milliseconds")
    axes.set_xticks(tokens, [f"{n}" for n in tokens])
    heights = (20, 50, 100, 200, 500)
    axes.set_yticks(heights, [f"{y}" for y in heights])
    axes.minorticks_off()
    axes.legend(loc="upper left")
    return figure


@pic.styled
def rounds(begun: str, rows: Sequence[tuple[Sequence[str], int, str]]) -> pic.Picture:
    """A row for each call of the large model: what is drafted, how many of it stay, and the model's own token.

    The drafted tokens that stay are filled, and the others struck through. The model's own token has a thick border.
    """
    high, step, left = 0.32, 0.62, 0.85
    figure, frame = blank(pic.WIDE, step * len(rows) + 0.45)
    _, top = figure.get_size_inches()
    write(frame, 0.02, top - 0.15, begun + " …", ha="left", weight="bold")
    for n, (drafted, stay, own) in enumerate(rows):
        x, y = left, top - 0.42 - step * (n + 1) + 0.3
        write(frame, 0.02, y + high / 2, f"call {n + 1}", ha="left")
        for k, word in enumerate([*drafted, own]):
            room, mine, kept = width(word, 12) + 0.18, k == len(drafted), k < stay
            face = pic.tint(LARGE if mine else SMALL)(0.35) if mine or kept else "none"
            x += 0.12 if mine else 0.0
            tile(frame, (x, y, room, high), face, edgecolor=LARGE if mine else SMALL, linewidth=2.2 if mine else 1)
            write(frame, x + room / 2, y + high / 2, word, alpha=1 if mine or kept else 0.6)
            if not (mine or kept):
                frame.plot([x + 0.05, x + room - 0.05], [y + high / 2] * 2, color=pic.INK, linewidth=1.3)
            x += room + 0.06
    return figure


@pic.styled
def overlap(words: Sequence[str], wanted: ArrayLike, drafted: ArrayLike, both: ArrayLike) -> pic.Picture:
    """For each word two bars: how likely the large model finds it, and the small one; what both have is filled."""
    wanted, drafted, both, at = *map(np.asarray, (wanted, drafted, both)), np.arange(len(words))
    figure, axes = chart(3.4, pic.WIDE)
    for side, p, colour, name in ((-0.2, drafted, SMALL, "the draft"), (0.2, wanted, LARGE, "the large model")):
        axes.bar(at + side, both, 0.36, color=pic.tint(colour)(0.45), edgecolor=colour, label=name)
        hatch = "xx" if side < 0 else "//"
        axes.bar(at + side, p - both, 0.36, bottom=both, color="none", edgecolor=colour, hatch=hatch)
    axes.set_xticks(at, words)
    axes.set(ylabel="probability", ylim=(0, None))
    axes.legend(loc="upper right")
    return figure


@pic.styled
def seats(panels: Mapping[str, Sequence[Ride]]) -> pic.Picture:
    """For each way of serving, who sits in which seat at which call: a bar for each answer, with its number."""
    most = max(map(calls, panels.values()))
    figure, rows = pic.picture(pic.WIDE, 1.75 * len(panels), rows=len(panels), sharex=True)
    for (axes,), (title, rides) in zip(rows, panels.items(), strict=True):
        for ride in rides:
            colour = pic.SERIES[ride.who % 4]
            place = (ride.start, ride.seat + 0.08, ride.end - ride.start, 0.84)
            tile(axes, place, pic.tint(colour)(0.4), edgecolor=colour)
            write(axes, (ride.start + ride.end) / 2, ride.seat + 0.5, f"{ride.who + 1}")
        axes.axvline(calls(rides), color=pic.INK, linestyle=":", linewidth=1.5)
        n = 1 + max(ride.seat for ride in rides)
        axes.set(xlim=(0, 1.02 * most), ylim=(n, 0), title=title)
        axes.set_yticks(np.arange(n) + 0.5, [f"seat {seat + 1}" for seat in range(n)])
        axes.tick_params(axis="y", length=0)
    axes.set_xlabel("calls of the model")
    return figure


@pic.styled
def recalled(pairs: ArrayLike, lines: pic.Arrays, width: int) -> pic.Picture:
    """How far what comes back is from what was kept, over the number of pairs; the width of a key is dotted."""
    figure, axes = chart(3.4, pic.WIDE)
    looks = {"dashes": DASHES[:3], "marks": ("o", "s", "^"), "markersize": 5, "clip_on": False}
    curves(axes, pairs, lines, colours=(LARGE, pic.OUT, pic.VALUE), **looks)
    axes.axvline(width, color=pic.INK, linestyle=":", linewidth=1.5)
    axes.set(ylim=(0, None), xlim=(0, None), xlabel="pairs", ylabel="distance")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return figure
