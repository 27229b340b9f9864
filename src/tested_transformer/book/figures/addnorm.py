"""Pictures of residual connections and layer normalisation."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, joint, part, tile
from tested_transformer.book.figures.kit import CENTRE, DASHES, beside, chart, write

COLOURS = (*pic.SERIES[4:], pic.OUT, pic.FAINT)
"""Things side by side: not the colours of the row and of what is added to it."""


@pic.styled
def river(word: str, boxes: Sequence[tuple[str, float, float, float, float]]) -> pic.Picture:
    """The row of a word on its way down: boxes read it and add to it, and the norm rescales the sum.

    Each box has its name and four lengths: of the row before it, of what it adds, of the
    sum, and of the row behind the norm. So wide are river and arrows.
    """
    high = 1.22
    figure, frame = blank(4.2, high * len(boxes) + 0.75)
    x, y = 2.55, high * len(boxes) + 0.45
    write(frame, x, y + 0.15, word, color=pic.FORWARD, size=LARGE, weight="bold")
    for name, before, added, total, after in boxes:
        plus, norm = y - 0.54, y - 1.0
        for top, bottom, length in ((y, plus, before), (plus, norm, total), (norm, y - high - 0.02, after)):  # no seam
            frame.plot(
                [x, x], [top, bottom], solid_capstyle="butt", color=pic.FORWARD, linewidth=WIDE * length, zorder=2
            )
        frame.plot([x, 0.84], [y - 0.16] * 2, color=pic.FORWARD, linewidth=1.4, zorder=1)
        arrow(frame, (0.84, y - 0.16), (0.84, plus + 0.19), pic.FORWARD)
        part(frame, (0.06, plus - 0.19, 1.56, 0.38), name, name)
        colour = pic.ATTENTION if name == "attention" else pic.FEED_FORWARD
        look = {"color": colour, "linewidth": max(0.8, WIDE * added), "zorder": 3}
        frame.plot([1.62, x], [plus, plus], solid_capstyle="butt", **look)
        joint(frame, (x, plus))
        part(frame, (x - 0.32, norm - 0.11, 0.64, 0.22), "norm", "norm")
        numbers = (y - 0.27, f"{before:.1f}"), (plus, f"+ {added:.1f}"), (plus - 0.25, f"sum {total:.1f}")
        for (at, text), ink in zip(numbers, (pic.FORWARD, colour, pic.FORWARD), strict=True):
            write(frame, x + 0.5, at, text, ha="left", color=ink, weight="bold", size=LARGE)
        y -= high
    write(frame, x + 0.5, y - 0.1, f"{after:.1f}", ha="left", color=pic.FORWARD, weight="bold", size=LARGE)
    arrow(frame, (x, y), (x, y - 0.3), pic.FORWARD, 26)
    return figure


LARGE, WIDE = 13, 0.8
"""Size of the words in the river; points of width for each unit of length."""


@pic.styled
def depth(stacks: pic.Arrays) -> pic.Picture:
    """The size of the rows behind every box of a stack, a curve with its name for each kind of stack."""
    figure, axes = chart(3.1, 4.6)
    for j, (name, sizes) in enumerate(stacks.items()):
        axes.plot(range(len(sizes)), sizes, color=COLOURS[j], linestyle=DASHES[j], linewidth=2.5)
        boxes, rises = len(sizes) - 1, sizes[-1] > sizes[0]
        at = boxes * 3 // 4 if rises else boxes // 4  # there is room above the line
        beside(axes, name, (at, sizes[at]), (0, 7), color=COLOURS[j], ha="right" if rises else "left")
    axes.set(yscale="log", ylabel="size of the rows")
    axes.grid(axis="y", color=pic.FAINT, linewidth=0.5)
    every = np.log10(list(stacks.values()))
    axes.set_yticks(10.0 ** np.arange(5 * np.ceil(every.min() / 5), every.max(), 5))
    axes.set(xlim=(0, boxes), xticks=range(0, boxes + 1, boxes // 4), xlabel="boxes passed")
    axes.yaxis.set_minor_locator(NullLocator())
    return figure


@pic.styled
def fan(stacks: pic.Arrays) -> pic.Picture:
    """The first row as an arrow upwards, and the others at their angles to it, by turns left and right.

    For each stack the angles in degrees.
    """
    figure, (panels,) = pic.picture(pic.PHONE, 1.6, columns=len(stacks))
    for axes, (name, angles) in zip(panels, stacks.items(), strict=True):
        look = {"color": COLOURS[1], "width": 0.008, "head_width": 0.07, "length_includes_head": True}
        for turn in np.radians(angles) * np.resize([-1, 1], len(angles)):
            axes.arrow(0, 0, np.sin(turn), np.cos(turn), **look)
        axes.arrow(0, 0, 0, 1.12, zorder=5, **look | {"color": pic.QUERY, "width": 0.035, "head_width": 0.14})
        axes.set(xlim=(-1.15, 1.15), ylim=(-0.5, 1.2), aspect="equal")
        axes.set_axis_off()
        axes.set_title(name.replace(", ", ":\n"), loc="center")
    return figure


@pic.styled
def circle(centred: ArrayLike, normalised: ArrayLike, words: Sequence[str], radius: float) -> pic.Picture:
    """Rows of width three in the plane of mean 0: (words × 2) as centred and normalised."""
    figure, axes = chart(4.0, 4.2)
    angle = np.linspace(0, 2 * np.pi, 200)
    axes.plot(radius * np.cos(angle), radius * np.sin(angle), color=pic.FAINT, linewidth=1)
    axes.plot(0, 0, "o", color=pic.FAINT)
    for j, (word, start, end) in enumerate(zip(words, centred, normalised, strict=True)):
        axes.plot([0, end[0]], [0, end[1]], color=pic.FAINT, linewidth=1, linestyle=":")
        axes.plot(*start, "o", color=COLOURS[j], fillstyle="none", markersize=9)
        axes.plot(*end, "o", color=COLOURS[j], markersize=9)
        axes.annotate(word, 1.17 * np.asarray(max(start, end, key=np.linalg.norm)), color=COLOURS[j], **CENTRE)
    for fill, name in (("none", "centred"), ("full", "normalised")):
        axes.plot([], [], "o", color=pic.INK, fillstyle=fill, markersize=9, label=name)
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.set_axis_off()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@pic.styled
def groups(lengths: Sequence[int], longest: int, width: int) -> pic.Picture:
    """Which numbers share a mean, in sentences of those lengths, filled up to longest.

    Left by row (layer norm), right by column over all sentences (batch norm); padding has a cross.
    """
    figure, (panels,) = pic.picture(pic.PHONE, 0.8 + 0.31 * (longest + 1) * len(lengths), columns=2)
    for axes, title in zip(panels, ("layer norm", "batch norm"), strict=True):
        top = 0.0
        for s, length in enumerate(lengths):
            for t in range(longest):
                for c in range(width):
                    first = s == t == 0 if title == "layer norm" else c == 0
                    face, ink = (COLOURS[0], "white") if first else ("white", pic.INK)
                    tile(axes, (c, top + t, 0.94, 0.94), face, "×" * (t >= length), ink, edgecolor=pic.INK)
            axes.text(-0.4, top + longest / 2, f"sentence {s + 1}", rotation=90, ha="right", va="center")
            top += longest + 0.7
        axes.set(xlim=(-1.3, width + 0.2), ylim=(top - 0.5, -0.2), aspect="equal")
        axes.set_axis_off()
        axes.set_title(title, loc="center")
    return figure


@pic.styled
def layers(gradients: Mapping[int, pic.Arrays]) -> pic.Picture:
    """Gradient sizes by layer, a panel for each depth and a curve for each order.

    Each curve holds (seeds × layers): every seed is drawn thin, their geometric mean thick.
    """
    figure, (panels,) = pic.picture(pic.PHONE, 3.7, columns=len(gradients), sharey=True)
    for axes, (n, orders) in zip(panels, gradients.items(), strict=True):
        x = np.arange(1, n + 1)
        for (name, sizes), colour, line in zip(orders.items(), COLOURS, DASHES, strict=False):
            axes.plot(x, np.transpose(sizes), color=colour, linewidth=0.5, alpha=0.25)
            middle = np.exp(np.mean(np.log(sizes), axis=0))
            axes.plot(x, middle, label=name, linewidth=3, color=colour, linestyle=line)
        axes.set(yscale="log", title=f"{n} layers", xlabel="layer", xticks=[1, n // 2, n])
    panels[0].set_ylabel("size of the gradient")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
