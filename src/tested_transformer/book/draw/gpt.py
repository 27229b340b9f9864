"""Pictures of a model that writes: what there is to draw from, and what comes of it."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import arrow, blank, tile


@pic.styled
def likeliest(
    panels: Mapping[str, tuple[ArrayLike, Sequence[str], int]], k: int
) -> pic.Picture:
    """For each text its likeliest next words: (probabilities, words, how many the nucleus has).

    A dashed line marks where the k likeliest end, bars outside the nucleus are faint.
    """
    figure, (row,) = pic.picture(7.2, 4.6, columns=len(panels), sharex=True)
    for axes, (title, (p, words, nucleus)) in zip(row, panels.items(), strict=True):
        places = np.arange(len(words))
        look = {"color": pic.QUERY, "height": 0.75}
        axes.barh(places[:nucleus], p[:nucleus], **look)
        axes.barh(places[nucleus:], p[nucleus:], alpha=0.3, **look)
        axes.axhline(k - 0.5, color=pic.KEY, linestyle="--", linewidth=1.5)
        axes.set_yticks(places, words)
        axes.invert_yaxis()
        axes.tick_params(left=False)
        axes.set_title(title, loc="center", color=pic.INK)
        axes.set_xlabel("probability")
    return figure


@pic.styled
def lines(
    rows: Mapping[str, tuple[ArrayLike, Sequence[str], int]], k: int, least: float
) -> pic.Picture:
    """For each name a line of length 1, in pieces as long as their probabilities: (probabilities, words, nucleus).

    The pieces of the nucleus are in full colour; a mark stands where the k likeliest end. Pieces shorter than
    `least` have no word.
    """
    figure, ((axes,),) = pic.picture(pic.PHONE, 1.15 * len(rows) + 0.6)
    for y, (p, words, nucleus) in enumerate(rows.values()):
        p = np.asarray(p)
        for n, (left, wide) in enumerate(zip(p.cumsum() - p, p, strict=True)):
            look = {"edgecolor": "white", "linewidth": min(1.0, 100 * wide)}
            face = pic.WEIGHTS(0.4 if n < nucleus else 0.08)
            axes.barh(y, wide, 0.72, left=left, color=face, **look)
            if wide >= least:
                axes.text(
                    left + wide / 2,
                    y,
                    words[n],
                    rotation=90,
                    ha="center",
                    va="center",
                )
        end = p[:k].sum()
        axes.plot([end, end], [y - 0.48, y + 0.48], color=pic.KEY, linewidth=2.5)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(xlim=(0, 1), ylim=(len(rows) - 0.48, -0.52), xticks=[0, 0.5, 1])
    axes.tick_params(left=False)
    axes.spines.left.set_visible(False)
    return figure


@pic.styled
def trade(points: Mapping[str, Sequence[tuple[float, float]]]) -> pic.Picture:
    """For each way to draw: different words across, the share of sound triples up; its name stands beside.

    A way has a point for each draw; a thin line leads from their middle to the name.
    """
    figure, ((axes,),) = pic.picture(pic.PHONE, 3.9)
    looks = zip(points.items(), cycle(pic.SERIES), cycle("os^DvP*"), strict=False)
    middles, low = {}, 1.0
    for (name, drawn), colour, mark in looks:
        words, sound = np.transpose(drawn)
        axes.scatter(words, sound, s=34, color=colour, marker=mark, zorder=3)
        middles[name] = words.mean(), sound.mean(), colour
        low = min(low, sound.min())
    most, step = max(x for x, _, _ in middles.values()), (1.02 - low) / 11
    level = np.inf
    for name, (x, y, colour) in sorted(middles.items(), key=lambda m: -m[1][1]):
        level = min(y, level - step)
        axes.plot([x, 1.12 * most], [y, level], color=colour, linewidth=0.7, alpha=0.6)
        axes.text(1.14 * most, level, name, color=colour, va="center")
    axes.set(xlim=(0, 1.85 * most), ylim=(low - 2.5 * step, 1.03))
    axes.set_xticks([n for n in axes.get_xticks() if 0 <= n <= 1.1 * most])
    axes.spines.bottom.set_bounds(0, 1.1 * most)
    axes.set_xlabel("different words in a hundred texts", loc="left")
    axes.set_ylabel("share of known word triples")
    return figure


STACK, GAP, SIDE = 1.08, 0.156, 0.56
"""Width of a stack of boxes, what lies between two, and the side of a mask, in inches."""

STACKS = (
    ("BERT", "I need\n[mask] chair", ("attention", "feed-\nforward"), "the"),
    ("GPT", "<bos> I\nneed the", ("attention", "feed-\nforward"), "chair"),
    ("encoder", "I need\nthe chair", ("attention", "feed-\nforward"), ""),
    (
        "decoder",
        "<bos> Ich\nbrauche",
        ("attention", "cross-\nattention", "feed-\nforward"),
        "den",
    ),
)
"""For each stack its name, what it reads, its boxes in order, and what it answers."""


@pic.styled
def three(
    bert: ArrayLike,
    gpt: ArrayLike,
    encoder: ArrayLike,
    decoder: ArrayLike,
    cross: ArrayLike,
) -> pic.Picture:
    """BERT, GPT and the translator side by side, from above to below; each attention has its mask inside.

    A mask has a row for each word that is read and a column for each that may be looked at: filled is what may be
    looked at, hatched is hidden. The squares of all masks are equally large.
    """
    masks, high = ((bert,), (gpt,), (encoder,), (decoder, cross)), (0.5, 0.95, 1.13)
    side = SIDE / max(n for own in masks for mask in own for n in np.shape(mask))
    top, middle = 4.58, {"ha": "center", "va": "center"}
    figure, frame = blank(pic.PHONE, top + 0.2)
    ends = []
    for n, (name, given, boxes, answer) in enumerate(STACKS):
        left, y, own = GAP + n * (STACK + GAP), top - 1.1, iter(masks[n])
        x, weight = left + STACK / 2, "bold" if name.isupper() else "normal"
        frame.text(
            x, top - (0 if name.isupper() else 0.3), name, weight=weight, **middle
        )
        frame.text(x, y + 0.47, given, **middle)
        arrow(frame, (x, y + 0.25), (x, y))
        for box in boxes:
            looks = "attention" in box
            height = high[looks + ("\n" in box) * looks]
            y -= height
            face = pic.tint(pic.QUERY if looks else pic.VALUE)(0.5)
            tile(frame, (left, y, STACK, height), face, edgecolor=pic.INK)
            lines = 0.2 + 0.18 * ("\n" in box)
            frame.text(x, y + height - lines / 2 - 0.07, box, linespacing=1, **middle)
            if looks:
                _mask(frame, next(own), (x, y + 0.08), side)
            if box != boxes[-1]:
                arrow(frame, (x, y), (x, y - 0.2))
                y -= 0.2
        ends.append((x, y))
        if answer:
            arrow(frame, (x, y), (x, y - 0.24))
            frame.text(x, y - 0.36, answer, color=pic.OUT, **middle)
    (start, level), across = ends[2], top - 1.1 - 0.95 - 0.2 - 1.13 / 2
    corner = start + STACK / 2 + GAP / 2
    way = [start, start, corner, corner], [level, level - 0.14, level - 0.14, across]
    frame.plot(*way, color=pic.KEY, linewidth=1.6)
    arrow(frame, (corner - 0.01, across), (corner + GAP / 2, across), pic.KEY, size=9)
    sides = GAP + 2 * (STACK + GAP), pic.PHONE - GAP
    frame.plot(sides, [top - 0.15] * 2, color=pic.INK, linewidth=1.4)
    frame.text(sum(sides) / 2, top, "translator", weight="bold", **middle)
    return figure


def _mask(
    frame: Axes, mask: ArrayLike, middle: tuple[float, float], side: float
) -> None:
    """A mask as squares with this side, its first row on top, around the middle of a space as high as SIDE."""
    mask = np.asarray(mask, dtype=bool)
    rows, columns = mask.shape
    left, top = middle[0] - side * columns / 2, middle[1] + (SIDE + side * rows) / 2
    for (row, column), seen in np.ndenumerate(mask):
        place = left + side * column, top - side * (row + 1)
        look = {"edgecolor": "white"} if seen else {"hatch": "////////"}
        tile(frame, (*place, side, side), pic.QUERY if seen else "white", **look)
