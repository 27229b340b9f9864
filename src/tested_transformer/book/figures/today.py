"""Pictures of a layer of today, and of what its parts did to one translator."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, bent, blank, joint, part, tile
from tested_transformer.book.figures.kit import DASHES, at_ends, chart, curves, listed, width, write

BOX, ROAD, HALF = 1.62, 2.12, 2.95
"""How wide a box is, how far its road is from the edge, and where the second layer begins, in inches."""


def _mark(frame: Axes, place: pic.Pair, number: int) -> None:
    """A number in a full circle: what has changed here."""
    frame.add_patch(Circle(place, 0.115, facecolor=pic.INK, edgecolor="none", zorder=8))
    write(frame, *place, str(number), color="white", weight="bold", size=12, zorder=9)


def _line(frame: Axes, x: float, top: float, bottom: float) -> None:
    frame.plot([x, x], [top, bottom], color=pic.FORWARD, linewidth=5, solid_capstyle="butt", zorder=2)


def _box(frame: Axes, left: float, top: float, high: float, name: str, said: str) -> None:
    part(frame, (left, top - high, BOX, high), name, said, linewidth=1.4)


@pic.styled
def layers(changes: Sequence[str]) -> pic.Picture:
    """A layer of the paper on the left, one of today on the right; what has changed is numbered as in `changes`.

    The line on the right of each is the row of a word on its way down: boxes read it and add to it.
    """
    figure, frame = blank(pic.WIDE, 6.5)
    number = {name: n for n, name in enumerate(changes, start=1)}
    for left, title in ((0.1, "2017"), (HALF, "today")):
        write(frame, left + 1.0, 6.3, title, weight="bold", size=14)
        part(frame, (left + 1.0, 5.78, 1.75, 0.32), "table", "row of the table")
    _paper(frame, 0.1)
    _today(frame, HALF, number)
    for names, y in ((changes[:4], 0.48), (changes[4:], 0.18)):
        x = 0.3
        for name in names:
            _mark(frame, (x, y), number[name])
            write(frame, x + 0.17, y, name, ha="left")
            x += width(name, 12) + 0.42
    return figure


def _paper(frame: Axes, left: float) -> None:
    x, middle = left + ROAD, left + BOX / 2
    _line(frame, x, 5.78, 1.18)
    joint(frame, (x, 5.45))
    write(frame, x - 0.2, 5.45, "positions", ha="right")
    for top, name, high in ((4.75, "attention", 0.5), (2.95, "feed-forward", 0.5)):
        frame.plot([x, middle], [top + 0.3] * 2, color=pic.FORWARD, linewidth=1.4)
        arrow(frame, (middle, top + 0.3), (middle, top), pic.FORWARD)
        _box(frame, left, top, high, name, name)
        plus = top - high - 0.3
        bent(frame, ((middle, top - high), (middle, plus), (x - 0.11, plus)), line=1.4)
        joint(frame, (x, plus))
        part(frame, (x - 0.48, plus - 0.58, 0.96, 0.3), "norm", "layer norm")
    arrow(frame, (x, 1.25), (x, 1.1), pic.FORWARD, 22)
    part(frame, (left + 1.0, 0.78, 1.75, 0.32), "table", "the same table")


def _today(frame: Axes, left: float, number: Mapping[str, int]) -> None:
    x, middle = left + ROAD, left + BOX / 2
    _line(frame, x, 5.78, 1.18)
    high = 0.66
    said = {"attention": "attention, turned,\nshared keys", "feed-forward": "SwiGLU"}
    marks = {"attention": ("rotary positions", "grouped queries"), "feed-forward": ("SwiGLU", "no biases")}
    for top, name in ((5.0, "attention"), (3.05, "feed-forward")):
        frame.plot([x, middle], [top + 0.42] * 2, color=pic.FORWARD, linewidth=1.4)
        arrow(frame, (middle, top + 0.42), (middle, top + 0.27), pic.FORWARD)
        part(frame, (left, top - 0.03, BOX, 0.3), "norm", "RMSNorm")
        arrow(frame, (middle, top - 0.03), (middle, top - 0.2), size=10)
        _box(frame, left, top - 0.2, high, name, said[name])
        plus = top - high - 0.45
        bent(frame, ((middle, top - 0.2 - high), (middle, plus), (x - 0.11, plus)), line=1.4)
        joint(frame, (x, plus))
        for n, mark in enumerate(marks[name]):
            _mark(frame, (left + 0.02, top - 0.36 - 0.3 * n), number[mark])
        for n, mark in enumerate(("norm first", "RMSNorm")):
            _mark(frame, (left + BOX - 0.28 * n, top + 0.27), number[mark])
    part(frame, (x - 0.48, 1.38, 0.96, 0.26), "norm", "RMSNorm")
    arrow(frame, (x, 1.25), (x, 1.1), pic.FORWARD, 22)
    part(frame, (left + 1.0, 0.78, 1.75, 0.32), "table", "a second table")
    _mark(frame, (left + 1.0, 1.1), number["untied output"])


@pic.styled
def gate(rows: pic.Arrays, signs: Sequence[str]) -> pic.Picture:
    """Rows of numbers below each other, by their names, and between two rows a sign: what is done with each column."""
    names, wide, high = list(rows), 0.72, 0.34
    columns = len(np.asarray(rows[names[0]]))
    left, step = 1.05, 0.68
    figure, frame = blank(left + wide * columns + 0.15, step * len(rows) - 0.3)
    for n, (name, numbers) in enumerate(rows.items()):
        y = step * (len(rows) - n) - 0.3 - high - 0.02
        write(frame, left - 0.12, y + high / 2, name, ha="right", weight="bold" if n == len(rows) - 1 else "normal")
        for i, number in enumerate(np.asarray(numbers)):
            place = left + wide * i, y, wide, high
            tile(frame, place, pic.SIGNED(0.5 + number / 20), f"{number:.2f}".replace("-", "−"))
            if n:
                write(frame, left + wide * (i + 0.5), y + high + 0.17, signs[n - 1])
    return figure


@pic.styled
def hands(panels: Mapping[str, pic.Arrays]) -> pic.Picture:
    """Clocks with two hands each, a query's and a key's, and the angle between them: it is the same in all.

    As on a clock, a hand (1, 0) points up, and a growing angle turns it to the right.
    """
    side, high = pic.PHONE / len(panels), 2.5
    figure, frame = blank(pic.PHONE, high)
    longest = max(np.linalg.norm(hand) for clock in panels.values() for hand in clock.values())
    radius = min(side, high - 0.4) / 2 - 0.12
    for n, (title, clock) in enumerate(panels.items()):
        x, y = side * (n + 0.5), radius + 0.08
        write(frame, x, high - 0.16, title)
        frame.add_patch(Circle((x, y), radius, facecolor="none", edgecolor=pic.INK, linewidth=0.8))
        upright = {word: np.flip(hand) for word, hand in clock.items()}
        angles = [np.arctan2(*np.flip(hand)) for hand in upright.values()]
        turn = (angles[1] - angles[0] + np.pi) % (2 * np.pi) - np.pi
        along = angles[0] + np.linspace(0, turn, 40)
        frame.plot(x + 0.32 * np.cos(along), y + 0.32 * np.sin(along), color=pic.INK, linewidth=1.2)
        for (word, hand), colour in zip(upright.items(), (pic.QUERY, pic.KEY), strict=True):
            tip = np.asarray(hand) * (radius - 0.42) / longest
            arrow(frame, (x, y), (x + tip[0], y + tip[1]), colour, 16)
            out = tip * (1 + 0.16 / np.linalg.norm(tip))
            write(frame, x + out[0], y + out[1], word, color=colour, weight="bold", gid="halo")
    return figure


@pic.styled
def along(lines: pic.Arrays) -> pic.Picture:
    """The score of two words at a fixed distance, wherever they are: a line for each way to tell positions."""
    figure, axes = chart(2.7)
    places = np.arange(len(next(iter(lines.values()))))
    curves(axes, places, lines, (pic.OUT, pic.QUERY), DASHES)
    axes.set(xlabel="position of the first word", ylabel="score", xlim=(0, places[-1]))
    axes.margins(y=0.2)
    at_ends(axes)
    return figure


@pic.styled
def groups(panels: Mapping[str, int], heads: int) -> pic.Picture:
    """Heads of queries above, those of keys and values below, and which uses which, for some numbers of the latter."""
    wide, gap = 0.5, 0.14
    figure, frame = blank(pic.WIDE, 2.25)
    for n, (title, kept) in enumerate(panels.items()):
        left = 0.12 + n * pic.WIDE / len(panels)
        write(frame, left, 2.08, title, ha="left", weight="bold")
        for h in range(heads):
            x, group = left + h * (wide + gap), h * kept // heads
            size = heads // kept
            low = left + (group * size + (size - 1) / 2) * (wide + gap)
            tile(frame, (x, 1.46, wide, 0.34), pic.tint(pic.QUERY)(0.5), f"q{h + 1}", edgecolor=pic.QUERY)
            frame.plot([x + wide / 2, low + wide / 2], [1.46, 0.98], color=pic.INK, linewidth=1.2)
            tile(frame, (low, 0.64, wide, 0.34), pic.tint(pic.KEY)(0.5), f"k{group + 1}", edgecolor=pic.KEY)
            tile(frame, (low, 0.24, wide, 0.34), pic.tint(pic.VALUE)(0.5), f"v{group + 1}", edgecolor=pic.VALUE)
    return figure


@pic.styled
def forest(panels: Mapping[str, Mapping[str, tuple[float, float, float, bool, ArrayLike]]], xlabel: str) -> pic.Picture:
    """For each size a panel, for each comparison its runs as small dots, and a large one with an interval.

    A comparison has (mean, low, high, full, runs): the large dot is full or hollow. A panel reaches a little
    farther than its runs.
    """
    rows = list(next(iter(panels.values())))
    figure, (row,) = pic.picture(pic.WIDE, 0.4 * len(rows) + 1.15, columns=len(panels), sharey=True)
    for axes, (title, found) in zip(row, panels.items(), strict=True):
        axes.axvline(0, color=pic.INK, linewidth=1)
        reach = 1.35 * max(np.abs(runs).max() for *_, runs in found.values())
        for y, name in enumerate(rows):
            mean, low, high, full, runs = found[name]
            axes.plot([low, high], [y, y], color=COLOUR, linewidth=2)
            face = COLOUR if full else "white"
            axes.plot(mean, y, "o", color=COLOUR, markerfacecolor=face, markersize=9, markeredgewidth=1.6)
            axes.plot(runs, [y + 0.3] * len(np.ravel(runs)), ".", color=pic.INK, markersize=5)
        axes.set(yticks=range(len(rows)), yticklabels=rows, ylim=(len(rows) - 0.4, -0.6), title=title)
        axes.set_xlim(-reach, reach)
        listed(axes)
        axes.locator_params(axis="x", nbins=4)
    figure.supxlabel(xlabel, size=12)
    return figure


COLOUR = pic.SERIES[4]
"""For what has no role."""
