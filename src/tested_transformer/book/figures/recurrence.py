"""Pictures of networks that read step by step."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import kit
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, tile
from tested_transformer.book.figures.kit import CENTRE, DASHES, beside, chart, named

ARROW = {"size": 11, "width": 1.8, "shrinkA": 2, "shrinkB": 2}


@pic.styled
def carried(words: Sequence[str], marked: int, german: Sequence[str], bold: str, back: bool = False) -> pic.Picture:
    """States that read a sentence, and the route by which one of its words gets to the translation.

    Each state is a column of equally many tiles, and one word of the German is bold. The route
    is coloured: it leads through all later states, or, looking back, straight to the bold word.
    """
    figure, frame = blank(pic.PHONE, 2.95)
    gap, half, (top, bottom) = pic.PHONE / len(words), 0.09, (2.05, 1.15)
    size, light = (top - bottom) / 5, pic.tint(pic.KEY)(0.0)
    for i, word in enumerate(words):
        x = (i + 0.5) * gap
        on_the_way = i == marked if back else i >= marked
        colour = pic.KEY if i == marked else pic.INK
        frame.text(x, 2.65, word, weight="bold" if i == marked else "normal", ha="center", color=colour)
        arrow(frame, (x, 2.55), (x, top + 0.04), colour)
        for n in range(5):
            tile(frame, (x - half, bottom + n * size, 2 * half, size), light if on_the_way else "white")
        if i:
            look = (pic.KEY, 14, 3) if i > marked and not back else (pic.INK,)
            arrow(frame, (x - gap + half, 1.6), (x - half, 1.6), *look)
    x, asking = pic.PHONE - 0.1, 0.0
    for word in reversed(german):
        weight = "bold" if word == bold else "normal"
        box = frame.text(x, 0.2, word, ha="right", weight=weight, size=13).get_window_extent()
        if word == bold:
            asking = (box.x0 + box.x1) / 2 / figure.dpi
        x = box.x0 / figure.dpi - 0.065
    low, thick = bottom - 0.04, {"width": 3, "size": 14}
    if back:
        for i in range(len(words)):
            ends = ((i + 0.5) * gap, low), (asking, 0.5)
            if i != marked:
                frame.plot(*zip(*ends, strict=True), color=pic.FAINT, linewidth=1.2, zorder=0)
        arrow(frame, ((marked + 0.5) * gap, low), (asking, 0.47), pic.KEY, **thick)
        return figure
    out = (len(words) - 0.5) * gap
    arrow(frame, (out, low), (out, 0.5), pic.KEY, **thick)
    frame.text(out - 0.15, 0.82, "the last state, and nothing else", ha="right", va="center")
    return figure


@pic.styled
def unrolled(x: ArrayLike, start: ArrayLike, states: ArrayLike, words: Sequence[str]) -> pic.Picture:
    """One network at each of its steps: words above, states below, time to the right."""
    figure, frame = blank(pic.PHONE, 3.9)
    frame.set(xlim=(0, len(words) + 1), ylim=(0, 1))
    for i, state in enumerate([start, *np.asarray(states)]):
        middle = (i + 0.5) / (len(words) + 1)
        _column(figure, state, middle, 0.06, f"$h_{i}$")
        if i:
            _column(figure, x[i - 1], middle, 0.5, f"$x_{i}$")
            frame.text(i + 0.5, 0.92, words[i - 1], ha="center", color=pic.KEY)
            _named(frame, (i + 0.5, 0.49), (i + 0.5, 0.33), pic.KEY, "$W^x$")
            _named(frame, (i - 0.27, 0.19), (i + 0.06, 0.19), pic.QUERY, "$W^h$")
    frame.text(0.5, 0.36, "before the\nfirst word", ha="center", va="bottom")
    return figure


def _column(figure: pic.Picture, x: ArrayLike, middle: float, low: float, name: str) -> None:
    """A vector as upright tiles, its name to the left."""
    size = 0.13  # of one tile, as a share of the height
    wide, high = figure.get_size_inches()
    width, height = 1.25 * size * high / wide, size * len(np.asarray(x))
    axes = figure.add_axes((middle - width / 2, low, width, height))
    pic.tiles(axes, np.reshape(x, (-1, 1)), pic.SIGNED, (-1.3, 1.3), decimals=2)
    axes.set(aspect="auto", xticks=[], yticks=[0.5 * len(np.asarray(x)) - 0.5], yticklabels=[name])
    axes.spines[:].set(visible=True, color=pic.FAINT)


def _named(frame: Axes, tail: pic.Pair, head: pic.Pair, colour: str, name: str) -> None:
    """An arrow and its name: above it if it is level, else to its right."""
    arrow(frame, tail, head, colour, **ARROW)
    offset, ha, va = ((0, 4), "center", "bottom") if tail[1] == head[1] else ((5, 0), "left", "center")
    middle = (tail[0] + head[0]) / 2, (tail[1] + head[1]) / 2
    beside(frame, name, middle, offset, color=colour, ha=ha, va=va)


@pic.styled
def machine(read: Sequence[str], written: Sequence[str]) -> pic.Picture:
    """States that read tokens and states that write them, in one row of steps.

    The first writing state reads BOS, each other one what was written before it.
    """
    figure, axes = chart(2.9)
    n, total = len(read), len(read) + len(written)
    for i, token in enumerate([*read, *written]):
        reads = i < n
        colour, far = (pic.KEY, 1.0) if reads else (pic.OUT, -1.0)
        axes.plot(i, 0, "o", color=colour, markersize=13)
        high, low = sorted((0.28 * far, 0.8 * far), reverse=True)
        arrow(axes, (i, high), (i, low), colour, **ARROW)
        axes.text(i, 1.08 * far, token, color=colour, **CENTRE)
        if not reads:
            before = "BOS" if i == n else written[i - n - 1]
            arrow(axes, (i, 0.8), (i, 0.28), pic.OUT, **ARROW)
            axes.text(i, 1.08, before, color=pic.OUT, **CENTRE)
        if i + 1 < total:
            arrow(axes, (i + 0.22, 0), (i + 0.78, 0), pic.QUERY if i + 1 == n else pic.INK, **ARROW)
    for at, words, colour, level in (
        ((n - 3) / 2, "reads", pic.KEY, -0.5),
        (n - 0.6, "the last state,\nand nothing else", pic.QUERY, -0.8),
        (n + (total - n - 1) / 2, "writes, and reads what it wrote", pic.OUT, -1.5),
    ):
        side = "right" if colour == pic.QUERY else "center"
        axes.text(at, level, words, ha=side, va="center", color=colour)
    axes.plot([n - 0.5] * 2, [-0.12, -0.75], color=pic.QUERY, linewidth=1)
    axes.set(xlim=(-0.6, total - 0.4), ylim=(-1.65, 1.25))
    axes.set_axis_off()
    return figure


@pic.styled
def steps(lengths: ArrayLike, curves: pic.Arrays) -> pic.Picture:
    """Steps that wait for each other, against the length: a line for each way to read."""
    figure, axes = chart(3.5, pic.WIDE)
    kit.curves(axes, lengths, curves, dashes=DASHES[:3], marks="os^")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(lengths, [str(n) for n in np.asarray(lengths)])
    ticks = 2 ** np.arange(0, 8, 2)
    axes.set_yticks(ticks, [str(n) for n in ticks])
    axes.set(ylim=(0.7, 1.6 * max(np.max(values) for values in curves.values())), xlabel="length of the sequence")
    axes.set_ylabel("steps one after the other")
    axes.minorticks_off()
    kit.at_ends(axes)
    return figure


@pic.styled
def fading(sizes: pic.Arrays, limit: float) -> pic.Picture:
    """How much of a change in the first token arrives, against the distance.

    One curve for each name. A line marks where float32 no longer sees it beside 1.
    """
    figure, axes = chart(3.8, pic.WIDE)
    for i, (name, values) in enumerate(sizes.items()):
        count = len(np.asarray(values))
        axes.plot(np.arange(1, count + 1), values, color=pic.SERIES[i], linestyle=DASHES[i % 3])
        beside(axes, name, (count, values[-1]), (6, 0), color=pic.SERIES[i], va="center")
    axes.axhline(1, color=pic.FAINT, linewidth=1)
    axes.axhline(limit, color=pic.FAINT, linewidth=1, linestyle="--")
    beside(axes, "smallest share that float32 sees", (1, limit), (0, -5), va="top")
    axes.set(yscale="log", xlabel="length of the sequence, $T$", ylabel="largest stretch")
    return figure


@pic.styled
def exact(lengths: Sequence[int], counts: pic.Arrays, out_of: int, trained: int | None = None) -> pic.Picture:
    """How many sequences come out without a mistake, against their length.

    Of several runs of one name the first is drawn thick, the others thin and unlike. A curve may end early. A dashed
    line comes after the longest sequences of the training.
    """
    figure, axes = chart(3.6)
    for i, (name, values) in enumerate(counts.items()):
        first, *others = np.atleast_2d(values)
        reach = lengths[: len(first)]
        axes.plot(reach, first, marker="os^"[i % 3], label=name, color=pic.SERIES[i], linestyle=DASHES[i % 3])
        for n, other in enumerate(others):
            look = {"linewidth": 1.4, "linestyle": ("-", (0, (6, 1.5, 1, 1.5)))[n % 2]}
            axes.plot(reach, other, color=pic.SERIES[i], label=f"the same, run {n + 2}", **look)
    if trained:
        axes.axvline(trained + 0.5, color=pic.FAINT, linestyle="--", linewidth=1.2)
    axes.set(xticks=lengths if len(lengths) <= 12 else lengths[1::2], yticks=np.linspace(0, out_of, 5))
    axes.set(ylim=(-0.04 * out_of, 1.06 * out_of), xlabel="length of the sequence")
    axes.set_ylabel(f"reversed without a mistake, of {out_of}")
    axes.legend(loc="lower left")
    return figure


@pic.styled
def kept(counts: ArrayLike, out_of: int) -> pic.Picture:
    """A bar for each position of a sequence, in the order of reading: how often its id comes out right."""
    figure, axes = chart(3.1)
    numbers = np.asarray(counts)
    read = np.arange(1, len(numbers) + 1)
    axes.bar(read, numbers, color=pic.OUT, width=0.8)
    for at, number in zip(read, numbers, strict=True):
        axes.text(at, number + 0.015 * out_of, str(number), ha="center", va="bottom", size=11)
    axes.set(xticks=read, xticklabels=[str(n) for n in read], yticks=[0, out_of // 2, out_of], ylim=(0, 1.12 * out_of))
    axes.set(xlabel="position of the id in the sequence that was read", ylabel=f"right, of {out_of}")
    return figure


@pic.styled
def grids(panels: pic.Arrays, rows: Sequence[str], columns: Sequence[str]) -> pic.Picture:
    """Matrices of tiles side by side: a row for each id written, a column for each read."""
    size = (pic.PHONE, 4.6) if len(panels) == 1 else (pic.WIDE, 3.7)
    figure, (axes,) = pic.picture(*size, columns=len(panels))
    top = float(max(np.max(np.asarray(x)) for x in panels.values()))
    for one, (name, x) in zip(axes, panels.items(), strict=True):
        pic.tiles(one, x, pic.WEIGHTS, (0, top), decimals=2)
        one.set_title(name, pad=12)
        named(one, rows, columns)
        one.set_xlabel("id read", color=pic.KEY)
        one.set_ylabel("id written", color=pic.OUT)
    return figure
